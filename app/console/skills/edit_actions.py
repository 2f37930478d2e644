"""Open a file of the selected skill in the user's editor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol, cast

from textual.app import SuspendNotSupported

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.external_editor import NoEditorError, editor_command, open_file
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.skills.controller import SkillsController
from clawperator.app.console.skills.run_options import COMPILED
from clawperator.engine.errors import EngineError
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.skills import BUILTIN, SkillEntry, SkillsState
from clawperator.widgets.models.status import Status
from clawperator.widgets.skill_list import SkillList
from clawperator.widgets.skill_output import FindingList


class SkillsConsole(ExecutionConsole, Protocol):
    """A console that runs skills."""

    @property
    def skills(self) -> SkillsController: ...


class SkillEditScreen(TwoPaneScreen):
    """The list of skills, and editing the selected one."""

    @property
    def console(self) -> SkillsConsole:
        return cast("SkillsConsole", self.app)

    @property
    def skills(self) -> SkillList:
        return self.query_one("#list", SkillList)

    @property
    def skilling(self) -> SkillsController:
        return self.console.skills

    @property
    def skills_state(self) -> SkillsState:
        return self.session.skills

    def _skill(self, what: str) -> SkillEntry | None:
        skill = self.skills.skill
        if skill is None:
            self.console.say(Status.IDLE, f"No skill under the cursor to {what}")
        return skill

    # -- the user's own editor

    def action_edit_skill(self) -> None:
        skill = self._skill("edit")
        if skill is None:
            return
        if self.skills_state.source == BUILTIN:
            words = "Built-in skills cannot be edited. Run: clawperator skills new"
            self.console.say(Status.IDLE, words)
            return
        relative, line = self._to_edit(skill)
        try:
            command = editor_command(os.environ, web=self.app.is_web)
        except NoEditorError as exc:
            self.console.say(Status.IDLE, str(exc))
            return
        if relative:
            self.run_worker(self._edit(command, skill.id, relative, line), exit_on_error=True)
        else:
            self.console.say(Status.IDLE, f"{sentence(skill.id)} has neither a recipe nor a SKILL.md to edit")

    def _to_edit(self, skill: SkillEntry) -> tuple[str, int]:
        """Return the file and line of the selected finding; else the recipe, else SKILL.md."""
        findings = self.query_one("#findings", FindingList)
        card = findings.card
        if self.focused is findings and card is not None and card.skill_id == skill.id and findings.finding >= 0:
            finding = (card.findings or ())[findings.finding]
            return finding.file, finding.line
        recipes = (path for path in skill.artifacts if path.lower().endswith(COMPILED))
        return next(recipes, skill.skill_file), 0

    async def _edit(self, command: Sequence[str], skill_id: str, relative: str, line: int) -> None:
        """Edit the file, then read it again."""
        try:
            await open_file(self.app, command, await self.skilling.file_of(skill_id, relative), line)
        except SuspendNotSupported:
            self.console.say(Status.IDLE, f"This terminal cannot run an editor. The file is {sentence(relative)}")
        except EngineError as exc:
            self.console.say(Status.FAILED, sentence(exc.message), exc.code.value)
        except (OSError, ValueError) as exc:
            self.console.say(
                Status.FAILED, f"The editor failed: {sentence(getattr(exc, 'strerror', None) or str(exc))}"
            )
        else:
            self.skilling.look_again()
        finally:
            self.app.refresh(layout=True)
