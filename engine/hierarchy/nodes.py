"""The UI tree as values: nodes in document order, with their derived properties (wire.md#hierarchy-xml and wire.md#tree-used-for-matching).

Made by ``tree.parse`` and ``tree.build``; treat everything here as read-only. Derived properties are computed on first
access, because most nodes are never accessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from clawperator.engine.hierarchy import roles
from clawperator.engine.hierarchy.folding import fold

_CLICKABLE_ANCESTORS = 3
_LONGEST_BOUNDS = len("[-2147483648,-2147483648]") * 2


class Bounds(NamedTuple):
    """A rectangle in screen pixels; ``right`` and ``bottom`` are exclusive. It may be empty, negative or off-screen."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def center(self) -> tuple[int, int]:
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    @property
    def empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top

    def intersects(self, other: Bounds) -> bool:
        """Whether the two share a pixel; empty rectangles share none."""
        left, top, right, bottom = self
        other_left, other_top, other_right, other_bottom = other
        return (
            left < other_right and other_left < right and top < other_bottom and other_top < bottom
            and left < right and top < bottom and other_left < other_right and other_top < other_bottom
        )  # fmt: skip

    def clip(self, to: Bounds) -> Bounds:
        """The part inside ``to``; without one, an empty rectangle at the nearest edge."""
        left, right = (min(max(x, to.left), to.right) for x in (self.left, self.right))
        top, bottom = (min(max(y, to.top), to.bottom) for y in (self.top, self.bottom))
        return Bounds(left, top, right, bottom)

    def contains(self, x: int, y: int) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def __str__(self) -> str:
        """As in the dump."""
        return f"[{self.left},{self.top}][{self.right},{self.bottom}]"


NO_BOUNDS = Bounds(0, 0, 0, 0)
"""An absent or unreadable ``bounds`` attribute (compare with ``is``)."""


def decode_bounds(text: str) -> Bounds:
    """``[left,top][right,bottom]`` → Bounds; anything else → ``NO_BOUNDS``."""
    if text[:1] != "[" or text[-1] != "]" or len(text) > _LONGEST_BOUNDS:
        return NO_BOUNDS
    try:
        corner, opposite = text[1:-1].split("][")
        left, top = corner.split(",")
        right, bottom = opposite.split(",")
        return Bounds(int(left), int(top), int(right), int(bottom))
    except ValueError:
        return NO_BOUNDS


def is_blank(text: str) -> bool:
    """Whether the device treats ``text`` as blank: only white space, including no-break spaces but not the C1 control NEL."""
    return not text or (text.isspace() and "\x85" not in text)


