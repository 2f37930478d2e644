"""The first rows of an execution in full: state, meaning, facts, next keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import Sheet, Slot, fixed, joined
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.verdict import Sentence, sentences
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.execution_queries import failed_steps
from clawperator.widgets.models.failed_matcher import FailureCard, failure_card
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, wrap
from clawperator.widgets.text.times import WallClock, duration, precise

_QUOTED_LINES = 3
"""Lines of untrusted text at most; the envelope shows all of it."""


class NextKey(NamedTuple):
    """A key for a next action."""

    sign: str
    label: str


def outcome_slots(
    execution: ExecutionState,
    sheet: Sheet,
    next_keys: Sequence[NextKey] = (),
    screen: TreeSnapshot = TreeSnapshot.EMPTY,
    *,
    with_id: bool = True,
) -> Iterator[Slot]:
    """Yield the outcome; ``screen`` is the tree read closest to a failure, by which it is explained.

    Without ``with_id`` the commandId stands elsewhere in the pane.
    """
    width = sheet.width
    rows = [outcome_row(execution, width, sheet.clock, sheet.symbols)]
    card = failure_card(execution, screen)
    for index, sentence in enumerate(sentences(execution, sheet.clock.now())):
        if card is not None and index == 0:  # which quotes the Operator's words for what the card shows
            sentence = sentence._replace(foreign="")  # noqa: PLW2901 -- the same one, shortened
        elif card is not None and index == 1:
            rows += _card_rows(card, sheet)
        rows += _sentence_rows(sentence, width, f"{sheet.symbols.arrow} " if sentence.hint else "")
    rows += joined(_facts(execution, sheet.clock, with_id=with_id), width, indent=3)
    if next_keys and execution.over:
        rows.append(keys_row(next_keys, width))
    yield from map(fixed, rows)


def _card_rows(card: FailureCard, sheet: Sheet) -> Iterator[Row]:
    """Yield selector, nearest nodes, and the age of the tree that has them."""
    yield from wrapped(card.selector, sheet.width, "match", lead="   selector  ", limit=3)
    for index, near in enumerate(() if card.matches else card.near):
        yield from wrapped(near, sheet.width, lead="   nearest   " if not index else " " * 13, limit=3)
    if not math.isnan(card.age):
        words = tree_words(sheet.clock, card.at, card.age)
        if card.matches:
            words = f"{words}: the selector matches {card.matches:,} node{'s' * (card.matches != 1)} there"
        elif not card.near:
            words = f"{words}: nothing similar"
        yield from wrapped(words, sheet.width, "muted", lead="   screen    ")


def tree_words(clock: WallClock, at: float, age: float) -> str:
    """Return when a tree was read (``nan``: unknown), and how long before (negative: after) a failure."""
    words = f"tree read at {clock.time_of_day(at, tenths=False)}" if not math.isnan(at) else "tree read"
    if math.isnan(age):
        return words
    return f"{words}, {precise(abs(age))} {'after' if age < 0 else 'before'} the failure"


_WORDS = {Status.OK: "success", Status.SKIPPED: "refused"}


def word_of(execution: ExecutionState) -> str:
    """Return the state in words; a successful plan with a failed step is a state of its own."""
    words = _WORDS.get(execution.status, execution.status.word)
    if execution.status is Status.WARN:
        failed = len(failed_steps(execution))
        words = f"plan success, {failed} step{'s' * (failed != 1)} failed"
    return f"{words}, late" if execution.late else words


def outcome_row(execution: ExecutionState, width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Row:
    """Return state, code and duration in one line."""
    status = execution.status
    role = "warn" if status in (Status.SKIPPED, Status.UNKNOWN) else status.role
    line = Line(width).add(f" {symbols.sign(status)} {word_of(execution)}", role)
    if execution.code:
        line.add("  ").device(execution.code, role)
    return Row(line, Line().add(_took(execution, clock), "muted"))


def _took(execution: ExecutionState, clock: WallClock) -> str:
    """Return how long it took; empty where only its end was seen."""
    seconds = execution.elapsed(clock.now())
    return f"{precise(seconds) if execution.over else duration(seconds)} " if seconds > 0 else ""


def _sentence_rows(sentence: Sentence, width: int, arrow: str) -> Iterator[Row]:
    """Wrap a sentence and what it quotes, on one line where there is room."""
    room = max(10, width - 4 - len(arrow))
    lines = wrap(sentence.text, room)
    quoted = wrap(sentence.foreign, room, limit=_QUOTED_LINES) if sentence.foreign else []
    together = len(lines) == len(quoted) == 1 and cells(lines[0]) + 2 + cells(quoted[0]) <= room
    for index, part in enumerate(lines):
        line = Line(width).add("   ").add(" " * len(arrow) if index else arrow, "accent")
        line.add(part, "text" if arrow else sentence.role)
        if together:
            line.add("  ").add(quoted[0], "muted")
        yield Row(line)
    if not together:
        yield from (Row(Line(width).add("   ").add(part, "muted")) for part in quoted)


def _facts(execution: ExecutionState, clock: WallClock, *, with_id: bool) -> Iterator[tuple[str, str]]:
    """Yield the known facts about the origin of an execution."""
    named = (
        ("id", execution.command_id if with_id else ""),
        ("task", execution.task_id if execution.task_id != execution.command_id else ""),
        ("source", execution.source),
        ("device", execution.device_id),
        ("backend", execution.backend),
        ("mode", execution.mode),
        ("seen" if execution.foreign else "started", clock.time_of_day(execution.started)),
        ("re-run of", execution.run_of),
    )
    return ((name, value) for name, value in named if value)


def keys_row(next_keys: Sequence[NextKey], width: int) -> Row:
    """Return keys and what they do."""
    line = Line(width).add("   ")
    for index, (sign, label) in enumerate(next_keys):
        line.add("   " if index else "").add(sign, "key").add(f" {label}", "muted")
    return Row(line)
