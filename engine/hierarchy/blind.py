"""What a UI tree cannot show: findings with their certainty and the way that could see it. Pure.

A finding is based on the tree and on ``Facts`` that the caller has read. Nothing is inferred from a fact that was not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, NamedTuple, get_args

from clawperator.engine.contracts.limits import DUMP_FORMAT
from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, Bounds, UiNode, UiTree
from clawperator.engine.hierarchy.traits import is_target
from clawperator.engine.hierarchy.tree import parse

BlindKind = Literal[
    "secure_window",
    "accessibility_data_sensitive",
    "webview_empty",
    "canvas",
    "stale_cache",
    "truncated",
    "busy",
    "other_window",
    "other_display",
]
Certainty = Literal["certain", "likely", "possible"]
KINDS: tuple[str, ...] = get_args(BlindKind)

REMEDIES: dict[BlindKind, str] = {
    "secure_window": "Android shows it in no picture. Rely on the tree, or look at the device",
    "accessibility_data_sensitive": "Read it with the stock backend: uiautomator is exempt",
    "webview_empty": "Wait until the page has loaded and read again; else take a screenshot",
    "canvas": "Take a screenshot",
    "stale_cache": "Press Home, return to the app and read again; else take a screenshot",
    "truncated": "Read the tree again",
    "busy": "Wait and read again; else take a screenshot",
    "other_window": "Take a screenshot; close that window to read what is behind it",
    "other_display": "Take a screenshot of that display",
}
"""In words of all faces: they have no flags in common."""
EXPLANATIONS: dict[BlindKind, str] = {
    "secure_window": "Apps can forbid pictures of a window. A screenshot is black there; the tree is often complete.",
    "accessibility_data_sensitive": (
        "From Android 14 on, apps can hide nodes from accessibility services that are not declared as accessibility tools. "
        "The Operator is not."
    ),
    "webview_empty": "A WebView shows its page in the tree only after the page has loaded, and not every page does.",
    "canvas": "The app draws this area itself: a game, a map, a video, or a toolkit without accessibility information.",
    "stale_cache": "The tree comes from Android's accessibility cache, which can lag behind the screen.",
    "truncated": "The end of the tree is missing. A node that is not listed may still be on the screen.",
    "busy": "The screen kept changing while it was read. The tree may be a mixture of two states.",
    "other_window": "The tree holds the active window only, without the keyboard, system bars, and windows of other apps.",
    "other_display": "The tree is of one display. The device has others that are on.",
}
_LARGE = 0.25
"""Share of the screen from which an area without text is reported."""
_COVERED = 0.15
"""Share of such an area under nodes with texts or actions from which it is taken for a background."""
_GRID = 16
_DRAWN = re.compile(r"surface|texture|glview|unity|flutterview|canvas|mapview", re.IGNORECASE)
"""Class names and ids of views that apps draw themselves."""
_CONTAINERS = re.compile(
    r"Layout$|ScrollView$|Fragment|ViewStub$|Recycler|ListView$|GridView$|ViewPager|ComposeView$|ViewGroup$"
)
_PICTURES = re.compile(r"Image|ProgressBar$|Video|Camera|Divider|Space$")
_BACKGROUND = re.compile(
    r"background|scrim|shadow|gradient|overlay|shutter|dim|transparent|blur|touch_?outside", re.IGNORECASE
)
_SYSTEM_UI = "com.android.systemui"
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_CANDIDATES = 16
"""Areas without text that are examined: the topmost ones, and those that apps draw themselves."""
_FEWEST_TEXTS = 3
"""Texts of a tree that are compared with a picture."""
_WHOLE = 0.75
"""Share of the display's width and height from which a window is taken for all of it."""
_MOST = 4
"""Findings of one kind that are reported."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the device besides the tree; the defaults mean "not read"."""

    cut_lines: int = 0
    """Lines of the tree that the device's log cut."""
    settled: bool = True
    """False: the tree still changed when it was read."""
    sdk: int = 0
    accessibility_tool: bool = False
    """Whether the service that read the tree is declared as an accessibility tool, or is exempt."""
    focus: str = ""
    """The package of the focused window."""
    overlay: str | None = None
    """The package of a window over the active one; empty if it has no known package."""
    secure: bool = False
    """Whether the focused window forbids pictures."""
    keyboard: bool = False
    displays: Sequence[int] = ()
    """Other displays that are on."""
    black: bool = False
    """Whether a picture of the same moment is black."""
    blank: tuple[int, int] = (0, 0)
    """How many of how many texts of the tree have one colour in that picture."""
    screen: Sequence[int] = ()
    """Width and height of the display as it is turned."""


