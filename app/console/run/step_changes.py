"""Changes of the draft's steps: by form, in their order, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from textual import on

from clawperator.app.console.run.problems import RunPanes
from clawperator.app.console.run.step_form import StepForm, has_form
from clawperator.app.console.screens.base import Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog, ask
from clawperator.engine.executions.steps import with_own_ids
from clawperator.widgets import keys
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.status import Status


class StepChanges(RunPanes):
    """Subclasses give ``action_edit_text``."""

    def action_edit_text(self) -> None:
        raise NotImplementedError

    # -- by form

    def menus(self) -> Iterator[Menu]:
        yield Menu("i", "Add step", _types(), self._add)
        yield from super().menus()

    def action_add_menu(self) -> None:
        """Choose the type of a new step."""
        self.settle()
        self.app.push_screen(MenuDialog("add step", _types()), self._add)

    def _add(self, kind: str | None) -> None:
        """Ask for a new step below the selected one."""
        draft = self.console.drafts.draft
        if kind is not None and draft.unreadable:
            self.console.say(
                Status.WARN, f"A step can be added when the JSON has steps: {draft.unreadable}. e edits it"
            )
        elif kind is not None:
            *_, step = with_own_ids([*draft.steps, {"id": kind, "type": kind}])
            self._ask(step, self.steps.cursor + 1 if len(draft) else 0, new=True)

    @on(LinePane.RowChosen, "#list")
    def _change(self) -> None:
        """Ask for the selected step; one that no form can show is edited as JSON."""
        step = self.console.drafts.draft.steps[self.steps.cursor]
        if has_form(step):
            self._ask(step, self.steps.cursor, new=False)
        else:
            self.action_edit_text()
            self.console.say(Status.IDLE, "This step has no form: its type is unknown. Correct it as JSON")

    def _ask(self, step: Mapping[str, Any], index: int, *, new: bool) -> None:
        ask(self.console, StepForm(step, index, new=new), partial(self._answered, step, index, new=new))

    def _answered(self, before: Mapping[str, Any], index: int, step: Mapping[str, Any], *, new: bool) -> None:
        """Put the step where the form was opened; after the last one where the draft has changed meanwhile."""
        draft = self.console.drafts.draft
        there = index < len(draft) and draft.steps[index] == before
        if not new and not there:
            new, index = True, len(draft)
        self.console.drafts.put(draft.with_step(step, min(index, len(draft)), new=new))
        self.call_after_refresh(self.steps.move_to, index)

    # -- order and undo

    def action_delete_step(self) -> None:
        draft = self.console.drafts.draft
        if len(draft):
            draft.delete(self.steps.cursor)
            self.console.drafts.touch()

    def action_move_step(self, by: int) -> None:
        place = self.console.drafts.draft.move(self.steps.cursor, by)
        if place != self.steps.cursor:
            self.console.drafts.touch()
            self.steps.move_to(place)

    def action_undo(self) -> None:
        if self.console.drafts.draft.undo():
            self.console.drafts.touch()
        else:
            self.console.say(Status.IDLE, "Nothing to undo")


def _types() -> list[Choice]:
    return [Choice(item, item.tooltip, True) for item in keys.MENUS["add_step"]]
