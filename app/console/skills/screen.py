"""Mode 5: the skills of the registry, one of them in full, and its output."""

from __future__ import annotations

import shlex
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Click

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.navigation import Destination, SkillOutputPlace, SkillPlace
from clawperator.app.console.screens.forms import Form
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.session import Facet
from clawperator.app.console.skills.edit_actions import SkillEditScreen
from clawperator.app.console.skills.form import DEFAULT_REF, SkillForm, ref_problem
from clawperator.app.console.skills.run_options import COMPILED, SkillRequest
from clawperator.widgets import keys
from clawperator.widgets.format.jobs import job_line
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.skill_output import run_row
from clawperator.widgets.format.skills import SOURCES, finding_text, place_words, summary_line
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.models.skill_runs import SkillRunState
from clawperator.widgets.models.skills import BUILTIN, SkillEntry, SkillIssue, SkillsState
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


class SkillsScreen(SkillEditScreen):
    """The list with its search, the details, and the third pane: output or lint findings."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("skills")]
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id", "command", "line")
    GO: ClassVar[str] = "go_skills"
    PLACES: ClassVar[dict[str, str]] = {"skills": "#list", "card": "#detail", "output": "#output", "lint": "#findings"}

    def compose_body(self) -> ComposeResult:
        with Container(id="panes"):
            yield Pane(
                "skills",
                FindLine(self._search, placeholder="words in id, summary, app, keywords", back_to="#list", id="find"),
                SkillList(id="list"),
                id="list-pane",
            )
            with Container(id="skill-side"):
                yield Pane("details", SkillCard(id="detail"), id="detail-pane")
                yield Pane("output", SkillOutput(id="output"), id="output-pane")
                yield Pane("lint", FindingList(id="findings"), id="lint-pane")
        yield RunLine(id="run-line")
        yield InfoLine(id="asks")
        yield InfoLine(id="summary")

    view = "output"
    """What the third pane shows."""
    _at_work = False

    def arrive(self, place: Destination) -> None:
        match place:
            case SkillPlace(skill_id, run):
                self.to_skill(skill_id, run)
            case SkillOutputPlace():
                self.action_show_output()

    def on_screen_resume(self) -> None:
        self.skilling.begin()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & Facet.SKILLS:
            self.skills.empty_text = self._empty_words()
            self.skills.show(self.skills_state)
            self.show_detail()
            self.show_place()
            self._draw_output()
            self._note_work()
        if changed & (Facet.SKILLS | Facet.DEVICES):
            self._draw_lines()

    def _note_work(self) -> None:
        """Show the key that cancels only while there is something to cancel."""
        at_work = self.skilling.busy or self.skilling.syncing is not None
        if at_work != self._at_work:
            self._at_work = at_work
            self.refresh_bindings()

    def draw_ages(self) -> None:
        self.query_one("#output", SkillOutput).tick()
        self.query_one("#detail", SkillCard).tick()
        self.skills.tick()
        self._draw_lines()

    def _empty_words(self) -> str:
        skills_state = self.skills_state
        if not skills_state.known:
            return "Loading skills…"
        if skills_state.skills:
            return f"No skill matches all of: {sentence(self.skills.typed)}.\nesc clears the search."
        if skills_state.trouble is not None:
            return f"{_sentence(skills_state.trouble)}\n{skills_state.trouble.hint}\n\nr refreshes, U fetches the repository's skills."
        return "This registry has no skills.\n\nU fetches the repository's skills."

    def show_detail(self) -> None:
        skill = self.skills.skill
        if skill is not None:
            self.skilling.look_at(skill.id)
        self.query_one("#detail", SkillCard).show(skill, self.skills_state)
        self._draw_lines()

    def show_place(self) -> None:
        """Show ``3 of 41``, with the total while a search hides some."""
        pane, total = self.skills, len(self.skills_state.skills)
        count = pane.row_count()
        of_all = f" ({total:,})" if count != total else ""
        self.query_one("#list-pane", Pane).note(
            Line().add(f"{pane.cursor + 1:,} of {count:,}{of_all}" if count else "")
        )

    def _draw_output(self) -> None:
        skills_state = self.skills_state
        output = self.query_one("#output", SkillOutput)
        output.show(skills_state.run)
        self.query_one("#findings", FindingList).show(skills_state.checked, skills_state.checking)
        self.set_class(skills_state.run is not None, "-ran")
        self.query_one("#output-pane", Pane).badge(
            sentence(skills_state.run.skill_id) if skills_state.run is not None else ""
        )
        self._note_lines()

    @on(SkillOutput.Changed)
    def _note_lines(self) -> None:
        run = self.query_one("#output", SkillOutput).run
        if run is not None:
            gone = f", {run.output.first:,} older discarded" if run.output.first else ""
            words = f"{len(run.output):,} line{'s' * (len(run.output) != 1)}{gone}"
            self.query_one("#output-pane", Pane).note(Line().add(words))

    def _draw_lines(self) -> None:
        skills_state, symbols = self.skills_state, self.console.symbols
        asks, summary = self.query_one("#asks", InfoLine), self.query_one("#summary", InfoLine)
        asks.show(Row(summary_line(self.skills.skill, skills_state, asks.width, symbols)))
        summary.show(self._summary_row(skills_state, summary.width))
        line = self.query_one("#run-line", InfoLine)
        if skills_state.run is not None:
            line.show(run_row(skills_state.run, self.session.clock.now(), line.width, symbols, named=True))

    def _summary_row(self, skills_state: SkillsState, width: int) -> Row:
        symbols = self.console.symbols
        if skills_state.sync is not None and skills_state.sync.running:
            return job_line(skills_state.sync, self.session.clock.now(), width, symbols)
        line = Line(width).add(" ")
        if not skills_state.known:
            return Row(line.add("loading the registry…", "muted"))
        if skills_state.trouble is not None and not skills_state.skills:
            return Row(
                line.add(f"{symbols.sign(Status.FAILED)} ", "fail").device(_sentence(skills_state.trouble), "fail")
            )
        count, typed = len(skills_state.skills), self.skills.typed
        of_all = f"{self.skills.row_count():,} of " if typed else ""
        line.add(f"{of_all}{count:,} skill{'s' * (count != 1)}", "strong")
        if typed:
            line.add("  / ", "key").device(typed, "match", room=24)
        line.add(f"   {SOURCES.get(skills_state.source, '')}", "muted")
        right = Line(max(10, width // 2))
        if skills_state.trouble is not None:
            right.device(skills_state.trouble.message, "warn").add(" U", "key").add(" fetches ", "muted")
        elif skills_state.commit:
            right.device(skills_state.commit, "muted").add(" ")
        elif skills_state.source != BUILTIN and not self.narrow:
            right.device(skills_state.path, "faint").add(" ")
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
            self.set_focus(self.query_one("#detail" if self.query_one("#panes").has_class("-detail") else "#list"))
        return opened or super().close_drawers()

    def action_view(self) -> None:
        self._show_view("lint" if self.view == "output" else "output")
        if self.narrow:
            self.go_to(_VIEWS[self.view])

    def action_show_output(self) -> None:
        self.go_to("#output")

    def to_skill(self, skill_id: str, run: bool = False) -> None:
        """Move the cursor to a skill, clearing the search; ``run`` also opens its form."""
        self.clear_pane()
        if self.skills.to_skill(skill_id) and run:
            self.action_run_skill()

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
            return self.skilling.busy or self.skilling.syncing is not None
        return super().check_action(action, parameters)

    def action_look_again(self) -> None:
        self.skilling.look_again()

    def action_lint_skill(self) -> None:
        if self._skill("check") is not None:
            self.skilling.lint()
            self.go_to("#findings") if self.narrow else self._show_view("lint")

    def action_run_skill(self) -> None:
        skill = self._skill("run")
        if skill is None:
            return
        if self.skilling.busy:
            self._say_busy()
        elif not self.session.device_id:
            self.console.say(Status.WARN, "No device is selected. 7 lists the devices, D chooses one")
        else:
            self._ask(skill, for_draft=False)

    def action_insert_skill(self) -> None:
        skill = self._skill("compile")
        if skill is None:
            return
        if not any(path.lower().endswith(COMPILED) for path in skill.artifacts):
            self.console.say(Status.IDLE, f"{sentence(skill.id)} has no artifact to compile. R runs its script")
        else:
            self._ask(skill, for_draft=True)

    def _ask(self, skill: SkillEntry, *, for_draft: bool) -> None:
        self.show_detail()  # the cursor may still be moving
        card = (
            self.skills_state.card
            if self.skills_state.card is not None and self.skills_state.card.skill_id == skill.id
            else None
        )
        form = SkillForm(
            skill,
            card,
            self.skilling,
            self.session.device_id,
            for_draft=for_draft,
            before=self.skilling.given.get(skill.id),
        )
        ask(self.console, form, self._to_draft if for_draft else self._run)

    def _run(self, request: SkillRequest) -> None:
        if not self.skilling.start_run(request, self.session.device_id):
            self._say_busy()
            return
        self.go_to("#output") if self.narrow else self._show_view("output")

    def _say_busy(self) -> None:
        run = self.skilling.run
        words = (
            f"{sentence(run.skill_id)} is already running. C stops it"
            if run is not None
            else "A skill is already running"
        )
        self.console.say(Status.WAITING, words)

    def _to_draft(self, request: SkillRequest) -> None:
        """Make the first execution the draft; the following ones of a recipe run only when it is played."""
        if request.plan is None:
            return
        self.skilling.compiled(request.plan)
        compiled = request.plan.compiled
        first, total = compiled.execution, len(compiled.executions)
        self.console.drafts.load(first, name=request.skill_id)
        count = len(first["actions"])
        parts = [
            f"{count} step{'s' * (count != 1)} of {sentence(request.skill_id)} are now the draft. Press 3 to open it"
        ]
        if total > 1:
            parts.append(f"This is execution 1 of {total}; R runs them all")
        if (choice := compiled.choice(first)) is not None:
            parts.append(f"Step {sentence(choice.step_id)} needs a selector: the recipe chooses its node when it runs")
        self.console.say(Status.WARN if len(parts) > 1 else Status.OK, ". ".join(parts))

    def action_sync_skills(self) -> None:
        if self.skilling.syncing is not None:
            self._sync("")
        else:
            prompt = "A branch, a tag or a commit of the skills repository:"
            ask(self.console, Form("fetch the skills", prompt, ref_problem, go="fetch", value=DEFAULT_REF), self._sync)

    def _sync(self, ref: str) -> None:
        if not self.skilling.sync(ref):
            self.console.say(Status.WAITING, "The skills are being fetched already. C cancels it")

    def action_cancel_skill(self) -> None:
        if not self.skilling.cancel():
            self.console.say(Status.IDLE, "Nothing is running")

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        skill, skills_state = self.skills.skill, self.skills_state
        if skill is not None:
            things["id"] = Copyable("the skill's id", skill.id)
            words = ["clawperator", "skills", "get", skill.id]
            words += ["--registry", "builtin"] if skills_state.source == BUILTIN else []
            things["command"] = Copyable("the command line", shlex.join(words))
        output, findings = self.query_one("#output", SkillOutput), self.query_one("#findings", FindingList)
        if self.view == "lint" and findings.finding >= 0 and findings.card is not None and findings.card.findings:
            finding = findings.card.findings[findings.finding]
            things["line"] = Copyable("the finding", finding_text(finding))
        elif output.run is not None:
            run: SkillRunState = output.run
            things["command"] = Copyable("the command line", run.command)
            if self.focused is output and output.text_of_row():
                things["line"] = Copyable("the line", output.text_of_row())
            if output.printed:
                things["json"] = Copyable("all of the output", make=partial("\n".join, output.texts()))
        return things


def _sentence(trouble: SkillIssue) -> str:
    code = f" ({trouble.code})" if trouble.code else ""
    return f"{place_words(trouble)}{trouble.message.rstrip('.')}{code}."
