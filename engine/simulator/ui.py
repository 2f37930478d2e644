"""The simulated window manager: tasks with back stacks, one window in front, and the effects of input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.serialise import hierarchy_xml, nodes_xml, render_node
from clawperator.engine.hierarchy.tree import UiTree, build
from clawperator.engine.simulator.apps.effects import Effect
from clawperator.engine.simulator.apps.layout import Node, Path, Placing, place
from clawperator.engine.simulator.apps.view import App, Scene, Screen
from clawperator.engine.simulator.operator_log import split_message

Settings = dict[str, dict[str, str]]
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm<", ",    .>")
"""Rows of keys; ``<`` deletes, ``>`` is Enter."""
_VALUE = re.compile(r'"[^"]*"')


class DisplayMetrics(NamedTuple):
    """The display in pixels, and its density in dots per inch."""

    width: int
    height: int
    density: int


class Panel(NamedTuple):
    """The Operator's on-screen log, until ``until`` (seconds of the device's clock)."""

    text: str
    bounds: Bounds
    size: int
    right: bool
    ink: str
    paper: str
    until: float


@dataclass(slots=True)
class ScreenState:
    """One screen on a back stack, with where it was scrolled to and which field has the focus."""

    screen: str
    arg: str = ""
    offsets: dict[Path, int] = field(default_factory=dict)
    focus: Path | None = None
    keyboard: bool = True
    """The keyboard opens with a focused field, until it is closed."""
    selected: bool = False
    """The whole text of the focused field is selected: typing replaces it."""


@dataclass(slots=True)
class Task:
    app: App
    frames: list[ScreenState]


@dataclass(slots=True)
class Window:
    """The active window, laid out; XML and tree are made on first access."""

    app: App
    screen: Screen
    nodes: Sequence[Node]
    display: Bounds
    rotation: int = 0
    _xml: str = ""
    _tree: UiTree | None = None
    _log_entries: Sequence[str] = ()
    _full_xml: str = ""
    _full_tree: UiTree | None = None

    @property
    def component(self) -> str:
        return f"{self.app.package}/{self.screen.activity}"

    @property
    def xml(self) -> str:
        """The dump as the Operator writes it: unfiltered, without a line feed at the end."""
        if not self._xml:
            self._xml = hierarchy_xml(self.nodes[0], self.rotation).rstrip("\n")
        return self._xml

    @property
    def full_xml(self) -> str:
        """The same from Operator 0.10 on, which also says what is visible."""
        if not self._full_xml:
            self._full_xml = nodes_xml([self.nodes[0]], rotation=self.rotation, extras=True)
        return self._full_xml

    @property
    def tree(self) -> UiTree:
        if self._tree is None:
            self._tree = build([self.nodes[0]], screen=self.display)
        return self._tree

    @property
    def full_tree(self) -> UiTree:
        """The same from Operator 0.10 on."""
        if self._full_tree is None:
            self._full_tree = build([self.nodes[0]], screen=self.display, extras=True)
        return self._full_tree

    @property
    def log_entries(self) -> Sequence[str]:
        """The dump as the Operator's log entries: the same window may be dumped again and again."""
        if not self._log_entries:
            self._log_entries = split_message(f"[TaskScope] UI Hierarchy:\n{self.xml}")
        return self._log_entries

    def uiautomator_xml(self) -> str:
        """As ``uiautomator dump`` writes it: one line, only what is visible (android-facts 7d), line feeds of texts as references."""
        visible = _visible_copy(self.nodes[0])
        xml = nodes_xml([visible] if visible else [], rotation=self.rotation)
        lines = _VALUE.sub(lambda value: value[0].replace("\n", "&#10;"), xml).split("\n")
        return lines[0] + "".join(line.strip() for line in lines[1:])


def _visible_copy(node: Node) -> Any:
    children = [copy for child in node.children if not child.seen.empty for copy in [_visible_copy(child)]]
    return render_node(node.attributes, children)


Listener = Callable[[str, str, Node | None], None]
"""Called for accessibility events with type, package and source."""


