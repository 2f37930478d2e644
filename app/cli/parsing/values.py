"""Values of flags: conversion of their text to numbers and JSON, with errors that name the flag."""

from __future__ import annotations

from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


HELP_HINT = "Run `clawperator help <command>`."
"""``dispatch`` replaces the placeholder."""


def invalid(message: str, path: str = "", *, hint: str = HELP_HINT) -> EngineError:
    """Return the error about a flag value; ``path`` names its place in the payload."""
    return EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={"path": path} if path else None
    )


def integer(flag: str, text: str | None, low: int, high: int, *, hint: str = HELP_HINT) -> int | None:
    """Return an integer within bounds; ``None`` stays ``None``."""
    if text is None:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and low <= int(text) <= high):
        raise invalid(f"{flag} must be an integer in [{low}, {high}]", flag, hint=hint)
    return int(text)


def number(flag: str, text: str | None) -> float | None:
    """Return a finite number, whole ones as ``int``; ``None`` stays ``None``."""
    if text is None:
        return None
    value = _finite(text)
    if value is None:
        raise invalid(f"{flag} must be a finite number", flag)
    return value


def timeout_ms(text: str | None, flag: str = "--timeout-ms") -> float | None:
    """Return the value of ``--timeout-ms``, whose range the engine checks."""
    if text is None:
        return None
    value = _finite(text)
    if value is None:
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            f"timeoutMs must be a finite number ({flag})",
            hint=f"Pass {flag} in milliseconds, such as 30000.",
        )
    return value


def _finite(text: str) -> float | None:
    """A number as in JSON, without what Python also accepts (``1_000``, other digits)."""
    plain = text.strip()
    if not plain.isascii() or "_" in plain:
        return None
    try:
        value = float(plain)
    except ValueError:
        return None
    if value - value != 0:  # infinite or NaN
        return None
    return int(value) if value.is_integer() else value


def json_object(flag: str, text: str | None, path: str) -> dict[str, Any] | None:
    """Return a JSON object given as a flag value; ``None`` stays ``None``."""
    if text is None:
        return None
    from clawperator.engine.executions.validate import parse_json

    try:
        value = parse_json(text)
    except EngineError as exc:
        error = invalid(f"{flag} must be valid JSON", path, hint=_matcher_hint(flag, path))
        error.details = {**exc.details, "path": path}
        raise error from exc
    if not isinstance(value, dict):
        raise invalid(f"{flag} must be a JSON object", path, hint=_matcher_hint(flag, path))
    return value


def _matcher_hint(flag: str, path: str) -> str:
    simple = f"--{path.removesuffix('selector')}id"
    return f"""Quote the JSON for the shell: {flag} '{{"textEquals":"OK"}}', or use simple flags such as {simple}."""


def duration(flag: str, text: str | None) -> float | None:
    """Return a time such as ``30m``, ``2h`` or ``7d`` in seconds, as in the filters' ``age``; ``None`` stays ``None``."""
    if text is None:
        return None
    from clawperator.engine.filters.grammar import parse_filter

    read = parse_filter(f"age:<{text.strip()}")
    if len(read.terms) != 1 or read.terms[0].key != "age" or read.problem:
        raise invalid(f"{flag} must be a number with a unit: 30s, 15m, 2h or 7d", flag)
    return read.terms[0].seconds


def text_value(flag: str, text: str | None, path: str = "") -> str | None:
    """Return a text that is not blank; ``None`` stays ``None``."""
    if text is not None and not text.strip():
        raise invalid(f"{flag} value must not be blank", path, hint=f"Pass a value, or leave out {flag}.")
    return text
