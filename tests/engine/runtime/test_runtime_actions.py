"""Every action's behaviour, data and failures, over a surface in memory and a clock that nobody waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from clawperator.engine.hierarchy.serialise import Renderable, render_node
from clawperator.engine.hierarchy.tree import Bounds, UiNode, UiTree, build
from clawperator.engine.runtime.actions import run_plan
from clawperator.engine.runtime.outcome import ActionResult
from clawperator.engine.runtime.payload import read_plan
from clawperator.engine.runtime.plan import Generation, PlanStep
from clawperator.engine.runtime.query import Query
from clawperator.engine.runtime.retry import RetryPolicy
from clawperator.engine.runtime.run import Observer, PlanRun

SCREEN = Bounds(0, 0, 1000, 2000)


class FakeClock:
    """Seconds that only ``sleep`` moves; ``on_sleep`` sees them pass."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self.on_sleep: Callable[[float], None] = lambda _time: None

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.time += seconds
        self.on_sleep(self.time)


def node(
    cls: str = "android.view.View",
    *children: Renderable,
    at: tuple[int, int, int, int] = (0, 0, 1000, 2000),
    **rest: Any,
) -> Renderable:
    """A node by its dump attributes; ``id`` and ``desc`` are short for the long names."""
    names = {"id": "resource-id", "desc": "content-desc", "long_clickable": "long-clickable"}
    attributes = {names.get(key, key): value for key, value in rest.items()}
    return render_node({"class": cls, "bounds": at, "package": "app.one", **attributes}, children)


class FakeSurface:
    """Screens to be dumped one after the other (the last one stays), and a list of everything that was done."""

    def __init__(self, *screens: Renderable | None) -> None:
        self.screens: list[Renderable | None] = list(screens) or [node()]
        self.done: list[tuple[Any, ...]] = []
        self.refuse: set[str] = set()
        self.packages: list[str] = ["app.one"]
        self.facts: Mapping[str, str] | None = {"foreground_package": "app.one", "has_overlay": "false"}
        self.on_swipe: Callable[[], None] = lambda: None

    def _act(self, name: str, *details: Any) -> bool:
        self.done.append((name, *details))
        return name not in self.refuse

    async def dump(self) -> UiTree | None:
        screen = self.screens.pop(0) if len(self.screens) > 1 else self.screens[0]
        return None if screen is None else build([screen], screen=SCREEN)

    async def snapshot(self, step_id: str) -> Mapping[str, str] | None:
        self.done.append(("snapshot", step_id))
        return self.facts

    async def foreground(self) -> str:
        return self.packages.pop(0) if len(self.packages) > 1 else self.packages[0]

    async def click(self, node: UiNode) -> bool:
        return self._act("click", node.resource_id)

    async def drag(self, start: tuple[int, int], end: tuple[int, int], hold_ms: int, move_ms: int) -> bool:
        return self._act("drag", start, end, hold_ms, move_ms)

    async def perform(self, name: str, values: Mapping[str, Any]) -> ActionResult:
        raise NotImplementedError(name)

    async def long_click(self, node: UiNode) -> bool:
        return self._act("long_click", node.resource_id)

    async def focus(self, node: UiNode) -> bool:
        return self._act("focus", node.resource_id)

    async def select(self, node: UiNode) -> bool:
        return self._act("select", node.resource_id)

    async def set_text(self, node: UiNode, text: str) -> bool:
        return self._act("set_text", node.resource_id, text)

    async def press(self, x: int, y: int, duration_ms: int, **_: Any) -> bool:
        return self._act("press", x, y, duration_ms)

    async def swipe(self, x1: int, y1: int, x2: int, y2: int, duration_ms: int, **_: Any) -> bool:
        self.on_swipe()
        return self._act("swipe", x1, y1, x2, y2, duration_ms)

    async def key(self, name: str) -> bool:
        return self._act("key", name)

    async def launch(self, package: str) -> bool:
        return self._act("launch", package)

    async def open_uri(self, uri: str) -> bool:
        return self._act("open_uri", uri)

    async def readiness(self) -> Mapping[str, bool]:
        return {}

    async def developer_settings(self) -> tuple[bool, bool]:
        return True, False

    async def record(self, command: str, session_id: str) -> Mapping[str, str]:
        self.done.append((command, session_id))
        return {"sessionId": session_id} if "record" not in self.refuse else {"error": "RECORDING_START_FAILED"}