class BlindSpot(NamedTuple):
    """Something that the tree cannot show; ``seen`` is the observation from which it was inferred."""

    kind: BlindKind
    certainty: Certainty
    seen: str
    node: UiNode | None = None
    bounds: Bounds = NO_BOUNDS

    @property
    def line(self) -> str:
        """The finding in a few words."""
        where = f" e{self.node.index}" if self.node is not None else ""
        return f"{self.kind}{where} ({self.certainty})"

    def to_dict(self) -> dict[str, Any]:
        where: dict[str, Any] = {"ref": f"e{self.node.index}"} if self.node is not None else {}
        if self.bounds is not NO_BOUNDS:
            where["bounds"] = list(self.bounds)
        answer: dict[str, Any] = {"kind": self.kind, "certainty": self.certainty, "seen": self.seen}
        return answer | ({"where": where} if where else {}) | {"remedy": REMEDIES[self.kind]}


_NO_FACTS = Facts()


def blind_spots(tree: UiTree, facts: Facts = _NO_FACTS) -> list[BlindSpot]:
    """Return what ``tree`` cannot show, most certain first within a kind, at most four of each kind."""
    found: list[BlindSpot] = []
    for finder in (_secure, _windows, _webviews, _empty_areas, _cache, _completeness):
        found += finder(tree, facts)
    counts: dict[str, int] = {}
    kept = []
    for spot in found:
        counts[spot.kind] = counts.get(spot.kind, 0) + 1
        if counts[spot.kind] <= _MOST:
            kept.append(spot)
    return kept


def field(tree: UiTree, facts: Facts = _NO_FACTS) -> dict[str, Any]:
    """Return the field ``blind`` of answers about ``tree``; empty where nothing was found."""
    found = [spot.to_dict() for spot in blind_spots(tree, facts)]
    return {"blind": found} if found else {}


def add_to(envelope: Mapping[str, Any]) -> None:
    """Add ``data.blind`` to each snapshot of an envelope (JSON data) that has its whole dump. Parses trees."""
    for step in envelope.get("stepResults") or ():
        data = step["data"]
        whole = data.get("actual_format", DUMP_FORMAT) == DUMP_FORMAT and "truncated" not in data
        if step["actionType"] == "snapshot_ui" and isinstance(data.get("text"), str) and whole:
            with suppress(EngineError):  # the text stands for itself
                data |= field(parse(data["text"], recover=True), facts_of_step(data))


def facts_of_step(data: Mapping[str, Any], **more: Any) -> Facts:
    """Return the facts in the data of a ``snapshot_ui`` step (wire.md#actions-and-how-they-fail)."""
    overlay = str(data.get("overlay_package", "")) if data.get("has_overlay") == "true" else None
    cut, verified = str(data.get("cut_lines", "")), data.get("verified")  # a device can send any text under these names
    facts = {"overlay": overlay, "cut_lines": int(cut) if _COUNT.fullmatch(cut) else 0}
    return Facts(**{**facts, **(verified if isinstance(verified, Mapping) else {}), **more})


def _secure(tree: UiTree, facts: Facts) -> Iterator[BlindSpot]:
    if facts.secure:
        yield BlindSpot("secure_window", "certain", "the window manager marks the window as secure")
    elif facts.black and any(node.label for node in tree.on_screen):
        yield BlindSpot("secure_window", "likely", "the picture is black although the tree has texts")


def _windows(tree: UiTree, facts: Facts) -> Iterator[BlindSpot]:
    active = tree.active_roots
    for root in tree.roots:
        if root not in active and root.package not in (tree.package, _SYSTEM_UI):
            yield BlindSpot("other_window", "certain", f"window of {root.package or 'no package'}", root, root.bounds)
    if facts.overlay is not None:
        yield BlindSpot("other_window", "certain", f"a window of {facts.overlay or 'another app'} is in front")
    if facts.keyboard:
        yield BlindSpot("other_window", "certain", "the keyboard is shown")
    if len(active) == 1 and not facts.overlay:
        yield from _partial_window(active[0], facts.screen)
    for display in facts.displays[:_MOST]:
        yield BlindSpot("other_display", "certain", f"display {display} is on")


def _partial_window(root: UiNode, screen: Sequence[int]) -> Iterator[BlindSpot]:
    """A dialog, a menu, one half of a split screen; system bars and the edge of a cutout do not count."""
    box = root.bounds
    if box is NO_BOUNDS or box.empty:
        return
    narrow = len(screen) == 2 and (box.width < _WHOLE * screen[0] or box.height < _WHOLE * screen[1])
    if box.left > box.right // 10 or box.top > box.bottom // 10 or narrow:
        yield BlindSpot(
            "other_window",
            "possible" if _is_letterboxed(box, screen) else "likely",
            "the window covers only part of the screen",
            root,
            box,
        )
    elif root.package == _SYSTEM_UI and box.height > box.width // 2:
        yield BlindSpot("other_window", "likely", "a window of the system covers the app", root, box)


