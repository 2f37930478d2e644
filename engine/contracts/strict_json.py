"""Strict JSON: one meaning per document, exact numbers, limited depth."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from clawperator.engine.contracts.limits import MAX_JSON_DEPTH
from clawperator.engine.errors import EngineError, ErrorCode


def parse_json(text: str | bytes) -> object:
    """The value of ``text`` (UTF-8 when bytes), also behind a byte order mark, which editors and PowerShell write.

    Refuses NaN, infinities (written or by overflow), duplicate keys and nesting beyond 64 levels. Raises
    ``EXECUTION_VALIDATION_FAILED`` with the position, where there is one, in ``details.reason``, and with the path of a number
    that is too large.
    """
    overflows: list[str] = []

    def number(digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            overflows.append(digits[:40])
        return value

    try:
        value: object = json.loads(
            _unmarked(text), object_pairs_hook=_object, parse_float=number, parse_constant=_refuse_constant
        )
    except _RefusalError as exc:
        raise _error(str(exc), exc.key) from None
    except json.JSONDecodeError as exc:
        raise _error(f"{exc.msg} (line {exc.lineno}, column {exc.colno})") from exc
    except UnicodeDecodeError as exc:
        raise _error(f"not UTF-8 at byte {exc.start}") from exc
    except RecursionError:
        raise _error(_TOO_DEEP) from None
    except ValueError as exc:  # Python's own limit on the digits of an integer
        raise _error("a number has too many digits") from exc
    if _deeper_than(MAX_JSON_DEPTH, value):
        raise _error(_TOO_DEEP)
    if overflows:
        raise _error(f"the number {overflows[0]} is too large", path=_infinite(value) or "")
    return value


def _unmarked(text: str | bytes) -> str:
    document = (text.decode() if isinstance(text, bytes) else text).removeprefix("\ufeff")
    if not document.strip():
        raise _RefusalError("it is empty")
    return document


_TOO_DEEP = f"nested more than {MAX_JSON_DEPTH} levels deep"


class _RefusalError(ValueError):
    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key


def _error(reason: str, key: str = "", path: str = "") -> EngineError:
    details: dict[str, Any] = {"path": path, "reason": reason} | ({"invalidKeys": [key]} if key else {})
    message = f"Invalid JSON at `{path}`: {reason}" if path else f"Invalid JSON: {reason}"
    hint = f"Correct the value at details.path: {reason}." if path else f"Correct the JSON text: {reason}."
    return EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details=details)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        double = _first_repeated(key for key, _ in pairs)
        raise _RefusalError(f"the key {double!r} appears twice in one object", double)
    return value


def _first_repeated(keys: Iterable[str]) -> str:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusalError(f"{name} is not a JSON value")


def _infinite(value: object) -> str | None:
    """The dotted path of the first infinite number in ``value``, whose depth is bounded; ``None`` without one."""
    if isinstance(value, float):
        return "" if math.isinf(value) else None
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in pairs:
        if (path := _infinite(child)) is not None:
            return f"{name}.{path}" if path else str(name)
    return None


def _deeper_than(limit: int, value: object) -> bool:
    layer = [value]
    for _ in range(limit):
        layer = [child for item in layer if isinstance(item, dict | list) for child in _children(item)]
        if not layer:
            return False
    return any(isinstance(item, dict | list) for item in layer)


def _children(item: dict[Any, object] | list[object]) -> list[object]:
    return list(item.values()) if isinstance(item, dict) else item