class Notes(Observer):
    """What a run told."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.retries: list[tuple[int, int, int]] = []

    def stage_start(self, stage: str, label: str) -> None:
        self.stages.append(stage)

    def stage_retry(self, stage: str, attempt: int, attempts: int, delay_ms: int) -> None:
        self.retries.append((attempt, attempts, delay_ms))


class Bench:
    """One plan of some actions over a fake surface."""

    def __init__(self, surface: FakeSurface, generation: Generation = "0.5") -> None:
        self.surface = surface
        self.clock = FakeClock()
        self.notes = Notes()
        self.generation: Generation = generation
        self.run = PlanRun(surface, self.clock, generation, self.notes, chance=lambda: 0.5)

    def plan(self, *actions: tuple[str, Mapping[str, Any]]) -> Any:
        steps: Sequence[object] = [
            {"id": f"s{number}", "type": name, "params": params} for number, (name, params) in enumerate(actions, 1)
        ]
        payload = {"commandId": "c", "taskId": "t", "source": "test", "actions": steps}
        return read_plan(payload, self.generation)


LABEL = "android.widget.TextView"
BUTTON = "android.widget.Button"
EDIT = "android.widget.EditText"
NOWHERE = "No UI node found matching criteria: NodeMatcher(resourceId={}, role=null, textEquals=null, textContains=null, contentDescEquals=null, contentDescContains=null)"


def page(*children: Renderable) -> Renderable:
    return node("android.widget.FrameLayout", *children)


async def outcome_of(bench: Bench, name: str, **params: Any) -> ActionResult:
    """Of a plan of one action that does not fail as a whole."""
    result = await run_plan(bench.run, bench.plan((name, params)))
    assert result.reason == ""
    return result.records[0].outcome


async def reason_of(bench: Bench, name: str, **params: Any) -> str:
    """Why a plan of one action failed as a whole."""
    result = await run_plan(bench.run, bench.plan((name, params)))
    assert result.failed_step == "s1"
    return result.reason


# --- plans


async def test_a_failed_step_lets_the_plan_go_on() -> None:
    bench = Bench(FakeSurface())
    result = await run_plan(
        bench.run, bench.plan(("close_app", {"applicationId": "x.y"}), ("sleep", {"durationMs": 5}))
    )
    assert [record.outcome.success for record in result.records] == [False, True]
    assert result.reason == ""
    assert result.records[0].to_dict()["actionType"] == "close_app"


async def test_a_thrown_step_ends_the_plan_and_keeps_what_was_done() -> None:
    bench = Bench(FakeSurface(page()))
    plan = bench.plan(("sleep", {}), ("click", {"matcher": {"resourceId": "no"}}), ("sleep", {}))
    result = await run_plan(bench.run, plan)
    assert [record.id for record in result.records] == ["s1"]
    assert (result.failed_step, result.reason) == ("s2", NOWHERE.format("no"))


async def test_before_step_is_awaited_for_each_step() -> None:
    bench = Bench(FakeSurface())
    seen: list[str] = []

    async def note(step: PlanStep) -> None:
        seen.append(f"{step.id}:{step.type}")

    bench.run.before_step = note
    await run_plan(bench.run, bench.plan(("sleep", {}), ("doctor_ping", {})))
    assert seen == ["s1:sleep", "s2:doctor_ping"]


# --- retries


async def test_ui_readiness_waits_half_a_second_doubling_to_three() -> None:
    bench = Bench(FakeSurface(page()))
    await reason_of(bench, "wait_for_node", matcher={"resourceId": "no"})
    assert bench.clock.slept == [0.5, 1.0, 2.0, 3.0]
    assert bench.notes.retries == [(2, 5, 500), (3, 5, 1000), (4, 5, 2000), (5, 5, 3000)]


async def test_app_launch_gives_up_after_four_attempts() -> None:
    surface = FakeSurface()
    surface.refuse = {"launch"}
    bench = Bench(surface)
    assert await reason_of(bench, "open_app", applicationId="no.app") == "No app found with applicationId=no.app"
    assert bench.clock.slept == [0.75, 1.5, 3.0]
    assert surface.done == [("launch", "no.app")] * 4


async def test_an_explicit_single_attempt_does_not_wait() -> None:
    bench = Bench(FakeSurface(None))
    reason = await reason_of(bench, "click", matcher={"role": "button"}, retry={"maxAttempts": 1})
    assert (reason, bench.clock.slept) == ("UI tree not available", [])


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 850), (0.5, 1000), (1.0, 1150)])
def test_jitter_spreads_a_delay_by_its_fraction(chance: float, delay: int) -> None:
    assert RetryPolicy(5, 500, 3000, 2.0, 0.15).delay_ms(2, lambda: chance) == delay


async def test_a_node_that_comes_late_is_found() -> None:
    late = page(node(LABEL, id="a:id/x", text="Hello"))
    bench = Bench(FakeSurface(page(), None, late))
    outcome = await outcome_of(bench, "wait_for_node", matcher={"textEquals": "Hello"})
    assert outcome.data == {"resource_id": "a:id/x", "label": "Hello"}
    assert bench.clock.slept == [0.5, 1.0]


# --- click


async def test_click_acts_on_the_first_clickable_of_the_way_up() -> None:
    inner = node(LABEL, text="Wi-Fi", at=(100, 100, 200, 200))
    surface = FakeSurface(page(node("android.widget.LinearLayout", inner, id="row", clickable=True)))
    outcome = await outcome_of(Bench(surface), "click", matcher={"textEquals": "Wi-Fi"})
    assert outcome.data == {"click_types": "click"}
    assert surface.done == [("click", "row")]


def nested(depth: int) -> Renderable:
    """A label ``depth`` levels below a clickable node."""
    inner = node(LABEL, text="deep", at=(100, 100, 300, 200))
    for level in range(depth - 1):
        inner = node("android.view.View", inner, id=f"level{level}")
    return page(node("android.view.View", inner, id="able", clickable=True))


@pytest.mark.parametrize(("depth", "expected"), [(7, ("click", "able")), (8, ("press", 200, 150, 120))])
async def test_click_walks_seven_ancestors_and_then_taps_the_centre(depth: int, expected: tuple[Any, ...]) -> None:
    surface = FakeSurface(nested(depth))
    await outcome_of(Bench(surface), "click", matcher={"textEquals": "deep"})
    assert surface.done == [expected]


async def test_a_disabled_node_is_tapped_not_clicked() -> None:
    surface = FakeSurface(page(node(BUTTON, text="Buy", clickable=True, enabled=False, at=(0, 0, 100, 50))))
    await outcome_of(Bench(surface), "click", matcher={"textEquals": "Buy"})
    assert surface.done == [("press", 50, 25, 120)]


async def test_long_click_uses_the_long_clickable_or_holds() -> None:
    box = (0, 0, 100, 50)
    surface = FakeSurface(page(node(BUTTON, text="Buy", clickable=True, id="b", long_clickable=True, at=box)))
    bench = Bench(surface)
    outcome = await outcome_of(bench, "click", matcher={"textEquals": "Buy"}, clickType="long_click")
    surface.refuse = {"long_click"}
    await outcome_of(bench, "click", matcher={"textEquals": "Buy"}, clickType="longclick")
    assert outcome.data == {"click_types": "long_click"}
    assert surface.done == [("long_click", "b"), ("long_click", "b"), ("press", 50, 25, 650)]


async def test_focus_takes_the_first_focusable_else_selects_without_a_gesture() -> None:
    surface = FakeSurface(page(node(EDIT, id="f", focusable=True, text="x")))
    bench = Bench(surface)
    await outcome_of(bench, "click", matcher={"textEquals": "x"}, clickType="focus")
    surface.refuse = {"focus"}
    await outcome_of(bench, "click", matcher={"textEquals": "x"}, clickType="focus")
    assert surface.done == [("focus", "f"), ("focus", "f"), ("select", "f")]


async def test_a_refused_click_fails_the_plan_after_its_retries() -> None:
    surface = FakeSurface(page(node(LABEL, text="x", at=(0, 0, 10, 10))))
    surface.refuse = {"press"}
    assert await reason_of(Bench(surface), "click", matcher={"textEquals": "x"}) == "Click on matching UI node failed"
    assert len(surface.done) == 5


async def test_a_coordinate_needs_no_tree() -> None:
    surface = FakeSurface(None)
    bench = Bench(surface)
    outcome = await outcome_of(bench, "click", coordinate={"x": 3, "y": 4})
    assert (outcome.data, surface.done) == ({"click_types": "click", "coordinate": "3,4"}, [("press", 3, 4, 120)])
    surface.refuse = {"press"}
    assert await reason_of(bench, "click", coordinate={"x": 3, "y": 4}) == "Click at coordinate (3,4) failed"


# --- reading


def reading(text: str, **rest: Any) -> FakeSurface:
    return FakeSurface(page(node(LABEL, id="v", text=text, **rest)))


@pytest.mark.parametrize(
    ("generation", "params", "text", "data"),
    [
        ("0.3", {}, "a", {"text": "a", "validator": "none"}),
        ("0.5", {}, "a", {"text": "a", "validator": "none"}),
        ("0.3", {"validator": "temperature"}, "20.7°C", {"text": "20.7°C", "validator": "Temperature"}),
        ("0.5", {"validator": "Temperature"}, "-5.2", {"text": "-5.2", "validator": "temperature"}),
        ("0.5", {"validator": "temperature"}, " 75f ", {"text": " 75f ", "validator": "temperature"}),
        ("0.5", {"validator": "version"}, "1.20.3", {"text": "1.20.3", "validator": "version"}),
        ("0.5", {"validator": "regex", "validatorPattern": "a+b"}, "aab", {"text": "aab", "validator": "regex"}),
        ("0.5", {"validator": "version"}, "1.x", {"error": "VALIDATOR_MISMATCH", "raw_text": "1.x"}),
        ("0.5", {"validator": "temperature"}, "--", {"error": "VALIDATOR_MISMATCH", "raw_text": "--"}),
        (
            "0.5",
            {"validator": "regex", "validatorPattern": "a"},
            "aa",
            {"error": "VALIDATOR_MISMATCH", "raw_text": "aa"},
        ),
    ],
)
async def test_read_text_validators(
    generation: Generation, params: dict[str, str], text: str, data: dict[str, str]
) -> None:
    bench = Bench(reading(text), generation)
    outcome = await outcome_of(bench, "read_text", matcher={"resourceId": "v"}, **params)
    assert dict(outcome.data) == data
    assert outcome.success is ("error" not in data)
    assert bench.clock.slept == []


async def test_before_0_3_2_a_validator_miss_fails_the_plan() -> None:
    bench = Bench(reading("warm"), "0.3")
    reason = await reason_of(bench, "read_text", matcher={"resourceId": "v"}, validator="temperature")
    assert reason == "Validation failed for text 'warm' from matching UI node"
    assert len(bench.clock.slept) == 4


async def test_an_unreadable_pattern_is_a_step_failure() -> None:
    outcome = await outcome_of(
        Bench(reading("x")), "read_text", matcher={"resourceId": "v"}, validator="regex", validatorPattern="("
    )
    assert outcome.error == "INVALID_REGEX_PATTERN"
    assert outcome.data["message"]


async def test_a_description_stands_in_for_a_blank_text_and_nothing_for_both() -> None:
    outcome = await outcome_of(Bench(reading(" ", desc="seen")), "read_text", matcher={"resourceId": "v"})
    assert outcome.data["text"] == "seen"
    reason = await reason_of(Bench(reading("")), "read_text", matcher={"resourceId": "v"})
    assert reason == "Matching UI node has no text content"


async def test_all_is_a_hand_made_array_of_the_labels() -> None:
    screen = page(
        node(LABEL, id="p", text='say "x"'), node(LABEL, id="p", text=""), node(LABEL, id="p", text="a\\b\nc")
    )
    outcome = await outcome_of(Bench(FakeSurface(screen)), "read_text", matcher={"resourceId": "p"}, all=True)
    assert list(outcome.data.items()) == [
        ("text", '["say \\"x\\"","a\\\\b\nc"]'),
        ("all", "true"),
        ("count", "2"),
        ("validator", "none"),
    ]


async def test_container_narrows_a_reading() -> None:
    cards = [
        node("android.view.View", node(LABEL, id="price", text=price), id=name)
        for name, price in (("a", "1"), ("b", "2"))
    ]
    bench = Bench(FakeSurface(page(*cards)))
    found = await outcome_of(bench, "read_text", matcher={"resourceId": "price"}, container={"resourceId": "b"})
    assert found.data["text"] == "2"
    assert found.data["container"].startswith("NodeMatcher(resourceId=b, ")
    missing = await outcome_of(bench, "read_text", matcher={"resourceId": "price"}, container={"resourceId": "z"})
    inside = await outcome_of(bench, "read_text", matcher={"resourceId": "q"}, container={"resourceId": "b"})
    assert (missing.error, inside.error) == ("CONTAINER_NOT_FOUND", "NODE_NOT_FOUND")


async def test_all_without_a_match_fails_the_plan() -> None:
    reason = await reason_of(Bench(FakeSurface(page())), "read_text", matcher={"resourceId": "no"}, all=True)
    assert reason == NOWHERE.format("no")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"resourceId": ""}, []),
        ({"textEquals": "", "role": "button"}, []),
        ({"textContains": ""}, ["root", "plain", "described"]),
        ({"contentDescContains": ""}, ["described"]),
        ({"textContains": "", "contentDescContains": "see"}, ["described"]),
    ],
)
def test_an_empty_equality_never_holds_and_an_empty_containment_does(fields: dict[str, str], found: list[str]) -> None:
    screen = node("x.Y", node(LABEL, id="plain"), node(LABEL, id="described", desc="seen"), id="root")
    assert [match.resource_id for match in Query.of(fields).find_all(build([screen], screen=SCREEN))] == found


# --- entering text


async def test_enter_text_focuses_clicks_replaces_and_submits_by_clicking_again() -> None:
    field = node(EDIT, node(LABEL, text="Search"), id="field")
    surface = FakeSurface(page(field))
    outcome = await outcome_of(Bench(surface), "enter_text", matcher={"textEquals": "Search"}, text="tea", submit=True)
    assert outcome.data == {"text": "tea", "submit": "true"}
    assert surface.done == [("focus", "field"), ("click", "field"), ("set_text", "field", "tea"), ("click", "field")]


async def test_a_focused_field_is_not_touched_first() -> None:
    surface = FakeSurface(page(node(EDIT, id="field", focused=True)))
    outcome = await outcome_of(Bench(surface), "enter_text", matcher={"resourceId": "field"}, text="tea")
    assert outcome.data["submit"] == "false"
    assert surface.done == [("set_text", "field", "tea")]


async def test_text_that_is_not_taken_fails_the_plan() -> None:
    surface = FakeSurface(page(node(LABEL, id="decoy", text="Search")))
    surface.refuse = {"set_text"}
    reason = await reason_of(Bench(surface), "enter_text", matcher={"resourceId": "decoy"}, text="tea")
    assert reason == "Failed to set text on matching UI node"


# --- snapshots, pings and refusals


@pytest.mark.parametrize(
    ("generation", "data"),
    [
        ("0.3", {"actual_format": "hierarchy_xml"}),
        ("0.5", {"actual_format": "hierarchy_xml", "foreground_package": "app.one", "has_overlay": "false"}),
    ],
)
async def test_snapshot_facts_per_generation(generation: Generation, data: dict[str, str]) -> None:
    surface = FakeSurface()
    assert (await outcome_of(Bench(surface, generation), "snapshot_ui")).data == data
    assert surface.done == [("snapshot", "s1")]


async def test_a_snapshot_without_a_root_fails_the_plan() -> None:
    surface = FakeSurface()
    surface.facts = None
    assert (await reason_of(Bench(surface), "snapshot_ui")).startswith("SNAPSHOT_HIERARCHY_UNAVAILABLE: ")
    assert len(surface.done) == 5


async def test_refused_by_the_runtime() -> None:
    bench = Bench(FakeSurface())
    closing = await outcome_of(bench, "close_app", applicationId="x.y")
    shot = await outcome_of(bench, "take_screenshot")
    assert list(closing.data) == ["application_id", "error", "message"]
    assert (closing.error, shot.error) == ("UNSUPPORTED_RUNTIME_CLOSE", "UNSUPPORTED_RUNTIME_SCREENSHOT")
    assert not closing.success
    assert not shot.success


async def test_keys_and_pings() -> None:
    surface = FakeSurface()
    bench = Bench(surface)
    assert (await outcome_of(bench, "press_key", key="HOME")).data == {"key": "home"}
    surface.refuse = {"key"}
    refused = await outcome_of(bench, "press_key", key="back")
    assert (refused.success, dict(refused.data)) == (False, {"key": "back", "error": "GLOBAL_ACTION_FAILED"})
    ping = await outcome_of(bench, "doctor_ping")
    assert ping.data == {"developer_options_enabled": "true", "usb_debugging_enabled": "false"}


async def test_open_uri_that_no_one_handles() -> None:
    surface = FakeSurface()
    surface.refuse = {"open_uri"}
    reason = await reason_of(Bench(surface), "open_uri", uri="foo:bar")
    assert reason == "URI_NOT_HANDLED: No application found to handle uri=foo:bar"


async def test_recordings_are_the_surface_s_business() -> None:
    surface = FakeSurface()
    bench = Bench(surface)
    assert (await outcome_of(bench, "start_recording", sessionId="a-1")).data == {"sessionId": "a-1"}
    surface.refuse = {"record"}
    stopped = await outcome_of(bench, "stop_recording")
    assert (stopped.success, stopped.error) == (False, "RECORDING_START_FAILED")
    assert surface.done == [("start", "a-1"), ("stop", "")]


# --- waiting for navigation


async def test_navigation_is_a_change_of_package() -> None:
    surface = FakeSurface()
    surface.packages = ["app.one", "app.one", "app.two"]
    bench = Bench(surface)
    outcome = await outcome_of(bench, "wait_for_navigation", expectedPackage="app.two", timeoutMs=5000)
    assert outcome.data == {"resolved_package": "app.two", "elapsed_ms": "400"}


async def test_waiting_for_the_package_in_front_times_out() -> None:
    surface = FakeSurface()
    bench = Bench(surface)
    outcome = await outcome_of(bench, "wait_for_navigation", expectedPackage="app.one", timeoutMs=500)
    assert (outcome.success, dict(outcome.data)) == (False, {"error": "NAVIGATION_TIMEOUT", "last_package": "app.one"})
    assert bench.clock.slept == [0.2, 0.2, 0.1]


async def test_coming_back_counts_as_a_change() -> None:
    surface = FakeSurface()
    surface.packages = ["app.one", "app.two", "app.one"]
    assert (await outcome_of(Bench(surface), "wait_for_navigation", expectedPackage="app.one", timeoutMs=900)).success


async def test_the_expected_node_alone_is_enough() -> None:
    surface = FakeSurface(page(), page(node(LABEL, text="Here")))
    bench = Bench(surface)
    outcome = await outcome_of(
        bench, "wait_for_navigation", expectedPackage="app.two", expectedNode={"textEquals": "Here"}, timeoutMs=900
    )
    assert outcome.data == {"resolved_package": "app.one", "elapsed_ms": "200"}


async def test_wait_for_node_with_its_own_deadline() -> None:
    bench = Bench(FakeSurface(page()))
    reason = await reason_of(bench, "wait_for_node", matcher={"resourceId": "no"}, timeoutMs=450)
    assert reason.startswith("Timeout waiting for node matching: NodeMatcher(resourceId=no, ")
    assert reason.endswith(" (timeoutMs=450)")
    assert bench.clock.time == pytest.approx(0.45)
    found = Bench(FakeSurface(page(), page(node(LABEL, id="no"))))
    outcome = await outcome_of(found, "wait_for_node", matcher={"resourceId": "no"}, timeoutMs=450)
    assert outcome.data == {"resource_id": "no", "label": "", "timeout_ms": "450"}


# --- key and value


def pair_of(*after: Renderable, kind: str = "android.widget.RelativeLayout") -> FakeSurface:
    return FakeSurface(page(node(kind, node(LABEL, text="Battery"), *after), node(LABEL, text="stranger")))


async def test_the_value_is_the_first_label_after_a_summary_preferred() -> None:
    plain = pair_of(node(LABEL, text=""), node(LABEL, text="87%"), node(LABEL, text="later"))
    summary = pair_of(node(LABEL, text="decor"), node(LABEL, text="87%", id="android:id/summary"))
    for surface in (plain, summary):
        outcome = await outcome_of(Bench(surface), "read_key_value_pair", labelMatcher={"textEquals": "Battery"})
        assert outcome.data == {"label": "Battery", "value": "87%"}


async def test_without_siblings_the_search_goes_further_up() -> None:
    outcome = await outcome_of(Bench(pair_of()), "read_key_value_pair", labelMatcher={"textEquals": "Battery"})
    assert outcome.data["value"] == "stranger"


async def test_key_value_failures_are_step_failures_after_retries() -> None:
    bench = Bench(FakeSurface(page(node(LABEL, text="Battery"))))
    lonely = await outcome_of(bench, "read_key_value_pair", labelMatcher={"textEquals": "Battery"})
    missing = await outcome_of(bench, "read_key_value_pair", labelMatcher={"textEquals": "Nope"}, retry={})
    assert (lonely.error, missing.error) == ("VALUE_NODE_NOT_FOUND", "NODE_NOT_FOUND")
    assert len(bench.clock.slept) == 4


# --- scrolling


def scroller(*tops: int) -> Renderable:
    """A list of 1000 by 1000 with rows at these edges."""
    rows = [node(LABEL, id=f"row{number}", at=(0, top, 1000, top + 90)) for number, top in enumerate(tops)]
    shape: dict[str, Any] = {"id": "list", "scrollable": True, "at": (0, 500, 1000, 1500)}
    return page(node("androidx.recyclerview.widget.RecyclerView", *rows, **shape))


@pytest.mark.parametrize(
    ("direction", "ratio", "path"),
    [
        ("down", 0.7, (500, 1020, 500, 740)),
        ("up", 0.7, (500, 980, 500, 1260)),
        ("right", 0.7, (520, 1000, 240, 1000)),
        ("left", 0.7, (480, 1000, 760, 1000)),
        ("down", 1.0, (500, 900, 500, 500)),
        ("down", 0, (500, 1300, 500, 1300)),
    ],
)
async def test_finger_paths(direction: str, ratio: float, path: tuple[int, int, int, int]) -> None:
    surface = FakeSurface(scroller(500, 600))
    await outcome_of(Bench(surface), "scroll", direction=direction, distanceRatio=ratio)
    assert surface.done == [("swipe", *path, 250)]


async def test_scroll_reports_movement_by_the_first_children() -> None:
    surface = FakeSurface(scroller(500, 600), scroller(500, 500))
    bench = Bench(surface)
    outcome = await outcome_of(bench, "scroll", direction="Down", settleDelayMs=300)
    assert list(outcome.data.items()) == [
        ("scroll_outcome", "moved"),
        ("direction", "down"),
        ("distance_ratio", "0.7"),
        ("settle_delay_ms", "300"),
        ("resolved_container", "list"),
    ]
    assert bench.clock.slept == [0.3]


@pytest.mark.parametrize("after", [scroller(500, 600), page(), None])
async def test_no_change_and_no_container_are_the_edge(after: Renderable | None) -> None:
    outcome = await outcome_of(Bench(FakeSurface(scroller(500, 600), after)), "scroll")
    assert (outcome.success, outcome.data["scroll_outcome"]) == (True, "edge_reached")


async def test_a_list_without_children_is_at_its_edge() -> None:
    outcome = await outcome_of(Bench(FakeSurface(scroller(), scroller(500))), "scroll")
    assert outcome.data["scroll_outcome"] == "edge_reached"


async def test_horizontal_movement_is_judged_by_left_edges() -> None:
    surface = FakeSurface(scroller(500, 600), scroller(510, 610))
    assert (await outcome_of(Bench(surface), "scroll", direction="right")).data["scroll_outcome"] == "edge_reached"


async def test_a_refused_gesture_is_a_step_failure() -> None:
    surface = FakeSurface(scroller(500))
    surface.refuse = {"swipe"}
    outcome = await outcome_of(Bench(surface), "scroll")
    assert (outcome.success, outcome.error, outcome.data["scroll_outcome"]) == (
        False,
        "GESTURE_FAILED",
        "gesture_failed",
    )


@pytest.mark.parametrize(
    ("screen", "params", "error"),
    [
        (page(), {}, "CONTAINER_NOT_FOUND"),
        (None, {}, "CONTAINER_NOT_FOUND"),
        (scroller(500), {"container": {"resourceId": "no"}}, "CONTAINER_NOT_FOUND"),
        (scroller(500), {"container": {"resourceId": "row0"}}, "CONTAINER_NOT_SCROLLABLE"),
        (
            page(node("x.Y", scroller(500), id="outer")),
            {"container": {"resourceId": "outer"}, "findFirstScrollableChild": False},
            "CONTAINER_NOT_SCROLLABLE",
        ),
    ],
)
async def test_container_problems(screen: Renderable | None, params: dict[str, Any], error: str) -> None:
    outcome = await outcome_of(Bench(FakeSurface(screen)), "scroll", **params)
    assert (outcome.success, dict(outcome.data)) == (
        False,
        {"error": error, "direction": "down", "settle_delay_ms": "250"},
    )


async def test_the_first_scrollable_inside_the_container_is_taken() -> None:
    surface = FakeSurface(page(node("x.Y", scroller(500), id="outer")), page(node("x.Y", scroller(400), id="outer")))
    outcome = await outcome_of(Bench(surface), "scroll", container={"resourceId": "outer"})
    assert outcome.data["resolved_container"] == "list"


# --- scroll_until


class Feed(FakeSurface):
    """A list that moves by ten pixels for so many swipes."""

    def __init__(self, swipes: int, *, target_at: int = -1) -> None:
        super().__init__(None)
        self.moved = 0
        self.left = swipes
        self.target_at = target_at
        self.on_swipe = self._move

    def _move(self) -> None:
        if self.left:
            self.left -= 1
            self.moved += 1

    async def dump(self) -> UiTree | None:
        rows = [500 - 10 * self.moved + 100 * number for number in range(20)]
        here = [node(LABEL, text="Target", at=(0, 0, 9, 9))] if self.moved == self.target_at else []
        return build([page(*here, scroller(*rows))], screen=SCREEN)


@pytest.mark.parametrize(
    ("swipes", "params", "reason", "count"),
    [
        (3, {}, "EDGE_REACHED", 4),
        (99, {}, "MAX_SCROLLS_REACHED", 20),
        (99, {"maxScrolls": 2}, "MAX_SCROLLS_REACHED", 2),
        (99, {"maxDurationMs": 0}, "MAX_DURATION_REACHED", 0),
        (99, {"maxDurationMs": 1000}, "MAX_DURATION_REACHED", 4),
    ],
)
async def test_scroll_until_ends(swipes: int, params: dict[str, int], reason: str, count: int) -> None:
    outcome = await outcome_of(Bench(Feed(swipes)), "scroll_until", **params)
    assert outcome.success
    assert list(outcome.data.items()) == [
        ("termination_reason", reason),
        ("scrolls_executed", str(count)),
        ("direction", "down"),
        ("resolved_container", "list"),
        ("click_after", "false"),
        ("click_types", "click"),
    ]


async def test_repeated_gesture_failures_end_as_no_position_change() -> None:
    surface = Feed(99)
    surface.refuse = {"swipe"}
    outcome = await outcome_of(Bench(surface, "0.3"), "scroll_until", noPositionChangeThreshold=2)
    assert outcome.data == {
        "termination_reason": "NO_POSITION_CHANGE",
        "scrolls_executed": "2",
        "direction": "down",
        "resolved_container": "list",
    }


async def test_scroll_until_without_a_container_is_a_step_failure() -> None:
    outcome = await outcome_of(Bench(FakeSurface(page())), "scroll_until")
    assert (outcome.success, outcome.error) == (False, "CONTAINER_NOT_FOUND")
    assert outcome.data["termination_reason"] == "CONTAINER_NOT_FOUND"
    assert outcome.data["scrolls_executed"] == "0"


@pytest.mark.parametrize(
    ("generation", "success", "reason"), [("0.3", True, "EDGE_REACHED"), ("0.5", False, "CONTAINER_LOST")]
)
async def test_a_container_lost_between_gestures(generation: Generation, success: bool, reason: str) -> None:
    surface = FakeSurface(scroller(500), scroller(490), page())
    outcome = await outcome_of(Bench(surface, generation), "scroll_until")
    assert (outcome.success, outcome.data["termination_reason"]) == (success, reason)
    assert outcome.data["scrolls_executed"] == "1"


@pytest.mark.parametrize(("at", "count"), [(0, 0), (2, 2)])
async def test_scroll_until_a_target_and_click_it(at: int, count: int) -> None:
    surface = Feed(9, target_at=at)
    outcome = await outcome_of(Bench(surface), "scroll_until", matcher={"textEquals": "Target"}, clickAfter=True)
    assert (outcome.success, outcome.data["termination_reason"]) == (True, "TARGET_FOUND")
    assert outcome.data["scrolls_executed"] == str(count)
    assert surface.done[-1] == ("press", 4, 4, 120)


async def test_a_target_that_never_comes_is_a_step_failure() -> None:
    bench = Bench(Feed(1))
    outcome = await outcome_of(bench, "scroll_until", matcher={"textEquals": "Target"})
    assert (outcome.success, outcome.error) == (False, "TARGET_NOT_FOUND")
    assert outcome.data["termination_reason"] == "EDGE_REACHED"
    assert bench.clock.slept[-4:] == [0.5, 1.0, 2.0, 3.0]


async def test_before_0_3_2_a_matcher_of_scroll_until_is_ignored() -> None:
    outcome = await outcome_of(Bench(Feed(1, target_at=0), "0.3"), "scroll_until", matcher={"textEquals": "Target"})
    assert outcome.data["termination_reason"] == "EDGE_REACHED"


async def test_a_target_that_comes_after_the_end_is_still_found() -> None:
    surface = Feed(1)
    bench = Bench(surface)
    bench.clock.on_sleep = lambda time: setattr(surface, "target_at", 1 if time > 2 else -1)
    outcome = await outcome_of(bench, "scroll_until", matcher={"textEquals": "Target"})
    assert (outcome.success, outcome.data["termination_reason"]) == (True, "TARGET_FOUND")


# --- scroll_and_click


@pytest.mark.parametrize(("generation", "key"), [("0.3", "target"), ("0.5", "matcher")])
async def test_scroll_and_click_swipes_to_its_target(generation: Generation, key: str) -> None:
    surface = Feed(9, target_at=3)
    outcome = await outcome_of(Bench(surface, generation), "scroll_and_click", **{key: {"textEquals": "Target"}})
    assert list(outcome.data.items()) == [
        ("max_swipes", "10"),
        ("direction", "Down"),
        ("click_types", "click"),
        ("click_after", "true"),
    ]
    assert [done[0] for done in surface.done] == ["swipe", "swipe", "swipe", "press"]


async def test_two_swipes_without_movement_end_an_attempt() -> None:
    surface = Feed(1)
    bench = Bench(surface)
    reason = await reason_of(
        bench, "scroll_and_click", matcher={"textEquals": "Target"}, scrollRetry={"maxAttempts": 1}
    )
    assert reason.startswith("Target node not found after scrolling: NodeMatcher(resourceId=null, ")
    assert len(surface.done) == 3


@pytest.mark.parametrize(
    ("screen", "container", "reason"),
    [
        (page(), {}, "No scrollable container visible"),
        (page(), {"container": {"resourceId": "no"}}, "Container not found for NodeMatcher(resourceId=no, "),
        (
            page(node(LABEL, id="l")),
            {"container": {"resourceId": "l"}},
            "Scrollable container not found for NodeMatcher(",
        ),
    ],
)
async def test_scroll_and_click_container_problems_fail_the_plan(
    screen: Renderable, container: dict[str, Any], reason: str
) -> None:
    found = await reason_of(Bench(FakeSurface(screen)), "scroll_and_click", matcher={"textEquals": "T"}, **container)
    assert found.startswith(reason)


async def test_click_after_can_be_left_out() -> None:
    surface = Feed(9, target_at=0)
    outcome = await outcome_of(Bench(surface), "scroll_and_click", matcher={"textEquals": "Target"}, clickAfter=False)
    assert (outcome.data["click_after"], surface.done) == ("false", [])
