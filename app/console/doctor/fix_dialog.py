"""The confirmation of a fix: the exact commands, and who is affected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import ComposeResult

from clawperator.app.console.screens.live_dialog import AskingDialog
from clawperator.widgets import keys
from clawperator.widgets.format.checks import short_name
from clawperator.widgets.format.fix_lines import command_rows
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText

if TYPE_CHECKING:
    from clawperator.engine.doctor.fix import PlannedFix


class Proposal(NamedTuple):
    """What the dialog shows. ``at_work`` are the locks of all devices, by serial."""

    what: str
    device_id: str
    plans: Sequence[PlannedFix]
    at_work: Mapping[str, Mapping[str, Any]]


def proposal_rows(shown: Proposal, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the text of the dialog for ``width`` cells."""
    warnings = list(_warnings(shown, width, symbols))
    yield from warnings
    if shown.device_id and any(shown.device_id in command for plan in shown.plans for command in plan.preview):
        if warnings:
            yield Row(Line(width))
        yield Row(Line(width).add(" on ", "faint").device(shown.device_id, "strong"))
    for number, plan in enumerate(shown.plans, 1):
        yield Row(Line(width))
        place = f"{number}. " if len(shown.plans) > 1 else ""
        yield Row(Line(width).add(f" {place}", "muted").device(short_name(plan.check_id), "strong"))
        if plan.preview != (plan.step,):
            yield from wrapped(plan.step, width, "muted", lead="   ", limit=6)
        for command in plan.preview:
            yield from command_rows(command, width)
    yield Row(Line(width))
    last = "These checks and the following ones" if len(shown.plans) > 1 else "This check and the following ones"
    yield Row(Line(width).add(f" {last} run again afterwards.", "faint"))


def _warnings(shown: Proposal, width: int, symbols: Symbols) -> Iterator[Row]:
    dangerous = [plan for plan in shown.plans if plan.dangerous]
    if not dangerous:
        return
    sign = symbols.sign(Status.WARN)
    for place, words in enumerate(_whom(dangerous, shown.at_work)):
        lead = f" {sign} " if not place else " " * (len(sign) + 2)
        yield from wrapped(words, width, "warn", lead=lead, lead_role="warn")


def _whom(dangerous: Sequence[PlannedFix], at_work: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield who is affected: users of this adb server, and the current holders of devices."""
    if any("kill-server" in command for plan in dangerous for command in (*plan.preview, plan.step)):
        yield (
            "This affects other programs: everything on this computer that uses adb loses its devices briefly, "
            "and what runs on them loses its connection."
        )
    else:
        yield "This affects other users of these devices, not only this console."
    for serial, lock in at_work.items():
        source = f" from {lock['source']}" if lock.get("source") else ""
        yield f"Running now: {lock.get('commandId') or 'an execution'}{source} on {serial}."


class FixDialog(AskingDialog):
    """Answers true when the commands are to be run."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "run"

    def __init__(self, shown: Proposal) -> None:
        super().__init__(shown.what)
        self._shown = shown

    def compose_question(self) -> ComposeResult:
        yield WrappedText(lambda width: proposal_rows(self._shown, width, self.symbols), id="proposal")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#proposal"))
