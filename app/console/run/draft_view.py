"""What mode 3 shows, made from the draft and its last run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clawperator.app.console.execution.draft_model import Draft, Problem
from clawperator.engine.contracts.limits import MAX_EXECUTION_ACTIONS, MAX_PAYLOAD_BYTES
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.validate import Validated
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.format.draft import StepView
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.outcome_block import NextKey
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.status import Status
from clawperator.widgets.problem_list import DraftProblem
from clawperator.widgets.tab_line import Tab
from clawperator.widgets.text.json_text import JsonText, TextMark


def step_view(step: Mapping[str, Any], problem: str, matches: int, result: StepState | None) -> StepView:
    if result is None:
        return StepView(step, problem, matches)
    return StepView(step, problem, matches, result.status, result.ended - result.started, result.code)


def matches(tree: UiTree | None, fields: Mapping[str, Any] | None) -> int:
    """Return how many nodes on screen a step's matcher finds; -1 where that is unknown."""
    if tree is None or fields is None or "ref" in fields:
        return -1
    try:
        return len(find_all(tree, Matcher.from_fields(fields)))
    except (ValueError, AttributeError):  # no matcher
        return -1


def complaints(validated: Validated | None, problems: Sequence[Problem]) -> list[DraftProblem]:
    """Return the problems, then the warnings, in the order of ``marks``."""
    found = [DraftProblem(problem.path or ("JSON" if problem.at >= 0 else ""), problem.message) for problem in problems]
    warnings = validated.warnings if validated is not None else ()
    return found + [DraftProblem(one.path, one.message, warning=True) for one in warnings]


def marks(draft: Draft) -> list[TextMark]:
    """Return what is underlined in the draft's text, for each problem and each warning."""
    validated, problems = draft.check()
    found = [_mark(problem, draft.reading) for problem in problems]
    warnings = validated.warnings if validated is not None else ()
    return found + [TextMark(*draft.reading.span_of(one.path, one.message), "warn", one.message) for one in warnings]


def _mark(problem: Problem, reading: JsonText) -> TextMark:
    if problem.at >= 0:
        return TextMark(problem.at, problem.at + 1, "fail", reading.problem)
    return TextMark(*reading.span_of(problem.path, problem.message), "fail", problem.message)


def tabs(draft: Draft, found: Sequence[DraftProblem], run: ExecutionState | None, symbols: Symbols) -> list[Tab]:
    """Return the views of mode 3, each with its count."""
    failed = sum(1 for one in found if not one.warning)
    status = Status.FAILED if failed else Status.WARN if found else Status.OK
    count = f" {failed or len(found)}" if found else ""
    sign = "" if draft.empty else f"{symbols.sign(status)}{count}"
    run_sign = symbols.sign(run.status) if run is not None else ""
    return [
        Tab("list", "steps", str(len(draft)) if len(draft) else ""),
        Tab("json", "JSON"),
        Tab("problems", "problems", sign, status.role),
        Tab("timeline", "last run", run_sign, run.status.role if run is not None else "muted"),
    ]


def summary_row(draft: Draft, name: str, width: int, symbols: Symbols) -> Row:
    """Return whether the draft is valid, and its size."""
    validated, problems = draft.check()
    status, words = Status.IDLE, "empty draft"
    if problems and not draft.empty:
        status = Status.FAILED
        first = problems[0]
        place = f"{first.path}: " if first.path else ""
        words = f"{len(problems)} problem{'s' * (len(problems) != 1)}: {place}{first.message}"
    elif validated is not None:
        status, words = Status.OK, "can be run"
    right = measures(validated, len(draft), symbols.dot)
    line = Line(max(10, width - right.cells - 1)).add(f" {symbols.sign(status)} ", status.role)
    if name:
        line.device(name, "strong", room=24).add("  ")
    return Row(line.device(words, "fail" if status is Status.FAILED else "muted"), right)


def measures(validated: Validated | None, count: int, dot: str) -> Line:
    """Return bytes, time limit, sleep and steps."""
    right = Line()
    if validated is not None:
        budget = validated.execution.timeout_ms / 1000
        slept = (
            sum(action.params["durationMs"] for action in validated.execution.actions if action.type == "sleep") / 1000
        )
        time = f"{slept:g} of {budget:g} s sleep" if slept else f"{budget:g} s"
        right.add(f"{len(validated.wire.encode()):,} of {MAX_PAYLOAD_BYTES:,} bytes {dot} {time} {dot} ", "muted")
    return right.add(f"{count}/{MAX_EXECUTION_ACTIONS} ", "muted")


def was_busy(execution: ExecutionState | None) -> bool:
    return execution is not None and execution.code == ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT


def next_keys(execution: ExecutionState | None, *, free: bool) -> list[NextKey]:
    """Return the keys that make sense after the run."""
    if execution is None or not execution.over:
        return []
    if was_busy(execution):
        return [NextKey("r", "try again" if free else "try again, when it is free"), NextKey("⏎", "watch it")]
    return [NextKey("R", "run again"), NextKey("⏎", "show in stream"), NextKey("esc", "back")]