class UiNode:
    """One element of a dump. Compared by identity; ``index`` is its position in ``UiTree.nodes``."""

    __slots__ = ("_bounds", "_children", "_nodes", "_role", "attributes", "depth", "end", "index", "parent", "tag")

    def __init__(self, parent: UiNode | None, tag: str, attributes: dict[str, str], nodes: list[UiNode]) -> None:
        """``nodes`` is the list of the whole tree, which the caller extends by this node; ``end`` is the index behind
        the subtree, ``index + 1`` until more of it is known.
        """
        self.index = len(nodes)
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.parent = parent
        self.tag = tag
        self.attributes = attributes
        self.end = self.index + 1
        self._nodes = nodes
        self._children: tuple[UiNode, ...] | None = None
        self._bounds: Bounds | None = None
        self._role: roles.Role | None = None

    def unlink_nodes(self) -> None:
        """See ``UiTree.unlink_nodes``."""
        self.parent = self._children = None
        self._nodes = []

    def __repr__(self) -> str:
        return f"<UiNode {self.index} {self.cls} {self.label!r}>"

    @property
    def text(self) -> str:
        return self.attributes.get("text", "")

    @property
    def resource_id(self) -> str:
        return self.attributes.get("resource-id", "")

    @property
    def cls(self) -> str:
        """The class name; Appium's sources have it as the tag."""
        return self.attributes.get("class") or ("" if self.tag == "node" else self.tag)

    @property
    def package(self) -> str:
        return self.attributes.get("package", "")

    @property
    def content_desc(self) -> str:
        return self.attributes.get("content-desc", "")

    @property
    def checkable(self) -> bool:
        return self.attributes.get("checkable") == "true"

    @property
    def checked(self) -> bool:
        return self.attributes.get("checked") == "true"

    @property
    def clickable(self) -> bool:
        """The node's own flag; see ``effectively_clickable``."""
        return self.attributes.get("clickable") == "true"

    @property
    def enabled(self) -> bool:
        """True where a reduced dump leaves it out, as nearly every node is enabled."""
        return self.attributes.get("enabled", "true") == "true"

    @property
    def focusable(self) -> bool:
        return self.attributes.get("focusable") == "true"

    @property
    def focused(self) -> bool:
        return self.attributes.get("focused") == "true"

    @property
    def scrollable(self) -> bool:
        return self.attributes.get("scrollable") == "true"

    @property
    def long_clickable(self) -> bool:
        return self.attributes.get("long-clickable") == "true"

    @property
    def password(self) -> bool:
        return self.attributes.get("password") == "true"

    @property
    def sensitive(self) -> bool:
        """Whether its app lets only accessibility tools read it; false also where the dump does not say it (before Android 14)."""
        return self.attributes.get("accessibility-data-sensitive") == "true"

    @property
    def selected(self) -> bool:
        return self.attributes.get("selected") == "true"

    @property
    def bounds(self) -> Bounds:
        """``NO_BOUNDS`` where the attribute is absent or unreadable."""
        if self._bounds is None:
            self._bounds = decode_bounds(self.attributes.get("bounds", ""))
        return self._bounds

    @property
    def children(self) -> tuple[UiNode, ...]:
        if self._children is None:
            self._children = tuple(self._walk_children())
        return self._children

    def _walk_children(self) -> Iterator[UiNode]:
        position = self.index + 1
        while position < self.end:
            child = self._nodes[position]
            yield child
            position = child.end

    @property
    def descendants(self) -> Sequence[UiNode]:
        """The subtree without the node itself, in document order."""
        return self._nodes[self.index + 1 : self.end]

    @property
    def ancestors(self) -> Iterator[UiNode]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def label(self) -> str:
        """The text, else the description, else nothing; blank ones do not count (wire.md#tree-used-for-matching)."""
        attributes = self.attributes
        text = attributes.get("text", "")
        if text and not is_blank(text):
            return text
        description = attributes.get("content-desc", "")
        return "" if is_blank(description) else description

    @property
    def role(self) -> str:
        """The inferred role name (wire.md#roles)."""
        return self._inferred().name

    @property
    def role_approximate(self) -> bool:
        """Whether the device may infer another role from facts that the dump does not hold."""
        return self._inferred().approximate

    def _inferred(self) -> roles.Role:
        if self._role is None:
            self._role = roles.infer(self)
        return self._role

    @property
    def effectively_clickable(self) -> bool:
        """Own flag, or that of one of the nearest three ancestors (wire.md#tree-used-for-matching)."""
        return self.clickable_through is not None

    @property
    def clickable_through(self) -> UiNode | None:
        """The node that makes this one clickable: itself, or the nearest clickable of three ancestors."""
        node: UiNode | None = self
        for _ in range(_CLICKABLE_ANCESTORS + 1):
            if node is None or node.attributes.get("clickable") == "true":
                return node
            node = node.parent
        return None

    @property
    def path(self) -> str:
        """Positions among siblings from the root down, as ``0/2/1``; the first number counts roots."""
        steps: list[str] = []
        node = self
        while node.parent is not None:
            steps.append(str(node.parent.children.index(node)))
            node = node.parent
        steps.append(str(sum(1 for other in self._nodes[: node.index] if other.parent is None)))
        return "/".join(reversed(steps))


