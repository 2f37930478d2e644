"""Dumps of the stock backend: the script of ``uiautomator dump``, its output, and how long its tree stays valid."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from clawperator.engine.adb.device import ShellResult
from clawperator.engine.adb.displays import STATE_SCRIPT, state_size
from clawperator.engine.adb.failures import OversizedError
from clawperator.engine.adb.parse import parse_failure
from clawperator.engine.adb.quote import device_script
from clawperator.engine.adb.shell_session import ShellSession
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.finish import too_large
from clawperator.engine.executions.touch_windows import TOUCH_SCRIPT
from clawperator.engine.hierarchy.tree import MAX_BYTES, Bounds, IncomingTree, UiTree, parse
from clawperator.engine.text.numbers import whole_number

MAX_DUMP = MAX_BYTES + 2 * 1024 * 1024
"""Bytes of the output of a dump: of a larger tree the device says the size alone."""
_MOST_BEFORE = 64 * 1024
"""Bytes of other output that the XML of a dump may follow; behind more, it is parsed when it is complete."""
_MOST_OUTPUT = 16 * 1024
"""Characters of other output that are read: on some phones a harmless stack trace stands before what matters."""
WINDOWS = b"clawperator-windows:\n"
HEAD = b"clawperator-dump:\n"
DUMP = (
    f"{STATE_SCRIPT}; echo {WINDOWS.decode().strip()}; {TOUCH_SCRIPT}; echo {HEAD.decode().strip()}; "
    """sh -c 'echo $$ > "$1.pid"; exec uiautomator dump $2 "$1"' sh {file} {options}; r=$?; """
    f'rm -f {{file}}.pid; n=$(cat {{file}} 2>/dev/null | wc -c); if [ "$n" -gt {MAX_BYTES} ]; then echo clawperator-bytes:$n; '
    "else cat {file} 2>/dev/null; fi; rm -f {file}; exit $r"
)
_BYTES = re.compile(rb"clawperator-bytes: ?(\d{1,15})\n")
_END_DUMP = (
    'p=$(cat {file}.pid 2>/dev/null) && kill -9 "$p" 2>/dev/null; '
    'm=$(cat {file}.ime 2>/dev/null) && ime set "$m" >/dev/null 2>&1; rm -f {file} {file}.pid {file}.ime'
)
"""A dump whose shell is closed goes on (android-facts 4h), and no other can start meanwhile (7f)."""
_HELD = "already registered"
"""What ``uiautomator`` prints where another program holds the one UiAutomation connection (android-facts 7f)."""
_NO_TREE = ("could not get idle state", "null root node")
"""What it prints, without a failure of its own, where the screen gives no tree (7a)."""
_DUMPED = "dumped to"
_KILLED = 137
_MISSING = 127


class IncomingDump:
    """The output of ``DUMP`` while it comes. ``start``: where ``xml`` begins behind the head."""

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
            text = self._before.partition(HEAD)[2]
            if (start := _xml_start(text)) < 0:
                return
            self.start, data = start, text[start:]
        self.xml.feed(data)


def _xml_start(text: bytes) -> int:
    return max(text.find(b"<?xml"), 0) or text.find(b"<hierarchy")


FRESH_SECONDS = 2.0
"""How long a tree stays valid: reading another one takes a phone as long."""


@dataclass(slots=True)
class Dump:
    """The active window as it was read ``at`` (``time.monotonic()``): its tree, and the display and windows around it.

    ``shown``: a snapshot of the plan has returned it; a second one asks for the screen again.
    """

    at: float
    xml: str
    tree: UiTree
    display: str
    windows: str
    shown: bool = False


class Dumps:
    """The dumps of one execution: choice, action and evidence share the last one until the host sends something or waits.

    ``file`` is where the device keeps a dump; ``compressed`` leaves out views without meaning, so that the screen rests sooner.
    """

    def __init__(self, file: str, *, compressed: bool = False) -> None:
        self.file = file
        self.compressed = compressed
        self.last: Dump | None = None

    @property
    def values(self) -> dict[str, str]:
        """Return the values of ``DUMP``."""
        return {"file": self.file, "options": "--compressed" if self.compressed else ""}

    def fresh(self) -> Dump | None:
        """Return the last dump if it still shows the screen."""
        recent = self.last is not None and time.monotonic() - self.last.at < FRESH_SECONDS
        return self.last if recent else None

    def forget(self) -> None:
        """Note that something was sent, or time was waited."""
        self.last = None

    async def take(self, shell: ShellSession, timeout: float | None) -> Dump | None:
        """Read the active window within ``timeout`` seconds; as ``read``, and raises ``AdbTimeoutError``."""
        incoming = IncomingDump()
        try:
            done = await shell.run(
                device_script(DUMP, **self.values),
                timeout=timeout,
                limit=MAX_DUMP,
                on_output=incoming.feed,
                label=f"uiautomator dump {self.file}",
            )
        except OversizedError as exc:
            words = f"The output of uiautomator is larger than {MAX_DUMP // 2**20} MiB"
            raise EngineError(ErrorCode.HIERARCHY_TOO_LARGE, words, details={"maxBytes": MAX_BYTES}) from exc
        return await self.read(done, incoming)

    async def read(self, done: ShellResult, incoming: IncomingDump | None = None) -> Dump | None:
        """Return what a dump shows, which ``incoming`` has parsed while it came; ``None`` for a window without a root.

        Raises ``EngineError``: UI_NOT_IDLE, BACKEND_UNAVAILABLE, HIERARCHY_TOO_LARGE, HIERARCHY_MALFORMED.
        """
        head, _, text = done.stdout.partition(HEAD)
        display, _, windows = head.decode(errors="replace").partition(WINDOWS.decode())
        output = f"{text[:_MOST_OUTPUT].decode(errors='replace')}\n{done.error_text[:_MOST_OUTPUT]}".strip()
        start = _xml_start(text)
        if start < 0 and (too_long := _BYTES.search(text)) is not None:
            raise too_large(whole_number(too_long[1].decode(), digits=15) or 0)
        if start < 0 and (refusal := _broken_dump(done, output)) is not None:
            raise refusal
        xml = text[start:] if start >= 0 else output.encode()
        size = state_size(display)
        read: Callable[..., UiTree] = partial(parse, xml)
        if incoming is not None and incoming.start == start >= 0:
            read = incoming.xml.tree
        try:
            tree = await asyncio.to_thread(read, screen=Bounds(0, 0, *size) if size else None)
        except EngineError as exc:
            match exc.details.get("reason"):
                case "no_root":
                    return None
                case "not_idle":
                    raise self._not_idle() from exc
            raise
        if not tree.nodes:
            return None
        shown = xml.strip().decode(errors="replace")
        self.last = Dump(time.monotonic(), shown, tree, display.strip(), windows.rstrip("\n"))
        return self.last

    def _not_idle(self) -> EngineError:
        message = "The screen did not come to rest within 10 seconds, so uiautomator returned no tree"
        hint = "Wait until nothing on the screen moves, or use the operator backend, which reads a moving screen."
        return EngineError(ErrorCode.UI_NOT_IDLE, message, hint=hint if self.compressed else None)


@contextmanager
def suppress_dead() -> Iterator[None]:
    """Suppress the error of a dump that died, or came damaged: reading is no side effect, so it is read once more."""
    try:
        yield
    except EngineError as exc:
        died = exc.code is ErrorCode.BACKEND_UNAVAILABLE and exc.details.get("exitCode") not in (None, _MISSING)
        if not died and exc.code is not ErrorCode.HIERARCHY_MALFORMED:
            raise


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


def _broken_dump(done: ShellResult, output: str) -> EngineError | None:
    """Return why ``uiautomator`` gave no XML, ``None`` where that is about the screen."""
    if _HELD in output:
        return held_by_other(output)
    if any(words in output for words in _NO_TREE) or not (done.exit_code or _DUMPED in output):
        return None
    reason = parse_failure(output, done.exit_code) or "the file that it wrote cannot be read"
    if done.exit_code == _KILLED:
        reason = "it was killed; another program may hold the connection for UI automation"
    elif done.exit_code:
        reason = f"{reason} (exit code {done.exit_code})"
    return EngineError(
        ErrorCode.BACKEND_UNAVAILABLE,
        f"uiautomator gave no tree: {reason}",
        hint="Run `clawperator doctor --backend stock`, or use the operator backend.",
        details={"output": output[:500], "exitCode": done.exit_code},
    )
