"""The stream: executions, envelopes, the Operator log or the device log; this module handles its keys."""

from __future__ import annotations

import re
from dataclasses import dataclass

from textual.message import Message

from clawperator.engine.filters.grammar import Filter, Term
from clawperator.widgets import keys
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.item_rows import StreamView
from clawperator.widgets.stream_pane import StreamPane

_SIDEWAYS_CELLS = 20
_FURTHEST = 20_000
_PROBLEMS = Filter("level:e|f", (Term(False, "level", "e|f"),))
_COMMAND = re.compile(r'commandId(?:=|":")([^\s",}]+)')


class EnvelopeLog(StreamPane):
    """The pane of mode 2, and the strip of mode 1."""

    BINDINGS = keys.binding_list("stream")

    @dataclass(eq=False)
    class TreeWanted(Message):
        """Enter on a tree of an execution: ``key`` is its ``TreeMark.key``."""

        key: str

    def action_choose(self) -> None:
        row = None if self.view.of_lines or not self.rows else self.rows[self.cursor]
        if row is not None and row.line is not None and row.line.tree:
            self.post_message(self.TreeWanted(row.line.tree))
        elif row is not None and row.others and isinstance(row.item, ExecutionState):
            self._set_following(False)
            self._show_view(StreamView.LOG, row.item.log.first)
        else:
            super().action_choose()

    def action_unfold(self) -> None:
        if not self.view.of_lines:
            self._set_open(not self._is_open())

    def action_sideways(self, step: int) -> None:
        """Scroll long lines; expand or collapse an execution."""
        if self.view.of_lines:
            self._skip = max(0, min(_FURTHEST, self._skip + step * _SIDEWAYS_CELLS))
            self.refresh()
        else:
            self._set_open(step > 0)

    def _is_open(self) -> bool:
        return self.execution is not None and self.execution.number in self._items.opened

    def _set_open(self, opened: bool) -> None:
        execution = self.execution
        if execution is None or self.view is not StreamView.EXECUTIONS:
            return
        (self._items.opened.add if opened else self._items.opened.discard)(execution.number)
        self._collect()
        self.content_changed(keep_strips=True)
        place = self._items.place_of(execution) or 0
        super().move_to(place)
        if opened:
            self.reveal(min(place + len(execution.lines), place + max(0, self.view_height - 1)))
        self._set_following(self.cursor == self.row_count() - 1)
        self.post_message(self.Changed())

    def action_follow(self) -> None:
        """Toggle following; a paused view resumes."""
        self._set_following(bool(self.paused_at) or not self.following)
        if self.following:
            self._go_on()
            self._to_end()
            self.refresh()
        self.post_message(self.Changed())

    def action_pause(self) -> None:
        if self.paused_at:
            self._go_on()
        else:
            self.paused_at = self.clock.now()
            (self._lines if self.view.of_lines else self._items).freeze()
        self.post_message(self.Changed())

    def action_view(self) -> None:
        self.set_view(self.view.next)

    def action_times(self) -> None:
        self.times = self.times.next
        self._start = self._at(0)
        self.refresh()
        self.post_message(self.Changed())

    def action_bookmark(self) -> None:
        if self.row_count():
            self.bookmarks ^= {self._bookmark(self.cursor)} - {(False, -1)}
            self.marks_changed()

    def action_only(self) -> None:
        """Show only the command of this row, or all again."""
        self.only = "" if self.only else self._command_here()
        self._start_over()

    def _command_here(self) -> str:
        if self.execution is not None:
            return self.execution.command_id
        found = _COMMAND.search(self.entry.message) if self.entry is not None else None
        return found[1] if found else ""

    def action_problem(self, step: int) -> None:
        if not self.view.of_lines:
            self.to_problem(step)
        elif (place := self._problem_line(step)) is not None:
            self.move_to(place)

    def _problem_line(self, step: int) -> int | None:
        """Return the row of the nearest error or bookmark."""
        if not self.row_count():
            return None
        here = self._lines.numbers[self.cursor]
        places = [place for place in self._marked_lines() if (place - self.cursor) * step > 0]
        number = self._lines.nearest(_PROBLEMS, here, step)
        if number is not None:
            places.append(min(self._lines.place(number), self.row_count() - 1))
        return min(places, key=lambda place: abs(place - self.cursor), default=None)

    def to_execution(self, command_id: str) -> bool:
        """Put the cursor on the newest execution of a command; return whether it has a row in this view."""
        execution = None if self.view.of_lines else self._log.find(command_id)
        place = None if execution is None else self._items.place_of(execution)
        if place is not None:
            self.move_to(place)
        return place is not None
