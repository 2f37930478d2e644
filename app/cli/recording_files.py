"""The files of ``record``: read whole but bounded, written whole or not at all, and for this user only."""

from __future__ import annotations

from clawperator.app.cli.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode

STEPS = ".steps.json"
RECIPE = ".recipe.md"


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
    from clawperator.engine.recordings.reading import MAX_FILE_BYTES

    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise EngineError(code, f"{path}: {exc.strerror or exc}", hint="", details={"file": path}) from exc
    if len(data) > MAX_FILE_BYTES:
        raise EngineError(code, f"{path}: more than {MAX_FILE_BYTES} bytes", hint="", details={"file": path})
    return data


def write_private(path: str, data: bytes, *, replace: bool = True) -> None:
    """All or nothing, and for this user only: what was typed may be in it."""
    import os
    import tempfile

    try:
        if not replace and os.path.lexists(path):
            hint = "Give another --out, or --overwrite."
            raise EngineError(ErrorCode.USAGE, f"{path} exists already", hint=hint, details={"file": path})
        descriptor, unfinished = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".recording-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as exc:
        raise EngineError(
            ErrorCode.USAGE, f"{path} cannot be written: {exc.strerror or exc}", details={"file": path}
        ) from exc
