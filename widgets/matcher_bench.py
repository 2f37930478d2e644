"""The workbench pane: candidates, the matcher as a form with reasons, and its matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from clawperator.engine.hierarchy.matcher import field_value
from clawperator.widgets import keys
from clawperator.widgets.format.bench import (
    asks_why,
    candidate_rows,
    field_rows,
    field_states,
    match_rows,
    miss_rows,
    section,
    sentence_rows,
)
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import BLANK, Slot, ready
from clawperator.widgets.line_pane import SETTLE_SECONDS
from clawperator.widgets.models.bench import Bench, Findings, Note, rows_of, without
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.matcher_terms import SPELLINGS
from clawperator.widgets.text.matcher_text import value_problem

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.matcher import Matcher
    from clawperator.engine.hierarchy.tree import UiNode, UiTree

_MATCHES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A candidate by index."""

    index: int


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A matcher field by its JSON name."""

    field: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A match or a near miss."""

    index: int


class MatcherBench(RowList):
    """Candidates, the matcher, and its matches or near misses; a typed matcher stands first.

    ``bench`` may be shared with the matcher line. ``type`` updates the model at once and the pane after
    ``SETTLE_SECONDS``, because explaining is slower than a key may be. A hidden pane draws nothing. Posts ``Changed``,
    ``FieldWanted`` and ``NodePicked``.
    """

    BINDINGS = keys.binding_list("bench")

    EMPTY = "No node selected.\n\nSelect one in the tree."

    class Changed(Message):
        """Another matcher is current: ``bench.current``."""

    @dataclass(eq=False)
    class FieldWanted(Message):
        """Edit ``field`` of the matcher, beginning with ``value``."""

        field: str
        value: str

    @dataclass(eq=False)
    class NodePicked(Message):
        """Show ``node`` in the tree."""

        node: UiNode

    def __init__(self, *, id: str | None = None, bench: Bench | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.bench = bench if bench is not None else Bench()
        self._unfolded: set[int] = set()
        self._folded_at = 0
        self._to_found = False
        self._typed_first = False
        self._rest: Timer | None = None

    # -- content

    def show(self, tree: UiTree | None, node: UiNode | None, recent: Sequence[UiTree] = ()) -> None:
        """Show ``node`` of ``tree``; ``recent`` are earlier trees of the same package, newest first."""
        bench = self.bench
        if node is not bench.node:
            self._unfolded.clear()
        elif tree is bench.tree and bench.has_seen(recent):
            return
        bench.focus(tree, node, recent)
        self.draw()

    def type(self, matcher: Matcher) -> None:
        """Take ``matcher`` as typed; an empty one returns to the candidates."""
        self.bench.type(matcher)
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self.draw)

    def clear(self) -> None:
        """Return to the best candidate."""
        self.bench.clear()
        self._changed()

    def draw(self) -> None:
        """Draw the bench if it is visible."""
        if self._rest is not None:
            self._rest.stop()
        self._folded_at = self.content_size.width if self.display_seen else 0
        if self._folded_at:
            self.show_rows(list(self._rows(self._folded_at - 1))[:-1])
            self._follow_order()
            self._go_to_found()
            self.refresh_bindings()

    def _follow_order(self) -> None:
        """Scroll to the top when the typed section moves: a cursor on a candidate must not hold the view there."""
        typed = bool(self.bench.typed)
        if typed == self._typed_first:
            return
        self._typed_first = typed
        if typed and isinstance(self.value, CandidateRow):
            self.move_to(0)
        self.top = 0
        self.reveal(self.cursor)

    @property
    def display_seen(self) -> bool:
        """Return whether this pane and its ancestors are displayed."""
        return all(node.display for node in self.ancestors_with_self if hasattr(node, "display"))

    def on_show(self) -> None:
        if not self._folded_at:
            self.draw()

    def on_resize(self) -> None:
        if self._folded_at != self.content_size.width:
            self.draw()

    # -- rows

    def _rows(self, width: int) -> Iterator[Slot]:
        bench = self.bench
        if bench.tree is None or (bench.node is None and not bench.typed):
            return
        if not bench.typed:
            yield from self._candidates(width)
        yield from self._form(width)
        if bench.findings is not None:
            yield from self._found(bench.findings, width)
        if bench.typed:
            yield from self._candidates(width)

    def _candidates(self, width: int) -> Iterator[Slot]:
        bench = self.bench
        suggestions = bench.suggestions
        if suggestions is None:
            return
        count = len(suggestions.candidates)
        yield ready(section("candidates", f"{count}" if count else "", width=width))
        current = bench.candidate
        for index, candidate in enumerate(suggestions.candidates):
            rows = candidate_rows(
                candidate,
                index + 1,
                width,
                self.symbols,
                current=candidate is current,
                unfolded=index in self._unfolded,
            )
            yield from _as_list(rows, CandidateRow(index))
        if suggestions.advice:
            yield from map(ready, sentence_rows(suggestions.advice, Status.WARN, width, self.symbols))
        yield BLANK

    def _form(self, width: int) -> Iterator[Slot]:
        bench = self.bench
        findings = bench.findings
        about = "typed" if bench.typed else "none"
        if bench.candidate is not None:
            about = f"candidate {bench.candidates.index(bench.candidate) + 1}"
        yield ready(section(f"matcher {self.symbols.dot} {about}", "this field", width=width))
        alone = findings.alone if findings is not None else {}
        redundant = findings.redundant if findings is not None else ()
        for state in field_states(bench.current, bench.subject, bench.explanation, alone, redundant):
            yield from _as_list(field_rows(state, width, self.symbols), FieldRow(state.field))
        yield BLANK

    def _found(self, findings: Findings, width: int) -> Iterator[Slot]:
        count = len(findings.matches)
        notes = self.bench.notes
        yield ready(section("matches" if count else "why not", _count_words(findings), width=width))
        yield from self._note_rows(notes, "warn", width)
        yield from self._matches(findings, width) if count else self._misses(findings, width)
        yield from self._note_rows(notes, "muted", width)
        yield BLANK

    def _misses(self, findings: Findings, width: int) -> Iterator[Slot]:
        whole = findings.whole
        verdict = whole.verdict
        for field, spelling in SPELLINGS.items():
            verdict = verdict.replace(field, spelling)
        words = f"No node on screen matches: {verdict}."
        yield from map(ready, sentence_rows(words, Status.FAILED, width, self.symbols))
        if whole.nearest:
            yield ready(Row(Line(width).add(" nearest misses", "faint")))
        for place, miss in enumerate(whole.nearest, 1):
            yield from _as_list(miss_rows(miss, place, width, self.symbols), NodeRow(miss.node.index))

    def _matches(self, findings: Findings, width: int) -> Iterator[Slot]:
        matches = findings.matches
        several = len(matches) > 1
        for place, node in enumerate(matches[:_MATCHES_SHOWN], 1):
            taken = several and place == 1
            rows = match_rows(node, place, width, self.symbols, taken=taken, focused=node is self.bench.node)
            yield from _as_list(rows, NodeRow(node.index))
        if len(matches) > _MATCHES_SHOWN:
            yield ready(Row(Line(width).add(f"    {len(matches) - _MATCHES_SHOWN:,} more", "faint")))

    def _note_rows(self, notes: Iterable[Note], role: str, width: int) -> Iterator[Slot]:
        """Warnings stand above the nodes, what is merely good to know below them."""
        status = Status.WARN if role == "warn" else Status.IDLE
        for note in notes:
            if note.role == role:
                yield from map(ready, sentence_rows(note.words, status, width, self.symbols))

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a candidate can be explained, and only a given field cleared."""
        if action == "explain":
            return isinstance(self.value, CandidateRow)
        if action == "clear_field":
            return isinstance(self.value, FieldRow) and self.value.field in rows_of(self.bench.current)
        return super().check_action(action, parameters)

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self.refresh_bindings()

    def action_choose(self) -> None:
        """Use the candidate, edit the field, or show the node."""
        match self.value:
            case CandidateRow(index):
                self.bench.pick(index)
                self._changed()
            case FieldRow(field):
                given = rows_of(self.bench.current).get(field, "")
                self.post_message(self.FieldWanted(field, given or self._offered(field)))
            case NodeRow(index) if self.bench.tree is not None:
                self.post_message(self.NodePicked(self.bench.tree.nodes[index]))

    def _offered(self, field: str) -> str:
        """Return the node's value of a field if the contract allows it."""
        subject = self.bench.subject
        value = field_value(subject, field) if subject is not None else ""
        return "" if value_problem(value) else value

    def action_explain(self) -> None:
        """Show or hide the reasons of the candidate under the cursor."""
        if isinstance(self.value, CandidateRow):
            self._unfolded ^= {self.value.index}
            self.draw()

    def action_clear_field(self) -> None:
        if isinstance(self.value, FieldRow):
            self.bench.type(without(self.bench.current, self.value.field))
            self._changed()

    def _changed(self) -> None:
        self.draw()
        self.post_message(self.Changed())

    def to_found(self) -> None:
        """Put the cursor on the first match or nearest miss, once the pane is displayed."""
        self._to_found = True
        self.draw()

    def _go_to_found(self) -> None:
        """Reveal the reasons of a miss too."""
        place = next((at for at, row in enumerate(self.rows) if isinstance(row.place, NodeRow)), None)
        if not self._to_found or place is None:
            return
        self._to_found = False
        self.move_to(place)
        self.reveal_whole()

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        super().clicked(index, x, twice=twice)
        if not twice and isinstance(self.rows[index].place, CandidateRow) and asks_why(x, self.body_width):
            self.action_explain()


def _as_list(rows: Iterable[Row], value: object) -> Iterator[Slot]:
    """Yield rows of which the first takes the cursor."""
    for index, row in enumerate(rows):
        yield ready(row, None if index else value, quiet=index > 0)


def _count_words(findings: Findings) -> str:
    count = f"{(total := len(findings.matches)):,} match{'es' * (total != 1)}"
    return f"{count}, {findings.off_screen:,} off screen" if findings.off_screen else count
