"""Writing what others read meanwhile: a reader sees the old file or the new one, and a failure leaves the old one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any


def json_bytes(value: Mapping[str, Any], *, dense: bool = False) -> bytes:
    """JSON as people commit it: two spaces, readable text, one newline at the end. ``dense``: on one line, without blanks.

    Half of a surrogate pair is no text in UTF-8: where somebody has written one, all of the text is escaped.
    """
    form: dict[str, Any] = {"separators": (",", ":")} if dense else {"indent": 2}
    try:
        return f"{json.dumps(value, ensure_ascii=False, **form)}\n".encode()
    except UnicodeEncodeError:
        return f"{json.dumps(value, **form)}\n".encode()


def write_file(path: str, content: bytes) -> None:
    """Replace the file at ``path`` as a whole, keeping its mode; folders are made. Raises ``OSError``."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~_umask()
    handle, draft = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def remove_files(paths: Iterable[str]) -> None:
    """Remove files; one that is gone already is as wished. Raises ``OSError``."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _umask() -> int:
    """The process's mask, which can only be asked for by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