class Ui:
    """The states and windows of all apps. ``home`` is the launcher's package; its task is never finished.

    Everything happens at once; callers add latencies.
    """

    def __init__(self, apps: Mapping[str, App], settings: Settings, metrics: DisplayMetrics, *, home: str) -> None:
        self.apps = dict(apps)
        self.settings = settings
        self.metrics = metrics
        self.home = home
        self.awake = True
        self.panel: Callable[[], Panel | None] = lambda: None
        """The Operator's on-screen log, which pictures show and trees do not."""
        self.secure = False
        """Whether pictures of all windows are black."""
        self.part = ""
        """``dialog`` or ``split_screen``: windows take that part of the display, and nothing of the rest is in the tree."""
        self.over: list[tuple[str, Bounds]] = []
        """Windows of others that take touches over the app's, by their titles; top first."""
        self.listener: Listener = lambda _type, _package, _node: None
        self.facts: dict[str, str] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._tasks = [Task(self.apps[home], [ScreenState(self.apps[home].home)])]
        self._window: Window | None = None
        self._settings_seen: Settings = {}
        self._tick = 0

    # --- the foreground

    @property
    def front(self) -> Task:
        return self._tasks[-1]

    @property
    def package(self) -> str:
        return self.front.app.package

    @property
    def tasks(self) -> Sequence[Task]:
        """Oldest first, the one in front last."""
        return tuple(self._tasks)

    def window(self) -> Window:
        """The active window, readable or not; laid out again after a change."""
        if self._window is None or self._settings_seen != self.settings:
            self._window = self._lay_out()
        return self._window

    def readable(self) -> Window | None:
        """The active window; ``None`` when accessibility gets no root (screen off, secure). Advances a screen that is never idle."""
        window = self.window()
        if not self.awake or window.screen.secure:
            return None
        if not window.screen.idle:
            self._tick += 1
            self._window = None
        return window

    @property
    def rotation(self) -> int:
        """Quarter turns: the user's setting, where the sensor, which is upright, does not decide."""
        fixed = self.setting("system", "accelerometer_rotation") == "0"
        wanted = self.setting("system", "user_rotation")
        return int(wanted) if fixed and wanted in ("1", "2", "3") else 0

    def turn(self) -> None:
        """Turn the display by a quarter, or back, as the user does who allows it."""
        self.put_setting("system", "user_rotation", "0" if self.rotation else "1")
        self.changed()

    @property
    def display(self) -> tuple[int, int]:
        """Width and height as they are turned now."""
        width, height, _ = self.metrics
        return (height, width) if self.rotation % 2 else (width, height)

    @property
    def keyboard_shown(self) -> bool:
        return self.awake and self.front.frames[-1].keyboard and self.focused_field() is not None

    @property
    def keyboard_box(self) -> Bounds | None:
        """What the keyboard covers while it is shown. Apps do not move their content for it."""
        width, height = self.display
        return Bounds(0, height * 3 // 5, width, height) if self.keyboard_shown else None

    def home_activity(self, app: App) -> str:
        """The class of the screen that the app's icon opens."""
        return app.screens[app.home](self._scene(app, ScreenState(app.home))).activity

    def _scene(self, app: App, frame: ScreenState) -> Scene:
        launchers = tuple((a.package, a.label) for a in self.apps.values() if a.launchable)
        return Scene(self.state_of(app), self.settings, launchers, frame.arg, self._tick, self.facts)

    def changed(self) -> None:
        """Discard the laid-out window after a change of its content."""
        self._window = None

    def _lay_out(self) -> Window:
        app, frame = self.front.app, self.front.frames[-1]
        screen = app.screens[frame.screen](self._scene(app, frame))
        width, height = self.display
        display = Bounds(0, 0, width, height)
        parts = {
            "dialog": Bounds(width // 12, height // 4, width - width // 12, height - height // 4),
            "split_screen": Bounds(0, 0, width, height // 2),
        }
        box = parts.get(self.part, display)
        how = Placing(app.package, self.metrics.density / 160, frame.offsets, frame.focus)
        self._settings_seen = deepcopy(self.settings)
        return Window(app, screen, place(screen.root, box, how), display, self.rotation)

    # --- EffectTarget: what effects may do

    @property
    def state(self) -> dict[str, Any]:
        return self.state_of(self.front.app)

    def state_of(self, app: App) -> dict[str, Any]:
        return self._states.setdefault(app.package, deepcopy(dict(app.state)))

    def push(self, screen: str, arg: str = "") -> None:
        self.front.frames.append(ScreenState(screen, arg))
        self._entered()

    def replace(self, screen: str, arg: str = "") -> None:
        self.front.frames[-1] = ScreenState(screen, arg)
        self._entered()

    def back(self) -> None:
        task = self.front
        if len(task.frames) > 1:
            task.frames.pop()
        elif task.app.package != self.home:
            self._tasks.pop()
            self.go_home()
            return
        self._entered()

    def launch(self, package: str) -> bool:
        app = self.apps.get(package)
        if app is None or not app.launchable:
            return False
        self._bring_to_front(package)
        self._entered()
        return True

    def put_setting(self, namespace: str, key: str, value: str) -> None:
        self.settings.setdefault(namespace, {})[key] = value

    def setting(self, namespace: str, key: str) -> str:
        return self.settings.get(namespace, {}).get(key, "")

    # --- tasks

    def show(self, package: str, screen: str = "", arg: str = "") -> bool:
        """Bring an app to the front on a given screen; false when there is no such app or screen."""
        app = self.apps.get(package)
        if app is None or (screen and screen not in app.screens):
            return False
        self._bring_to_front(package)
        if screen and screen != self.front.frames[-1].screen:
            self.front.frames.append(ScreenState(screen, arg))
        self._entered()
        return True

    def open_uri(self, uri: str) -> bool:
        """Show the app that views ``uri``; the longest prefix wins."""
        handlers = [(prefix, app) for app in self.apps.values() for prefix in app.uris if uri.startswith(prefix)]
        if not handlers:
            return False
        prefix, app = max(handlers, key=lambda pair: len(pair[0]))
        self._bring_to_front(app.package)
        self.front.frames.append(ScreenState(app.uris[prefix], uri[len(prefix) :]))
        self._entered()
        return True

    def go_home(self) -> None:
        self._bring_to_front(self.home)
        del self.front.frames[1:]
        self._entered()

    def recents(self) -> None:
        self.facts["recents"] = "\n".join(task.app.package for task in reversed(self._tasks))
        self.show(self.home, "recents")

    def kill(self, package: str) -> None:
        """The process and its windows end; the app's saved state stays."""
        in_front = self.package == package
        self._tasks = [task for task in self._tasks if task.app.package != package or package == self.home]
        if in_front:
            self.go_home()

    def add(self, app: App) -> None:
        """Install an app."""
        self.apps[app.package] = app
        self.changed()

    def reset(self, package: str) -> None:
        """Delete what an app saved."""
        self._states.pop(package, None)
        self.changed()

    def forget(self, package: str) -> None:
        """Uninstall an app: remove its windows and data."""
        self.kill(package)
        self.apps.pop(package, None)
        self.reset(package)

    def _bring_to_front(self, package: str) -> None:
        if self.package == self.home:
            del self.front.frames[1:]  # the overview closes when an app is chosen
        task = next((task for task in self._tasks if task.app.package == package), None)
        if task is None:
            task = Task(self.apps[package], [ScreenState(self.apps[package].home)])
        else:
            self._tasks.remove(task)
        self._tasks.append(task)

    def _entered(self) -> None:
        self.changed()
        self.listener("TYPE_WINDOW_STATE_CHANGED", self.package, None)

    # --- input

    def tap(self, x: int, y: int) -> None:
        if self._taken(x, y):
            return
        node = self._under(x, y, lambda n: n.view.tap is not None or n.editable)
        if node is not None:
            self.click(node)

    def hold(self, x: int, y: int) -> None:
        if self._taken(x, y):
            return
        node = self._under(x, y, lambda n: n.view.hold is not None or n.view.tap is not None or n.editable)
        if node is not None and not self.long_click(node) and node.view.hold is None:
            self.click(node)

    def _taken(self, x: int, y: int) -> bool:
        """Whether a window over the app's takes a touch; the keyboard types the key under the finger."""
        if not self.awake or any(box.contains(x, y) for _, box in self.over):
            return self.awake
        box = self.keyboard_box
        if box is None or not box.contains(x, y):
            return False
        row = _KEYBOARD[(y - box.top) * len(_KEYBOARD) // box.height]
        key = row[(x - box.left) * len(row) // box.width]
        {"<": self.delete, ">": self.enter}.get(key, lambda: self.type_text(key))()
        return True

    def click(self, node: Node) -> bool:
        """The node's click; false when it cannot be clicked."""
        if not node.view.enabled or (node.view.tap is None and not node.editable):
            return False
        if node.editable:
            self.focus(node)
        self.listener("TYPE_VIEW_CLICKED", node.package, node)
        self._do(node.view.tap)
        return True

    def long_click(self, node: Node) -> bool:
        if not node.view.enabled or node.view.hold is None:
            return False
        self._do(node.view.hold)
        return True

    def focus(self, node: Node) -> bool:
        if not node.editable and node.view.tap is None:
            return False
        frame = self.front.frames[-1]
        frame.focus, frame.keyboard, frame.selected = node.path, True, False
        self.changed()
        return True

    def set_text(self, node: Node, text: str) -> bool:
        """Replace a field's content."""
        if not node.editable or not node.view.enabled:
            return False
        self.state[node.view.edits] = text
        self.changed()
        self.listener("TYPE_VIEW_TEXT_CHANGED", node.package, self._again(node))
        return True

    def type_text(self, text: str) -> bool:
        """Append to the focused field; false when there is none."""
        node = self.focused_field()
        if node is None:
            return False
        return self.set_text(node, self._before_cursor(node) + text)

    def delete(self) -> None:
        node = self.focused_field()
        if node is not None:
            selected = self.front.frames[-1].selected
            text = self._before_cursor(node)
            self.set_text(node, text if selected else text[:-1])

    def select_all(self) -> None:
        self.front.frames[-1].selected = self.focused_field() is not None

    def _before_cursor(self, node: Node) -> str:
        """The text of a field, whose cursor is at its end; nothing if it is selected, which it is no longer."""
        frame = self.front.frames[-1]
        selected, frame.selected = frame.selected, False
        return "" if selected else str(self.state.get(node.view.edits, ""))

    def enter(self) -> None:
        """The Enter key, or the keyboard's action."""
        node = self.focused_field()
        if node is not None:
            self._do(node.view.submit)

    def escape(self) -> None:
        """Close the keyboard; go back where there is none."""
        if self.keyboard_shown:
            self.front.frames[-1].keyboard = False
        else:
            self.back()

    def focused_field(self) -> Node | None:
        return next((node for node in self.window().nodes if node.focused and node.editable), None)

    def swipe(self, x1: int, y1: int, x2: int, y2: int) -> None:
        """A drag: the innermost viewport under its start that scrolls along it follows the finger."""
        if self._taken(x1, y1):
            return
        axis, distance = ("column", y1 - y2) if abs(y2 - y1) >= abs(x2 - x1) else ("row", x1 - x2)
        node = self._under(x1, y1, lambda n: n.reach > 0 and n.view.scroll == axis)
        if node is None or not self.awake:
            return
        self.scroll(node, distance)

    def scroll(self, node: Node, distance: int) -> None:
        offsets = self.front.frames[-1].offsets
        before = min(offsets.get(node.path, 0), node.reach)
        offsets[node.path] = min(max(before + distance, 0), node.reach)
        if offsets[node.path] == before:
            return
        if offsets[node.path] > node.reach - node.box.height:
            self._do(node.view.more)
        self.changed()
        self.listener("TYPE_VIEW_SCROLLED", node.package, self._again(node))

    def _again(self, node: Node) -> Node:
        """The node as it is after a change that moved nothing in the tree above it."""
        return next((new for new in self.window().nodes if new.path == node.path), node)

    def _do(self, effect: Effect | None) -> None:
        if effect is not None:
            before = self.package, self.front.frames[-1]
            effect(self)
            self.changed()
            if before == (self.package, self.front.frames[-1]):
                self.listener("TYPE_WINDOW_CONTENT_CHANGED", self.package, None)

    def _under(self, x: int, y: int, wanted: Callable[[Node], bool]) -> Node | None:
        """The topmost node of a kind at a point: later in document order is above."""
        if not self.awake:
            return None
        nodes = reversed(self.window().nodes)
        return next((node for node in nodes if node.seen.contains(x, y) and wanted(node)), None)
