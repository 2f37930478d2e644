"""Files that a caller names: permitted by the policy, recorded in the audit, and written as ``files.py`` does."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator.engine.errors import not_writable
from clawperator.engine.files.writing import new_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from clawperator.engine.guard import Guard


@contextmanager
def named_file(guard: Guard, path: str, *, replace: bool = False, what: str = "", hint: str = "") -> Iterator[BinaryIO]:
    """Yield a stream as ``files.new_file`` does. ``what`` names the file's part in the command, ``hint`` is that of FILE_EXISTS.

    Raises ``EngineError``: those of ``Guard.acting`` before anything is written, and those of ``not_writable``, also for an
    ``OSError`` of the block.
    """
    with guard.writing(path):
        if "\0" in path:
            raise not_writable(path, ValueError("embedded null byte"), what=what)
        try:
            with new_file(path, replace=replace) as stream:
                yield stream
        except OSError as exc:
            raise not_writable(path, exc, what=what, hint=hint) from exc


def write_named_file(
    guard: Guard, path: str, content: bytes, *, replace: bool = False, what: str = "", hint: str = ""
) -> None:
    """Write ``content`` as ``named_file`` does."""
    with named_file(guard, path, replace=replace, what=what, hint=hint) as stream:
        stream.write(content)
