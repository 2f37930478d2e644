"""Reading the payload of a command: JSON text, a file, or stdin."""

from __future__ import annotations

import os
from contextlib import contextmanager

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_UNREADABLE = "Failed to read or parse execution file"
MAX_PAYLOAD_FILE_BYTES = 4 * 1024 * 1024
"""More than any payload of the contract needs, indentation included; bounds the memory that a wrong path can take."""


def read_payload(source: str) -> object:
    """Return the parsed JSON of ``--execution``, complete where it has the actions only.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.build import completed
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = is_json_text(source)
    try:
        return completed(parse_json(source if inline else read_bytes(source)))
    except EngineError as exc:
        message = "Invalid JSON for --execution" if inline else f"{_UNREADABLE}: {file_name(source)}: {exc.message}"
        raise EngineError(exc.code, message, hint=exc.hint, details=exc.details) from exc
    except (OSError, ValueError) as exc:
        raise unreadable(_UNREADABLE, source, exc, "JSON text that starts with '{' or '['") from exc


def unreadable(message: str, source: str, error: Exception, text: str) -> EngineError:
    """The error about a file that cannot be read; ``text`` is what can be passed in its place."""
    reason = getattr(error, "strerror", None) or error
    hint = f"Pass a file, {text}, or - for stdin."
    return EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, f"{message}: {file_name(source)}: {reason}", hint=hint)


def is_json_text(source: str) -> bool:
    """Whether an argument is the payload itself, unless a file has that name; also behind a byte order mark, as in a file."""
    first = source.removeprefix("\ufeff")[:1]
    return first == "{" or (first == "[" and not os.path.isfile(source))


def file_name(source: str) -> str:
    """Return the name of an argument's file for messages."""
    return "stdin" if source == "-" else source[:200] or "''"


@contextmanager
def naming_the_file(source: str | None) -> Iterator[None]:
    """Prefix errors about a payload's content with the name of its file."""
    try:
        yield
    except EngineError as exc:
        path = (source or "").strip()
        about_content = "issues" in exc.details or exc.code in (
            ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
            ErrorCode.PAYLOAD_TOO_LARGE,
        )
        if about_content and (path == "-" or os.path.exists(path)):
            exc.details["file"] = file_name(path)
            exc.message = f"{file_name(path)}: {exc.message}"
        raise


def read_bytes(source: str) -> bytes:
    """Return the bytes of a file or, for ``-``, of stdin; bounded. Raises ``OSError``, ``ValueError``."""
    if source == "-":
        from clawperator.engine.files.stdin import read_stdin

        data = read_stdin(MAX_PAYLOAD_FILE_BYTES + 1)
    else:
        with open(source, "rb") as stream:
            data = stream.read(MAX_PAYLOAD_FILE_BYTES + 1)
    if len(data) > MAX_PAYLOAD_FILE_BYTES:
        raise ValueError(f"more than {MAX_PAYLOAD_FILE_BYTES} bytes")
    return data
