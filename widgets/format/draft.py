"""The draft as rows: one step each, with its problem, its match count, and its last result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clawperator.engine.hierarchy.matcher import FIELDS, Matcher
from clawperator.widgets.format.bench import add_piece, matcher_pieces
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.failed_matcher import matcher_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import precise


class StepView(NamedTuple):
    """One step in the list.

    ``problem`` is the first validation error, ``matches`` the number of matching nodes on the shown tree (-1: unknown);
    ``status``, ``seconds`` and ``code`` are those of its last run.
    """

    step: Mapping[str, Any]
    problem: str = ""
    matches: int = -1
    status: Status = Status.IDLE
    seconds: float = float("nan")
    code: str = ""


def step_row(index: int, view: StepView, width: int, symbols: Symbols = UNICODE) -> Row:
    """`` 2 ✓ click text="Wi‑Fi"                            ✓ 1  ✓ 212 ms``"""
    status = Status.FAILED if view.problem else Status.OK
    line = Line(width).add(f" {index:>2} ", "faint").add(f"{symbols.sign(status)} ", status.role)
    right = _right(view, symbols)
    line.width = max(12, width - right.cells - 1)
    line.device(str(view.step.get("type", "no type")), "strong", room=24)
    _add_params(line, view.step)
    return Row(line, right)


def _right(view: StepView, symbols: Symbols) -> Line:
    right = Line()
    if view.matches >= 0:
        status = Status.OK if view.matches == 1 else Status.WARN if view.matches else Status.FAILED
        right.add(f"{symbols.sign(status)}{view.matches:>3,} ", status.role)
    if view.status is not Status.IDLE:
        right.add(f"  {symbols.sign(view.status)} ", view.status.role)
        right.add(f"{precise(view.seconds) or view.status.word:>7} ", "muted")
    return right


def _add_params(line: Line, step: Mapping[str, Any]) -> None:
    params = step.get("params")
    if not isinstance(params, Mapping):
        return
    matcher = matcher_of(step)
    if matcher is not None:
        _add_matcher(line, matcher)
    for name, value in params.items():
        if value is not matcher:
            _add_value(line, name, value)


def _add_matcher(line: Line, fields: Mapping[str, Any]) -> None:
    """Add a matcher as the workbench spells it; an invalid one as it is."""
    if not all(name in FIELDS and isinstance(value, str) and value for name, value in fields.items()):
        for name, value in fields.items():
            _add_value(line, name, value)
        return
    for piece in matcher_pieces(Matcher.from_fields(fields)):
        if line.cells < line.width - 2:
            add_piece(line.add(" "), *piece)


def _add_value(line: Line, name: object, value: object) -> None:
    if line.cells >= line.width - 2:
        return
    line.add(" ").device(str(name), "muted").add(" ")
    if isinstance(value, str):
        line.device(value, "node-text", before='"', after='"')
    elif isinstance(value, Mapping):
        line.device(" ".join(f'{key} "{inner}"' for key, inner in value.items()), "muted", before="(", after=")")
    else:
        line.device(str(value).lower() if isinstance(value, bool) else str(value), "accent")


def plan_rows(
    executions: Sequence[Mapping[str, Any]],
    capabilities: Sequence[str],
    warnings: Sequence[Any],
    width: int,
    symbols: Symbols = UNICODE,
) -> Iterator[Row]:
    """Yield the plan of a compiled artifact."""
    steps = sum(len(execution.get("actions", ())) for execution in executions)
    budget = sum(execution.get("timeoutMs", 0) for execution in executions) / 1000
    right = Line().device(", ".join(map(str, capabilities)), "muted", room=44).add(" ")
    line = Line(width - right.cells - 1).add(f" {steps} step{'s' * (steps != 1)}", "strong")
    line.add(f" {symbols.dot} {budget:g} s at most", "muted")
    if len(executions) > 1:
        line.add(f" {symbols.dot} {len(executions)} executions", "muted")
    yield Row(line, right)
    for warning in warnings:
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