def _is_letterboxed(box: Bounds, screen: Sequence[int]) -> bool:
    """Whether ``box`` is as high as the screen and in its middle: an app for another orientation stands so on large screens."""
    if len(screen) != 2 or 10 * box.height < 9 * screen[1]:
        return False
    return abs(box.left - (screen[0] - box.right)) <= box.left // 10


def _webviews(tree: UiTree, _: Facts) -> Iterator[BlindSpot]:
    end = 0
    for node in tree.on_screen:
        if node.index < end or "WebView" not in node.cls:
            continue
        end = node.end
        share = _share(node.bounds, tree.screen)
        if share >= _LARGE / 5 and not any(is_target(inner) and inner.label for inner in (node, *node.descendants)):
            seen = "WebView without children" if node.end == node.index + 1 else "WebView without texts"
            yield BlindSpot("webview_empty", "likely", seen, node, node.bounds)


def _empty_areas(tree: UiTree, facts: Facts) -> Iterator[BlindSpot]:
    """Large leaves without text that nothing covers; an app's window without any text or action."""
    screen = tree.screen
    least = _LARGE * screen.width * screen.height
    leaves = [
        node
        for node in tree.on_screen
        if node.end == node.index + 1
        and node.bounds.width * node.bounds.height >= least
        and _is_empty_area(node)
        and _share(node.bounds, screen) >= _LARGE
    ]
    if not leaves:
        return
    empty = {node.index for node in leaves}
    targets = [node for node in tree.on_screen if is_target(node) and node.index not in empty]
    if not targets and facts.sdk >= 34 and not facts.accessibility_tool:
        seen = f"Android API {facts.sdk}, and no node of the window has a text or an action"
        yield BlindSpot("accessibility_data_sensitive", "possible", seen, leaves[-1], leaves[-1].bounds)
    labels = [0, *accumulate(bool(node.label) for node in tree.nodes)]
    contents = [node for node in targets if labels[node.end] > labels[node.index]]
    reported: list[Bounds] = []
    for node in sorted(leaves, key=lambda leaf: (not _is_drawn(leaf), -leaf.index))[:_CANDIDATES]:
        drawn, box = _is_drawn(node), node.bounds.clip(screen)
        if not drawn and targets and (_CONTAINERS.search(node.cls) or _is_background(node, box, contents)):
            continue
        if any(box.intersects(other) for other in reported):
            continue
        reported.append(box)
        what = "no text" if targets else "no text and no action"
        seen = f"{what} in {_share(box, screen):.0%} of the screen"
        yield BlindSpot("canvas", "likely" if drawn else "possible", seen, node, node.bounds)


def _is_empty_area(node: UiNode) -> bool:
    return not (node.label or _PICTURES.search(node.cls) or "WebView" in node.cls)


def _is_drawn(node: UiNode) -> bool:
    return bool(_DRAWN.search(node.cls.rpartition(".")[2]) or _DRAWN.search(node.resource_id.rpartition("/")[2]))


def _is_background(node: UiNode, box: Bounds, contents: Sequence[UiNode]) -> bool:
    if _BACKGROUND.search(node.resource_id):
        return True
    cells: set[tuple[int, int]] = set()
    least = _COVERED * _GRID * _GRID
    for other in contents:
        part = other.bounds.clip(box)
        if part.empty or other.index <= node.index < other.end:
            continue
        across = range(
            (part.left - box.left) * _GRID // box.width, (part.right - 1 - box.left) * _GRID // box.width + 1
        )
        down = range((part.top - box.top) * _GRID // box.height, (part.bottom - 1 - box.top) * _GRID // box.height + 1)
        cells.update((x, y) for x in across for y in down)
        if len(cells) >= least:
            return True
    return False


def _cache(tree: UiTree, facts: Facts) -> Iterator[BlindSpot]:
    if facts.focus and tree.package and facts.focus not in {root.package for root in tree.active_roots}:
        yield BlindSpot("stale_cache", "likely", f"the focused window is of {facts.focus}, the tree of {tree.package}")
    blank, texts = facts.blank
    if texts >= _FEWEST_TEXTS and 2 * blank > texts and facts.settled and not (facts.black or facts.secure):
        yield BlindSpot("stale_cache", "possible", f"the picture is blank at {blank} of {texts} texts of the tree")


def _completeness(tree: UiTree, facts: Facts) -> Iterator[BlindSpot]:
    if not tree.complete:
        last = tree.nodes[-1] if tree.nodes else None
        yield BlindSpot("truncated", "certain", f"the dump ends after {len(tree.nodes)} nodes", last)
    if facts.cut_lines:
        yield BlindSpot("truncated", "certain", f"the device's log cut {facts.cut_lines} lines")
    if not facts.settled:
        yield BlindSpot("busy", "certain", "the tree still changed when reading ended")


def _share(box: Bounds, screen: Bounds) -> float:
    if box is NO_BOUNDS or screen.empty:
        return 0.0
    seen = box.clip(screen)
    return max(0, seen.width) * max(0, seen.height) / (screen.width * screen.height)
