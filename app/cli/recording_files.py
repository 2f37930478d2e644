"""The files of ``record``: read whole but bounded, written whole or not at all, and for this user only."""

from __future__ import annotations

from clawperator.app.cli.parsing.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

STEPS = ".steps.json"
RECIPE = ".recipe.md"
_WHERE = "Pass a file written by `clawperator record pull` or `record parse`."


def path_value(flag: str, text: str | None) -> str | None:
    import os

    if text is None:
        return None
    if not text.strip() or "\0" in text:
        raise invalid(f"{flag} value must not be blank", flag)
    return os.path.expanduser(text)


def beside(source: str, suffix: str) -> str:
    """The name of what is made of ``source``: its own with another ending."""
    for ending in (".ndjson", STEPS) if suffix == RECIPE else (".ndjson",):
        if source.endswith(ending):
            return source.removesuffix(ending) + suffix
    return source + suffix


def read_bytes(path: str, code: ErrorCode) -> bytes:
    from clawperator.engine.recordings.reader import MAX_FILE_BYTES

    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise EngineError(code, f"{path}: {exc.strerror or exc}", hint=_WHERE, details={"file": path}) from exc
    if len(data) > MAX_FILE_BYTES:
        raise EngineError(code, f"{path}: more than {MAX_FILE_BYTES} bytes", hint=_WHERE, details={"file": path})
    return data


def write_private(options: Namespace, path: str, data: bytes, *, replace: bool = True) -> None:
    """Write a file for this user only: what was typed may be in it. Raises ``EngineError`` as ``Guard.write_file`` does."""
    from clawperator.app.cli.context import guard

    hint = "" if replace else "Choose another --out, or pass --overwrite."
    guard(options).write_file(path, data, replace=replace, hint=hint)
