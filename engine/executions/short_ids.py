"""Short resource ids: the part after ``:id/``, as views print it, for the one id of the screen that ends so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree


def short_ids(value: object) -> Iterator[str]:
    """Yield each ``resourceId`` inside ``value`` that names no package."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
    for name, inner in items:
        if name == "resourceId" and isinstance(inner, str) and is_short(inner):
            yield inner
        else:
            yield from short_ids(inner)


def is_short(text: str) -> bool:
    return bool(text.strip()) and ":" not in text


def full_id(tree: UiTree, short: str, place: str) -> str:
    """Return the whole id; ``short`` if the screen has it as it is (a test tag), or has none that ends so.

    Raises ``EngineError`` (NODE_AMBIGUOUS) about the value at ``place`` where several ids end so.
    """
    ends = ids_of(tree, short)
    if len(ends) > 1:
        raise EngineError(
            ErrorCode.NODE_AMBIGUOUS,
            f"{place} {short} is the end of {len(ends)} ids on the screen",
            hint=f"Write one of them whole: {place} {ends[0]}",
            details={"path": place, "candidates": ends},
        )
    return ends[0] if ends else short


def ids_of(tree: UiTree, short: str) -> list[str]:
    """Return the ids that ``short`` may mean: itself if the screen has it, else those that end so."""
    ids = dict.fromkeys(node.resource_id for node in tree.on_screen)
    return [short] if short in ids else [each for each in ids if each.partition(":id/")[2] == short]


def with_full_ids(value: Any, tree: UiTree, found: dict[str, str], path: str = "", *, exact: bool = True) -> Any:
    """Return JSON data with each short ``resourceId`` whole (``full_id``), and add to ``found`` which became what.

    Without ``exact``, what several ids end with stays as it is.
    """
    if isinstance(value, list):
        return [with_full_ids(inner, tree, found, path, exact=exact) for inner in value]
    if not isinstance(value, Mapping):
        return value
    whole = dict[str, Any]()
    for name, inner in value.items():
        place = f"{path}.{name}" if path else name
        if name == "resourceId" and isinstance(inner, str) and is_short(inner):
            whole[name] = full_id(tree, inner, place) if exact or len(ids_of(tree, inner)) == 1 else inner
            found |= {inner: whole[name]} if whole[name] != inner else {}
        else:
            whole[name] = with_full_ids(inner, tree, found, place, exact=exact)
    return whole
