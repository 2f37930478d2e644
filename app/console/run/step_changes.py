"""Changes of the draft's steps: by form, in their order, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from clawperator.app.console.run.draft_area import DraftArea
from clawperator.app.console.run.step_form import StepForm, has_form
from clawperator.app.console.screens.base import Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog, ask
from clawperator.engine.executions.steps import with_own_ids
from clawperator.widgets import keys
from clawperator.widgets.models.status import Status


class StepChanges:
    """The actions that change the steps of ``area``."""

    def __init__(self, area: DraftArea) -> None:
        self._area = area

    # -- by form

    def menu(self) -> Menu:
        return Menu("i", "Add step", _types(), self._add)

    def action_add_menu(self) -> None:
        """Choose the type of a new step."""
        self._area.editor.settle()
        self._area.console.push_screen(MenuDialog("add step", _types()), self._add)

    def _add(self, kind: str | None) -> None:
        """Ask for a new step below the selected one."""
        draft = self._area.keeper.draft
        if kind is not None and draft.unreadable:
            words = f"A step can be added when the JSON has steps: {draft.unreadable}. e edits it"
            self._area.console.say(Status.WARN, words)
        elif kind is not None:
            *_, step = with_own_ids([*draft.steps, {"id": kind, "type": kind}])
            self._ask(step, self._area.steps.cursor + 1 if len(draft) else 0, new=True)

    def change(self) -> None:
        """Ask for the selected step; one that no form can show is edited as JSON."""
        step = self._area.keeper.draft.steps[self._area.steps.cursor]
        if has_form(step):
            self._ask(step, self._area.steps.cursor, new=False)
        else:
            self.action_edit_text()
            self._area.console.say(Status.IDLE, "This step has no form: its type is unknown. Correct it as JSON")

    def action_edit_text(self) -> None:
        """Open the JSON at the step with the cursor."""
        span = self._area.keeper.draft.reading.values.get(("actions", self._area.steps.cursor))
        self._area.go_to("#json")
        if span is not None:
            self._area.editor.to_index(span.start)

    def _ask(self, step: Mapping[str, Any], index: int, *, new: bool) -> None:
        ask(self._area.console, StepForm(step, index, new=new), partial(self._answered, step, index, new=new))

    def _answered(self, before: Mapping[str, Any], index: int, step: Mapping[str, Any], *, new: bool) -> None:
        """Put the step where the form was opened; after the last one where the draft has changed meanwhile."""
        draft = self._area.keeper.draft
        there = index < len(draft) and draft.steps[index] == before
        if not new and not there:
            new, index = True, len(draft)
        self._area.keeper.put(draft.with_step(step, min(index, len(draft)), new=new))
        self._area.call_after_refresh(self._area.steps.move_to, index)

    # -- order and undo

    def action_delete_step(self) -> None:
        draft = self._area.keeper.draft
        if len(draft):
            draft.delete(self._area.steps.cursor)
            self._area.keeper.touch()

    def action_move_step(self, by: int) -> None:
        place = self._area.keeper.draft.move(self._area.steps.cursor, by)
        if place != self._area.steps.cursor:
            self._area.keeper.touch()
            self._area.steps.move_to(place)

    def action_undo(self) -> None:
        if self._area.keeper.draft.undo():
            self._area.keeper.touch()
        else:
            self._area.console.say(Status.IDLE, "Nothing to undo")


def _types() -> list[Choice]:
    return [Choice(item, item.tooltip, True) for item in keys.MENUS["add_step"]]
