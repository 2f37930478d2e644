"""Who holds the device: the dialog behind the lock's chip. It keeps time while it is open."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.geometry import Size

from clawperator.app.console import navigation
from clawperator.app.console.run.dispatch_dialogs import AskingDialog
from clawperator.engine.executions.device_lock import SETTLE_SECONDS
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.waterfall import total_row
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import Timeline
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock, duration
from clawperator.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.app.console.session import Session

_TICK_SECONDS = 0.5
_NAME_CELLS = 11


def show_lock(console: ConsoleApp) -> None:
    """Open the dialog, or say that nobody holds the device."""
    session = console.session
    if not session.lock:
        console.say(Status.IDLE, f"{session.device_id or 'The device'} is free")
        return
    command = str(session.lock.get("commandId") or "")

    def answered(watch: bool | None) -> None:
        if watch:
            navigation.to_execution(console, command)

    console.push_screen(LockDialog(session, console.symbols), answered)


def lock_rows(
    lock: Mapping[str, Any], execution: ExecutionState | None, clock: WallClock, width: int, symbols: Symbols = UNICODE
) -> Iterator[Row]:
    """Everything that is known of the holder. ``lock`` is empty when the device has become free meanwhile."""
    if not lock:
        sign = symbols.sign(Status.IDLE)
        yield Row(Line(width).add(f" {sign} The device is free now.", "ok"))
        return
    settling = lock.get("state") == "settling"
    status = Status.WAITING if settling else Status.RUNNING
    line = Line(width).add(f" {symbols.sign(status)} ", status.role)
    line.device(str(lock.get("commandId") or "an execution"), "strong", room=max(10, width - 26))
    yield Row(
        line.add(" settles on " if settling else " holds ", "text").device(str(lock.get("deviceId", "")), "strong")
    )
    yield Row(Line(width))
    for name, value in _facts(lock, execution, clock):
        yield Row(Line(width).add(" ").add(column(name, _NAME_CELLS), "faint").device(value, "text"))
    yield Row(Line(width))
    if not settling and (time := _time_row(lock, clock, width, symbols)):
        yield time
        yield Row(Line(width))
    for text in wrap(_meaning(lock, clock, settling=settling), max(20, width - 2)):
        yield Row(Line(width).add(" ").add(text, "muted"))


def _facts(lock: Mapping[str, Any], execution: ExecutionState | None, clock: WallClock) -> Iterator[tuple[str, str]]:
    for name, key in (("task", "taskId"), ("source", "source"), ("face", "face")):
        if lock.get(key):
            yield name, str(lock[key])
    if lock.get("pid"):
        yield "process", f"pid {lock['pid']}{', this console' if lock['pid'] == os.getpid() else ''}"
    if _number(lock.get("since")):
        yield "since", clock.time_of_day(float(lock["since"]))
    if execution is not None and execution.stage:
        yield "last sign", execution.stage


def _time_row(lock: Mapping[str, Any], clock: WallClock, width: int, symbols: Symbols) -> Row | None:
    """How much of its time is used."""
    since, budget = lock.get("since"), lock.get("timeoutMs")
    if not (_number(since) and _number(budget)):
        return None
    elapsed = max(0.0, clock.now() - float(since or 0))
    used = Timeline(float(since or 0), elapsed, elapsed, float(budget or 0) / 1000, (), (), 0)
    return total_row(used, width, over=False, symbols=symbols)


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _meaning(lock: Mapping[str, Any], clock: WallClock, *, settling: bool) -> str:
    if settling:
        left = max(0.0, float(lock.get("notBefore") or 0) - clock.now())
        return f"Its outcome is unknown and the device may still be busy. Nothing is sent to it for {duration(left)}."
    if lock.get("pid") == os.getpid():
        return (
            f"Press C to stop waiting. The device cannot be stopped: it continues, and the lock is kept for {SETTLE_SECONDS:g} s. "
            "The lock ends with the result or with this process."
        )
    return (
        "Another process holds the lock; only that process can stop waiting. The lock ends with the result or with that "
        "process. Until then this console sends and queues nothing."
    )


class LockText(WrappedText):
    """The rows, drawn anew while time passes."""

    def __init__(self, session: Session, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._session = session

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's three
        """As high as the text for this width, which the pane does not have yet."""
        return min(len(list(self.folded(width))), max(1, viewport.height * 9 // 10 - 4))

    def folded(self, width: int) -> Iterable[Row]:
        session = self._session
        lock = session.lock
        execution = session.log.find(str(lock.get("commandId") or ""))
        return lock_rows(lock, execution, session.clock, width, self.symbols) if width >= 10 else ()

    def on_mount(self) -> None:
        self.call_after_refresh(self.fold)
        self.set_interval(_TICK_SECONDS, self.fold)


class LockDialog(AskingDialog):
    """Answers true when the holder is to be watched."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "watch it in the stream"

    def __init__(self, session: Session, symbols: Symbols) -> None:
        super().__init__("the device is in use", symbols)
        self._session = session

    def compose_question(self) -> ComposeResult:
        yield LockText(self._session, id="lock")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.query_one("#lock"))
