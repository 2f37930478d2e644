"""Writing ``--junit FILE``: known to be possible before anything is examined, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


@contextmanager
def junit_file(path: str | None) -> Iterator[Callable[[bytes], None]]:
    """What to give the file's content to; without ``path`` it goes nowhere.

    An ordinary file is replaced in one step when the content comes, and left alone where none does. Raises ``EngineError``
    (USAGE) where it cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    name = os.path.expanduser(path)
    special = os.path.exists(name) and not os.path.isfile(name)
    part = name if special else f"{name}.{os.getpid()}.part"
    with _writing(path):
        stream = open(part, "wb")  # noqa: SIM115 -- closed below, whatever happens

    def write(content: bytes) -> None:
        with _writing(path):
            _put(stream, content)
            if not special:
                os.replace(part, name)

    try:
        yield write
    finally:
        with suppress(OSError):
            stream.close()
        if not special:
            with suppress(OSError):
                os.unlink(part)


def _put(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)
    stream.close()


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise EngineError(ErrorCode.USAGE, f"--junit {path} cannot be written: {exc.strerror or exc}") from exc
