"""The output of a skill, and lint findings: two panes in one place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import ClassVar

from textual.geometry import Region
from textual.message import Message

from clawperator.engine.skills.describe import SkillDetails
from clawperator.widgets import keys
from clawperator.widgets.following_pane import FollowingPane
from clawperator.widgets.format.jobs import outcome_rows
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.skill_output import output_row, run_row
from clawperator.widgets.format.skills import SEVERITIES, findings_rows, tally, trouble_rows
from clawperator.widgets.format.slot import Slot, ready
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.skill_runs import Marker, OutputRing, SkillOutputLine, SkillRunState
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import RowList

_MARKED = {Marker.RESULT: "ok", Marker.FRAME: "ok"}


class SkillOutput(FollowingPane):
    """The output of a run; its first line is the state. Follows the newest line until the cursor moves up.

    An index is a line's number minus the ring's first one.
    """

    BINDINGS = keys.binding_list("skill_output")
    EMPTY = "No run yet.\nPress R to run the selected skill."
    HEAD_ROWS: ClassVar[int] = 1

    class Changed(Message):
        """Following started or stopped."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.run: SkillRunState | None = None
        self._first = 0
        self._seen = -1
        self._ended: Sequence[Row] = ()
        self._ended_for: object = None

    # -- content

    def show(self, run: SkillRunState | None) -> None:
        """Update the run; another one begins at its first line."""
        if run is None:
            return
        if self.run is None or self.run.number != run.number:
            self.run, self.following, self._seen, self._first = run, True, -1, 0
            self._strips.clear()
        changed = self._seen != run.output.generation or self.run.status is not run.status
        self.run = run
        if changed:
            self._take()
        else:
            self.refresh_head()

    def _take(self) -> None:
        """Take new lines; the cursor's line keeps its screen row unless the end is followed."""
        run = self.run
        assert run is not None
        gone = run.output.first - self._first
        self._first, self._seen = run.output.first, run.output.generation
        if gone and not self.following:
            self.set_reactive(LinePane.cursor, max(0, self.cursor - gone))
            self.set_reactive(LinePane.top, max(0, self.top - gone))
        self._fold_end()
        self.content_changed(keep_strips=True)
        if self.following:
            self._to_end()

    def _fold_end(self) -> None:
        """Wrap the outcome below the last line."""
        run, width = self.run, self.content_size.width
        key = (run.number, run.ended, width, self.symbols.ascii) if run is not None and not run.running else None
        if key != self._ended_for:
            self._ended_for = key
            self._ended = ()
            if run is not None and key is not None and width >= 10:
                self._ended = (Row(Line(width)), *outcome_rows(run, width - 1, self.symbols))

    def refresh_head(self) -> None:
        self.refresh(Region(0, 0, self.content_size.width, self.HEAD_ROWS))

    def tick(self) -> None:
        """Update the time; called every second."""
        if self.run is not None and self.run.running:
            self.refresh_head()

    def head(self, y: int, width: int) -> Row:  # noqa: ARG002  # there is one
        if self.run is None:
            return Row(Line(width))
        named = self.screen.has_class("-narrow")  # without a frame there is no title
        row = run_row(self.run, self.clock.now(), width - (2 if self.following else 9), self.symbols, named=named)
        right = row.right or Line()
        if not self.following:
            right.add("PAUSED ", "warn")
        return Row(row.left, right)

    @property
    def printed(self) -> int:
        """Return the number of kept lines."""
        return len(self.run.output) if self.run is not None else 0

    def row_count(self) -> int:
        return self.printed + len(self._ended)

    def row(self, index: int, width: int) -> Row:
        run = self.run
        assert run is not None
        if index >= self.printed:
            return self._ended[index - self.printed]
        return output_row(self.line(index), run.since, width, self.symbols)

    def line(self, index: int) -> SkillOutputLine:
        assert self.run is not None
        return self.run.output[self.run.output.first + index]

    def row_key(self, index: int) -> Hashable:
        run = self.run
        assert run is not None
        number = run.output.first + index
        return run.number, number, self._ended_for if index >= self.printed else None

    def marks(self) -> Iterable[tuple[int, str]]:
        output = self.run.output if self.run is not None else OutputRing()
        for number in output.marked:
            line = output[number]
            yield number - output.first, _MARKED.get(line.marker, "warn" if line.stream == "stderr" else "match")

    def empty_words(self) -> str:
        if self.run is None:
            return self.EMPTY
        return "No output yet." if self.run.running else "No output."

    # -- position

    def _to_end(self) -> None:
        self.set_reactive(LinePane.top, self.last_top)
        self.set_reactive(LinePane.cursor, max(0, self.row_count() - 1))
        self.refresh()

    def _following_changed(self) -> None:
        self.refresh()
        self.post_message(self.Changed())

    def on_resize(self) -> None:
        self._fold_end()
        if self.following:
            self._to_end()

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Lines cannot be opened."""
        return False if action == "choose" else super().check_action(action, parameters)

    def action_follow(self) -> None:
        self._to_end()
        self._set_following(True)

    def text_of_row(self) -> str:
        return self.line(self.cursor).text if self.cursor < self.printed else ""

    def texts(self) -> Sequence[str]:
        """Return all kept lines."""
        return list(self.run.output.texts()) if self.run is not None else ()


class FindingList(RowList):
    """Lint findings by file; its first line counts them. The value of a row is the index of its finding."""

    EMPTY = "Lint has not run yet.\nPress v to lint the selected skill."
    HEAD_ROWS: ClassVar[int] = 1

    card: SkillDetails | None = None
    _checking = ""

    def show(self, card: SkillDetails | None, checking: str) -> None:
        if card is self.card and checking == self._checking:
            return
        if card is None or self.card is None or card.skill_id != self.card.skill_id:
            self.rows = ()
            self.set_reactive(LinePane.cursor, 0)
        self.card, self._checking = card, checking
        self.show_folded(self._all_rows)

    def _all_rows(self, width: int) -> Iterator[Slot]:
        card = self.card
        if card is not None and card.trouble is not None:
            yield from map(ready, trouble_rows(card.trouble, width, self.symbols))
            return
        findings = (card.findings if card is not None else None) or ()
        for row, number in findings_rows(findings, width, self.symbols):
            status = SEVERITIES.get(findings[number].severity, Status.IDLE) if number >= 0 else Status.IDLE
            role = status.role if status in (Status.FAILED, Status.WARN) else ""
            yield ready(row, number if number >= 0 else None, quiet=number < 0)._replace(role=role)

    def move_to(self, index: int) -> None:
        super().move_to(index)
        self.reveal_whole()

    def head(self, y: int, width: int) -> Row:  # noqa: ARG002  # there is one
        line = Line(width).add(" ")
        if self._checking:
            return Row(line.add(f"{self.symbols.sign(Status.RUNNING)} linting ", "run").device(self._checking))
        if self.card is None:
            return Row(line)
        line.device(self.card.skill_id, "strong", room=max(10, width - 34)).add("  ")
        return Row(line if self.card.trouble is not None else line.extend(tally(self.card, self.symbols)))

    def empty_words(self) -> str:
        if self._checking:
            return "Linting…"
        return self.EMPTY if self.card is None else "No findings."

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Findings cannot be opened."""
        return False if action == "choose" else super().check_action(action, parameters)

    @property
    def finding(self) -> int:
        """Return the index of the selected finding; -1 for none."""
        return self.value if isinstance(self.value, int) else -1