class UiTree:
    """A whole dump: 0…n roots, nodes in document order, and arrays over them for matching."""

    def __init__(
        self,
        nodes: list[UiNode],
        *,
        rotation: int = 0,
        recovered: str = "",
        complete: bool = True,
        screen: Bounds | None = None,
        windows: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """``windows`` has one mapping per root: the attributes of its ``<window>``, empty outside such dumps."""
        self.nodes: Sequence[UiNode] = nodes
        self.rotation = rotation
        self.recovered = recovered
        """What was repaired, ignored or is missing; empty for a clean document."""
        self.complete = complete
        """False when the document broke off: the nodes are those before the cut."""
        self._screen = screen
        self._windows = windows

    def __repr__(self) -> str:
        return f"<UiTree {len(self.nodes)} nodes of {self.package or 'no package'}>"

    def unlink_nodes(self) -> None:
        """Remove the links between the nodes, so that the tree is freed with its last reference.

        Otherwise only a full garbage collection would free the reference cycles, which stops the program for a noticeable time.
        Neither the tree nor its nodes may be used afterwards.
        """
        for node in self.nodes:
            node.unlink_nodes()

    @cached_property
    def roots(self) -> tuple[UiNode, ...]:
        return tuple(node for node in self.nodes if node.parent is None)

    @cached_property
    def active_roots(self) -> tuple[UiNode, ...]:
        """The roots that the device matches in: those of the active window, where the dump distinguishes windows."""
        active = [
            root
            for root, window in zip(self.roots, self._windows, strict=False)
            if window.get("active") == "true"
        ]  # fmt: skip
        return tuple(active) or self.roots

    def window(self, node: UiNode) -> Mapping[str, str]:
        """Attributes of the window a node is in (title, type, active …); empty where the dump has no windows."""
        while node.parent is not None:
            node = node.parent
        for root, window in zip(self.roots, self._windows, strict=False):
            if root is node:
                return window
        return {}

    @cached_property
    def package(self) -> str:
        """The foreground application: the first package of an active root."""
        return next((root.package for root in self.active_roots if root.package), "")

    @cached_property
    def screen(self) -> Bounds:
        """The display: as given, else from the origin to the far corner of the active roots (of all nodes if those
        are empty). A dump does not contain the display's size, and system bars are often outside the root.
        """
        if self._screen is not None:
            return self._screen
        for nodes in (self.active_roots, self.nodes):
            corner = Bounds(
                0,
                0,
                max((node.bounds.right for node in nodes), default=0),
                max((node.bounds.bottom for node in nodes), default=0),
            )
            if not corner.empty:
                return corner
        return NO_BOUNDS

    @cached_property
    def visible(self) -> bytes:
        """One byte per node: 1 where the node is in the tree the device matches in (wire.md#tree-used-for-matching).

        A dropped node drops its subtree, roots always stay. Nodes without bounds are kept.
        """
        flags = bytearray(len(self.nodes))
        nodes, screen = self.nodes, self.screen
        for root in self.active_roots:
            flags[root.index] = 1
            position = root.index + 1
            while position < root.end:
                node = nodes[position]
                if stays_on_screen(node, screen):
                    flags[position] = 1
                    position += 1
                else:
                    position = node.end
        return bytes(flags)

    @cached_property
    def on_screen(self) -> Sequence[UiNode]:
        """The nodes of ``visible``, in document order."""
        return tuple(node for node, flag in zip(self.nodes, self.visible, strict=True) if flag)

    def is_on_screen(self, node: UiNode) -> bool:
        return bool(self.visible[node.index])

    @cached_property
    def visible_bounds(self) -> Sequence[Bounds]:
        """The part of each node, by index, that the screen and its ancestors leave of it; empty where there is none.

        A node without bounds clips nothing: it has the part of its parent.
        """
        parts: list[Bounds] = []
        for node, flag in zip(self.nodes, self.visible, strict=True):
            above = parts[node.parent.index] if node.parent is not None else self.screen
            part = above if node.bounds.empty else node.bounds.clip(above)
            parts.append(part if flag else NO_BOUNDS)
        return parts

    def point_of(self, node: UiNode) -> tuple[int, int] | None:
        """The centre of the visible part of a node on screen; ``None`` where no part is visible or its bounds are unknown."""
        part = self.visible_bounds[node.index]
        return None if part.empty or node.bounds is NO_BOUNDS else part.center

    @cached_property
    def on_screen_indexes(self) -> Sequence[int]:
        return [node.index for node in self.on_screen]

    @cached_property
    def labels(self) -> Sequence[str]:
        """``label`` of each node, by index; so are the columns below."""
        return [node.label for node in self.nodes]

    @cached_property
    def folded_labels(self) -> Sequence[str]:
        return [fold(label) for label in self.labels]

    @cached_property
    def descriptions(self) -> Sequence[str]:
        return [node.content_desc for node in self.nodes]

    @cached_property
    def folded_descriptions(self) -> Sequence[str]:
        return [fold(description) for description in self.descriptions]

    @cached_property
    def roles(self) -> Sequence[str]:
        return [node.role for node in self.nodes]

    @cached_property
    def resource_ids(self) -> Sequence[str]:
        return [node.resource_id for node in self.nodes]


def stays_on_screen(node: UiNode, screen: Bounds) -> bool:
    """Whether the device keeps this node, given its ancestors; Appium writes the platform flag as ``displayed``."""
    attributes = node.attributes
    if attributes.get("visible-to-user") == "false" or attributes.get("displayed") == "false":
        return False
    bounds = node.bounds
    if bounds is NO_BOUNDS:
        return True
    return bounds.intersects(screen)
