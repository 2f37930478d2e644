"""Mode 6: is everything ready? All checks, and one of them in full with what to do."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.widgets.doctor_panel import CheckDetail, DoctorPanel
from clawperator.widgets.format.checks import fix_text, tally_line
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.times import age
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.pane import Pane


class DoctorScreen(TwoPaneScreen):
    """The checklist and one check."""

    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id", "line")
    PLACES: ClassVar[dict[str, str]] = {"doctor": "#list", "node": "#detail"}

    def compose_body(self) -> ComposeResult:
        with Container(id="panes", classes="-beside"):
            yield Pane("checks", DoctorPanel(id="list"), id="list-pane")
            yield Pane("detail", CheckDetail(id="detail"), id="detail-pane")
        yield InfoLine(id="summary")

    @property
    def panel(self) -> DoctorPanel:
        return self.query_one("#list", DoctorPanel)

    def draw(self, changed: Facet) -> None:
        if changed & Facet.DOCTOR:
            self.panel.show(self.session.report)
            self.show_detail()
            self.show_place()
            self._draw_summary()

    def draw_ages(self) -> None:
        self._draw_summary()

    def show_detail(self) -> None:
        self.query_one("#detail", CheckDetail).show(self.panel.check)

    def _draw_summary(self) -> None:
        report, symbols = self.session.report, self.console.symbols
        summary = self.query_one("#summary", InfoLine)
        line = Line(summary.width).add(" ")
        status = report.worst()
        line.add(f"{status.sign(ascii_only=symbols.ascii)} ", status.role).add(_VERDICTS[status], "strong")
        line.add("   ").extend(tally_line(report.checks, symbols))
        right = Line()
        if report.running:
            right.add("running ", "run")
        elif report.ended:
            when = age(self.session.clock.now() - report.ended)
            right.add(when if when == "now" else f"{when} ago", "muted").add(
                f" for {report.device_id} " if report.device_id else " ", "muted"
            )
        summary.show(Row(line, right))

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        check = self.panel.check
        if check is not None:
            things["id"] = Copyable("the check's id", lambda: str(check.get("id", "")))
            if steps := fix_text(check):
                things["line"] = Copyable("the steps", lambda: steps)
            else:
                things["line"] = Copyable("the check", lambda: json.dumps(dict(check), indent=2, ensure_ascii=False))
        return things


_VERDICTS = {
    Status.OK: "everything passes",
    Status.WARN: "works, with advice",
    Status.FAILED: "something is in the way",
    Status.RUNNING: "checking…",
    Status.IDLE: "not run yet",
}
