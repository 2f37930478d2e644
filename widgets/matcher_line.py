"""The matcher field: edits a whole matcher live, or one of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from rich.highlighter import Highlighter
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from clawperator.engine.hierarchy.matcher import FIELDS, PLACES, RELATIONS
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.info_line import FindLine
from clawperator.widgets.models.bench import NO_MATCHER, Bench, rows_of, with_field
from clawperator.widgets.text.matcher_terms import SPELLINGS
from clawperator.widgets.text.matcher_text import (
    MatcherCompletion,
    MatcherText,
    complete,
    full_id,
    matcher_text,
    parse_matcher_text,
    value_problem,
    values_on_screen,
)
from clawperator.widgets.text.safe import cells


class _Underline(Highlighter):
    """Underlines an error from its column to the next blank."""

    def __init__(self) -> None:
        self.column = -1
        self.style = Style(underline=True)

    def highlight(self, text: Text) -> None:
        if 0 <= self.column < len(text.plain):
            end = text.plain.find(" ", self.column + 1)
            text.stylize(self.style, self.column, end if end > 0 else len(text.plain))


class MatcherLine(FindLine):
    """Edits the typed matcher (``open``) or one field of the current one (``open_field``).

    At each key the line is parsed, ``bench`` gets the matcher, and ``typed`` is called with the result. Tab completes
    and cycles; in a field it goes to the next one. Enter keeps a valid line, escape restores the previous matcher.
    ``onward`` handles tab without a completion.
    """

    BINDINGS = keys.binding_list("matcher")
    OWN: ClassVar[frozenset[str | None]] = FindLine.OWN | {binding.id for binding in keys.bindings("matcher")}

    PLACEHOLDER = "matcher: res:id/title  text=OK  text~part  desc=…  desc~…  role:button"

    def __init__(
        self,
        bench: Bench,
        typed: Callable[[MatcherText], object],
        *,
        back_to: str,
        id: str,  # noqa: A002  # Textual's own name
        onward: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(self._read, placeholder=self.PLACEHOLDER, back_to=back_to, id=id)
        self.bench = bench
        self.read = MatcherText("", NO_MATCHER)
        """The last parsed line."""
        self.field = ""
        """The field that is edited; empty for the whole line."""
        self._typed_matcher = typed
        self._onward = onward
        self._before = NO_MATCHER
        self._base = NO_MATCHER
        self._cycle: Sequence[MatcherCompletion] = ()
        self._cycle_at = -1
        self._changing = False
        self._underline = _Underline()
        self.highlighter = self._underline

    # -- opening

    def open(self) -> None:
        """Edit the typed matcher; it is selected, so that typing replaces it."""
        if not self.is_open:
            self._before = self.bench.typed
        self._start("", matcher_text(self.bench.typed))

    def open_field(self, field: str, value: str | None = None) -> None:
        """Edit one field of the current matcher, beginning with ``value`` or its value."""
        if not self.is_open:
            self._before = self.bench.typed
        self._base = self.bench.current
        self._start(field, rows_of(self._base).get(field, "") if value is None else value)

    def _start(self, field: str, value: str) -> None:
        self.field = field
        self._name_field()
        super().open()
        with self._one_change():
            if value == self.value:
                self._read(value)
            self.value = value
            self.select_all()

    def _name_field(self) -> None:
        """Show the field's name in the padding, where the cursor cannot go."""
        self.styles.padding = (0, 1, 0, cells(self._prefix) + 1)
        self.placeholder = "empty: the field is removed" if self.field else self.PLACEHOLDER

    @property
    def _prefix(self) -> str:
        return f"{self.field}: " if self.field else ""

    # -- reading

    def _read(self, value: str) -> None:
        if not self.is_open:
            return
        if self._cycle_at >= 0 and value != self._cycle[self._cycle_at].text:
            self._cycle, self._cycle_at = (), -1
        self.read = self._read_field(value) if self.field else parse_matcher_text(value, self.bench.tree)
        self._underline.column = self.read.column
        self.bench.type(self.read.matcher)
        if not self._changing:
            self._typed_matcher(self.read)

    @contextmanager
    def _one_change(self) -> Iterator[None]:
        """Report a change of value and cursor once."""
        self._changing = True
        try:
            yield
        finally:
            self._changing = False
        if self.is_open:
            self._typed_matcher(self.read)

    def replace(self, text: str, start: int, end: int) -> None:
        with self._one_change():
            super().replace(text, start, end)

    def watch_selection(self) -> None:
        if self.is_attached and self.is_open and not self._changing:
            self._typed_matcher(self.read)

    def _read_field(self, value: str) -> MatcherText:
        problem = value_problem(value)
        if problem:
            return MatcherText(value, self._base, problem, 0)
        if self.field in PLACES:
            read = parse_matcher_text(value, self.bench.tree)
            allowed = RELATIONS if self.field == "container" else ()
            wrong = next((name for name in read.matcher.places() if name not in allowed), "")
            problem = read.problem or (wrong and f"{self.field} takes no {wrong}")
            matcher = self._base if problem else with_field(self._base, self.field, matcher_text(read.matcher))
            return MatcherText(value, matcher, problem, max(0, read.column) if problem else -1)
        whole = full_id(value, self.bench.tree) if self.field == "resourceId" else value
        return MatcherText(value, with_field(self._base, self.field, whole))

    # -- keys

    def action_keep(self) -> None:
        """Close and keep this matcher; a line with a problem stays open."""
        if not self.read.problem:
            self._close()

    def action_leave(self) -> None:
        """Close and restore the previous matcher."""
        self._close()
        self.value = ""
        self.read = MatcherText("", self._before)
        self.bench.type(self._before)
        self._typed_matcher(self.read)

    def action_complete(self) -> None:
        """Insert the next completion; in a field go to the next field; else call ``onward``."""
        if self.field:
            self._to_field(1)
        elif not self._take(1) and not self.read.problem and self._onward is not None:
            self._close()
            self._onward()

    def action_previous(self) -> None:
        """Go to the previous field or completion."""
        if self.field:
            self._to_field(-1)
        elif self._cycle_at >= 0:
            self._take(-1)

    def _take(self, step: int) -> bool:
        """Insert a completion; return whether there was one."""
        if self._cycle_at < 0:
            self._cycle = self.completions
        if not self._cycle:
            return False
        self._cycle_at = (self._cycle_at + step) % len(self._cycle)
        chosen = self._cycle[self._cycle_at]
        if len(self._cycle) == 1 or chosen.what.endswith((".", *SPELLINGS.values())):
            self._cycle, self._cycle_at = (), -1
        with self._one_change():
            self.value = chosen.text
            self.cursor_position = chosen.cursor
        return True

    def _to_field(self, step: int) -> None:
        if self.read.problem:
            return
        fields = (*FIELDS, *dict.fromkeys((*self._base.places(), *({self.field} & {*PLACES}))))
        field = fields[(fields.index(self.field) + step) % len(fields)]
        self.open_field(field)

    def _on_paste(self, event: events.Paste) -> None:
        """Join pasted JSON into one line: Input's handler, which runs after this, takes only the first."""
        if event.text.lstrip()[:1] == "{":
            event.text = " ".join(event.text.splitlines())

    # -- hint

    @property
    def completions(self) -> Sequence[MatcherCompletion]:
        """Return what tab can insert here."""
        if self.field or not self.selection.is_empty:
            return ()
        return complete(self.value, self.cursor_position, self.bench.tree)

    def hint(self, width: int = 80) -> Line:
        """Return the problem under a caret, else the counts and completions."""
        if self.read.problem and not self._unfinished:
            return self._problem_line(width)
        line = Line(width).add(" ")
        _counts(line, self.bench, self.symbols)
        if self.field:
            self._offer_values(line)
        else:
            self._offer(line)
        return line

    @property
    def _unfinished(self) -> bool:
        """Return whether the problem is only the incomplete term at the cursor."""
        start = self.value.rfind(" ", 0, self.cursor_position) + 1
        return self.read.column >= start and bool(self.completions)

    def _problem_line(self, width: int) -> Line:
        """Return ``^ words`` below the column, or ``words ^`` where there is no room behind it."""
        words = self.read.problem
        before = cells(self._prefix) + 1 + cells(self.value[: self.read.column]) - self.scroll_offset.x
        column = max(0, min(before, width - 1))
        line = Line(width)
        if column + 2 + cells(words) <= width or column <= cells(words):
            return line.pad(min(column, max(0, width - cells(words) - 2))).add("^ ", "fail").device(words, "fail")
        return line.add(" " * (column - cells(words) - 1)).device(words, "fail").add(" ^", "fail")

    def _offer(self, line: Line) -> None:
        """Append the completions, the last inserted one first."""
        taken = self._cycle_at >= 0
        offered = self._cycle[self._cycle_at :] if taken else self.completions
        if offered:
            line.add(f"   {self.symbols.tab} ", "key")
        for index, completion in enumerate(offered):
            role = "match-current" if taken and not index else "text"
            if not _fits(line, completion.what, completion.words, role):
                return

    def _offer_values(self, line: Line) -> None:
        tree = self.bench.tree
        if tree is None or self.field in PLACES:
            return
        rest = with_field(self._base, self.field, "")
        typed = self.value if self.selection.is_empty else ""
        line.add("   on screen: ", "faint")
        for value, count in values_on_screen(tree, self.field, rest, typed):
            if not _fits(line, value, str(count), "text"):
                return

    # -- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the field's name in the padding before the value."""
        strips = super().render_lines(crop)
        prefix = f" {self._prefix}"
        if self.field and strips and not crop.y and not crop.x:
            style = self.rich_style + Style(bold=True)
            width = cells(prefix)
            strips[0] = Strip.join(
                [Strip([Segment(prefix, style)], width), strips[0].crop(width, strips[0].cell_length)]
            )
        return strips


def _fits(line: Line, what: str, words: str, role: str) -> bool:
    """Append one completion with its count if there is room."""
    piece = Line(40).device(what, role, room=30).add(f" {words}  ", "faint")
    if line.cells + piece.cells > line.width:
        return False
    line.extend(piece)
    return True


def _counts(line: Line, bench: Bench, symbols: Symbols) -> None:
    findings = bench.findings
    if findings is None:
        line.add("no matcher", "faint")
        return
    count = len(findings.matches)
    line.add(f"{count:,} match{'es' * (count != 1)}", "ok" if count == 1 else "warn")
    if findings.off_screen:
        line.add(f" {symbols.dot} {findings.off_screen:,} off screen", "muted")
