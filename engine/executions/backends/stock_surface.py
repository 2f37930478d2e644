"""A device without an app of ours as a surface of the runtime: ``uiautomator``, ``input``, ``am`` and ``dumpsys`` behind adb.

Each action is one script of the session's shell. A gesture at a node checks in the same script that the display is as it was when the
node's tree was read: if not, nothing is sent, and the action reads the tree again.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

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
from clawperator.engine.adb.parse import INPUT_BLOCKED_HINT, parse_failure
from clawperator.engine.adb.quote import device_script
from clawperator.engine.adb.shell_session import ShellSession
from clawperator.engine.adb.trace import HIDDEN
from clawperator.engine.contracts.limits import utf16_length
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.engine.hierarchy.tree import Bounds, IncomingTree, UiNode, UiTree, parse
from clawperator.engine.runtime.plan import (
    EnterText,
    PlanStep,
    Scroll,
    ScrollAndClick,
    ScrollUntil,
    WaitForNavigation,
    WaitForNode,
)

MAX_DUMP = 16 * 1024 * 1024
"""Bytes of a dump; as much as the trees of one execution may have together."""
_MOST_BEFORE = 64 * 1024
"""Bytes of other output that the XML of a dump may follow; behind more, it is parsed when it is complete."""
_MOST_SAID = 16 * 1024
"""Characters of other output that are read: on some phones a harmless stack trace stands before what matters."""
_TAP_MS = 500
"""A shorter press is a tap: ``input tap`` has no duration."""
_HEAD = b"clawperator-dump:\n"
_DUMP = (
    f"{STATE_SCRIPT}; echo {_HEAD.decode().strip()}; "
    """sh -c 'echo $$ > "$1.pid"; exec uiautomator dump "$1"' sh {file}; r=$?; """
    "rm -f {file}.pid; cat {file} 2>/dev/null; rm -f {file}; exit $r"
)
_END_DUMP = (
    'p=$(cat {file}.pid 2>/dev/null) && kill -9 "$p" 2>/dev/null; '
    'm=$(cat {file}.ime 2>/dev/null) && ime set "$m" >/dev/null 2>&1; rm -f {file} {file}.pid {file}.ime'
)
"""A dump whose shell is closed goes on (android-facts 4h), and no other can start meanwhile (7f)."""
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
_SELECTS_ALL = 33
"""The first API level whose ``input keycombination`` presses modifiers: Android 12 types the letter alone."""
_CLEAR_ALL = "input keycombination CTRL_LEFT A >/dev/null 2>&1 && input keyevent KEYCODE_DEL >&2 || "
_OR_END = " >&2 || exit 1; "
_BY_METHOD = (
    "settings get secure default_input_method > {file}.ime; (ime set {method} >&2 || exit 1; input tap {x} {y} >&2 || exit 1; n=0; "
    'until dumpsys input_method | grep -q mInputShown=true || [ "$n" -ge 20 ]; do n=$((n+1)); done; '
    "am broadcast -p {package} -a ADB_CLEAR_TEXT >&2; am broadcast -p {package} -a ADB_INPUT_B64 --es msg {data} >&2; "
)
"""The broadcasts are those of ADBKeyBoard, which receives them once its view is shown."""
_METHOD_BACK = '); r=$?; ime set "$(cat {file}.ime)" >/dev/null 2>&1; rm -f {file}.ime; exit $r'
_NO_KEY_HINT = "Use the operator backend, or name an input method of the device in the setting execution.input_method."
_MOST_KEYS = 1_000
"""Keys that delete before the cursor, and as many behind it."""
_PASSWORD_KEYS = 64
"""A password's length may not show."""
_LAUNCH = (
    'r=$(cmd package resolve-activity --brief {package} 2>&1); c=$(echo "$r" | grep -F -m 1 {entry}) || '
    "c=$(cmd package query-activities --brief {package} 2>/dev/null | grep -F -m 1 {entry}) || "
    '{ echo "$r"; exit 113; }; '
    'am start -a android.intent.action.MAIN -c android.intent.category.LAUNCHER -f 0x10200000 -n "${c##* }"'
)
"""Of several launcher entries the first is started; asked for one, Android names its dialog for the choice."""
_START_HINT = "Unlock the device, or start the app by hand once: Android or the phone's maker refused to start it."
_BROKE_OFF_HINT = "It may have acted: take a snapshot before you send it again."
_NOTHING_TO_START = ("No activity found", "No activities found", "unable to resolve Intent", "does not exist")
_KEYS = {"back": "KEYCODE_BACK", "home": "KEYCODE_HOME", "recents": "KEYCODE_APP_SWITCH"}


@dataclass(slots=True)
class Dispatched:
    """What one step sent to the device, and facts for its data."""

    sent: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


