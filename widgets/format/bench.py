"""The workbench as rows: candidates, the fields of a matcher with the reason of each mismatch, matches and near misses.

Each function yields one or more rows for a width; the first one takes the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.hierarchy.matcher import FIELDS, PLACES, field_value
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.nodes import breadcrumb
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.bench import rows_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.matcher_terms import SPELLINGS, spelling
from clawperator.widgets.text.node_names import short_class, short_id
from clawperator.widgets.text.safe import cells, escape

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.explain import Explanation, FieldResult
    from clawperator.engine.hierarchy.matcher import Matcher
    from clawperator.engine.hierarchy.selectors import Candidate
    from clawperator.engine.hierarchy.tree import UiNode

_WIDE = 58
"""From this width on, words about a match stand beside it."""
_ROOMY = 43
_VERY_WIDE = 72
"""From this width on, a field and its reason share a row."""

_VALUE_ROLES = {"resourceId": "node-id", "role": "text"}
_FLAG_ROLES = {"loc": "muted", "≈": "muted", "case": "muted"}
_LINES_OF_A_REASON = 4
_CRUMBS = 30
"""Least room for the path beside a match."""
_MOST_FLAGS = 2


class FieldState(NamedTuple):
    """A field of the form: the wanted value, its test against the focused node, and its counts."""

    field: str
    result: FieldResult | None
    wanted: str
    offered: str
    """The node's value, for a field that is not given."""
    alone: int
    redundant: bool


def section(title: str, note: str = "", *, width: int) -> Row:
    """Return a faint heading of a section."""
    return Row(
        Line(width).add(f" {title}", "faint"),
        Line().add(f"{note} ", "faint") if note and len(title) + len(note) + 3 <= width else None,
    )


# -- matchers in a few words


def matcher_pieces(matcher: Matcher) -> list[tuple[str, str, str]]:
    """Return name, value and role of each field. An id is shortened to ``#title``."""
    pieces = []
    for field, value in matcher.flat().items():
        place, dot, last = field.rpartition(".")
        if last == "resourceId":
            pieces.append((f"{place}{dot}#", short_id(value), "node-id"))
        else:
            pieces.append((spelling(field), value, _role_of(last)))
    return pieces


def add_piece(line: Line, name: str, value: str, role: str) -> None:
    """Add one field of ``matcher_pieces``."""
    line.add(name, role if name == "#" else "muted")
    if role == "node-id" or name.endswith("role:"):
        line.device(value, role)
    else:
        line.device(value, role, before='"', after='"')


def _role_of(field: str) -> str:
    return "node-desc" if field.startswith("contentDesc") else _VALUE_ROLES.get(field, "node-text")


# -- candidates


def candidate_rows(
    candidate: Candidate,
    rank: int,
    width: int,
    symbols: Symbols = UNICODE,
    *,
    current: bool = False,
    unfolded: bool = False,
) -> Iterator[Row]:
    """Yield rank, status, match count, fields, stability, flags, and a fold arrow to click at the right edge."""
    status = _status(candidate.matches, unique=candidate.unique)
    right = _candidate_right(candidate, width, symbols).add(symbols.open if unfolded else symbols.closed, "key")
    line = Line(width - right.cells - 1).add(f" {symbols.bullet if current else ' '}", "accent")
    line.add(f"{rank} ", "strong" if current else "muted")
    line.add(symbols.sign(status), status.role).add(f" {candidate.matches:<2} ", status.role)
    indent = line.cells
    lines = _folded_pieces(line, matcher_pieces(candidate.matcher), indent, width)
    yield Row(next(lines), right)
    yield from (Row(more) for more in lines)
    if not unfolded or candidate.kind not in _REACHED_BY:  # the reasons of these kinds begin with it
        yield from _way_rows(candidate, indent, width, symbols)
    if unfolded:
        for sentence in candidate.why:
            yield from _wrapped(sentence, "muted", indent, width, bullet=symbols.bullet)


