"""Search skills by app, intent and keyword (skills.md#searching)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from clawperator.engine.skills.registry import Registry


def search(
    registry: Registry, *, app: str | None = None, intent: str | None = None, keyword: str | None = None
) -> list[dict[str, Any]]:
    """Return the entries that match all criteria, in file order.

    ``app`` and ``intent`` are exact; ``keyword`` is part of the id, the summary, the application id or a keyword, ignoring case.
    """
    found = list(registry.skills)
    if app is not None:
        found = [entry for entry in found if entry.get("applicationId") == app]
    if intent is not None:
        found = [entry for entry in found if entry.get("intent") == intent]
    if not keyword:
        return found
    folded = keyword.casefold()
    return [entry for entry in found if folded in _described(entry).casefold()]


def _described(entry: Mapping[str, Any]) -> str:
    """Return the searchable texts of an entry, joined by NUL, which no keyword contains: there may be thousands."""
    try:
        return "\0".join((entry["id"], entry["summary"], entry["applicationId"], *entry.get("keywords", ())))
    except (KeyError, TypeError):  # the file is untrusted
        return "\0".join(_texts(entry))


def _texts(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in ("id", "summary", "applicationId"):
        if isinstance(value := entry.get(key), str):
            yield value
    if isinstance(words := entry.get("keywords"), list):
        yield from (word for word in words if isinstance(word, str))
