"""Views → nodes with pixel bounds, clipped to their viewports the way Android reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.simulator.apps.view import ViewSpec

Path = tuple[int, ...]
_EDITABLE = "EditText"


@dataclass(slots=True)
class Node:
    """A placed view. ``box`` is its rectangle, ``seen`` the part inside its viewports; ``reach`` is the scroll range,
    ``offset`` the scroll position.
    """

    view: ViewSpec
    box: Bounds
    seen: Bounds
    path: Path
    package: str
    parent: Node | None
    focused: bool = False
    reach: int = 0
    offset: int = 0
    index: int = 0
    end: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def resource_id(self) -> str:
        name = self.view.id
        return name if not name or ":" in name else f"{self.package}:id/{name}"

    @property
    def editable(self) -> bool:
        return _EDITABLE in self.view.kind

    @property
    def cls(self) -> str:
        kind = self.view.kind
        return kind if "." in kind else f"android.widget.{kind}"

    @property
    def attributes(self) -> Mapping[str, object]:
        """As in a dump, unescaped; ``serialise`` orders them."""
        view = self.view
        return {
            "text": view.text,
            "resource-id": self.resource_id,
            "class": self.cls,
            "package": self.package,
            "content-desc": view.desc,
            "checkable": view.checkable,
            "checked": view.checked,
            "clickable": view.tap is not None or self.editable,
            "enabled": view.enabled,
            "focusable": view.tap is not None or self.editable,
            "focused": self.focused,
            "scrollable": self.reach > 0,
            "long-clickable": view.hold is not None or self.editable,
            "password": view.password,
            "selected": view.selected,
            "bounds": tuple(self.seen),
            "visible-to-user": not self.seen.empty,
            **({"accessibility-data-sensitive": True} if view.sensitive else {}),
        }

    def walk(self) -> list[Node]:
        """The subtree in document order."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting.extend(reversed(node.children))
        return found


@dataclass(frozen=True, slots=True)
class Placing:
    """Parameters of the whole tree: the app, dp → px, scroll offsets and the focused field, both by path."""

    package: str
    scale: float
    offsets: Mapping[Path, int]
    focus: Path | None = None


def place(root: ViewSpec, screen: Bounds, how: Placing) -> list[Node]:
    """All nodes of a screen in document order; the first is the root. ``index`` and ``end`` are positions in that list."""
    nodes: list[Node] = []
    _place(Node(root, screen, screen, (), how.package, None, focused=how.focus == ()), how, nodes)
    return nodes


def _place(node: Node, how: Placing, nodes: list[Node]) -> None:
    """Add a node and its subtree."""
    view = node.view
    node.index = len(nodes)
    nodes.append(node)
    if view.scroll:
        node.reach = _reach(view, node.box, how.scale)
        node.offset = min(how.offsets.get(node.path, 0), node.reach)
    for child, box in zip(view.children, _arrange(view, node.box, node.offset, how.scale), strict=True):
        path = (*node.path, len(node.children))
        below = Node(child, box, box.clip(node.seen), path, how.package, node, focused=path == how.focus)
        node.children.append(below)
        _place(below, how, nodes)
    node.end = len(nodes)


def _reach(view: ViewSpec, box: Bounds, scale: float) -> int:
    """By how many pixels the children exceed the viewport."""
    along = [_extent(child, view.scroll) for child in view.children]
    needed = round((sum(along) + view.gap * max(0, len(along) - 1) + 2 * view.pad) * scale)
    return max(0, needed - (box.height if view.scroll == "column" else box.width))


def _extent(view: ViewSpec, axis: str) -> float:
    return view.natural_height if axis == "column" else view.width


def _arrange(view: ViewSpec, box: Bounds, offset: int, scale: float) -> Sequence[Bounds]:
    pad = round(view.pad * scale)
    inner = Bounds(box.left + pad, box.top + pad, box.right - pad, box.bottom - pad)
    if view.axis == "stack":
        return [_float(child, inner, scale) for child in view.children]
    axis = view.scroll or view.axis
    start = (inner.top if axis == "column" else inner.left) - offset
    gap, boxes = round(view.gap * scale), []
    for child, length in zip(view.children, _lengths(view, axis, inner, scale), strict=True):
        boxes.append(_cell(child, inner, axis, (start, start + length), scale))
        start += length + gap
    return boxes


def _lengths(view: ViewSpec, axis: str, inner: Bounds, scale: float) -> Sequence[int]:
    """Pixels along the axis: fixed and natural sizes first, the rest by weight (in a row, a child without size weighs 1)."""
    fixed = [0 if _weight(child, axis) else round(_extent(child, axis) * scale) for child in view.children]
    weights = [_weight(child, axis) for child in view.children]
    total = sum(weights)
    room = inner.height if axis == "column" else inner.width
    left = max(0, room - sum(fixed) - round(view.gap * scale) * max(0, len(fixed) - 1))
    return [round(left * w / total) if w else length for w, length in zip(weights, fixed, strict=True)]


def _weight(view: ViewSpec, axis: str) -> float:
    if view.weight:
        return view.weight
    return 1.0 if axis == "row" and not view.width else 0.0


def _cell(child: ViewSpec, inner: Bounds, axis: str, span: tuple[int, int], scale: float) -> Bounds:
    """A child's box: ``span`` along the axis; across it whole or, when it has a size, centred."""
    start, end = span
    if axis == "column":
        width = min(round(child.width * scale), inner.width) or inner.width
        left = inner.left + (inner.width - width) // 2
        return Bounds(left, start, left + width, end)
    height = min(round(child.height * scale), inner.height) or inner.height
    top = inner.top + (inner.height - height) // 2
    return Bounds(start, top, end, top + height)


def _float(child: ViewSpec, inner: Bounds, scale: float) -> Bounds:
    width = round(child.width * scale) or inner.width
    height = round((child.height or (child.natural_height if child.at else 0)) * scale) or inner.height
    x, y = (round(v * scale) for v in child.at or (0, 0))
    left = inner.right + x - width if x < 0 else inner.left + x
    top = inner.bottom + y - height if y < 0 else inner.top + y
    return Bounds(left, top, left + width, top + height)