def typed_row(matcher: Matcher, matches: int, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return the typed matcher as the current one, in the columns of ``candidate_rows``."""
    status = _status(matches, unique=matches == 1)
    line = Line(width - len(_TYPED)).add(f" {symbols.bullet}", "accent").add("m ", "strong")
    line.add(symbols.sign(status), status.role).add(f" {matches:<2} ", status.role)
    return Row(next(_folded_pieces(line, matcher_pieces(matcher), line.cells, line.width)), Line().add(_TYPED, "muted"))


_TYPED = " typed, esc clears "


def _status(matches: int, *, unique: bool) -> Status:
    return Status.OK if unique else Status.WARN if matches else Status.FAILED


def _candidate_right(candidate: Candidate, width: int, symbols: Symbols) -> Line:
    """Return flags and stability; on a narrow pane stability only where it is below 100 %."""
    right = Line()
    for flag in candidate.flags[:_MOST_FLAGS]:
        right.add(f"{symbols.approx if flag == '≈' else flag} ", _FLAG_ROLES.get(flag, "warn"))
    shaky = candidate.steady < len(candidate.seen)
    if candidate.seen and (shaky or width >= _ROOMY):
        right.add(f"{candidate.steady}/{len(candidate.seen)} ", "warn" if shaky else "muted")
    return right


def _folded_pieces(line: Line, pieces: Iterable[tuple[str, str, str]], indent: int, width: int) -> Iterator[Line]:
    """Wrap the fields of a candidate."""
    for name, value, role in pieces:
        wanted = cells(name) + min(cells(escape(value[:width])) + 2, 12)
        if line.cells > indent:
            if line.cells + 2 + wanted > line.width:
                yield line
                line = Line(width).add(" " * indent)
            else:
                line.add("  ")
        add_piece(line, name, value, role)
    yield line


_REACHED_BY = {
    "tap-through": "matches its label: a tap there reaches this node",
    "row": "matches its row: a tap there toggles this node",
}


def _way_rows(candidate: Candidate, indent: int, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield how a candidate that matches another node reaches this one."""
    if how := _REACHED_BY.get(candidate.kind):
        yield from _wrapped(how, "muted", indent, width, bullet=symbols.arrow)
    elif candidate.container is not None:
        how = "scroll in" if candidate.kind == "container" else "in"
        line = Line(width).add(" " * indent).add(f"{symbols.arrow} {how} ", "muted")
        yield from map(Row, _folded_pieces(line, matcher_pieces(candidate.container), line.cells, width))


def asks_why(x: int, width: int) -> bool:
    """Return whether column ``x`` of a candidate's row is on its fold arrow."""
    return x >= width - 2


# -- the form, which says why not


def field_states(
    matcher: Matcher,
    node: UiNode | None,
    explanation: Explanation | None,
    alone: Mapping[str, int],
    redundant: Iterable[str],
) -> Iterator[FieldState]:
    """Yield all six fields in the contract's order, then the given nodes around."""
    given, redundant = rows_of(matcher), set(redundant)
    results = {result.field: result for result in explanation.fields} if explanation is not None else {}
    for field in (*FIELDS, *matcher.places()):
        offered = field_value(node, field) if node is not None and field not in given else ""
        yield FieldState(
            field, results.get(field), given.get(field, ""), offered, alone.get(field, 0), field in redundant
        )


def field_rows(state: FieldState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield a field: status, name, value, its own match count, and what is wrong, below or beside it."""
    name = SPELLINGS.get(state.field, f"{state.field} ")
    indent = 9 if not symbols.ascii else 12
    if not state.wanted:
        yield _absent_row(state, name, indent, width, symbols)
        return
    right = Line().add("redundant ", "warn") if state.redundant else Line()
    right.add(f"{state.alone:,} ", "muted" if state.alone else "fail")
    status = _field_status(state)
    line = Line(width - right.cells - 1).add(" ")
    line.add(f"{symbols.sign(status)} ", status.role)
    line.add(name, "strong").pad(indent)
    got, reason = _what_is_wrong(state, width)
    full = _beside(state, line, got, reason) if width >= _VERY_WIDE else None
    if full is not None:
        yield Row(full, right)
        return
    _value(line, state.field, state.wanted)
    yield Row(line, right)
    if got:
        yield Row(_value(Line(width).add(" " * indent).add("got ", "muted"), state.field, got))
    if reason:
        yield from _wrapped(reason, "warn" if got or _fails(state) else "muted", indent, width)


def _field_status(state: FieldState) -> Status:
    if state.result is None:
        return Status.IDLE
    return Status.OK if state.result.ok else Status.FAILED


def _fails(state: FieldState) -> bool:
    return state.result is not None and not state.result.ok


def _absent_row(state: FieldState, name: str, indent: int, width: int, symbols: Symbols) -> Row:
    sign = symbols.sign(Status.SKIPPED)
    line = Line(width).add(f" {sign} {name}", "faint").pad(indent)
    return Row(line.device(_tail(state, line), "faint", before="(", after=")") if state.offered else line)


def _tail(state: FieldState, line: Line) -> str:
    return _id_for(state.offered, line.width - line.cells - 2) if state.field == "resourceId" else state.offered


def _what_is_wrong(state: FieldState, width: int) -> tuple[str, str]:
    """Return the node's differing value and the reason; a matching field gives little."""
    result = state.result
    if result is None or result.ok:
        if result is not None and (width >= _VERY_WIDE or ";" in result.reason):
            return "", result.reason
        return "", ""
    return ("" if result.field == "role" else result.got), result.reason


def _beside(state: FieldState, start: Line, got: str, reason: str) -> Line | None:
    """Return value, the node's value and the reason on one line if they fit uncut."""
    line = Line().extend(start)
    _value(line, state.field, state.wanted)
    if got:
        _value(line.add("  got ", "muted"), state.field, got)
    if reason:
        line.add("  ").device(reason, "warn" if _fails(state) else "muted")
    return line if line.cells <= start.width else None


def _value(line: Line, field: str, value: str) -> Line:
    if field == "resourceId":
        return line.device(_id_for(value, line.width - line.cells), "node-id")
    if field == "role" or field in PLACES:
        return line.device(value, "text")
    return line.device(value, _role_of(field), before='"', after='"')


def _id_for(value: str, room: int) -> str:
    """Return a full id, shortened to ``…:id/name`` where it does not fit."""
    return value if cells(escape(value[: room + 1])) <= room else f"…:id/{short_id(value)}"


# -- matches and misses


def match_rows(
    node: UiNode, place: int, width: int, symbols: Symbols = UNICODE, *, taken: bool = False, focused: bool = False
) -> Iterator[Row]:
    """Yield a match. ``taken``: the first of several, which the device takes."""
    words = "taken by the device" if taken else ""
    if focused:
        words = f"this node {symbols.dot} taken by the device" if taken else "this node"
    beside = width >= _WIDE
    right = Line().add(words, "warn" if taken else "accent") if beside else Line()
    line = _node(Line(width - right.cells - 3).add(f" {place:>2} ", "muted"), node, symbols)
    if beside and node.parent is not None and not words and width - line.cells > _CRUMBS:
        right.add(breadcrumb(node.parent, width - line.cells - 4, symbols).plain, "faint")
    yield Row(line, right.add(" ") if right.cells else None)
    if words and not beside:
        yield Row(Line(width).add(f"    {words}", "warn" if taken else "accent"))


def miss_rows(miss: Explanation, place: int, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield a near miss and its reasons: one line each, or a single reason in full."""
    yield Row(_node(Line(width).add(f" {place:>2} ", "muted"), miss.node, symbols))
    reasons = [
        f"{SPELLINGS.get(result.field, result.field)} {result.reason}" for result in miss.fields if not result.ok
    ]
    reasons += [miss.off_screen] if miss.off_screen else []
    if len(reasons) == 1:
        yield from _wrapped(reasons[0], "muted", 4, width)
    else:
        yield from (Row(Line(width).add("    ").device(reason, "muted")) for reason in reasons)


def _node(line: Line, node: UiNode, symbols: Symbols) -> Line:
    line.device(short_class(node.cls), "node-class", room=min(24, line.width // 3))
    if node.resource_id:
        line.device(short_id(node.resource_id), "node-id", before=" #", room=min(26, line.width // 3))
    if node.text:
        line.device(node.text, "node-text", before=' "', after='"')
    elif node.content_desc:
        line.device(node.content_desc, "node-desc", before=f" {symbols.desc_open}", after=symbols.desc_close)
    else:
        line.device(f" at {node.bounds.left},{node.bounds.top}", "muted")
    return line


# -- sentences


def sentence_rows(words: str, status: Status, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Return a sentence behind the sign of a status."""
    return wrapped(words, width, lead=f" {symbols.sign(status)} ", lead_role=status.role)


def _wrapped(words: str, role: str, indent: int, width: int, *, bullet: str = "") -> Iterator[Row]:
    """Return words below a row. The indent shrinks where it leaves little room."""
    indent = indent if width - indent >= 24 else 4
    lead = " " * indent + (f"{bullet} " if bullet else "")
    return wrapped(words, width + 1, role, lead=lead, limit=_LINES_OF_A_REASON)
