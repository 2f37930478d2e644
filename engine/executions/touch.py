"""Where a finger reaches a node: what lies over it, windows of the device and nodes of the same tree. Pure.

An accessibility click has no such question; a tap goes to whatever is on top.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.touch_windows import TouchWindow
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, Bounds, UiNode, UiTree
from clawperator.engine.hierarchy.traits import action_targets, is_editable

_STEPS = 16
"""A node is tried at as many points in each direction."""
_LEAST = 48
"""Pixels along which a finger can scroll."""
_KEYBOARD_HINT = "Close the keyboard (`press back`), or scroll the node clear of it, and take a snapshot."
_COVERED_HINT = "Close what lies over it, or scroll the node clear of it, and take a snapshot."


def focus_elsewhere(windows: Sequence[TouchWindow], tree: UiTree) -> str:
    """Return the window that gets the keys if it is not that of ``tree``; empty if it is, or if the device does not show it."""
    focused = next((window for window in windows if window.focused), None)
    return "" if focused is None or not focused.package or focused.package == tree.package else str(focused)


def same_keyboard(before: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
    """Return whether a keyboard neither came, went nor grew: apps move their content for it."""
    regions = [[window.region for window in windows if window.is_keyboard] for windows in (before, now)]
    return regions[0] == regions[1]


def window_at(windows: Sequence[TouchWindow], x: int, y: int) -> TouchWindow | None:
    """Return the window that a finger at a point touches."""
    return next((window for window in windows if window.takes(x, y)), None)


def foreign_at(windows: Sequence[TouchWindow], tree: UiTree, x: int, y: int) -> TouchWindow | None:
    """Return the window over that of ``tree`` at a point."""
    top = window_at(windows, x, y)
    return None if top is None or _is_of(top, windows, tree) else top


def shows(windows: Sequence[TouchWindow], tree: UiTree) -> bool:
    """Return whether one of the windows is that of ``tree``, or nothing is known of any."""
    return not windows or any(_is_of(window, windows, tree) for window in windows)


def _is_of(window: TouchWindow, windows: Sequence[TouchWindow], tree: UiTree) -> bool:
    """Return whether ``tree`` is what this window shows: the focused one, of its app, or one with the bounds of its root."""
    if window.is_keyboard or (window.package and window.package != tree.package):
        return False
    focused = next((one for one in windows if one.focused), None)
    if focused is None:
        return window.package == tree.package
    if window.focused:
        return True
    roots = [node.bounds for node in tree.active_roots]
    return window.owner == focused.owner and window.frame.clip(tree.screen) in roots


def tap_point(tree: UiTree, node: UiNode, windows: Sequence[TouchWindow], *, long: bool = False) -> tuple[int, int]:
    """Return the point where a tap reaches ``node``: its centre, else the nearest one that nothing covers.

    Raises ``EngineError`` (NODE_NOT_CLICKABLE) where there is none: something else would be tapped.
    """
    box = _visible(tree, node)
    over = ""
    able = (one for one in action_targets(node) if is_editable(one) or (one.long_clickable if long else one.clickable))
    taker = next(able, None)
    rivals = _rivals(tree, node, box)
    for x, y in _points(box):
        if (window := foreign_at(windows, tree, x, y)) is not None:
            over = over or str(window)
        elif (rival := _taken_by(tree, rivals, node, taker, (x, y))) is not None:
            over = over or f"another node ({_called(rival)})"
        else:
            return x, y
    if not over:
        raise EngineError(
            ErrorCode.NODE_NOT_CLICKABLE,
            f"No part of the node is visible: its bounds are {node.bounds}; nothing was sent",
            details={"bounds": list(node.bounds)},
        )
    raise covered(over, node.bounds)


def covered(over: str, bounds: Bounds, what: str = "node") -> EngineError:
    """Return the error for a gesture that would touch what lies over its target."""
    return EngineError(
        ErrorCode.NODE_NOT_CLICKABLE,
        f"{over[:1].upper()}{over[1:]} lies over the {what}, and a finger would touch that instead; nothing was sent",
        hint=_KEYBOARD_HINT if over == "the keyboard" else _COVERED_HINT,
        details={"inTheWay": over, "bounds": list(bounds)},
    )


def require_on_screen(name: str, point: tuple[int, int] | None, screen: tuple[int, int]) -> None:
    """Raise ``EngineError`` (EXECUTION_VALIDATION_FAILED) for a point, called ``name``, outside a screen of this width and height."""
    if point is None or (0 <= point[0] < screen[0] and 0 <= point[1] < screen[1]):
        return
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        f"{point[0]},{point[1]} is outside the screen of {screen[0]}x{screen[1]} pixels",
        hint="Give a point of the screen, in pixels.",
        details={"path": name, "screen": list(screen)},
    )


def _points(box: Bounds) -> Iterator[tuple[int, int]]:
    """Yield the centre and then a grid of points, nearest first."""
    if box.empty:
        return
    x0, y0 = box.center
    yield x0, y0
    xs = {box.left + box.width * at // (2 * _STEPS) for at in range(1, 2 * _STEPS, 2)}
    ys = {box.top + box.height * at // (2 * _STEPS) for at in range(1, 2 * _STEPS, 2)}
    yield from sorted(
        ((x, y) for x in xs for y in ys), key=lambda point: (abs(point[0] - x0) + abs(point[1] - y0), point)
    )


def _visible(tree: UiTree, node: UiNode) -> Bounds:
    return NO_BOUNDS if node.bounds is NO_BOUNDS else tree.visible_bounds[node.index]


def _takes_touch(node: UiNode) -> bool:
    return node.clickable or node.long_clickable or node.scrollable or is_editable(node)


def _rivals(tree: UiTree, node: UiNode, box: Bounds) -> list[UiNode]:
    """Return the nodes that may take a touch within ``box``, except those on the way from ``node`` up."""
    above = {node.index, *(one.index for one in node.ancestors)}
    return [
        one
        for one in tree.on_screen
        if one.index not in above and _visible(tree, one).intersects(box) and _takes_touch(one)
    ]


def _taken_by(
    tree: UiTree, rivals: Sequence[UiNode], node: UiNode, taker: UiNode | None, point: tuple[int, int]
) -> UiNode | None:
    """Return the node that takes a touch at a point instead of ``taker``."""
    for rival in reversed(rivals):
        if not _visible(tree, rival).contains(*point):
            continue
        # where nothing on the way up is clickable, what lies beside a label, or in a container, is what its tap means; so is a
        # child that fills its parent
        inside = node.index < rival.index < node.end
        meant = inside and (taker is None or rival.bounds == node.bounds)
        meant = meant or (taker is None and rival.parent is node.parent)
        if not meant and _lies_over(rival, taker or node):
            return rival
    return None


def _lies_over(rival: UiNode, node: UiNode) -> bool:
    """Return whether a node is drawn over another that is not above it in the tree: where they part, by drawing order."""
    if node.index < rival.index < node.end:
        return True
    ways = [(one, *one.ancestors) for one in (rival, node)]
    common = {one.index for one in ways[1]}
    fork = next((one for one in ways[0] if one.index in common), None)
    first, second = (
        next(one for one in way if one.parent is fork or (fork is None and one.parent is None)) for way in ways
    )
    orders = [one.attributes.get("drawing-order", "") for one in (first, second)]
    if all(order.isascii() and order.isdigit() and len(order) < 9 for order in orders) and orders[0] != orders[1]:
        return int(orders[0]) > int(orders[1])
    return first.index > second.index


def _called(node: UiNode) -> str:
    """Return what a message calls a node: its id, else its class and place; a text may be a secret."""
    return node.resource_id or f"{node.cls.rpartition('.')[2] or 'node'} at {node.bounds}"


def swipe_path(
    tree: UiTree, node: UiNode, windows: Sequence[TouchWindow], path: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    """Return ``path``, made for the whole ``node``, in the part of it that no window covers, starting where no other node is.

    Raises ``EngineError`` (NODE_NOT_CLICKABLE) where too little is left to scroll in.
    """
    box, free = node.bounds, _visible(tree, node)
    over = ""
    for window in windows:
        if _is_of(window, windows, tree):
            break
        for region in window.region:
            if region.intersects(free):
                over = over or str(window)
                free = _largest_beside(free, region)
    x1, y1, x2, y2 = path
    if box.empty or max(abs(x2 - x1) * free.width // box.width, abs(y2 - y1) * free.height // box.height) < min(
        _LEAST, max(abs(x2 - x1), abs(y2 - y1))
    ):
        raise covered(over or "the edge of the screen", box, "area to scroll")
    xs = [free.left + (x - box.left) * free.width // box.width for x in (x1, x2)]
    ys = [free.top + (y - box.top) * free.height // box.height for y in (y1, y2)]
    rivals = [one for one in _rivals(tree, node, free) if not node.index < one.index < node.end]
    upright = x1 == x2
    for part in (None, 1, 3, 5, 7, 2, 6):
        if part is not None and upright:
            xs = [free.left + free.width * part // 8] * 2
        elif part is not None:
            ys = [free.top + free.height * part // 8] * 2
        start = xs[0], ys[0]
        if foreign_at(windows, tree, *start) is None and _taken_by(tree, rivals, node, node, start) is None:
            return xs[0], ys[0], xs[1], ys[1]
    start_over = foreign_at(windows, tree, xs[0], ys[0])
    raise covered(over or str(start_over or "another node"), box, "area to scroll")


def _largest_beside(box: Bounds, other: Bounds) -> Bounds:
    """Return the largest part of ``box`` above, below, left or right of ``other``."""
    parts = (
        box._replace(bottom=max(box.top, min(box.bottom, other.top))),
        box._replace(top=min(box.bottom, max(box.top, other.bottom))),
        box._replace(right=max(box.left, min(box.right, other.left))),
        box._replace(left=min(box.right, max(box.left, other.right))),
    )
    return max(parts, key=lambda part: part.width * part.height)
