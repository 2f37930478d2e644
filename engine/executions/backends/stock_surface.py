"""A device without an app of ours as a surface of the runtime: ``uiautomator``, ``input``, ``am`` and ``dumpsys`` behind adb.

Each action is one script of the session's shell. A gesture at a node checks in the same script that the display is as it was when the
node's tree was read: if not, nothing is sent, and the action reads the tree again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from clawperator.engine.adb.android_user import CURRENT, am, settings
from clawperator.engine.adb.device import ShellResult
from clawperator.engine.adb.displays import (
    DISPLAY_CHANGED,
    FRONT_SCRIPT,
    GUARD,
    STATE_SCRIPT,
    front_package,
    state_size,
)
from clawperator.engine.adb.failures import AdbTimeoutError
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.adb.shell_session import ShellSession
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.backends import stock_text
from clawperator.engine.executions.backends.stock_dumps import (
    DUMP,
    HEAD,
    MAX_DUMP,
    WINDOWS,
    Dump,
    Dumps,
    suppress_dead,
)
from clawperator.engine.executions.keys import ended, set_at
from clawperator.engine.executions.touch import (
    focus_elsewhere,
    foreign_at,
    require_on_screen,
    same_keyboard,
    shows,
    swipe_path,
    tap_point,
    window_at,
)
from clawperator.engine.executions.touch_windows import TOUCH_SCRIPT, TouchWindow, as_turned, touch_windows
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime.outcome import ActionResult
from clawperator.engine.runtime.plan import (
    Click,
    EnterText,
    Gesture,
    PlanStep,
    Scroll,
    ScrollAndClick,
    ScrollUntil,
    WaitForNavigation,
    WaitForNode,
)

_TAP_MS = 500
"""A shorter press is a tap: ``input tap`` has no duration."""
_SAME_WINDOWS = f'W=$({TOUCH_SCRIPT}); [ "$W" = {{windows}} ] || {{ echo "$W"; exit 114; }}; '
"""Put before a script, ends it with the windows where they are not as in ``windows``: each may move in between."""
_WINDOWS_CHANGED = 114
_GUARDED_TRIES = 3
"""How often a gesture is sent again where other windows than those that concern it have changed."""
_FIRST_DUMP_SECONDS = 3.0
"""A dump of a screen at rest takes up to this long: a shorter wait would see nothing."""
_LAUNCH = (
    f"r=$(cmd package resolve-activity --brief {CURRENT}"
    ' {package} 2>&1); k=LAUNCHER; c=$(echo "$r" | grep -F -m 1 {entry}) || '
    f"c=$(cmd package query-activities --brief {CURRENT}"
    " {package} 2>/dev/null | grep -F -m 1 {entry}) || for k in LEANBACK_LAUNCHER INFO; do c=$("
    'for v in resolve-activity query-activities; do cmd package "$v" --brief '
    f"{CURRENT}"
    ' -a android.intent.action.MAIN -c "android.intent.category.$k" {package} 2>/dev/null; done | grep -F -m 1 {entry}) && break; done; '
    '[ -n "$c" ] || { echo "$r"; exit 113; }; '
    f"am start {CURRENT}"
    ' -a android.intent.action.MAIN -c "android.intent.category.$k" -f 0x10200000 -n "${c##* }"'
)
"""Of several launcher entries the first is started; asked for one, Android names its dialog for the choice. Apps of televisions may have
an entry there only, and some have the one that Android's own ``getLaunchIntentForPackage`` takes, too.
"""
_START_HINT = "Unlock the device, or start the app by hand once: Android or the phone's maker refused to start it."
_BROKE_OFF_HINT = "It may have acted: take a snapshot before you send it again."
_NOTHING_TO_START = ("No activity found", "No activities found", "unable to resolve Intent", "does not exist")
_KEYS = {"back": "KEYCODE_BACK", "home": "KEYCODE_HOME", "recents": "KEYCODE_APP_SWITCH"}


@dataclass(slots=True)
class Dispatched:
    """What one step sent to the device, and facts for its data."""

    sent: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


class StockSurface:
    """``runtime.Surface`` over a shell, which ``shell`` opens again after a script that did not end. ``on_tree`` gets the XML of each
    tree that the plan asks for; ``dumps`` are those of the execution, ``by_host`` where the host itself takes this one; ``method`` is an
    input method for texts without keys.

    Expected failures are those of ``Surface``; everything that must not be repeated, and a lost device, is an ``EngineError``.
    """

    def __init__(
        self,
        shell: Callable[[], Awaitable[ShellSession]],
        on_tree: Callable[[str, str], object],
        sdk: int,
        dumps: Dumps,
        method: str = "",
        *,
        by_host: bool = False,
    ) -> None:
        self._shell = shell
        self._sdk = sdk
        self._on_tree = on_tree
        self._dumps = dumps
        self._method = method
        self._by_host = by_host
        self._step: PlanStep | None = None
        self._began = 0.0
        self._has_read = False
        self._unread: bool | None = None
        self.display: str | None = None
        """The state of the display when the tree of this step was read."""
        self._tree: UiTree | None = None
        """The tree of this step, and the windows as they were then, which the device prints."""
        self._windows = ""
        self.steps: dict[str, Dispatched] = {}
        self.has_dumped = False
        self.typed = 0, 0
        """How many characters of the text of this step were typed, and how many it has."""
        self.first: tuple[float, str] | None = None
        """The time and the XML of the first tree, if nothing was sent to apps before it."""
        self._has_acted = False

    async def begin(self, step: PlanStep) -> None:
        """Note the step that begins."""
        self._step, self.display, self._began = step, None, time.monotonic()
        self._has_read, self._unread, self._tree, self._windows = False, None, None, ""
        self.steps[step.id], self.typed = Dispatched(), (0, 0)

    @property
    def _now(self) -> Dispatched:
        return self.steps[self._step.id] if self._step is not None else Dispatched()

    @property
    def read_nothing(self) -> bool:
        """Whether the step waits for a screen that gave no tree in time, so that nothing is known of it."""
        return self._unread is True

    # -- looking

    async def dump(self) -> UiTree | None:
        found = self._use(self._dumps.fresh()) or await self._dump()
        touches = isinstance(
            self._step and self._step.action, Click | EnterText | Scroll | ScrollUntil | ScrollAndClick
        )
        if touches and found is not None and not shows(self._touched(self._windows), found.tree):
            found = await self._dump()  # an app that starts came to the front between the windows and the tree
        return None if found is None else found.tree

    async def snapshot(self, step_id: str) -> Mapping[str, str] | None:
        found = self._dumps.fresh()
        if found is None or (found.shown and not self._by_host) or self._use(found) is None:
            found = await self._dump()
        if found is None:
            return None
        found.shown = not self._by_host
        self._on_tree(step_id, found.xml)
        return {"foreground_package": found.tree.package} if found.tree.package else {}

    async def _dump(self) -> Dump | None:
        """Read the active window, once more if the dump dies; ``None`` without a root, and while a wait finds the screen busy."""
        found = None
        with suppress_dead():
            found = await self._read()
        if found is None and self._unread is not True:
            found = await self._read()
        return found

    async def _read(self) -> Dump | None:
        left = self._seconds_left()
        if left is not None and left <= 0:
            return None
        self.has_dumped = self._has_read = True
        try:
            return self._use(await self._dumps.take(await self._shell(), left))
        except EngineError as exc:
            waits = self._step is not None and isinstance(self._step.action, WaitForNode | WaitForNavigation)
            if not (isinstance(exc, AdbTimeoutError) or (waits and exc.code is ErrorCode.UI_NOT_IDLE)):
                raise
            self._unread = self._unread is not False
            return None

    def _use(self, dump: Dump | None) -> Dump | None:
        """Note the dump that this step relies on."""
        if dump is None:
            return None
        self._unread, self._tree, self._windows, self.display = False, dump.tree, dump.windows, dump.display
        if self.first is None and not self._has_acted:
            self.first = time.time() - (time.monotonic() - dump.at), dump.xml
        return dump

    def _seconds_left(self) -> float | None:
        """Return how long a dump may take: in a wait with a limit as long as that lasts, its first one at least three seconds."""
        action = self._step.action if self._step is not None else None
        if not isinstance(action, WaitForNode | WaitForNavigation) or action.timeout_ms is None:
            return None
        left = self._began + action.timeout_ms / 1000 - time.monotonic()
        return left if self._has_read else max(left, _FIRST_DUMP_SECONDS)

    async def _run(self, script: str, **how: Any) -> ShellResult:
        return await (await self._shell()).run(script, **how)

    async def foreground(self) -> str:
        return front_package((await self._run(device_script(FRONT_SCRIPT))).text)

    async def readiness(self) -> Mapping[str, bool]:
        return {}

    async def developer_settings(self) -> tuple[bool, bool]:
        names = ("development_settings_enabled", "adb_enabled")
        script = "; ".join(device_command(settings("get", "global", name)) for name in names)
        values = (await self._run(script)).text.split()
        return values[:1] == ["1"], values[1:2] == ["1"]

    # -- acting

    def _acts(self) -> None:
        """Note that something is sent: what was seen before is out of date."""
        self._has_acted = True
        self._dumps.forget()

    async def click(self, node: UiNode) -> bool:  # noqa: ARG002 - see below
        """Press Enter after typing (a step with ``submit``); else leave the click to ``press``, where the match is visible."""
        if not isinstance(self._step.action if self._step else None, EnterText):
            return False
        if self._now.sent:
            return await self._enter()
        return True  # set_text taps the field

    async def _enter(self) -> bool:
        """Press Enter after typing. Raises ``EngineError`` (TEXT_NOT_DELIVERED) if another window would get it."""
        assert self._tree is not None, "it has read the text back"
        tree, words = self._tree, ("keyevent", "KEYCODE_ENTER")

        def still(_: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
            return not focus_elsewhere(now, tree)

        done = await ended(self._guarded("input {words}", still, words=words))
        if done.exit_code == DISPLAY_CHANGED:
            raise stock_text.undelivered("it was typed, but the window changed before Enter, which was not pressed")
        return self._sent(done, f"input {' '.join(words)}")

    async def long_click(self, node: UiNode) -> bool:  # noqa: ARG002 - a gesture at the match instead
        return False

    async def focus(self, node: UiNode) -> bool:
        """Tap an editable node; others would be clicked by that."""
        if not is_editable(node) or isinstance(self._step.action if self._step else None, EnterText):
            return False
        return await self._press_at(node, 0)

    async def select(self, node: UiNode) -> bool:  # noqa: ARG002 - no shell command selects a node
        return False

    async def press(self, x: int, y: int, duration_ms: int, *, node: UiNode | None = None) -> bool:
        """Tap or hold: a node where nothing covers it, else NODE_NOT_CLICKABLE; a point as it is, with a fact about what was hit."""
        if node is not None and self._tree is not None:
            return await self._press_at(node, duration_ms)
        words = _press_words((x, y), duration_ms)
        mark = WINDOWS.decode().strip()
        seen = await self._run(device_script(f"{STATE_SCRIPT}; echo {mark}; {TOUCH_SCRIPT}"))
        display, _, windows = seen.text.partition(WINDOWS.decode())
        if (size := state_size(display)) is not None:
            require_on_screen("coordinate", (x, y), size)
        self._acts()
        done = await ended(self._run(device_script(GUARD + "input {words}", seen=display.strip(), words=words)))
        if done.exit_code != DISPLAY_CHANGED and (hit := window_at(touch_windows(windows), x, y)) is not None:
            self._now.facts["hit"] = str(hit)
        return self._sent(done, f"input {' '.join(words)}")

    async def _press_at(self, node: UiNode, duration_ms: int) -> bool:
        assert self._tree is not None, "a node is of a tree"
        tree = self._tree
        point = tap_point(tree, node, self._touched(self._windows), long=duration_ms >= _TAP_MS)
        return await self._gesture(_press_words(point, duration_ms), tree, point)

    async def swipe(
        self, x1: int, y1: int, x2: int, y2: int, duration_ms: int, *, within: UiNode | None = None
    ) -> bool:
        path = x1, y1, x2, y2
        if self._step is not None and isinstance(self._step.action, Gesture):
            return await self._plain_gesture("swipe", path, duration_ms)
        if within is None or self._tree is None:
            return await self._input("swipe", *map(str, (*path, duration_ms)))
        path = swipe_path(self._tree, within, self._touched(self._windows), path)
        return await self._gesture(("swipe", *map(str, (*path, duration_ms))), self._tree, path[:2])

    async def drag(self, start: tuple[int, int], end: tuple[int, int], hold_ms: int, move_ms: int) -> bool:  # noqa: ARG002 -- input holds as long as a long click takes
        return await self._plain_gesture("draganddrop", (*start, *end), move_ms)

    async def _plain_gesture(self, name: str, path: tuple[int, int, int, int], duration_ms: int) -> bool:
        """Perform a gesture between two points. Raises ``EngineError`` for one outside the screen: nothing is sent."""
        if (size := state_size((await self._run(device_script(STATE_SCRIPT))).text)) is not None:
            require_on_screen("start", path[:2], size)
            require_on_screen("end", path[2:], size)
        self._now.facts |= {"dispatch_method": "input", "dispatch_accepted": "true"}
        return await self._input(name, *map(str, (*path, duration_ms)))

    async def perform(self, name: str, values: Mapping[str, Any]) -> ActionResult:  # noqa: ARG002 -- refused
        raise AssertionError(f"{name} is refused before the dispatch")

    async def _gesture(self, words: Sequence[str], tree: UiTree, at: tuple[int, int]) -> bool:
        """Run ``input`` if the display is still that of ``tree``, and its window is still what a finger reaches at a point."""
        self._acts()

        def still(before: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
            return same_keyboard(before, now) and foreign_at(now, tree, *at) is None

        done = await ended(self._guarded("input {words}", still, words=words))
        return self._sent(done, f"input {' '.join(words)}")

    async def key(self, name: str) -> bool:
        return await self._input("keyevent", _KEYS[name])

    async def set_text(self, node: UiNode, text: str) -> bool:
        """Replace the content of a field by keys and read it back; false if nothing was sent: ``node`` takes no text, or the display turned.

        Raises ``EngineError`` (TEXT_NOT_DELIVERED) before anything is sent where no finger reaches the field, before a key where the
        tap gave the focus to another one, and where the field does not have exactly ``text`` afterwards.
        """
        if not (is_editable(node) and node.enabled):
            return False
        assert self._tree is not None, "a node is of a tree"
        stock_text.require_typable(node, text, self._sdk, self._method)
        field = node if node.focused else await self._take_focus(node)
        if field is None:
            return False
        tree = self._tree
        self._require_keys(tree)
        try:
            point = tap_point(tree, field, self._touched(self._windows))
        except EngineError:
            point = None  # it has the focus without a tap
        typing = stock_text.typing(field, text, self._sdk, self._method, point)
        self.has_dumped = True
        self._acts()
        self.typed, done = (0, len(text)), ShellResult(b"", b"", 1)
        for number, keys in enumerate(typing.pieces, 1):
            is_last = number == len(typing.pieces)
            tail, values = (DUMP + typing.end, self._dumps.values) if is_last else ("", {})
            done = await self._keys(keys, tail, tree, **values)
            if done.exit_code == DISPLAY_CHANGED:
                if number == 1:
                    return self._sent(done, "")
                raise stock_text.undelivered(f"the window changed after {self.typed[0]} of {len(text)} characters")
            if done.exit_code and HEAD not in done.stdout:
                break
        self._now.sent += typing.sent
        self._now.facts["route"] = typing.route
        if HEAD not in done.stdout:
            so_far = f" (after {self.typed[0]} of {len(text)} characters)" if self.typed[0] else ""
            raise _broke_off(f"typing broke off: {parse_failure(done.error_text, done.exit_code or 1)}{so_far}", done)
        try:
            found = await self._read_back(done)
        except EngineError as exc:
            raise _broke_off(f"it was typed, but cannot be read back: {exc.message}", done) from exc
        if found is None:
            raise _broke_off("it was typed, but cannot be read back: the window has no tree", done)
        self._now.facts |= stock_text.arrival(field, text, tree, found.tree, self._sdk)
        return True

    async def _read_back(self, done: ShellResult) -> Dump | None:
        """Return the dump behind the keys, or another one if it died."""
        with suppress_dead():
            if (found := self._use(await self._dumps.read(done))) is not None:
                return found
        return self._use(await self._dumps.take(await self._shell(), None))

    async def _keys(self, keys: stock_text.Keys, tail: str, tree: UiTree, **more: str) -> ShellResult:
        """Press a piece of keys, and go on with ``tail``, if the window of ``tree`` gets them.

        Nothing is pressed after the plan: where its time is over meanwhile, the piece is awaited.
        """
        before, pressed = self.typed, asyncio.Event()

        def still(_: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
            return not focus_elsewhere(now, tree)

        hear = set_at(WINDOWS, pressed)  # printed behind the keys
        how = {"timeout": None, "limit": MAX_DUMP, "label": f"input text {HIDDEN}", "on_output": hear}
        try:
            done = await ended(self._guarded(keys.script + tail, still, how, **keys.values, **more), pressed)
        finally:
            if pressed.is_set():
                self.typed = before[0] + keys.typed, before[1]
        if done.exit_code and HEAD not in done.stdout:
            self.typed = before
        return done

    async def _take_focus(self, node: UiNode) -> UiNode | None:
        """Tap a field and return the one that then has the focus; ``None`` if nothing was sent, because the display turned."""
        assert self._tree is not None, "a node is of a tree"
        before = self._tree
        self._require_keys(before)
        try:
            tapped = await self._press_at(node, 0)
        except EngineError as exc:
            if exc.code is not ErrorCode.NODE_NOT_CLICKABLE:
                raise
            raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, exc.message, hint=exc.hint, details=exc.details) from exc
        if not tapped:
            return None
        found = await self._dump()
        if found is None:
            raise stock_text.undelivered("the field was tapped, and then the window had no tree; nothing was typed")
        return stock_text.require_focus(node, before, found.tree)

    def _require_keys(self, tree: UiTree) -> None:
        """Raise ``EngineError`` (TEXT_NOT_DELIVERED) if another window gets the keys than that of ``tree``."""
        if other := focus_elsewhere(self._touched(self._windows), tree):
            raise stock_text.undelivered(f"{other} has the focus, and would get the keys; nothing was typed")

    async def launch(self, package: str) -> bool:
        script = device_script(_LAUNCH, package=package, entry=f"{package}/")
        return await self._start(script, f"am start of {package}'s launcher entry")

    async def open_uri(self, uri: str) -> bool:
        script = device_command(am("start", "-a", "android.intent.action.VIEW", "-d", uri))
        return await self._start(script, "am start of a VIEW intent")

    async def _start(self, script: str, what: str) -> bool:
        """Return whether an activity was started; false if there is none. Raises ``EngineError`` if Android refuses to start it."""
        self._acts()
        done = await ended(self._run(script))
        output = f"{done.text}\n{done.error_text}"
        if not (failure := parse_failure(output, done.exit_code)):
            self._now.sent.append(what)
            return True
        if any(words in output for words in _NOTHING_TO_START):
            return False
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"Android's {what} failed: {failure}",
            hint=refusal_hint(output) or _START_HINT,
        )

    async def _input(self, *words: str) -> bool:
        self._acts()
        done = await ended(self._run(device_script("input {words}", words=words)))
        return self._sent(done, f"input {' '.join(words)}")

    def _touched(self, text: str) -> list[TouchWindow]:
        return as_turned(touch_windows(text), self.display or "")

    async def _guarded(
        self,
        rest: str,
        still: Callable[[Sequence[TouchWindow], Sequence[TouchWindow]], bool],
        how: Mapping[str, Any] = MappingProxyType({}),
        **values: str | Sequence[str],
    ) -> ShellResult:
        """Run ``rest`` behind the check that display and windows are as in the last dump; with the exit code DISPLAY_CHANGED it was not.

        ``still`` says whether windows that have changed do not matter.
        """
        seen, tries = self.display or "", _GUARDED_TRIES if self._windows else 0
        for _ in range(tries):
            script = device_script(_SAME_WINDOWS + GUARD + rest, seen=seen, windows=self._windows, **values)
            done = await self._run(script, **how)
            if done.exit_code != _WINDOWS_CHANGED:
                return done
            before, self._windows = self._windows, done.text.rstrip("\n")
            if not still(self._touched(before), self._touched(self._windows)):
                return done._replace(exit_code=DISPLAY_CHANGED)
        return await self._run(device_script(GUARD + rest, seen=seen, **values), **how)

    def _sent(self, done: ShellResult, what: str) -> bool:
        """Note what was sent. Raises ``EngineError`` (GESTURE_FAILED) if it was refused or broke off: it may have acted."""
        if done.exit_code == DISPLAY_CHANGED:
            self._now.facts["display_changed"] = "true"
            return False
        output = f"{done.text}\n{done.error_text}"
        if failure := parse_failure(output, done.exit_code):
            hint = refusal_hint(output) or _BROKE_OFF_HINT
            code = ErrorCode.GESTURE_UNSUPPORTED if "nknown command" in output else ErrorCode.GESTURE_FAILED
            raise EngineError(code, f"Android's {what} failed: {failure}", hint=hint)
        self._now.sent.append(what)
        return True

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:  # noqa: ARG002 - refused
        return {"error": "EXECUTION_ACTION_UNSUPPORTED", "message": "Recording needs the Operator app's event stream"}


def _press_words(point: tuple[int, int], duration_ms: int) -> tuple[str, ...]:
    """Return the words of ``input`` for a press: it has no other way to hold (android-facts 8c)."""
    at = tuple(map(str, point))
    return ("tap", *at) if duration_ms < _TAP_MS else ("swipe", *at, *at, str(duration_ms))


def _broke_off(reason: str, done: ShellResult) -> EngineError:
    return stock_text.undelivered(reason, refusal_hint(done.error_text) or "")
