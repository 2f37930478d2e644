"""Drawings of UI trees and of answers about them, for ``pretty``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text, warnings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

_WIDEST_CELL = 60
_CHANGES = {"added": ("+", GOOD), "removed": ("−", BAD), "changed": ("~", UNSURE), "moved": ("⇕", "cyan")}


def tree_view(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield from draw_view(data["view"])


def draw_view(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A view of a UI tree: the dump, a table of what can be acted on or read, or the outline."""
    width, height = data["screen"]
    yield safe_text(f"{data['package'] or 'no package'}  {width}x{height}  {data['view']}", "bold")
    if recovered := data.get("recovered"):
        yield safe_text(f"repaired: {recovered}", UNSURE)
    match data["view"]:
        case "full":
            yield safe_text(data["text"], lines=True)
        case "compact":
            for line in data["lines"]:
                yield safe_text(line)
        case _:
            table = plain_table("path", "role", "label", "at", "can", "selector")
            for node in data["nodes"]:
                table.add_row(*_target(node))
            yield table
    yield from _truncation(data)


def _target(node: Mapping[str, Any]) -> Iterator[Text]:
    yield safe_text(node["path"], FAINT)
    yield safe_text(node["role"])
    yield _cell(node.get("label", node.get("id", "")))
    yield safe_text(",".join(map(str, node.get("at", ()))))
    yield safe_text(" ".join([*node.get("can", ()), *node.get("is", ())]))
    yield safe_text(_json(node["selector"])) if node["selector"] else safe_text(node["why"], UNSURE)


def matches(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """How many nodes a selector finds, which, and why not more."""
    count, off_screen = data["count"], data["offScreen"]
    number = f"{count} match" if count == 1 else f"{count} matches"
    elsewhere = f", {off_screen} off screen" if off_screen else ""
    approximate = "  ≈ approximate" if data.get("approximate") else ""
    yield Text.assemble(
        (f"{number}{elsewhere}", GOOD if count == 1 else UNSURE),
        (approximate, UNSURE),
        f"  {visible(_json(data['selector']))}",
    )
    for reason in data.get("approximateBecause", ()):
        yield safe_text(f"  ≈ {reason}", UNSURE)
    yield from warnings(data)
    if data["matches"]:
        table = plain_table("", "path", "role", "class", "text", "description", "id", "bounds")
        for node in data["matches"]:
            table.add_row(safe_text("taken" if node.get("taken") else "", GOOD), *_node(node))
        yield table
    yield from _truncation(data)
    if "explain" in data:
        yield from _explanation(data["explain"])


def _node(node: Mapping[str, Any]) -> Iterator[Text]:
    yield safe_text(node["path"], FAINT)
    yield safe_text(node["role"])
    yield safe_text(node["class"].rpartition(".")[2])
    for key in ("text", "contentDesc", "resourceId"):
        yield _cell(node.get(key, ""))
    left, top, right, bottom = node["bounds"]
    yield safe_text(f"[{left},{top}][{right},{bottom}]")


def _explanation(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if data["verdict"]:
        yield safe_text(f"no match: {data['verdict']}", UNSURE)
    counts = plain_table("field", "alone", "together")
    for row in data["fields"]:
        counts.add_row(safe_text(row["field"]), safe_text(row["alone"]), safe_text(row["together"]))
    yield counts
    for miss in data["nearest"]:
        node = miss["node"]
        yield safe_text(f"nearest: {node['class'].rpartition('.')[2]} at {node['path']}", "bold")
        for field in miss["fields"]:
            mark, style = ("[OK]", GOOD) if field["ok"] else ("[NO]", BAD)
            yield Text.assemble("  ", (mark, style), " ", visible(f"{field['field']}: {field['reason']}"))
        if "offScreen" in miss:
            yield Text.assemble("  ", ("[NO]", BAD), " ", visible(miss["offScreen"]))


def suggestions(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The selectors of a node, best first."""
    node = data["node"]
    label = node.get("text") or node.get("contentDesc") or ""
    yield safe_text(f"{node['role']} {_json(label) if label else node['class']} at {node['path']}", "bold")
    if others := data.get("others"):
        paths = ", ".join(others["paths"]) + (", …" if "truncated" in others else "")
        yield safe_text(f"the first of {others['count'] + 1} matches; others: {paths}", UNSURE)
    yield from warnings(data)
    table = plain_table("", "matches", "selector", "kind", "flags", "why")
    for candidate in data["candidates"]:
        mark = Text("[OK]", GOOD) if candidate["unique"] else Text("[WARN]", UNSURE)
        selector = _json(candidate["selector"])
        if "container" in candidate:
            selector += f" in {_json(candidate['container'])}"
        words = (selector, candidate["kind"], " ".join(candidate["flags"]), "; ".join(candidate["why"]))
        table.add_row(mark, safe_text(candidate["matches"]), *map(safe_text, words))
    if data["candidates"]:
        yield table
    yield from _truncation(data)
    if "advice" in data:
        yield safe_text(data["advice"], UNSURE)


def changes(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What became of each node, in document order."""
    counted = ", ".join(f"{count} {kind}" for kind, count in data["counts"].items() if count)
    yield safe_text(counted or "no differences", "bold")
    for change in data["changes"]:
        mark, style = _CHANGES[change["kind"]]
        more = f" and {change['nodes'] - 1} inside" if "nodes" in change else ""
        yield Text.assemble((mark, style), " ", visible(change["name"]), more, (f"  {change['path']}", FAINT))
        for name, (old, new) in change.get("attributes", {}).items():
            yield safe_text(f"    {name}: {_cut(_json(old))} → {_cut(_json(new))}")
    yield from _truncation(data)


def _truncation(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if record := data.get("truncated"):
        yield safe_text(f"{record['shown']} of {record['total']} shown. {record['hint']}", UNSURE)


def _cell(text: str) -> Text:
    """One long text would make a whole column as wide."""
    return safe_text(_cut(text, _WIDEST_CELL))


def _cut(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
