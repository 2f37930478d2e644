"""Writing ``--junit FILE``: known to be possible before anything is examined, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from clawperator.engine.errors import not_writable
from clawperator.engine.files import new_file


@contextmanager
def junit_file(path: str | None) -> Iterator[Callable[[bytes], object]]:
    """What to give the file's content to; without ``path`` it goes nowhere.

    A file that exists is replaced in one step at the end, and left alone when that does not come. Raises ``EngineError``
    (``not_writable``) where it cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    with ExitStack() as stack:
        with _writing(path):
            stream = stack.enter_context(new_file(os.path.expanduser(path), replace=True))
        yield stream.write
        with _writing(path):
            stack.close()


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise not_writable(path, exc, what="--junit") from exc
