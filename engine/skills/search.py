"""Search skills by app, intent and keyword (skills.md#searching)."""

from __future__ import annotations

from clawperator.engine.skills.registry import texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
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
    words = entry.get("keywords", [])
    if isinstance(words, list):
        try:
            return "\0".join((entry["id"], entry["summary"], entry["applicationId"], *words))
        except (KeyError, TypeError):  # the file is untrusted
            pass
    named = (text for key in ("id", "summary", "applicationId") if isinstance(text := entry.get(key), str))
    return "\0".join((*named, *texts_of(entry, "keywords")))
