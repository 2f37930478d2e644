"""A JSON value as a foldable outline; only open parts are walked. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clawperator.engine.errors import ErrorCode

Path = tuple[str | int, ...]

LONG_TEXT = 60
"""A longer text can be expanded."""

_MANY = 400


class OutlineNode(NamedTuple):
    """A value at its path. ``opened`` is ``None`` where there is nothing to expand."""

    path: Path
    value: Any
    opened: bool | None

    @property
    def name(self) -> str | int | None:
        """Return its key or index; ``None`` for the root."""
        return self.path[-1] if self.path else None


def outline(value: Any, is_open: Callable[[Path, Any], bool]) -> Iterator[OutlineNode]:
    """Yield ``value`` and the content of open parts, in document order."""
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, value = waiting.pop()
        node = OutlineNode(path, value, is_open(path, value) if _foldable(value) else None)
        yield node
        if node.opened:
            waiting.extend(reversed(_children(path, value)))


def _foldable(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) > LONG_TEXT
    return isinstance(value, (Mapping, list, tuple)) and bool(value)


def _children(path: Path, value: Any) -> list[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        return [((*path, str(key)), child) for key, child in value.items()]
    if isinstance(value, (list, tuple)):
        return [((*path, index), child) for index, child in enumerate(value)]
    return []


def opened_payload(path: Path, value: Any) -> bool:
    """Open everything except long texts and the items of a very long list."""
    return not isinstance(value, str) and not (len(path) > 1 and len(value) > _MANY)


def opened_envelope(path: Path, value: Any) -> bool:
    """Open the path to failures and their content; successful results stay folded."""
    if isinstance(value, str):
        return False
    if len(path) < 2 or path[0] != "stepResults":
        return True
    return len(path) > 2 or is_failure(path, value)


def is_failure(path: Path, value: Any) -> bool:
    """Return whether a step failed; a ``close_app`` left to the host did not (wire.md#actions-and-how-they-fail)."""
    if (
        len(path) != 2
        or path[0] != "stepResults"
        or not isinstance(value, Mapping)
        or value.get("success") is not False
    ):
        return False
    data = value.get("data")
    return not (isinstance(data, Mapping) and data.get("error") == ErrorCode.UNSUPPORTED_RUNTIME_CLOSE)
