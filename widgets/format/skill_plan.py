"""A compiled artifact as rows: capabilities, warnings, steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawperator.widgets.format.draft import StepView, step_row
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status


def plan_rows(shown: Mapping[str, Any], width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the plan. ``shown`` has ``executions``, ``capabilities`` and ``warnings`` as JSON data."""
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
            yield Row(Line(width).add(f" {symbols.rule} ", "guide").add("separate execution, allowed to fail", "faint"))
        yield from _steps(execution.get("actions", ()), width, symbols)


def _steps(actions: Sequence[Mapping[str, Any]], width: int, symbols: Symbols) -> Iterator[Row]:
    for index, action in enumerate(actions, 1):
        yield step_row(index, StepView(action), width, symbols)


def _warning(warning: Any, width: int, symbols: Symbols) -> Iterator[Row]:
    words = str(warning.get("message", warning)) if isinstance(warning, Mapping) else str(warning)
    return wrapped(words, width, "warn", lead=f" {symbols.sign(Status.WARN)} ", lead_role="warn", limit=4)
