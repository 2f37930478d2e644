"""Screens as data: nested views with sizes in dp, laid out by columns, rows and stacks.

A screen is a pure function of an app's state; the effect of a tap is a function (``effects``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clawperator.engine.simulator.apps.effects import Effect

Axis = Literal["column", "row", "stack"]
Look = Literal[
    "",
    "app",
    "bar",
    "card",
    "chip",
    "divider",
    "field",
    "heading",
    "hint",
    "icon",
    "image",
    "page",
    "price",
    "primary",
    "tile",
]
"""How a view is drawn in screenshots only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewSpec:
    """One node. ``kind`` is its class (``android.widget.`` is understood), ``id`` the short resource name.

    ``width`` and ``height`` are dp; 0 takes the cross axis whole and, along the axis, what the children need. A child with
    ``weight`` shares what is left along the axis. In a stack, ``at`` places a child (negative: from the far edges).
    ``scroll`` makes the view a viewport over children that may be longer than it.
    ``edits`` names the state key that typing changes, ``submit`` what Enter does there, ``more`` what reaching the end of
    a scrolled list does.
    """

    kind: str = "FrameLayout"
    id: str = ""
    text: str = ""
    desc: str = ""
    children: tuple[ViewSpec, ...] = ()
    axis: Axis = "column"
    width: float = 0
    height: float = 0
    weight: float = 0
    pad: float = 0
    gap: float = 0
    at: tuple[float, float] | None = None
    scroll: Literal["", "column", "row"] = ""
    tap: Effect | None = None
    hold: Effect | None = None
    edits: str = ""
    submit: Effect | None = None
    more: Effect | None = None
    checkable: bool = False
    checked: bool = False
    enabled: bool = True
    password: bool = False
    selected: bool = False
    sensitive: bool = False
    look: Look = ""

    @property
    def natural_height(self) -> float:
        """Preferred height in dp, where the parent does not decide."""
        if self.height:
            return self.height
        heights = [child.natural_height for child in self.children]
        if not heights:
            return 24.0 if self.text else 0.0
        inner = max(heights) if self.axis != "column" else sum(heights) + self.gap * (len(heights) - 1)
        return inner + 2 * self.pad


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The content of an app. ``secure``: no screenshots and no accessibility root; ``idle``: false while it changes."""

    root: ViewSpec
    activity: str = ".MainActivity"
    secure: bool = False
    idle: bool = True


@dataclass(slots=True)
class Scene:
    """What a screen may read: the app's own state, and the device around it.

    ``arg`` is what the screen was opened with, ``tick`` counts up on screens that are never idle.
    """

    state: dict[str, Any]
    settings: Mapping[str, Mapping[str, str]]
    launchers: tuple[tuple[str, str], ...] = ()
    arg: str = ""
    tick: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)

    def setting(self, namespace: str, key: str) -> str:
        return self.settings.get(namespace, {}).get(key, "")


Builder = Callable[[Scene], Screen]


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An installed app: ``screens`` by name, the state of a fresh install, and the URI prefixes it views.

    ``uris`` maps a prefix to the screen that opens; the rest of the URI is the screen's argument.
    """

    package: str
    label: str
    screens: Mapping[str, Builder]
    home: str = "main"
    state: Mapping[str, Any] = field(default_factory=dict)
    uris: Mapping[str, str] = field(default_factory=dict)
    system: bool = False
    launchable: bool = True
    version_name: str = "1.0"
    version_code: int = 1
    permissions: tuple[str, ...] = ()


def label(text: str, *, id: str = "", height: float = 0, **rest: Any) -> ViewSpec:  # noqa: A002 - Android's word
    return ViewSpec(kind="TextView", id=id, text=text, height=height or 24, **rest)


def button(text: str, tap: Effect | None, *, id: str = "", height: float = 48, **rest: Any) -> ViewSpec:  # noqa: A002 - Android's word
    return ViewSpec(kind="Button", id=id, text=text, tap=tap, height=height, **rest)


def icon_button(desc: str, tap: Effect | None, *, id: str = "", size: float = 48, **rest: Any) -> ViewSpec:  # noqa: A002 - Android's word
    return ViewSpec(kind="ImageButton", id=id, desc=desc, tap=tap, width=size, height=size, look="icon", **rest)


def column(*children: ViewSpec, **rest: Any) -> ViewSpec:
    return ViewSpec(**{"kind": "LinearLayout", **rest}, children=children, axis="column")


def row(*children: ViewSpec, **rest: Any) -> ViewSpec:
    return ViewSpec(**{"kind": "LinearLayout", **rest}, children=children, axis="row")


def stack(*children: ViewSpec, **rest: Any) -> ViewSpec:
    return ViewSpec(**{"kind": "FrameLayout", **rest}, children=children, axis="stack")


def scroll_list(*children: ViewSpec, id: str = "recycler_view", **rest: Any) -> ViewSpec:  # noqa: A002 - Android's word
    shape = {"kind": "androidx.recyclerview.widget.RecyclerView", "weight": 1, "scroll": "column", **rest}
    return ViewSpec(**shape, id=id, children=children)


def toolbar(title: str, *, back: Effect | None = None, actions: tuple[ViewSpec, ...] = ()) -> ViewSpec:
    """The bar at the top: an optional back button, the title, actions."""
    up = (icon_button("Navigate up", back),) if back is not None else ()
    name = label(title, height=56, weight=1, look="heading")
    return ViewSpec(
        kind="android.view.ViewGroup",
        id="action_bar",
        axis="row",
        height=56,
        look="bar",
        children=(*up, name, *actions),
    )


def text_field(scene: Scene, key: str, hint: str, *, id: str, **rest: Any) -> ViewSpec:  # noqa: A002 - Android's word
    """A text field over a state key. Empty, its text is the hint, as accessibility reports it; a password is dots."""
    typed = str(scene.state.get(key, ""))
    shown = "•" * len(typed) if rest.get("password") else typed
    shape: dict[str, Any] = {"kind": "EditText", "height": 56, "look": "field" if typed else "hint", **rest}
    return ViewSpec(**shape, id=id, text=shown or hint, edits=key)


def page(*children: ViewSpec, **rest: Any) -> ViewSpec:
    """A whole window: the app's content between the system bars, which are other windows and only take space."""
    status = ViewSpec(kind="View", id="android:id/statusBarBackground", height=24)
    navigation = ViewSpec(kind="View", id="android:id/navigationBarBackground", height=24)
    content = column(status, *children, navigation, id="android:id/content", kind="FrameLayout")
    return stack(content, **{"look": "page", **rest})
