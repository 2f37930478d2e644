"""Trees and steps put together by the number of their screen; an older tree never counts as the one of a moment."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.executions.outcome import ExecutionOutcome, outcome_of
from clawperator.engine.executions.targets import SeenTrees, with_nodes
from clawperator.engine.logcat.signals import CapturedHierarchy

ROW = '<node text="{}" resource-id="app:id/row" class="android.widget.TextView" bounds="[0,{}][100,{}]" visible-to-user="true" />'


def tree(step_id: str, *texts: str, screen: int = 1, at: float = 1.0) -> tuple[float, CapturedHierarchy]:
    rows = "".join(ROW.format(text, 10 * n, 10 * n + 10) for n, text in enumerate(texts))
    frame = '<node class="android.widget.FrameLayout" bounds="[0,0][100,200]" visible-to-user="true">'
    xml = f'<hierarchy rotation="0">{frame}{rows}</node></hierarchy>'
    return at, CapturedHierarchy(step_id, xml, complete=True, screen=screen)


def plan(*actions: tuple[str, str, dict[str, Any]]) -> Execution:
    return Execution("c", "t", "s", 1_000, tuple(Action(*action) for action in actions))


def of(execution: Execution, *results: tuple[str, bool, dict[str, str]], error: str = "") -> ExecutionOutcome:
    types = dict(execution.steps)
    steps = [{"id": i, "actionType": types[i], "success": ok, "data": data} for i, ok, data in results]
    lines = [(2.0, "step-start", {"id": step_id}) for step_id, _ in execution.steps] if error else []
    status = "failed" if error else "success"
    return outcome_of(execution.steps, lines, {"status": status, "stepResults": steps, "error": error or None})


def seen(*trees: tuple[float, CapturedHierarchy], before: Any = None, screen: int = 1, last: int = 1) -> SeenTrees:
    """Every step saw ``screen``; the run ended on ``last``."""
    screens = dict.fromkeys(("tap", "read", "wait"), screen)
    return SeenTrees(trees, before, screens, screens, last)


TAP = ("tap", "click", {"matcher": {"textEquals": "Save"}})
LOOK: tuple[str, str, dict[str, Any]] = ("look", "snapshot_ui", {})


def test_a_tree_of_the_same_screen_names_the_node() -> None:
    execution = plan(LOOK, TAP)
    done = of(execution, ("look", True, {}), ("tap", True, {"click_types": "click"}))
    outcome, warnings = with_nodes(done, execution, seen(tree("look", "Open", "Save")), "d")
    assert outcome.steps[1].target == {
        "resourceId": "app:id/row",
        "text": "Save",
        "bounds": [0, 10, 100, 20],
        "matched": 1,
        "tree": {"stepId": "look", "ageMs": None},
    }
    assert warnings == []


def test_a_tree_of_another_screen_names_nothing() -> None:
    execution = plan(LOOK, TAP)
    done = of(execution, ("look", True, {}), ("tap", True, {}))
    for stale in (seen(tree("look", "Save"), screen=2), seen(tree("look", "Save", screen=-1), screen=-1)):
        assert with_nodes(done, execution, stale, "d")[0].steps[1].target is None


def test_several_matches_are_a_warning_but_where_all_are_read() -> None:
    for everything in (False, True):
        params = {"matcher": {"resourceId": "app:id/row"}, **({"all": True} if everything else {})}
        execution = plan(("read", "read_text", params), LOOK)
        data = {"text": '["a","b"]', "all": "true", "count": "2"} if everything else {"text": "a"}
        done = of(execution, ("read", True, data), ("look", True, {}))
        outcome, warnings = with_nodes(done, execution, seen(tree("look", "a", "b")), "d")
        assert outcome.steps[0].target is not None
        assert outcome.steps[0].target["matched"] == 2
        assert [(w.code, w.path) for w in warnings] == (
            [] if everything else [("MATCHER_AMBIGUOUS", "actions.0.params.matcher")]
        )


def test_a_tree_that_contradicts_what_the_step_read_is_not_believed() -> None:
    execution = plan(("read", "read_text", {"matcher": {"resourceId": "app:id/row"}}), LOOK)
    done = of(execution, ("read", True, {"text": "21"}), ("look", True, {}))
    outcome, _ = with_nodes(done, execution, seen(tree("look", "22")), "d")
    assert outcome.steps[0].target == {"text": "21"}


MISSED = "Task execution failed: No UI node found matching criteria: NodeMatcher(textEquals=Save)"
REFUSED = "Task execution failed: Click on matching UI node failed"


@pytest.mark.parametrize(("error", "matches"), [(MISSED, 0), (REFUSED, 1)])
def test_what_is_near_on_the_screen_of_the_failure(error: str, matches: int) -> None:
    execution = plan(TAP)
    texts = ("save", "Save") if matches else ("save",)
    outcome, _ = with_nodes(of(execution, error=error), execution, seen(before=tree("x", *texts)), "d")
    assert outcome.error is not None
    details = outcome.error["details"]
    assert details["matches"] == matches
    assert [near["node"]["text"] for near in details["nearest"]] == ["save"]
    assert details["tree"] == {"source": "log", "ageMs": 1000, "current": True}


def test_a_screen_that_has_changed_since_is_said_to_have() -> None:
    execution = plan(LOOK, TAP)
    failed = of(execution, ("look", True, {}), error=MISSED)
    outcome, _ = with_nodes(failed, execution, seen(tree("look", "save"), last=2), "d")
    assert outcome.error is not None
    assert outcome.error["details"]["tree"]["current"] is False
    assert "match --selector" in outcome.error["hint"]
    nothing, _ = with_nodes(failed, execution, seen(tree("look", "Qqqq"), last=2), "d")
    assert nothing.error is not None
    assert "nearest" not in nothing.error["details"]
