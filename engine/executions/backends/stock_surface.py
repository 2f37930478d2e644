"""A device without an app of ours as a surface of the runtime: ``uiautomator``, ``input``, ``am`` and ``dumpsys`` behind adb.

Each action is one script of the session's shell. A gesture at a node checks in the same script that the display is as it was when the
node's tree was read: if not, nothing is sent, and the action reads the tree again.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
from clawperator.engine.adb.failures import AdbTimeoutError, OversizedError
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.adb.quote import device_command, device_script
from clawperator.engine.adb.shell_session import ShellSession
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.backends import stock_text
from clawperator.engine.executions.finish import too_large
from clawperator.engine.executions.touch import (
    focus_elsewhere,
    foreign_at,
    same_keyboard,
    shows,
    swipe_path,
    tap_point,
    window_at,
)
from clawperator.engine.executions.touch_windows import TOUCH_SCRIPT, TouchWindow, as_turned, touch_windows
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.engine.hierarchy.tree import MAX_BYTES, Bounds, IncomingTree, UiNode, UiTree, parse
from clawperator.engine.runtime.plan import (
    Click,
    EnterText,
    PlanStep,
    Scroll,
    ScrollAndClick,
    ScrollUntil,
    WaitForNavigation,
    WaitForNode,
)
from clawperator.engine.text.numbers import whole_number

MAX_DUMP = MAX_BYTES + 2 * 1024 * 1024
"""Bytes of the output of a dump: of a larger tree the device says the size alone."""
_MOST_BEFORE = 64 * 1024
"""Bytes of other output that the XML of a dump may follow; behind more, it is parsed when it is complete."""
_MOST_SAID = 16 * 1024
"""Characters of other output that are read: on some phones a harmless stack trace stands before what matters."""
_TAP_MS = 500
"""A shorter press is a tap: ``input tap`` has no duration."""
_WINDOWS = b"clawperator-windows:\n"
_HEAD = b"clawperator-dump:\n"
_DUMP = (
    f"{STATE_SCRIPT}; echo {_WINDOWS.decode().strip()}; {TOUCH_SCRIPT}; echo {_HEAD.decode().strip()}; "
    """sh -c 'echo $$ > "$1.pid"; exec uiautomator dump "$1"' sh {file}; r=$?; """
    f'rm -f {{file}}.pid; n=$(cat {{file}} 2>/dev/null | wc -c); if [ "$n" -gt {MAX_BYTES} ]; then echo clawperator-bytes:$n; '
    "else cat {file} 2>/dev/null; fi; rm -f {file}; exit $r"
)
_BYTES = re.compile(rb"clawperator-bytes: ?(\d{1,15})\n")
_END_DUMP = (
    'p=$(cat {file}.pid 2>/dev/null) && kill -9 "$p" 2>/dev/null; '
    'm=$(cat {file}.ime 2>/dev/null) && ime set "$m" >/dev/null 2>&1; rm -f {file} {file}.pid {file}.ime'
)
"""A dump whose shell is closed goes on (android-facts 4h), and no other can start meanwhile (7f)."""
_SAME_WINDOWS = f'W=$({TOUCH_SCRIPT}); [ "$W" = {{windows}} ] || {{ echo "$W"; exit 114; }}; '
"""Put before a script, ends it with the windows where they are not as in ``windows``: each may move in between."""
_WINDOWS_CHANGED = 114
_GUARDED_TRIES = 3
"""How often a gesture is sent again where other windows than those that concern it have changed."""
_STILL_SECONDS = 1.0
"""How long a tree of a scroll is good for: ``uiautomator`` has read it after a quiet second, in which late rows would have come."""
_FIRST_LOOK_SECONDS = 3.0
"""A dump of a screen at rest takes up to this long: a shorter wait would see nothing."""
_HELD = "already registered"
"""What ``uiautomator`` prints where another program holds the one UiAutomation connection (android-facts 7f)."""
_NO_TREE = ("could not get idle state", "null root node")
"""What it prints, without a failure of its own, where the screen gives no tree (7a)."""
_DUMPED = "dumped to"
_KILLED = 137
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


class _IncomingDump:
    """The output of ``_DUMP`` while it comes. ``start``: where ``xml`` begins behind the head."""

    def __init__(self) -> None:
        self.xml = IncomingTree()
        self.start = -1
        self._before = b""

    def feed(self, data: bytes) -> None:
        """Raises ``EngineError`` for a tree that is beyond a limit: its rest is not read."""
        if self.start < 0:
            if len(self._before) > _MOST_BEFORE:
                return
            self._before += data
            text = self._before.partition(_HEAD)[2]
            if (start := _xml_start(text)) < 0:
                return
            self.start, data = start, text[start:]
        self.xml.feed(data)


def _xml_start(text: bytes) -> int:
    return max(text.find(b"<?xml"), 0) or text.find(b"<hierarchy")


class StockSurface:
    """``runtime.Surface`` over a shell, which ``shell`` opens again after a script that did not end. ``saw`` gets the XML of each
    tree that the plan asks for; ``file`` is where the device keeps a dump; ``method`` is an input method for texts without keys.

    Expected failures are those of ``Surface``; everything that must not be repeated, and a lost device, is an ``EngineError``.
    """

    def __init__(
        self,
        shell: Callable[[], Awaitable[ShellSession]],
        saw: Callable[[str, str], object],
        sdk: int,
        file: str,
        method: str = "",
    ) -> None:
        self._shell = shell
        self._sdk = sdk
        self._saw = saw
        self._file = file
        self._method = method
        self._step: PlanStep | None = None
        self._began = 0.0
        self._has_looked = False
        self._unread: bool | None = None
        self.display: str | None = None
        """The state of the display when the tree of this step was read."""
        self._last: tuple[float, UiTree] | None = None
        """The time and the tree of the last look of this step, if nothing was sent since."""
        self._focused = ""
        """The path of the field that had the focus then."""
        self._tree: UiTree | None = None
        """The tree of the last look, and the windows as they were then, which the device prints."""
        self._windows = ""
        self.steps: dict[str, Dispatched] = {}
        self.has_dumped = False
        self.first: tuple[float, str] | None = None
        """The time and the XML of the first tree, if nothing was sent to apps before it."""
        self._has_acted = False

    async def begin(self, step: PlanStep) -> None:
        """Note the step that begins: what was seen before is out of date."""
        self._step, self.display, self._began = step, None, time.monotonic()
        self._has_looked, self._unread, self._last, self._tree, self._windows = False, None, None, None, ""
        self.steps[step.id] = Dispatched()

    @property
    def _now(self) -> Dispatched:
        return self.steps[self._step.id] if self._step is not None else Dispatched()

    @property
    def saw_nothing(self) -> bool:
        """Whether the step waits for a screen that gave no tree in time, so that nothing is known of it."""
        return self._unread is True

    # -- looking

    async def dump(self) -> UiTree | None:
        action = self._step.action if self._step is not None else None
        scrolls = isinstance(action, Scroll | ScrollUntil | ScrollAndClick)
        if scrolls and self._last is not None and time.monotonic() - self._last[0] < _STILL_SECONDS:
            return self._last[1]
        found = await self._look()
        touches = scrolls or isinstance(action, Click | EnterText)
        if touches and found is not None and not shows(self._touched(self._windows), found[1]):
            found = await self._look()  # an app that starts came to the front between the windows and the tree
        return None if found is None else found[1]

    async def snapshot(self, step_id: str) -> Mapping[str, str] | None:
        found = await self._look()
        if found is None:
            return None
        xml, tree = found
        self._saw(step_id, xml)
        return {"foreground_package": tree.package} if tree.package else {}

    async def _look(self) -> tuple[str, UiTree] | None:
        """Return the XML and the tree of the active window; ``None`` without one, and while a wait finds the screen busy."""
        left = self._seconds_left()
        if left is not None and left <= 0:
            return None
        self.has_dumped = self._has_looked = True
        incoming = _IncomingDump()
        try:
            done = await self._run(
                device_script(_DUMP, file=self._file),
                timeout=left,
                limit=MAX_DUMP,
                on_output=incoming.feed,
                label=f"uiautomator dump {self._file}",
            )
        except AdbTimeoutError:
            self._unread = self._unread is not False
            return None
        except OversizedError as exc:
            words = f"The output of uiautomator is larger than {MAX_DUMP // 2**20} MiB"
            raise EngineError(ErrorCode.HIERARCHY_TOO_LARGE, words, details={"maxBytes": MAX_BYTES}) from exc
        found = await self._read(done, incoming)
        if found is not None:
            self._unread, self._last, self._tree = False, (time.monotonic(), found[1]), found[1]
            self._focused = next((node.path for node in found[1].nodes if node.focused and is_editable(node)), "")
        if found is not None and self.first is None and not self._has_acted:
            self.first = time.time(), found[0]
        return found

    def _seconds_left(self) -> float | None:
        """Return how long a dump may take: in a wait with a limit as long as that lasts, its first look at least three seconds."""
        action = self._step.action if self._step is not None else None
        if not isinstance(action, WaitForNode | WaitForNavigation) or action.timeout_ms is None:
            return None
        left = self._began + action.timeout_ms / 1000 - time.monotonic()
        return left if self._has_looked else max(left, _FIRST_LOOK_SECONDS)

    async def _run(self, script: str, **how: Any) -> ShellResult:
        return await (await self._shell()).run(script, **how)

    async def _read(self, done: ShellResult, incoming: _IncomingDump | None = None) -> tuple[str, UiTree] | None:
        """Return XML and tree of a dump, which ``incoming`` has parsed while it came; ``None`` without a tree."""
        head, _, text = done.stdout.partition(_HEAD)
        display, _, windows = head.decode(errors="replace").partition(_WINDOWS.decode())
        self.display, self._windows = display.strip(), windows.rstrip("\n")
        said = f"{text[:_MOST_SAID].decode(errors='replace')}\n{done.error_text[:_MOST_SAID]}".strip()
        start = _xml_start(text)
        if start < 0 and (told := _BYTES.search(text)) is not None:
            raise too_large(whole_number(told[1].decode(), digits=15) or 0)
        if start < 0 and (refusal := _broken_dump(done, said)) is not None:
            raise refusal
        xml = text[start:] if start >= 0 else said.encode()
        size = state_size(self.display)
        screen = Bounds(0, 0, *size) if size else None
        read: Callable[..., UiTree] = partial(parse, xml)
        if incoming is not None and incoming.start == start >= 0:
            read = incoming.xml.tree
        try:
            tree = await asyncio.to_thread(read, screen=screen)
        except EngineError as exc:
            if (refusal := self._refusal(exc)) is not None:
                raise refusal from exc
            return None
        return (xml.strip().decode(errors="replace"), tree) if tree.nodes else None

    def _refusal(self, error: EngineError) -> EngineError | None:
        """Return what a dump without a tree means; ``None`` for a window without a root, or a busy one that the step waits for."""
        match error.details.get("reason"):
            case "no_root":
                return None
            case "not_idle":
                waits = self._step is not None and isinstance(self._step.action, WaitForNode | WaitForNavigation)
                self._unread = self._unread is not False
                message = "The screen did not come to rest within 10 seconds, so uiautomator returned no tree"
                return None if waits else EngineError(ErrorCode.UI_NOT_IDLE, message)
        return error

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

        done = await self._guarded("input {words}", still, words=words)
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
        mark = _WINDOWS.decode().strip()
        self._has_acted, self._last = True, None
        script = device_script(f"{TOUCH_SCRIPT}; echo {mark}; input {{words}}", words=words)
        done = await self._run(script)
        windows, _, said = done.stdout.partition(_WINDOWS)
        if (hit := window_at(touch_windows(windows.decode(errors="replace")), x, y)) is not None:
            self._now.facts["hit"] = str(hit)
        return self._sent(done._replace(stdout=said), f"input {' '.join(words)}")

    async def _press_at(self, node: UiNode, duration_ms: int) -> bool:
        assert self._tree is not None, "a node is of a tree"
        tree = self._tree
        point = tap_point(tree, node, self._touched(self._windows), long=duration_ms >= _TAP_MS)
        return await self._gesture(_press_words(point, duration_ms), tree, point)

    async def swipe(
        self, x1: int, y1: int, x2: int, y2: int, duration_ms: int, *, within: UiNode | None = None
    ) -> bool:
        path = x1, y1, x2, y2
        if within is None or self._tree is None:
            return await self._input("swipe", *map(str, (*path, duration_ms)))
        path = swipe_path(self._tree, within, self._touched(self._windows), path)
        return await self._gesture(("swipe", *map(str, (*path, duration_ms))), self._tree, path[:2])

    async def _gesture(self, words: Sequence[str], tree: UiTree, at: tuple[int, int]) -> bool:
        """Run ``input`` if the display is still that of ``tree``, and its window is still what a finger reaches at a point."""
        self._has_acted, self._last = True, None

        def still(before: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
            return same_keyboard(before, now) and foreign_at(now, tree, *at) is None

        return self._sent(await self._guarded("input {words}", still, words=words), f"input {' '.join(words)}")

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
        self.has_dumped = self._has_acted = True

        def still(_: Sequence[TouchWindow], now: Sequence[TouchWindow]) -> bool:
            return not focus_elsewhere(now, tree)

        values = {**typing.values, "file": self._file}
        how = {"timeout": None, "limit": MAX_DUMP, "label": f"input text {HIDDEN}"}
        done = await self._guarded(typing.script + _DUMP + typing.end, still, how, **values)
        if done.exit_code == DISPLAY_CHANGED:
            return self._sent(done, "")
        self._now.sent += typing.sent
        self._now.facts["route"] = typing.route
        if _HEAD not in done.stdout:
            raise _broke_off(f"typing broke off: {parse_failure(done.error_text, done.exit_code or 1)}", done)
        try:
            found = await self._read(done)
        except EngineError as exc:
            raise _broke_off(f"it was typed, but cannot be read back: {exc.message}", done) from exc
        if found is None:
            raise _broke_off("it was typed, but cannot be read back: the window has no tree", done)
        self._now.facts |= stock_text.arrival(field, text, tree, found[1], self._sdk)
        self._tree = found[1]
        return True

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
        found = await self._look()
        if found is None:
            raise stock_text.undelivered("the field was tapped, and then the window had no tree; nothing was typed")
        return stock_text.require_focus(node, before, found[1])

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
        self._has_acted = True
        done = await self._run(script)
        said = f"{done.text}\n{done.error_text}"
        if not (failure := parse_failure(said, done.exit_code)):
            self._now.sent.append(what)
            return True
        if any(words in said for words in _NOTHING_TO_START):
            return False
        raise EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            f"Android's {what} failed: {failure}",
            hint=refusal_hint(said) or _START_HINT,
        )

    async def _input(self, *words: str) -> bool:
        self._has_acted, self._last = True, None
        return self._sent(await self._run(device_script("input {words}", words=words)), f"input {' '.join(words)}")

    def _touched(self, text: str) -> list[TouchWindow]:
        return as_turned(touch_windows(text), self.display or "")

    async def _guarded(
        self,
        rest: str,
        still: Callable[[Sequence[TouchWindow], Sequence[TouchWindow]], bool],
        how: Mapping[str, Any] = MappingProxyType({}),
        **values: str | Sequence[str],
    ) -> ShellResult:
        """Run ``rest`` behind the check that display and windows are as at the last look; with the exit code DISPLAY_CHANGED it was not.

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
        said = f"{done.text}\n{done.error_text}"
        if failure := parse_failure(said, done.exit_code):
            hint = refusal_hint(said) or _BROKE_OFF_HINT
            raise EngineError(ErrorCode.GESTURE_FAILED, f"Android's {what} failed: {failure}", hint=hint)
        self._now.sent.append(what)
        return True

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:  # noqa: ARG002 - refused
        return {"error": "EXECUTION_ACTION_UNSUPPORTED", "message": "Recording needs the Operator app's event stream"}


