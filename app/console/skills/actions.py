"""What the keys of mode 5 do: run, compile, check or edit the selected skill, and fetch the skills."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from textual.app import SuspendNotSupported

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.external_editor import NoEditorError, editor_command, open_file
from clawperator.app.console.screens.forms import Form
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.skills.controller import SkillsController
from clawperator.app.console.skills.form import DEFAULT_REF, SkillForm, ref_problem
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.describe import SkillEntry
from clawperator.engine.skills.registry import COMPILED
from clawperator.engine.skills.run_options import SkillRequest
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.skills import BUILTIN
from clawperator.widgets.models.status import Status
from clawperator.widgets.skill_list import SkillList
from clawperator.widgets.skill_output import FindingList


class SkillsConsole(ExecutionConsole, Protocol):
    """A console that runs skills."""

    @property
    def skills(self) -> SkillsController: ...


class SkillActions:
    """The actions of ``screen``; ``reveal`` shows its output or its findings."""

    def __init__(
        self, screen: TwoPaneScreen, skills: SkillList, findings: FindingList, reveal: Callable[[str], object]
    ) -> None:
        self._screen = screen
        self._skills = skills
        self._findings = findings
        self._reveal = reveal

    @property
    def console(self) -> SkillsConsole:
        return cast("SkillsConsole", self._screen.app)

    @property
    def controller(self) -> SkillsController:
        return self.console.skills

    def selected(self, what: str) -> SkillEntry | None:
        skill = self._skills.skill
        if skill is None:
            self.console.say(Status.IDLE, f"No skill under the cursor to {what}")
        return skill

    def action_look_again(self) -> None:
        self.controller.look_again()

    def action_lint_skill(self) -> None:
        if self.selected("check") is not None:
            self.controller.lint()
            self._reveal("lint")

    def action_run_skill(self) -> None:
        skill = self.selected("run")
        if skill is None:
            return
        if self.controller.busy:
            self._say_busy()
        elif not self.console.session.device_id:
            self.console.say(Status.WARN, "No device is selected. 7 lists the devices, D chooses one")
        else:
            self._ask(skill, for_draft=False)

    def action_insert_skill(self) -> None:
        skill = self.selected("compile")
        if skill is None:
            return
        if not any(path.lower().endswith(COMPILED) for path in skill.artifacts):
            self.console.say(Status.IDLE, f"{sentence(skill.id)} has no artifact to compile. R runs its script")
        else:
            self._ask(skill, for_draft=True)

    def _ask(self, skill: SkillEntry, *, for_draft: bool) -> None:
        self._screen.show_detail()  # the cursor may still be moving
        card = self.console.session.skills.card
        form = SkillForm(
            skill,
            card if card is not None and card.skill_id == skill.id else None,
            self.controller,
            self.console.session.device_id,
            for_draft=for_draft,
            before=self.controller.given.get(skill.id),
        )
        ask(self.console, form, self._to_draft if for_draft else self._run)

    def _run(self, request: SkillRequest) -> None:
        if self.controller.start_run(request, self.console.session.device_id):
            self._reveal("output")
        else:
            self._say_busy()

    def _say_busy(self) -> None:
        run = self.controller.run
        what = f"{sentence(run.subject)} is already running. C stops it" if run else "A skill is already running"
        self.console.say(Status.WAITING, what)

    def _to_draft(self, request: SkillRequest) -> None:
        """Make the first execution the draft; the following ones of a recipe run only when it is played."""
        if request.plan is None:
            return
        self.controller.compiled(request.plan)
        compiled = request.plan
        first, total = compiled.execution, len(compiled.executions)
        self.console.drafts.load(first, name=request.skill_id)
        count = len(first["actions"])
        steps = f"{count} step{'s' * (count != 1)} of {sentence(request.skill_id)}"
        parts = [f"{steps} are now the draft. Press 3 to open it"]
        if total > 1:
            parts.append(f"This is execution 1 of {total}; R runs them all")
        if (choice := compiled.choice(first)) is not None:
            parts.append(f"Step {sentence(choice.step_id)} needs a selector: the recipe chooses its node when it runs")
        self.console.say(Status.WARN if len(parts) > 1 else Status.OK, ". ".join(parts))

    def action_sync_skills(self) -> None:
        if self.controller.syncing is not None:
            self._sync("")
        else:
            prompt = "A branch, a tag or a commit of the skills repository:"
            ask(self.console, Form("fetch the skills", prompt, ref_problem, go="fetch", value=DEFAULT_REF), self._sync)

    def _sync(self, ref: str) -> None:
        if not self.controller.sync(ref):
            self.console.say(Status.WAITING, "The skills are being fetched already. C cancels it")

    def action_cancel_skill(self) -> None:
        if not self.controller.cancel():
            self.console.say(Status.IDLE, "Nothing is running")

    # -- the user's own editor

    def action_edit_skill(self) -> None:
        skill = self.selected("edit")
        if skill is None:
            return
        if self.console.session.skills.source == BUILTIN:
            self.console.say(Status.IDLE, "Built-in skills cannot be edited. Run: clawperator skills new")
            return
        relative, line = self._to_edit(skill)
        try:
            command = editor_command(os.environ, web=self._screen.app.is_web)
        except NoEditorError as exc:
            self.console.say(Status.IDLE, str(exc))
            return
        if relative:
            self._screen.run_worker(self._edit(command, skill.id, relative, line), exit_on_error=True)
        else:
            self.console.say(Status.IDLE, f"{sentence(skill.id)} has neither a recipe nor a SKILL.md to edit")

    def _to_edit(self, skill: SkillEntry) -> tuple[str, int]:
        """Return the file and line of the selected finding; else the recipe, else SKILL.md."""
        findings, card = self._findings, self._findings.card
        if (
            self._screen.focused is findings
            and card is not None
            and card.skill_id == skill.id
            and findings.finding >= 0
        ):
            finding = (card.findings or ())[findings.finding]
            return finding.file, finding.line
        recipes = (path for path in skill.artifacts if path.lower().endswith(COMPILED))
        return next(recipes, skill.skill_file), 0

    async def _edit(self, command: Sequence[str], skill_id: str, relative: str, line: int) -> None:
        """Edit the file, then read it again."""
        try:
            await open_file(self._screen.app, command, await self.controller.file_of(skill_id, relative), line)
        except SuspendNotSupported:
            self.console.say(Status.IDLE, f"This terminal cannot run an editor. The file is {sentence(relative)}")
        except EngineError as exc:
            self.console.say(Status.FAILED, sentence(exc.message), exc.code.value)
        except (OSError, ValueError) as exc:
            reason = sentence(getattr(exc, "strerror", None) or str(exc))
            self.console.say(Status.FAILED, f"The editor failed: {reason}")
        else:
            self.controller.look_again()
        finally:
            self._screen.app.refresh(layout=True)
