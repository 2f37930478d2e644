"""Write the JSON files of a registry atomically."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from clawperator.engine.files import regular


def json_bytes(value: Mapping[str, Any], *, dense: bool = False) -> bytes:
    """Return JSON with two spaces of indent and a final newline; ``dense``: on one line, without blanks.

    A value with half of a surrogate pair, which UTF-8 cannot encode, is written with escapes.
    """
    form: dict[str, Any] = {"separators": (",", ":")} if dense else {"indent": 2}
    try:
        return f"{json.dumps(value, ensure_ascii=False, **form)}\n".encode()
    except UnicodeEncodeError:
        return f"{json.dumps(value, **form)}\n".encode()


def write_file(path: str, content: bytes, *, replace: bool = True) -> None:
    """Replace the file at ``path`` atomically, keeping its mode; creates folders. Raises ``OSError``."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    regular.write_file(path, content, replace=replace, mode=None)


def remove_files(paths: Iterable[str]) -> None:
    """Remove files that exist. Raises ``OSError``."""
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