def _press_words(point: tuple[int, int], duration_ms: int) -> tuple[str, ...]:
    """Return the words of ``input`` for a press: it has no other way to hold (android-facts 8c)."""
    at = tuple(map(str, point))
    return ("tap", *at) if duration_ms < _TAP_MS else ("swipe", *at, *at, str(duration_ms))


def dump_file() -> str:
    """Return a new name for the file of dumps on a device."""
    return f"/data/local/tmp/clawperator-{secrets.token_hex(8)}.xml"


def end_dump(file: str) -> str:
    """Return the script that ends the dump into ``file``, by the pid that it has left, and removes its files."""
    return device_script(_END_DUMP, file=file)


def held_by_other(output: str = "") -> EngineError:
    """Return the error for a device whose UiAutomation another program holds."""
    return EngineError(
        ErrorCode.BACKEND_UNAVAILABLE,
        "uiautomator cannot start: another program holds the device's connection for UI automation",
        hint="End the other test tool (Appium, uiautomator2, Maestro …): `clawperator doctor --backend stock` names it. "
        "Or wait until it has ended.",
        details={"output": output[:500]} if output else None,
    )


def _broken_dump(done: ShellResult, said: str) -> EngineError | None:
    """Return why ``uiautomator`` gave no XML, ``None`` where that is about the screen."""
    if _HELD in said:
        return held_by_other(said)
    if any(words in said for words in _NO_TREE) or not (done.exit_code or _DUMPED in said):
        return None
    reason = parse_failure(said, done.exit_code) or "the file that it wrote cannot be read"
    if done.exit_code == _KILLED:
        reason = "it was killed; another program may hold the connection for UI automation"
    elif done.exit_code:
        reason = f"{reason} (exit code {done.exit_code})"
    return EngineError(
        ErrorCode.BACKEND_UNAVAILABLE,
        f"uiautomator gave no tree: {reason}",
        hint="Run `clawperator doctor --backend stock`, or use the operator backend.",
        details={"output": said[:500], "exitCode": done.exit_code},
    )


def _broke_off(reason: str, done: ShellResult) -> EngineError:
    return stock_text.undelivered(reason, refusal_hint(done.error_text) or "")
