"""``--junit FILE``: checked before the work, and written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clawperator.app.cli.settings import policy_guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options


@contextmanager
def junit_file(options: Options) -> Iterator[Callable[[bytes], object]]:
    """Yield what writes the file's content; without ``--junit`` it writes nothing.

    An existing file is replaced in one step when the block ends, and kept if it fails. Raises ``EngineError`` as ``Guard.new_file`` does.
    """
    if options.junit is None:
        yield lambda _: None
        return
    with policy_guard(options).new_file(os.path.expanduser(options.junit), replace=True, what="--junit") as stream:
        yield stream.write
