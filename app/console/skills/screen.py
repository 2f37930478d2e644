"""Mode 5: the skills of the registry, one of them in full, and its output."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Click

from clawperator.app.console.actions import offer_actions
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.navigation import Destination, SkillOutputPlace, SkillPlace
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.app.console.skills.actions import SkillActions, SkillsConsole
from clawperator.engine.skills.describe import SkillIssue
from clawperator.widgets import keys
from clawperator.widgets.format.jobs import job_line
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.skill_output import run_row
from clawperator.widgets.format.skills import SOURCES, finding_text, place_words, summary_line
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.models.skills import BUILTIN, SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.skill_card import SkillCard
from clawperator.widgets.skill_list import SkillList
from clawperator.widgets.skill_output import FindingList, SkillOutput

_VIEWS = {"output": "#output", "lint": "#findings"}


class RunLine(InfoLine):
    """The running skill in one line; a click opens its output."""

    async def on_click(self, event: Click) -> None:
        event.stop()
        await self.screen.run_action("show_output")


class SkillsScreen(TwoPaneScreen):
    """The list with its search, the details, and the third pane: output or lint findings."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("skills")]
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id", "command", "line")
    GO: ClassVar[str] = "go_skills"
    PLACES: ClassVar[dict[str, str]] = {"skills": "#list", "card": "#detail", "output": "#output", "lint": "#findings"}

    def __init__(self) -> None:
        super().__init__()
        self.skills = SkillList(id="list")
        self.detail = SkillCard(id="detail")
        self.output = SkillOutput(id="output")
        self.findings = FindingList(id="findings")
        self.view = "output"
        """What the third pane shows."""
        self._at_work = False
        self.actions = SkillActions(self, self.skills, self.findings, self._reveal)
        offer_actions(self, self.actions)

    @property
    def console(self) -> SkillsConsole:
        return cast("SkillsConsole", self.app)

    def compose_body(self) -> ComposeResult:
        with Container(id="panes"):
            yield Pane(
                "skills",
                FindLine(self._search, placeholder="words in id, summary, app, keywords", back_to="#list", id="find"),
                self.skills,
                id="list-pane",
            )
            with Container(id="skill-side"):
                yield Pane("details", self.detail, id="detail-pane")
                yield Pane("output", self.output, id="output-pane")
                yield Pane("lint", self.findings, id="lint-pane")
        yield RunLine(id="run-line")
        yield InfoLine(id="asks")
        yield InfoLine(id="summary")

    def arrive(self, place: Destination) -> None:
        match place:
            case SkillPlace(skill_id, run):
                self.to_skill(skill_id, run)
            case SkillOutputPlace():
                self.action_show_output()

    def on_screen_resume(self) -> None:
        self.console.skills.begin()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & Facet.SKILLS:
            self.skills.empty_text = self._empty_words()
            self.skills.show(self.session.skills)
            self.show_detail()
            self.show_place()
            self._draw_output()
            self._note_work()
        if changed & (Facet.SKILLS | Facet.DEVICES):
            self._draw_lines()

    def _note_work(self) -> None:
        """Show the key that cancels only while there is something to cancel."""
        if self._at_work != self._can_cancel:
            self._at_work = self._can_cancel
            self.refresh_bindings()

    @property
    def _can_cancel(self) -> bool:
        return self.console.skills.busy or self.console.skills.syncing is not None

    def draw_ages(self) -> None:
        self.output.tick()
        self.detail.tick()
        self.skills.tick()
        self._draw_lines()

    def _empty_words(self) -> str:
        state = self.session.skills
        if not state.known:
            return "Loading skills…"
        if state.skills:
            return f"No skill matches all of: {sentence(self.skills.typed)}.\nesc clears the search."
        if state.trouble is not None:
            return (
                f"{_sentence(state.trouble)}\n{state.trouble.hint}\n\nr refreshes, U fetches the repository's skills."
            )
        return "This registry has no skills.\n\nU fetches the repository's skills."

    def show_detail(self) -> None:
        skill = self.skills.skill
        if skill is not None:
            self.console.skills.look_at(skill.id)
        self.detail.show(skill, self.session.skills)
        self._draw_lines()

    def show_place(self) -> None:
        """Show ``3 of 41``, with the total while a search hides some."""
        pane, total = self.skills, len(self.session.skills.skills)
        count = pane.row_count()
        of_all = f" ({total:,})" if count != total else ""
        words = f"{pane.cursor + 1:,} of {count:,}{of_all}" if count else ""
        self.query_one("#list-pane", Pane).note(Line().add(words))

    def _draw_output(self) -> None:
        state = self.session.skills
        self.output.show(state.run)
        self.findings.show(state.checked, state.checking)
        self.set_class(state.run is not None, "-ran")
        self.query_one("#output-pane", Pane).badge(sentence(state.run.subject) if state.run is not None else "")
        self._note_lines()

    @on(SkillOutput.Changed)
    def _note_lines(self) -> None:
        if self.output.run is not None:
            lines = self.output.run.output
            gone = f", {lines.first:,} older discarded" if lines.first else ""
            words = f"{len(lines):,} line{'s' * (len(lines) != 1)}{gone}"
            self.query_one("#output-pane", Pane).note(Line().add(words))

    def _draw_lines(self) -> None:
        state, symbols = self.session.skills, self.console.symbols
        asks, summary = self.query_one("#asks", InfoLine), self.query_one("#summary", InfoLine)
        asks.show(Row(summary_line(self.skills.skill, state, asks.width, symbols)))
        summary.show(self._summary_row(state, summary.width))
        line = self.query_one("#run-line", InfoLine)
        if state.run is not None:
            line.show(run_row(state.run, self.session.clock.now(), line.width, symbols, named=True))

    def _summary_row(self, state: SkillsState, width: int) -> Row:
        symbols = self.console.symbols
        if state.sync is not None and state.sync.running:
            return job_line(state.sync, self.session.clock.now(), width, symbols)
        line = Line(width).add(" ")
        if not state.known:
            return Row(line.add("loading the registry…", "muted"))
        if state.trouble is not None and not state.skills:
            return Row(line.add(f"{symbols.sign(Status.FAILED)} ", "fail").device(_sentence(state.trouble), "fail"))
        count, typed = len(state.skills), self.skills.typed
        of_all = f"{self.skills.row_count():,} of " if typed else ""
        line.add(f"{of_all}{count:,} skill{'s' * (count != 1)}", "strong")
        if typed:
            line.add("  / ", "key").device(typed, "match", room=24)
        line.add(f"   {SOURCES.get(state.source, '')}", "muted")
        right = Line(max(10, width // 2))
        if state.trouble is not None:
            right.device(state.trouble.message, "warn").add(" U", "key").add(" fetches ", "muted")
        elif state.commit:
            right.device(state.commit, "muted").add(" ")
        elif state.source != BUILTIN and not self.narrow:
            right.device(state.path, "faint").add(" ")
        return Row(line, right)

    # -- searching

    def action_find(self) -> None:
        """Open the search line at once: the next key belongs to it."""
        if self.query_one("#panes").has_class("-detail") or self.has_class("-output"):
            self.close_drawers()
        self.query_one(FindLine).open()

    def _search(self, text: str) -> None:
        self.skills.search(text)
        self.skills.empty_text = self._empty_words()
        self.show_place()
        self._draw_lines()

    def clear_pane(self) -> None:
        self.query_one(FindLine).value = ""

    # -- places

    def _show_view(self, view: str) -> None:
        """Show output or lint, and keep the focus in that pane."""
        inside = self.focused_within(_VIEWS[self.view])
        self.view = view
        self.set_class(view == "lint", "-lint")
        if inside:
            self.set_focus(self.query_one(_VIEWS[view]))

    def go_to(self, selector: str) -> None:
        for view, place in _VIEWS.items():
            if selector == place:
                self._show_view(view)
        super().go_to(selector)

    def open_drawer(self, pane: Pane | None) -> None:
        super().open_drawer(pane)
        self.set_class(pane is not None and pane.id in ("output-pane", "lint-pane"), "-output")

    def close_drawers(self) -> bool:
        """Return from the output to where it was opened."""
        opened = self.has_class("-output")
        self.remove_class("-output")
        if opened:
            self.set_focus(self.detail if self.query_one("#panes").has_class("-detail") else self.skills)
        return opened or super().close_drawers()

    def _reveal(self, view: str) -> None:
        """Show output or lint; on small screens they take the focus."""
        self.go_to(_VIEWS[view]) if self.narrow else self._show_view(view)

    def action_view(self) -> None:
        self._reveal("lint" if self.view == "output" else "output")

    def action_show_output(self) -> None:
        self.go_to("#output")

    def to_skill(self, skill_id: str, run: bool = False) -> None:
        """Move the cursor to a skill, clearing the search; ``run`` also opens its form."""
        self.clear_pane()
        if self.skills.to_skill(skill_id) and run:
            self.actions.action_run_skill()

    def action_problem(self, step: int) -> None:
        """Go to the next problem of the focused pane."""
        focused = self.focused
        if isinstance(focused, SkillOutput | FindingList):
            focused.to_problem(step)
        else:
            self.skills.to_problem(step)

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key that cancels while nothing runs."""
        if action == "cancel_skill":
            return self._can_cancel
        return super().check_action(action, parameters)

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        skill, state = self.skills.skill, self.session.skills
        if skill is not None:
            things["id"] = Copyable("the skill's id", skill.id)
            words = ["clawperator", "skills", "get", skill.id]
            words += ["--registry", "builtin"] if state.source == BUILTIN else []
            things["command"] = Copyable("the command line", shlex.join(words))
        output, findings = self.output, self.findings
        if self.view == "lint" and findings.finding >= 0 and findings.card is not None and findings.card.findings:
            finding = findings.card.findings[findings.finding]
            things["line"] = Copyable("the finding", finding_text(finding))
        elif output.run is not None:
            things["command"] = Copyable("the command line", output.run.command)
            if self.focused is output and output.text_of_row():
                things["line"] = Copyable("the line", output.text_of_row())
            if output.printed:
                things["json"] = Copyable("all of the output", make=partial("\n".join, output.texts()))
        return things


def _sentence(trouble: SkillIssue) -> str:
    code = f" ({trouble.code})" if trouble.code else ""
    return f"{place_words(trouble)}{trouble.message.rstrip('.')}{code}."
