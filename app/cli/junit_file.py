"""Writing ``--junit FILE``: known to be possible before anything is examined, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clawperator.app.cli.context import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


@contextmanager
def junit_file(options: Namespace) -> Iterator[Callable[[bytes], object]]:
    """What to give the file's content to; without ``--junit`` it goes nowhere.

    A file that exists is replaced in one step at the end, and left alone when that does not come. Raises ``EngineError`` as
    ``Guard.new_file`` does.
    """
    if options.junit is None:
        yield lambda _: None
        return
    with guard(options).new_file(os.path.expanduser(options.junit), replace=True, what="--junit") as stream:
        yield stream.write
