"""Names of the flat profile for keys and codes of results (errors.md#codes)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_KEYS = {"receiverPackage": "operatorPackage"}
_CODES = {
    "RECEIVER_NOT_INSTALLED": "OPERATOR_NOT_INSTALLED",
    "RECEIVER_VARIANT_MISMATCH": "OPERATOR_VARIANT_MISMATCH",
}


def flat_named(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``document`` with the flat names of keys and codes."""
    named: dict[str, Any] = _named(document)
    return named


def _named(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {_KEYS.get(name, name): _named(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_named(item, key) for item in value]
    return _CODES.get(value, value) if key == "code" and isinstance(value, str) else value