class _Typing(NamedTuple):
    """A script that types, with its values; ``end`` stands behind the dump that reads the field back."""

    script: str
    values: Mapping[str, str | Sequence[str]]
    sent: list[str]
    route: str
    end: str = ""


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
        self.steps: dict[str, Dispatched] = {}
        self.has_dumped = False
        self.first: tuple[float, str] | None = None
        """The time and the XML of the first tree, if nothing was sent to apps before it."""
        self._has_acted = False

    async def begin(self, step: PlanStep) -> None:
        """Note the step that begins: what was seen before is out of date."""
        self._step, self.display, self._began = step, None, time.monotonic()
        self._has_looked, self._unread, self._last = False, None, None
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
        scrolls = self._step is not None and isinstance(self._step.action, Scroll | ScrollUntil | ScrollAndClick)
        if scrolls and self._last is not None and time.monotonic() - self._last[0] < _STILL_SECONDS:
            return self._last[1]
        found = await self._look()
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
                device_script(_DUMP, file=self._file), timeout=left, limit=MAX_DUMP, on_output=incoming.feed
            )
        except AdbTimeoutError:
            self._unread = self._unread is not False
            return None
        except OversizedError as exc:
            words = f"uiautomator's dump is larger than {MAX_DUMP // 2**20} MB"
            raise EngineError(ErrorCode.HIERARCHY_TOO_LARGE, words, details={"maxBytes": MAX_DUMP}) from exc
        found = await self._read(done, incoming)
        if found is not None:
            self._unread, self._last = False, (time.monotonic(), found[1])
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
        self.display = head.decode(errors="replace").strip()
        said = f"{text[:_MOST_SAID].decode(errors='replace')}\n{done.error_text[:_MOST_SAID]}".strip()
        start = _xml_start(text)
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

    async def developer_settings(self) -> tuple[bool, bool]:
        script = "settings get global development_settings_enabled; settings get global adb_enabled"
        values = (await self._run(device_script(script))).text.split()
        return values[:1] == ["1"], values[1:2] == ["1"]

    # -- acting

    async def click(self, node: UiNode) -> bool:  # noqa: ARG002 - see below
        """Press Enter after typing (a step with ``submit``); else leave the click to ``press``, at the centre of the match."""
        if not isinstance(self._step.action if self._step else None, EnterText):
            return False
        if self._now.sent:
            return await self._input("keyevent", "KEYCODE_ENTER")
        return True  # set_text taps the field

    async def long_click(self, node: UiNode) -> bool:  # noqa: ARG002 - a gesture at the match instead
        return False

    async def focus(self, node: UiNode) -> bool:
        """Tap an editable node; others would be clicked by that."""
        if not is_editable(node) or isinstance(self._step.action if self._step else None, EnterText):
            return False
        return await self._input("tap", *map(str, node.bounds.center))

    async def select(self, node: UiNode) -> bool:  # noqa: ARG002 - no shell command selects a node
        return False

    async def press(self, x: int, y: int, duration_ms: int) -> bool:
        if duration_ms < _TAP_MS:
            return await self._input("tap", str(x), str(y))
        return await self._input("swipe", *map(str, (x, y, x, y, duration_ms)))

    async def swipe(self, x1: int, y1: int, x2: int, y2: int, duration_ms: int) -> bool:
        return await self._input("swipe", *map(str, (x1, y1, x2, y2, duration_ms)))

    async def key(self, name: str) -> bool:
        return await self._input("keyevent", _KEYS[name])

    async def set_text(self, node: UiNode, text: str) -> bool:
        """Replace the content of a field by keys and read it back; false if nothing was sent: ``node`` takes no text, or the display turned.

        Raises ``EngineError`` (TEXT_NOT_DELIVERED) where the field does not have exactly ``text`` afterwards.
        """
        if not (is_editable(node) and node.enabled):
            return False
        typing = self._typing(node, text)
        script = typing.script + ("" if node.password else _DUMP) + typing.end
        self.has_dumped = self.has_dumped or not node.password
        self._has_acted = True
        values = {**typing.values} | ({"file": self._file} if "{file}" in script else {})
        script = self._guarded(script, **values)
        done = await self._run(script, timeout=None, limit=MAX_DUMP, label=f"input text {HIDDEN}")
        if done.exit_code == DISPLAY_CHANGED:
            return self._sent(done, "")
        self._now.sent += typing.sent
        self._now.facts |= {"route": typing.route, "verified": "false" if node.password else "true"}
        broke_off = parse_failure(done.error_text, done.exit_code) if node.password else _HEAD not in done.stdout
        if broke_off:
            raise _undelivered(f"typing broke off: {parse_failure(done.error_text, done.exit_code or 1)}", done)
        if node.password:
            self._now.facts["note"] = "A password is not read back."
        else:
            await self._read_back(done, node, text)
        return True

    def _typing(self, node: UiNode, text: str) -> _Typing:
        """Return how ``text`` is typed: by keys, else by the input method. Raises ``EngineError`` (TEXT_NOT_DELIVERED) if neither can."""
        x, y = map(str, node.bounds.center)
        try:
            pieces = typed_pieces(text)
        except EngineError:
            if not self._method:
                raise
            data = base64.b64encode(text.encode()).decode()
            values = {"method": self._method, "package": self._method.partition("/")[0], "x": x, "y": y, "data": data}
            sent = [
                f"ime set {self._method}",
                f"input tap {x} {y}",
                f"am broadcast: {len(text)} characters",
                "ime set: as before",
            ]
            return _Typing(_BY_METHOD, values, sent, "input method", _METHOD_BACK)
        length = max(utf16_length(node.text), _PASSWORD_KEYS if node.password else 0)
        if length > _MOST_KEYS and self._sdk < _SELECTS_ALL:
            words = f"The field holds {length} characters; keys can replace {_MOST_KEYS}"
            raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, f"{words}. Nothing was sent.")
        tap = "" if node.focused else f"input tap {x} {y}{_OR_END}"
        clear = (_CLEAR_ALL if self._sdk >= _SELECTS_ALL else "") + "input keyevent {dels}" + _OR_END if length else ""
        typed = "".join(f"input text {{piece_{at}}}{_OR_END}" for at in range(len(pieces)))
        keys = min(length, _MOST_KEYS)
        dels = {"dels": ["KEYCODE_DEL"] * keys + ["KEYCODE_FORWARD_DEL"] * keys} if length else {}
        sent = [f"input tap {x} {y}"] if tap else []
        sent += [f"input keyevent: delete the content ({length} characters)"] if length else []
        sent.append(f"input text ({len(text)} characters)")
        values = {f"piece_{at}": piece for at, piece in enumerate(pieces)}
        return _Typing(tap + clear + typed, {**values, **dels}, sent, "input text")

    async def _read_back(self, done: ShellResult, node: UiNode, text: str) -> None:
        try:
            found = await self._read(done)
        except EngineError as exc:
            raise _undelivered(f"it was typed, but cannot be read back: {exc.message}", done) from exc
        if found is None:
            raise _undelivered("it was typed, but cannot be read back: the window has no tree", done)
        fields = [
            now
            for now in found[1].nodes
            if is_editable(now) and (now.path == node.path or (now.focused and now.path != self._focused))
        ]
        if all(now.text != text for now in fields):
            seen = f"the field has {len(fields[0].text)} characters" if fields else "the field is gone"
            raise _undelivered(f"{seen}, not the {len(text)} that were typed", done)

    async def launch(self, package: str) -> bool:
        script = device_script(_LAUNCH, package=package, entry=f"{package}/")
        return await self._start(script, f"am start of {package}'s launcher entry")

    async def open_uri(self, uri: str) -> bool:
        script = device_script("am start -a android.intent.action.VIEW -d {uri}", uri=uri)
        return await self._start(script, "am start -a android.intent.action.VIEW")

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
        raise EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, f"Android's {what} failed: {failure}", hint=_START_HINT)

    async def _input(self, *words: str) -> bool:
        """Run ``input``; a gesture only if the display is still that of the step's tree. False if nothing was sent."""
        self._has_acted, self._last = True, None
        make = device_script if words[0] == "keyevent" else self._guarded
        script = make("input {words}", words=words)
        return self._sent(await self._run(script), f"input {' '.join(words)}")

    def _guarded(self, rest: str, **values: str | Sequence[str]) -> str:
        """Return ``rest`` filled with ``values``, behind the check of the display if this step has read a tree."""
        if self.display is None:
            return device_script(rest, **values)
        return device_script(GUARD + rest, seen=self.display, **values)

    def _sent(self, done: ShellResult, what: str) -> bool:
        """Note what was sent. Raises ``EngineError`` (GESTURE_FAILED) if it was refused or broke off: it may have acted."""
        if done.exit_code == DISPLAY_CHANGED:
            self._now.facts["display_changed"] = "true"
            return False
        said = f"{done.text}\n{done.error_text}"
        if failure := parse_failure(said, done.exit_code):
            hint = INPUT_BLOCKED_HINT if "INJECT_EVENTS" in said else _BROKE_OFF_HINT
            raise EngineError(ErrorCode.GESTURE_FAILED, f"Android's {what} failed: {failure}", hint=hint)
        self._now.sent.append(what)
        return True

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:  # noqa: ARG002 - refused
        return {"error": "EXECUTION_ACTION_UNSUPPORTED", "message": "Recording needs the Operator app's event stream"}


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


def typed_pieces(text: str) -> list[str]:
    """Return ``text`` as arguments of ``input text``: it reads ``%s`` as a space, so a literal one is typed in two pieces.

    Raises ``EngineError`` (TEXT_NOT_DELIVERED) for a character without a key: ``input`` would type nothing.
    """
    if bad := next((sign for sign in text if not " " <= sign <= "~"), ""):
        message = f"Android's input cannot type the character U+{ord(bad):04X}; nothing was sent"
        raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, message, hint=_NO_KEY_HINT)
    return [piece.replace(" ", "%s") for piece in text.replace("%s", "%\0s").split("\0")]


def _undelivered(reason: str, done: ShellResult) -> EngineError:
    hint = INPUT_BLOCKED_HINT if "INJECT_EVENTS" in done.error_text else ""
    return EngineError(ErrorCode.TEXT_NOT_DELIVERED, f"The text did not arrive: {reason}", hint=hint)
