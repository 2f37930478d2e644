"""Every row of post-processing: what the host adds to an envelope, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawperator.engine.contracts.derived import DERIVED_CODES, derived_code
from clawperator.engine.contracts.envelope import Envelope, StepResult
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.finish import RunOptions, Shot, finish
from clawperator.engine.hierarchy.blind import blind_spots, facts_of_step
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.logcat.signals import CapturedHierarchy
from tests.support import table

TREE = '<hierarchy rotation="0">\n</hierarchy>'
CLASSIC, FLAT = RunOptions(), RunOptions(profile="flat")


def step(step_id: str, action_type: str, *, ok: bool = True, **data: str) -> StepResult:
    return StepResult(step_id, action_type, ok, data)


def snapshot(step_id: str = "s1", **data: str) -> StepResult:
    return StepResult(step_id, "snapshot_ui", True, {"actual_format": "hierarchy_xml"} | data)


def dump(xml: str = TREE, step_id: str = "", *, complete: bool = True, cut_lines: int = 0) -> CapturedHierarchy:
    return CapturedHierarchy(step_id=step_id, xml=xml, complete=complete, cut_lines=cut_lines)


def execution(*steps: StepResult) -> Execution:
    """The plan that ``steps`` are the results of."""
    params = {"close_app": {"applicationId": "com.example.app"}}
    return planned(*(Action(s.id, s.action_type, params.get(s.action_type, {})) for s in steps))


def planned(*actions: Action) -> Execution:
    return Execution("c", "t", "s", 5000, actions)


def finished(*steps: StepResult, options: RunOptions = CLASSIC, **given: Any) -> tuple[dict[str, Any], tuple[Any, ...]]:
    envelope = Envelope(
        "c", "t", given.pop("status", "success"), steps, given.pop("error", None), given.pop("code", None)
    )
    given = {"snapshots": (), "screenshots": {}, "closed": {}} | given
    return finish(envelope, given.pop("plan", execution(*steps)), options=options, **given)


def steps_of(answer: dict[str, Any]) -> list[tuple[bool, dict[str, str]]]:
    return [(result["success"], result["data"]) for result in answer["stepResults"]]


# -- nothing to add


def test_an_envelope_without_anything_special_stays_as_it_is() -> None:
    result = step("k", "press_key", ok=False, key="back", error="GLOBAL_ACTION_FAILED")
    answer, warnings = finished(result)
    assert answer == Envelope("c", "t", "success", (result,)).to_dict()
    assert warnings == ()


def test_the_device_s_envelope_is_not_changed() -> None:
    result = snapshot()
    finished(result, snapshots=[dump()])
    assert dict(result.data) == {"actual_format": "hierarchy_xml"}


# -- close_app

REFUSED_CLOSE = step(
    "x", "close_app", ok=False, application_id="com.example.app", error="UNSUPPORTED_RUNTIME_CLOSE", message="m"
)


@pytest.mark.parametrize(("done", "text"), [(True, "true"), (False, "false")])
def test_classic_keeps_the_refusal_and_adds_the_preflight(done: bool, text: str) -> None:
    answer, _ = finished(REFUSED_CLOSE, closed={"com.example.app": done})
    assert steps_of(answer) == [
        (False, {**REFUSED_CLOSE.data, "host_preflight": "force_stop", "host_preflight_ok": text}),
    ]
    assert answer["status"] == "success"


def test_a_raw_envelope_has_no_preflight_keys() -> None:
    answer, _ = finished(REFUSED_CLOSE, closed={"com.example.app": True}, options=RunOptions(raw_envelope=True))
    assert steps_of(answer) == [(False, dict(REFUSED_CLOSE.data))]


def test_flat_turns_the_refusal_into_a_success() -> None:
    answer, _ = finished(REFUSED_CLOSE, closed={"com.example.app": True}, options=FLAT)
    assert steps_of(answer) == [(True, {"application_id": "com.example.app"})]
    assert (answer["status"], answer["error"]) == ("success", None)


def test_flat_does_not_invent_a_success() -> None:
    answer, _ = finished(REFUSED_CLOSE, options=FLAT)
    assert steps_of(answer) == [(False, dict(REFUSED_CLOSE.data))]
    assert answer["error"] == "Step x (close_app) failed: UNSUPPORTED_RUNTIME_CLOSE"


def test_the_application_is_looked_up_in_the_plan_where_the_device_does_not_name_it() -> None:
    bare = step("x", "close_app", ok=False, error="UNSUPPORTED_RUNTIME_CLOSE")
    answer, _ = finished(bare, closed={"com.example.app": True}, options=FLAT)
    assert steps_of(answer) == [(True, {"application_id": "com.example.app"})]


def test_another_error_of_close_app_is_not_ours() -> None:
    other = step("x", "close_app", ok=False, application_id="com.example.app", error="OTHER")
    assert steps_of(finished(other, closed={"com.example.app": True})[0]) == [(False, dict(other.data))]


# -- snapshots


def texts(answer: dict[str, Any]) -> list[str | None]:
    return [result["data"].get("text") for result in answer["stepResults"]]


def test_dumps_go_to_their_steps_by_id() -> None:
    answer, warnings = finished(snapshot("a"), snapshot("b"), snapshots=[dump("B", "b"), dump("A", "a")])
    assert texts(answer) == ["A", "B"]
    assert warnings == ()


def test_the_last_dump_of_a_step_counts() -> None:
    assert texts(finished(snapshot("a"), snapshots=[dump("early", "a"), dump("late", "a")])[0]) == ["late"]


def test_dumps_without_a_step_go_backwards_and_surplus_old_ones_are_dropped() -> None:
    answer, _ = finished(snapshot("a"), snapshot("b"), snapshots=[dump("1"), dump("2"), dump("3")])
    assert texts(answer) == ["2", "3"]


def test_ids_come_first_and_the_rest_goes_backwards_among_the_rest() -> None:
    steps = [snapshot("a"), snapshot("b"), snapshot("c")]
    answer, _ = finished(*steps, snapshots=[dump("1"), dump("B", "b"), dump("2")])
    assert texts(answer) == ["1", "B", "2"]


def test_failed_snapshots_get_no_dump() -> None:
    failed = step("b", "snapshot_ui", ok=False, error="X")
    answer, _ = finished(snapshot("a"), failed, snapshots=[dump("A"), dump("B", "b")])
    assert texts(answer) == ["A", None]


def test_a_dump_of_another_step_is_not_borrowed() -> None:
    assert texts(finished(snapshot("a"), snapshots=[dump("B", "b")])[0]) == [None]


@pytest.mark.parametrize("snapshots", [[], [dump(complete=False)], [dump(step_id="s1", complete=False)]])
def test_a_successful_snapshot_without_a_complete_dump_becomes_a_failure(snapshots: list[CapturedHierarchy]) -> None:
    answer, warnings = finished(snapshot(window_count="2"), snapshots=snapshots)
    ((success, data),) = steps_of(answer)
    assert not success
    assert data["error"] == "SNAPSHOT_EXTRACTION_FAILED"
    assert data["message"]
    assert (data["actual_format"], data["window_count"]) == ("hierarchy_xml", "2")
    assert answer["status"] == "success"
    (warning,) = warnings
    assert (warning.code, warning.path) == ("SNAPSHOT_EXTRACTION_FAILED", "stepResults.0")
    assert warning.message.startswith('snapshot_ui step "s1" UI hierarchy extraction produced no output. ')


def test_text_that_is_there_stays_even_if_empty() -> None:
    answer, warnings = finished(snapshot(text=""), snapshots=[dump()])
    assert steps_of(answer) == [(True, {"actual_format": "hierarchy_xml", "text": ""})]
    assert warnings == ()


@pytest.mark.parametrize(
    ("xml", "warned"),
    [
        ("\n" * 1999, False),
        ("\n" * 2000, True),
        ("x" * 262_144, False),
        ("é" * 131_073, True),
    ],
)
def test_large_snapshots_are_kept_and_remarked_on(xml: str, warned: bool) -> None:
    ((_, data),) = steps_of(finished(snapshot(), snapshots=[dump(xml)])[0])
    assert data["text"] == xml
    assert ("warn" in data) is warned
    assert "truncated" not in data


def test_snapshots_are_cut_only_on_demand_and_between_characters() -> None:
    options = RunOptions(max_snapshot_bytes=4)
    ((_, data),) = steps_of(finished(snapshot(), snapshots=[dump("aéé€")], options=options)[0])
    assert (data["text"], data["truncated"]) == ("aé", "true")
    ((_, data),) = steps_of(finished(snapshot(), snapshots=[dump("aé")], options=options)[0])
    assert data == {"actual_format": "hierarchy_xml", "text": "aé"}


def test_lines_that_the_log_cut_are_remarked_on() -> None:
    ((_, data),) = steps_of(finished(snapshot(), snapshots=[dump(cut_lines=2)])[0])
    assert data["text"] == TREE
    assert "2 over-long line(s)" in data["warn"]
    assert [spot.line for spot in blind_spots(parse(data["text"]), facts_of_step(data))] == ["truncated (certain)"]


@pytest.mark.parametrize("data", [{"cut_lines": "many"}, {"cut_lines": "9" * 40}, {"verified": "text"}])
def test_a_device_s_own_data_under_these_names_are_ignored(data: dict[str, str]) -> None:
    assert facts_of_step(data) == facts_of_step({})


@pytest.mark.parametrize(
    ("before", "options", "warned"),
    [
        ("click", FLAT, True),
        ("scroll_and_click", FLAT, True),
        ("sleep", FLAT, False),
        ("click", CLASSIC, False),
    ],
)
def test_a_snapshot_right_after_a_click_is_remarked_on(before: str, options: RunOptions, warned: bool) -> None:
    answer, _ = finished(step("c", before), snapshot("s"), snapshots=[dump()], options=options)
    assert ("without a sleep step" in answer["stepResults"][1]["data"].get("warn", "")) is warned


def test_a_snapshot_later_than_directly_after_a_click_is_not_remarked_on() -> None:
    steps = [step("c", "click"), step("z", "sleep"), snapshot("s")]
    assert "warn" not in finished(*steps, snapshots=[dump()], options=FLAT)[0]["stepResults"][2]["data"]


# -- screenshots

REFUSED_SHOT = step("p", "take_screenshot", ok=False, error="UNSUPPORTED_RUNTIME_SCREENSHOT", message="m")


def test_a_capture_makes_the_step_a_success() -> None:
    answer, warnings = finished(REFUSED_SHOT, screenshots={"p": Shot("/tmp/p.png")})
    assert steps_of(answer) == [(True, {"path": "/tmp/p.png"})]
    assert warnings == ()


def test_a_failed_capture_leaves_the_step_and_says_why() -> None:
    answer, warnings = finished(REFUSED_SHOT, screenshots={"p": Shot(None, "no such folder")})
    assert steps_of(answer) == [(False, {**REFUSED_SHOT.data, "capture_error": "no such folder"})]
    (warning,) = warnings
    assert (warning.code, warning.path) == ("SCREENSHOT_CAPTURE_FAILED", "stepResults.0")
    assert "no such folder" in warning.message


def test_a_raw_envelope_says_why_only_in_the_warning() -> None:
    options = RunOptions(raw_envelope=True)
    answer, warnings = finished(REFUSED_SHOT, screenshots={"p": Shot(None, "no")}, options=options)
    assert steps_of(answer) == [(False, dict(REFUSED_SHOT.data))]
    assert len(warnings) == 1


def test_every_step_has_its_own_picture() -> None:
    other = step("q", "take_screenshot", ok=False, error="UNSUPPORTED_RUNTIME_SCREENSHOT")
    answer, _ = finished(REFUSED_SHOT, other, screenshots={"p": Shot("1.png"), "q": Shot("2.png")})
    assert [data["path"] for _, data in steps_of(answer)] == ["1.png", "2.png"]


def test_without_a_capture_the_step_stays() -> None:
    assert steps_of(finished(REFUSED_SHOT)[0]) == [(False, dict(REFUSED_SHOT.data))]


# -- derived codes

TEXTS = [
    ("Task execution failed: No UI node found matching criteria: NodeMatcher(resourceId=x)", "NODE_NOT_FOUND"),
    ("Task execution failed: Target node not found after scrolling: x", "NODE_NOT_FOUND"),
    ("Task execution failed: Timeout waiting for node matching: x (timeoutMs=5)", "NODE_NOT_FOUND"),
    ("Task execution failed: Click on matching UI node failed", "NODE_NOT_CLICKABLE"),
    ("Task execution failed: Click at coordinate (1, 2) failed", "NODE_NOT_CLICKABLE"),
    ("Task execution failed: Scrollable container not found for x", "CONTAINER_NOT_SCROLLABLE"),
    ("Task execution failed: No scrollable container visible", "CONTAINER_NOT_FOUND"),
    ("Task execution failed: Container not found for x", "CONTAINER_NOT_FOUND"),
    ("Task execution failed: URI_NOT_HANDLED: No application found to handle uri=x:y", "URI_NOT_HANDLED"),
    ("Task execution failed: No app found with applicationId=a.b", "APP_NOT_FOUND"),
    ("Task execution failed: Matching UI node has no text content", "NODE_TEXT_EMPTY"),
    ("Task execution failed: Failed to set text on matching UI node", "SET_TEXT_FAILED"),
    ("Task execution failed: Validation failed for text 'x' from matching UI node", "VALIDATOR_MISMATCH"),
    ("Task execution failed: SNAPSHOT_HIERARCHY_UNAVAILABLE: UI hierarchy dump not available", "UI_TREE_UNAVAILABLE"),
    ("Task execution failed: UI tree not available", "UI_TREE_UNAVAILABLE"),
    ("OperatorAccessibilityService is not running - cannot execute press_key", "SERVICE_UNAVAILABLE"),
    ("Accessibility service is not available", "SERVICE_UNAVAILABLE"),
    ("Agent command timed out after 5000ms", "EXECUTION_TIMEOUT"),
    ("Task execution failed: NODE_AMBIGUOUS: resolved 3 candidates", "NODE_AMBIGUOUS"),
    ("Task execution failed: CONTAINER_AMBIGUOUS: resolved 2 candidates", "CONTAINER_AMBIGUOUS"),
]


@table(("text", "code"), TEXTS)
def test_known_texts_have_codes(text: str, code: str) -> None:
    answer, _ = finished(status="failed", error=text, plan=execution(snapshot()))
    assert (answer["errorCode"], answer["errorCodeSource"]) == (code, "host")
    assert ("hint" in answer) is (code == "SERVICE_UNAVAILABLE")


def test_the_texts_cover_the_whole_table() -> None:
    fragments = [fragment for parts, _ in DERIVED_CODES for fragment in parts]
    assert all(any(fragment in text for text, _ in TEXTS) for fragment in fragments)


@pytest.mark.parametrize("text", ["Conversion = ')'", "Task execution failed: something new", "", None])
def test_unknown_texts_have_none(text: str | None) -> None:
    answer, _ = finished(status="failed", error=text, plan=execution(snapshot()))
    assert "errorCode" not in answer
    assert derived_code(text or "") is None


def test_the_device_s_own_code_stays_and_gets_its_hint() -> None:
    answer, _ = finished(
        status="failed",
        error="Agent command timed out after 1ms",
        code="SERVICE_UNAVAILABLE",
        plan=execution(snapshot()),
    )
    assert answer["errorCode"] == "SERVICE_UNAVAILABLE"
    assert "errorCodeSource" not in answer
    assert answer["hint"] == ErrorCode.SERVICE_UNAVAILABLE.hint
    assert "doctor" in answer["hint"]


def test_a_successful_plan_has_no_code() -> None:
    assert "errorCode" not in finished(step("k", "press_key", ok=False, error="UI tree not available"))[0]


def test_a_raw_envelope_has_no_derived_code() -> None:
    answer, _ = finished(
        status="failed",
        error="UI tree not available",
        options=RunOptions(raw_envelope=True),
        plan=execution(snapshot()),
    )
    assert "errorCode" not in answer


# -- the flat profile's own idea of success


def test_flat_calls_a_plan_failed_by_its_first_failed_step() -> None:
    steps = [
        step("a", "sleep"),
        step("b", "press_key", ok=False, error="GLOBAL_ACTION_FAILED"),
        step("c", "scroll", ok=False),
    ]
    answer, _ = finished(*steps, options=FLAT)
    assert (answer["status"], answer["error"]) == ("failed", "Step b (press_key) failed: GLOBAL_ACTION_FAILED")
    assert finished(*steps)[0]["status"] == "success"
    assert finished(steps[2], options=FLAT)[0]["error"] == "Step c (scroll) failed"


def test_flat_counts_a_missing_snapshot_as_a_failed_step() -> None:
    answer, _ = finished(snapshot(), options=FLAT)
    assert answer["error"] == "Step s1 (snapshot_ui) failed: SNAPSHOT_EXTRACTION_FAILED"


def test_flat_clears_a_failure_that_no_step_has() -> None:
    answer, _ = finished(
        step("a", "sleep"), options=FLAT, status="failed", error="UI tree not available", code="SERVICE_UNAVAILABLE"
    )
    assert (answer["status"], answer["error"]) == ("success", None)
    assert not {"errorCode", "errorCodeSource", "hint"} & set(answer)


def test_flat_leaves_a_failure_without_steps_alone() -> None:
    answer, _ = finished(options=FLAT, status="failed", error="UI tree not available", plan=execution(snapshot()))
    assert (answer["status"], answer["errorCode"]) == ("failed", "UI_TREE_UNAVAILABLE")


# -- trees in another format

SCREEN = """<hierarchy rotation="0"><node class="android.widget.FrameLayout" package="a.b" bounds="[0,0][100,200]">
<node class="android.widget.Button" resource-id="a.b:id/ok" text="OK &quot;é" clickable="true" bounds="[0,0][50,20]" />
<node class="android.widget.TextView" text="two" bounds="[0,20][50,40]" /></node></hierarchy>"""


def rendered(name: str, xml: str, **more: Any) -> tuple[dict[str, str], tuple[Any, ...]]:
    plan = planned(Action("s1", "snapshot_ui", {"format": name}))
    answer, warnings = finished(snapshot(), plan=plan, snapshots=[dump(xml, "s1")], **more)
    return answer["stepResults"][0]["data"], warnings


def test_a_tree_as_indented_text() -> None:
    data, warnings = rendered("ascii", SCREEN)
    assert (data["actual_format"], warnings) == ("ascii", ())
    assert data["text"].split("\n") == [
        'button id=a.b:id/ok @25,10: OK "é',
        "label: two",
    ]


def test_a_tree_as_json() -> None:
    data, _ = rendered("json", SCREEN)
    document = json.loads(data["text"])
    (root,) = document["nodes"]
    assert (data["actual_format"], document["package"], document["rotation"]) == ("json", "a.b", 0)
    assert root["children"][0] == {
        "class": "android.widget.Button",
        "resourceId": "a.b:id/ok",
        "text": 'OK "é',
        "bounds": [0, 0, 50, 20],
        "click": True,
        "children": [],
    }


def test_the_limit_counts_what_is_shown() -> None:
    data, _ = rendered("ascii", SCREEN, options=RunOptions(max_snapshot_bytes=11))
    assert (data["text"], data["truncated"]) == ("button id=a", "true")


@pytest.mark.parametrize("xml", ["no tree at all", "<node>" * 30_000 + "</node>" * 30_000])
def test_what_cannot_be_rendered_stays_and_says_so(xml: str) -> None:
    data, warnings = rendered("json", xml)
    assert (data["actual_format"], data["text"]) == ("hierarchy_xml", xml)
    assert [warning.code for warning in warnings] == ["SNAPSHOT_NOT_RENDERED"]


def test_the_dump_may_be_asked_for_by_name() -> None:
    data, _ = rendered("hierarchy_xml", SCREEN)
    assert (data["actual_format"], data["text"]) == ("hierarchy_xml", SCREEN)
