"""Writing what others read meanwhile: a reader sees the old file or the new one, and a failure leaves the old one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from clawperator.engine.files import writing


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
    os.makedirs(os.path.dirname(path), exist_ok=True)
    writing.write_file(path, content, replace=True, mode=None)


def remove_files(paths: Iterable[str]) -> None:
    """Remove files; one that is gone already is as wished. Raises ``OSError``."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
