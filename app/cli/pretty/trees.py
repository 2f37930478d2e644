"""``--output pretty`` of UI trees, and of ``match``, ``suggest`` and ``diff``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, OK, UNSURE, WARN
from clawperator.app.cli.pretty.toolbox import (
    Columns,
    Data,
    Drawing,
    as_json,
    cut,
    line,
    plain_table,
    records,
    safe_text,
    warnings,
)
from clawperator.engine.errors import EngineError

_WIDEST_CELL = 60
_LONGEST_VALUE = 160
_CHANGES = {"added": ("+", GOOD), "removed": ("−", BAD), "changed": ("~", UNSURE), "moved": ("⇕", "cyan")}
_NO = ("[NO]", BAD)


def tree_view(data: Data) -> Drawing:
    yield from draw_view(data["view"])


def unchanged_tree(data: Data) -> Drawing:
    yield safe_text(f"unchanged: tree {data['tree']}")


def draw_dump(text: str) -> Drawing:
    """Draw the compact view of a dump; as it is what cannot be read as one."""
    from clawperator.engine.hierarchy.tree import parse
    from clawperator.engine.hierarchy.views import view

    try:
        compact = view(parse(text, recover=True), "compact", text)
    except EngineError:
        yield safe_text(text, lines=True)
        return
    yield from draw_view(compact)


def is_dump(value: object) -> TypeGuard[str]:
    """Whether a value is the XML of a UI tree, or its beginning."""
    return isinstance(value, str) and value.lstrip()[:10].startswith(("<?xml", "<hierarchy"))


def without_dumps(value: object) -> object:
    """Return JSON data with the size of each dump in place of its XML."""
    if isinstance(value, Mapping):
        return {key: without_dumps(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_dumps(inner) for inner in value]
    return f"(UI tree, {len(value.encode(errors='replace'))} bytes)" if is_dump(value) else value


def draw_view(data: Data) -> Drawing:
    """Draw a view of a UI tree: the dump, or its lines."""
    width, height = data["screen"]
    since = f" since {data['from']}" if "from" in data else ""
    yield safe_text(
        f"{data['package'] or 'no package'}  {width}x{height}  {data['view']} of tree {data['tree']}{since}", "bold"
    )
    if recovered := data.get("recovered"):
        yield safe_text(f"repaired: {recovered}", UNSURE)
    yield from blind_line(data)
    if package := data.get("ids"):
        yield safe_text(f"ids without a package: {package}", FAINT)
    yield safe_text(data["text"] if data["view"] == "full" else data["lines"], lines=True)
    yield from _truncation(data)


def blind_line(data: Data) -> Drawing:
    """Draw what the tree cannot show, in one line."""
    if spots := data.get("blind"):
        words = []
        for spot in spots:
            ref = spot.get("where", {}).get("ref")
            words.append(f"{spot['kind']}{f' {ref}' if ref else ''} ({spot['certainty']})")
        yield safe_text(f"not in the tree: {', '.join(words)}", UNSURE)


def _text(node: Data) -> str:
    words = (node.get("text"), *(f"{key}: {node[key]}" for key in ("hint", "desc", "id") if key in node))
    return next(filter(None, words), "")


def _states(node: Data) -> list[str]:
    return [f"{key}:{str(value).lower()}" for key, value in node.items() if isinstance(value, bool)]


def matches(data: Data) -> Drawing:
    """Draw how many nodes a selector matches, which, and why no others."""
    count, off_screen = data["count"], data["offScreen"]
    number = f"{count} match" if count == 1 else f"{count} matches"
    elsewhere = f", {off_screen} off screen" if off_screen else ""
    yield line(
        (f"{number}{elsewhere}", GOOD if count == 1 else UNSURE),
        ("  ≈ approximate" if data.get("approximate") else "", UNSURE),
        f"  {as_json(data['selector'])}",
        f" in {as_json(data['container'])}" if "container" in data else "",
    )
    for reason in data.get("approximateBecause", ()):
        yield safe_text(f"  ≈ {reason}", UNSURE)
    yield from warnings(data)
    if refused := data.get("refused"):
        yield safe_text(f"an action fails: {refused['code']}, {refused['message']}", BAD)
    if data["matches"]:
        yield plain_table(
            ("", "path", "role", "class", "text", "description", "id", "bounds"),
            ((("used" if node.get("taken") else "", GOOD), *_node(node)) for node in data["matches"]),
        )
    yield from _truncation(data)
    if "explain" in data:
        yield from _explanation(data["explain"])


def _node(node: Data) -> tuple[object, ...]:
    left, top, right, bottom = node["bounds"]
    return (
        (node["path"], FAINT),
        node["role"],
        node["class"].rpartition(".")[2],
        *(cut(node.get(key, ""), _WIDEST_CELL) for key in ("text", "contentDesc", "resourceId")),
        f"[{left},{top}][{right},{bottom}]",
    )


def _explanation(data: Data) -> Drawing:
    if data["verdict"]:
        yield safe_text(f"no match: {data['verdict']}", UNSURE)
    yield records(data["fields"], {"field": "field", "this field": "alone", "all fields": "together"})
    for miss in data["nearest"]:
        node = miss["node"]
        yield safe_text(f"nearest: {node['class'].rpartition('.')[2]} at {node['path']}", "bold")
        for field in miss["fields"]:
            yield line("  ", OK if field["ok"] else _NO, f" {field['field']}: {field['reason']}")
        if "offScreen" in miss:
            yield line("  ", _NO, f" {miss['offScreen']}")


def suggestions(data: Data) -> Drawing:
    """Draw the selectors of a node, best first."""
    node = data["node"]
    label = node.get("text") or node.get("contentDesc") or ""
    yield safe_text(f"{node['role']} {as_json(label) if label else node['class']} at {node['path']}", "bold")
    if others := data.get("others"):
        paths = ", ".join(others["paths"]) + (", …" if "truncated" in others else "")
        yield safe_text(f"the first of {others['count'] + 1} matches; others: {paths}", UNSURE)
    yield from warnings(data)
    if data["candidates"]:
        columns: Columns = {
            "": lambda candidate: OK if candidate["unique"] else WARN,
            "matches": "matches",
            "selector": _selector,
            "kind": "kind",
            "flags": lambda candidate: " ".join(candidate["flags"]),
            "reason": lambda candidate: "; ".join(candidate["why"]),
        }
        yield records(data["candidates"], columns)
    yield from _truncation(data)
    if "advice" in data:
        yield safe_text(data["advice"], UNSURE)


def _selector(candidate: Data) -> str:
    container = f" in {as_json(candidate['container'])}" if "container" in candidate else ""
    return as_json(candidate["selector"]) + container


def changes(data: Data) -> Drawing:
    """Draw the changes of the nodes, in document order."""
    counted = ", ".join(f"{count} {kind}" for kind, count in data["counts"].items() if count)
    yield safe_text(counted or "no differences", "bold")
    for change in data["changes"]:
        more = f" and {change['nodes'] - 1} inside" if "nodes" in change else ""
        yield line(_CHANGES[change["kind"]], f" {change['name']}{more}", (f"  {change['path']}", FAINT))
        for name, values in change.get("attributes", {}).items():
            old, new = (cut(as_json(value), _LONGEST_VALUE) for value in values)
            yield safe_text(f"    {name}: {old} → {new}")
    yield from _truncation(data)


def _truncation(data: Data) -> Drawing:
    if record := data.get("truncated"):
        yield safe_text(f"{record['shown']} of {record['total']} shown. {record['hint']}", UNSURE)
