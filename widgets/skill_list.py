"""The skills of a registry that match a search."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from clawperator.engine.skills.describe import SkillEntry, find_skills
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.skills import skill_row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.models.status import Status


class SkillList(LinePane):
    """A list of skills; the cursor stays with its skill."""

    BINDINGS = keys.binding_list("skill_list")

    EMPTY = "Reading the registry…"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.shelf = SkillsState.EMPTY
        self.typed = ""
        self.shown: list[SkillEntry] = []

    def show(self, shelf: SkillsState) -> None:
        before, self.shelf = self.shelf, shelf
        if before.skills is not shelf.skills:
            self._find(self.skill.id if self.skill is not None else "")
        elif before.results is not shelf.results:
            self.content_changed()

    def search(self, typed: str) -> None:
        """Show the skills that contain all words; the best one is selected."""
        self.typed = typed
        self._find("")

    def _find(self, stay_with: str) -> None:
        self.shown = find_skills(self.shelf.skills, self.typed)
        place = next((index for index, skill in enumerate(self.shown) if skill.id == stay_with), None)
        if stay_with and place is None:
            place = min(self.cursor, max(0, len(self.shown) - 1))
        self.content_changed()
        if place is not None and place != self.cursor:
            self.move_to(place)
        elif place is None and self.cursor:
            self.move_to(0)
        elif self.is_attached:
            self.post_message(self.CursorMoved(self, self.cursor))  # another skill is in the same place

    @property
    def skill(self) -> SkillEntry | None:
        return self.shown[self.cursor] if self.cursor < len(self.shown) else None

    def to_skill(self, skill_id: str) -> bool:
        """Put the cursor on a skill; return whether it is shown."""
        place = next((index for index, skill in enumerate(self.shown) if skill.id == skill_id), None)
        if place is not None:
            self.move_to(place)
        return place is not None

    def tick(self) -> None:
        """Update the ages of results; called every second."""
        if self.shelf.results:
            self.content_changed()

    def row_count(self) -> int:
        return len(self.shown)

    def row(self, index: int, width: int) -> Row:
        skill = self.shown[index]
        return skill_row(skill, self.shelf.results.get(skill.id), self.clock.now(), width, self.symbols)

    def row_key(self, index: int) -> Hashable:
        return self.shown[index].id

    def marks(self) -> Iterable[tuple[int, str]]:
        results = self.shelf.results
        failed = {name for name, result in results.items() if result.status is Status.FAILED}
        return ((index, "fail") for index, skill in enumerate(self.shown) if skill.id in failed) if failed else ()
