"""The dialog behind the lock's chip: who holds the device. Its times advance while it is open."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult

from clawperator.app.console.console import Console
from clawperator.app.console.navigation import ExecutionPlace
from clawperator.app.console.screens.live_dialog import AskingDialog
from clawperator.app.console.screens.menu import ask
from clawperator.engine.executions.device_lock import SETTLE_SECONDS
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, column, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.waterfall import total_row
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import Timeline
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.times import WallClock, duration

if TYPE_CHECKING:
    from clawperator.app.console.session import Session

_TICK_SECONDS = 0.5
_NAME_CELLS = 11


def show_lock(console: Console) -> None:
    """Open the dialog, or say that the device is free."""
    session = console.session
    if not session.lock:
        console.say(Status.IDLE, f"{session.device_id or 'The device'} is free")
        return
    command = str(session.lock.get("commandId") or "")

    ask(console, LockDialog(session), lambda _: console.go_to(ExecutionPlace(command)))


def lock_rows(
    lock: Mapping[str, Any], execution: ExecutionState | None, clock: WallClock, width: int, symbols: Symbols = UNICODE
) -> Iterator[Row]:
    """Yield everything known of the holder; ``lock`` is empty when the device became free."""
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
    yield from wrapped(_meaning(lock, clock, settling=settling), width, "muted")


def _facts(lock: Mapping[str, Any], execution: ExecutionState | None, clock: WallClock) -> Iterator[tuple[str, str]]:
    for name, key in (("task", "taskId"), ("source", "source"), ("face", "face")):
        if lock.get(key):
            yield name, str(lock[key])
    if lock.get("pid"):
        yield "process", f"pid {lock['pid']}{', this console' if lock['pid'] == os.getpid() else ''}"
    if _number(lock.get("since")):
        yield "since", clock.time_of_day(float(lock["since"]))
    if execution is not None and execution.stage:
        yield "progress", execution.stage


def _time_row(lock: Mapping[str, Any], clock: WallClock, width: int, symbols: Symbols) -> Row | None:
    """Return how much of the time limit is used."""
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
        return f"Its outcome is unknown, so the device may still be acting. Nothing is sent to it for another {duration(left)}."
    if lock.get("pid") == os.getpid():
        return (
            f"C stops waiting for it. The execution cannot be cancelled on the device: it continues, and the lock is held {SETTLE_SECONDS:g} s "
            "longer. The lock ends with the result or with this process."
        )
    return (
        "Another process holds it. Only that process can stop waiting. The lock ends with "
        "the result or with that process. Until then this console sends nothing and queues nothing."
    )


class LockDialog(AskingDialog):
    """Answers true when the holder's execution is to be shown."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "show in the stream"

    def __init__(self, session: Session) -> None:
        super().__init__("the device is in use")
        self._session = session

    def compose_question(self) -> ComposeResult:
        yield WrappedText(self._rows, id="lock")

    def on_mount(self) -> None:
        text = self.query_one("#lock", WrappedText)
        self.set_focus(text)
        self.set_interval(_TICK_SECONDS, text.fold)

    def _rows(self, width: int) -> Iterator[Row]:
        session = self._session
        execution = session.log.find(str(session.lock.get("commandId") or ""), session.device_id)
        return lock_rows(session.lock, execution, session.clock, width, self.symbols)
