"""One skill in full."""

from __future__ import annotations

from collections.abc import Iterable

from clawperator.engine.skills.describe import SkillEntry
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.skills import card_rows, result_words
from clawperator.widgets.models.skills import SkillsState
from clawperator.widgets.row_panes import WrappedText


class SkillCard(WrappedText):
    """The selected skill with the state of its files."""

    EMPTY = "Select a skill."

    _skill: SkillEntry | None = None
    _shelf = SkillsState.EMPTY
    _drawn: object = None
    _drawn_age = ""

    def show(self, skill: SkillEntry | None, shelf: SkillsState) -> None:
        """Redraw only when its content changed: a running skill prints all the time."""
        self._shelf = shelf
        made_from = (skill, shelf.card, shelf.results, shelf.source, shelf.checking)
        if made_from == self._drawn:
            return
        other = skill != self._skill
        self._drawn, self._skill = made_from, skill
        self.fold(from_top=other)

    def tick(self) -> None:
        """Update the age of the last result; called every second."""
        if self._skill is not None and self._age() != self._drawn_age:
            self.fold()

    def _age(self) -> str:
        assert self._skill is not None
        return result_words(self._shelf.results.get(self._skill.id), self.clock.now(), self.symbols).plain

    def folded(self, width: int) -> Iterable[Row]:
        if self._skill is None or width < 10:
            return ()
        self._drawn_age = self._age()
        return card_rows(self._skill, self._shelf, self.clock, width, self.symbols)
