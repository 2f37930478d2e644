"""A compiled artifact as rows: what it takes, what it may do, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawperator.widgets.format.draft import StepView, step_row
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap


def plan_rows(shown: Mapping[str, Any], width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """``shown``: ``executions``, ``capabilities`` and ``warnings``, as JSON data."""
    executions = shown.get("executions") or ()
    steps = sum(len(execution.get("actions", ())) for execution in executions)
    budget = sum(execution.get("timeoutMs", 0) for execution in executions) / 1000
    right = Line().device(", ".join(map(str, shown.get("capabilities") or ())), "muted", room=44).add(" ")
    line = Line(width - right.cells - 1).add(f" {steps} step{'s' * (steps != 1)}", "strong")
    line.add(f" {symbols.dot} {budget:g} s at most", "muted")
    if len(executions) > 1:
        line.add(f" {symbols.dot} {len(executions)} executions", "muted")
    yield Row(line, right)
    for warning in shown.get("warnings") or ():
        yield from _warning(warning, width, symbols)
    for number, execution in enumerate(executions):
        if number:
            yield Row(Line(width).add(f" {symbols.rule} ", "guide").add("its own execution: may fail", "faint"))
        yield from _steps(execution.get("actions", ()), width, symbols)


def _steps(actions: Sequence[Mapping[str, Any]], width: int, symbols: Symbols) -> Iterator[Row]:
    for index, action in enumerate(actions, 1):
        yield step_row(index, StepView(action), width, symbols)


def _warning(warning: Any, width: int, symbols: Symbols) -> Iterator[Row]:
    words = str(warning.get("message", warning)) if isinstance(warning, Mapping) else str(warning)
    sign = Status.WARN.sign(ascii_only=symbols.ascii)
    for index, text in enumerate(wrap(words, max(10, width - 5), limit=4)):
        yield Row(Line(width).add(f" {sign} " if not index else "   ", "warn").add(text, "warn"))
