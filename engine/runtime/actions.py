"""One function per action type (wire.md#actions-and-how-they-fail and wire.md#key-and-value).

Each takes the run and the action's parameters and returns the step's outcome; a failure of the whole plan is
``PlanFailure``. Data keys, their order and their text forms are the Operator's, per generation.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from clawperator.engine.contracts.limits import MAX_QUERY_BYTES
from clawperator.engine.hierarchy.traits import action_targets, is_editable
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime import plan as p
from clawperator.engine.runtime import retry as presets
from clawperator.engine.runtime import scrolling
from clawperator.engine.runtime.outcome import (
    ActionResult,
    PlanFailure,
    PlanOutcome,
    StepReport,
    failure,
    success,
)
from clawperator.engine.runtime.plan import at_least
from clawperator.engine.runtime.query import Query, as_json, no_node, query_result
from clawperator.engine.runtime.retry import RetryPolicy
from clawperator.engine.runtime.run import PlanRun, StepFailure

TAP_MS = 120
LONG_PRESS_MS = 650
POLL_MS = 200
_NAVIGATION_MS = 15_000
_NAVIGATION_LOOK_SECONDS = 0.1
BOUNDARY_ROLES = frozenset({"row", "listitem", "card"})
SNAPSHOT_UNAVAILABLE = (
    "SNAPSHOT_HIERARCHY_UNAVAILABLE: UI hierarchy dump not available; accessibility service may not be ready"
)
CLOSE_REFUSED = "The Operator cannot close apps by itself; let the host run: adb shell am force-stop <applicationId> before this step"
SCREENSHOT_REFUSED = "The Operator does not take screenshots; the host captures them with adb exec-out screencap -p"

_TEMPERATURE = re.compile(r"\s*[+-]?\d+(\.\d+)?(°?[CF])?\s*", re.IGNORECASE)
FIRST_TAKEN = (
    "Multiple candidates matched; first-match selection was used. Largest candidate counts observed: target: %d. "
    "Use --strict (params.strict=true) to reject ambiguous matches."
)
_WITH_RECEIPT = frozenset({"click", "enter_text", "scroll", "scroll_until", "scroll_and_click", "swipe", "drag"})
_VERSION = re.compile(r"\d+(\.\d+)*")


async def run_plan(run: PlanRun, plan: p.OperatorPlan) -> PlanOutcome:
    """All steps in order. Never raises ``PlanFailure``: it is in the outcome."""
    run.reports.clear()
    run.until = run.clock.now() + plan.timeout_ms / 1000
    for step in plan.steps:
        run.step_id, run.matched, run.receipt = step.id, 0, {}
        began = run.clock.now()
        run.observer.step_start(step.id, step.type)
        try:
            if run.before_step is not None:
                await run.before_step(step)
            outcome = await run_action(run, step.action)
        except PlanFailure as exc:
            if exc.tree is not None:
                run.observer.missed(exc.tree)
            return PlanOutcome(tuple(run.reports), str(exc), step.id, {**_receipt(run, step, began), **exc.data})
        if receipt := _receipt(run, step, began):
            outcome = replace(outcome, data={**outcome.data, **receipt})
        if run.matched > 1 and at_least(run.generation, "0.10") and not getattr(step.action, "all", False):
            outcome = replace(outcome, data={**outcome.data, "selection_warning": FIRST_TAKEN % run.matched})
        run.observer.step_done(step.id, step.type, outcome)
        run.reports.append(StepReport(step.id, step.type, outcome))
    return PlanOutcome(tuple(run.reports))


async def run_action(run: PlanRun, action: p.PlanAction) -> ActionResult:
    """One action. Raises ``PlanFailure`` when it ends the plan."""
    perform = _ACTIONS[type(action)]
    try:
        return await perform(run, action)
    except StepFailure as exc:
        return exc.outcome


async def open_app(run: PlanRun, action: p.OpenApp) -> ActionResult:
    package = action.application_id

    async def attempt() -> ActionResult:
        if not await run.surface.launch(package):
            raise PlanFailure(f"No app found with applicationId={package}")
        usual = _NAVIGATION_MS if p.at_least(run.generation, "0.9") else None
        wait_ms = usual if action.wait_ms is None else action.wait_ms
        if wait_ms is None or not action.waits:
            return success({"application_id": package})
        return await _awaited(run, package, wait_ms / 1000)

    return await _stage(run, f"openApp:{package}", "Open app", action.retry, attempt)


async def _awaited(run: PlanRun, package: str, seconds: float) -> ActionResult:
    """From 0.9.2 on the app waits until the package that it opens is in front."""
    began = run.clock.now()
    while (front := await run.surface.foreground()) != package and run.clock.now() - began < seconds:
        await run.clock.sleep(_NAVIGATION_LOOK_SECONDS)
    spent = {"navigation_elapsed_ms": str(round((run.clock.now() - began) * 1000))}
    if front == package:
        return success({"application_id": package, **spent, "resolved_package": front})
    words = f"{package} was not in front within the time limit"
    return failure("NAVIGATION_TIMEOUT", {"application_id": package, "last_package": front, **spent, "message": words})


async def open_uri(run: PlanRun, action: p.OpenUri) -> ActionResult:
    async def attempt() -> ActionResult:
        if not await run.surface.open_uri(action.uri):
            raise PlanFailure(f"URI_NOT_HANDLED: No application found to handle uri={action.uri}")
        return success({"uri": action.uri})

    return await _stage(run, f"openUri:{action.uri}", "Open URI", action.retry, attempt)


async def close_app(_run: PlanRun, action: p.CloseApp) -> ActionResult:
    data = {"application_id": action.application_id, "error": "UNSUPPORTED_RUNTIME_CLOSE", "message": CLOSE_REFUSED}
    return ActionResult(False, data)


async def take_screenshot(_run: PlanRun, _action: p.TakeScreenshot) -> ActionResult:
    return ActionResult(False, {"error": "UNSUPPORTED_RUNTIME_SCREENSHOT", "message": SCREENSHOT_REFUSED})


async def wait_for_node(run: PlanRun, action: p.WaitForNode) -> ActionResult:
    async def attempt() -> ActionResult:
        node = await _find(run, action.matcher, waits=True)
        return success({"resource_id": node.resource_id, "label": node.label})

    stage = f"waitForNode({action.matcher})", "Wait for node"
    if action.timeout_ms is None:
        return await _stage(run, *stage, action.retry, attempt)
    found = await _stage(run, *stage, presets.NONE, lambda: _until(run, action, attempt))
    return success({**found.data, "timeout_ms": str(action.timeout_ms)})


async def _until(run: PlanRun, action: p.WaitForNode, attempt: Callable[[], Awaitable[ActionResult]]) -> ActionResult:
    """Poll until the action's own deadline, whatever its retry policy is."""
    timeout_ms = action.timeout_ms or 0
    deadline = run.clock.now() + timeout_ms / 1000
    while True:
        try:
            return await attempt()
        except PlanFailure as exc:
            if exc.final:
                raise
            left = deadline - run.clock.now()
            if left <= 0:
                text = f"Timeout waiting for node matching: {action.matcher} (timeoutMs={timeout_ms})"
                raise PlanFailure(text) from exc
            await run.clock.sleep(min(left, POLL_MS / 1000))


async def click(run: PlanRun, action: p.Click) -> ActionResult:
    if action.coordinate is not None:
        return await _click_at(run, action.coordinate, action.how, action.retry)
    if action.matcher is None:
        raise AssertionError("a click has a matcher or a coordinate")
    return await _click_matching(run, action.matcher, action.how, action.retry)


async def _click_matching(run: PlanRun, matcher: Query, how: str, retry: RetryPolicy) -> ActionResult:
    async def attempt() -> ActionResult:
        node = await _find(run, matcher)
        if not await _act_on(run, node, how):
            raise PlanFailure("Click on matching UI node failed")
        return success({"click_types": how})

    return await _stage(run, f"click({matcher})", "Click", retry, attempt)


async def _click_at(run: PlanRun, point: p.Point, how: str, retry: RetryPolicy) -> ActionResult:
    where = f"({point.x},{point.y})"

    async def attempt() -> ActionResult:
        hold = LONG_PRESS_MS if how == "long_click" else TAP_MS
        accepted = await run.surface.press(point.x, point.y, hold)
        run.acted("coordinate_gesture", accepted=accepted)
        if not accepted:
            raise PlanFailure(f"Click at coordinate {where} failed")
        place = _at(point) if run.has_receipts else f"{point.x},{point.y}"
        return success({"click_types": how, "coordinate": place})

    return await _stage(run, f"click(coordinate={where})", "Click", retry, attempt)


def _receipt(run: PlanRun, step: p.PlanStep, began: float) -> dict[str, str]:
    """What a step acted on, and how, as 0.10 and later say it: also of a step that failed."""
    if not run.has_receipts or step.type not in _WITH_RECEIPT:
        return {}
    elapsed = {"elapsed_ms": str(round((run.clock.now() - began) * 1000))}
    return {"dispatch_method": "none", "dispatch_accepted": "false", **run.receipt, **elapsed}


async def _act_on(run: PlanRun, node: UiNode, how: str) -> bool:
    """The node's own action on the first able node of the way up, else a gesture at the match's centre (focus: select)."""
    surface = run.surface
    if how == "focus":
        able = next((n for n in action_targets(node) if n.focusable), None)
        done = (able is not None and await surface.focus(able)) or await surface.select(node)
        run.acted("accessibility_action", able or node, accepted=done)
        return done
    long = how == "long_click"
    able = next((n for n in action_targets(node) if (n.long_clickable if long else n.clickable)), None)
    act = surface.long_click if long else surface.click
    if able is not None and able.enabled and await act(able):
        run.acted("accessibility_action", able)
        return True
    done = await surface.press(*node.bounds.center, LONG_PRESS_MS if long else TAP_MS, node=node)
    run.acted("coordinate_gesture", node, accepted=done)
    return done


async def read_text(run: PlanRun, action: p.ReadText) -> ActionResult:
    name = "getValidatedText" if action.validator else "getText"
    stage = f"{name}({action.matcher})"
    return await _stage(run, stage, "Read text", action.retry, lambda: _read_once(run, action))


async def _read_once(run: PlanRun, action: p.ReadText) -> ActionResult:
    tree = await run.tree()
    found = _inside(run, tree, action)
    run.took(found[0], len(found))
    extra = {"container": str(action.container)} if action.container is not None else {}
    if action.all:
        labels = [node.label for node in found if node.label]
        data = {"text": _json_array(labels), "all": "true", "count": str(len(labels)), "validator": "none"}
        return success(data | extra)
    if not found[0].label:
        raise PlanFailure("Matching UI node has no text content")
    return _validated(run, action, found[0].label, extra)


def _inside(run: PlanRun, tree: UiTree, action: p.ReadText) -> Sequence[UiNode]:
    """All matches, within the container if one is given; at least one."""
    if action.matcher.is_limited:
        return _strictly_inside(run, tree, action)
    found = action.matcher.find_all(tree)
    if action.container is not None:
        container = action.container.first(tree)
        if container is None:
            raise StepFailure(failure("CONTAINER_NOT_FOUND"))
        found = [node for node in found if container.index <= node.index < container.end]
        if not found:
            raise StepFailure(failure("NODE_NOT_FOUND"))
    if not found:
        run.observer.missed(tree)
        raise no_node(action.matcher)
    return found


def _strictly_inside(run: PlanRun, tree: UiTree, action: p.ReadText) -> Sequence[UiNode]:
    """The same from Operator 0.10 on: the container itself is no candidate, and reading all nodes may find several."""
    target = replace(action.matcher, strict=action.matcher.strict and not action.all)
    try:
        found = target.candidates(tree)
    except PlanFailure as exc:
        if str(exc).startswith("Container not found"):
            raise StepFailure(failure("CONTAINER_NOT_FOUND")) from exc
        raise
    if not found and target.container is not None:
        raise StepFailure(failure("NODE_NOT_FOUND"))
    if not found:
        run.observer.missed(tree)
        raise no_node(action.matcher)
    return found


def _validated(run: PlanRun, action: p.ReadText, text: str, extra: Mapping[str, str]) -> ActionResult:
    name = action.validator or "none"
    try:
        valid = _is_valid(action, text)
    except re.error as exc:
        return failure("INVALID_REGEX_PATTERN", {"message": str(exc)})
    if not valid and not run.modern:
        raise PlanFailure(f"Validation failed for text '{text}' from matching UI node")
    if not valid:
        return ActionResult(False, {"error": "VALIDATOR_MISMATCH", "raw_text": text})
    shown = name.capitalize() if action.validator and not run.modern else name
    return success({"text": text, "validator": shown, **extra})


def _is_valid(action: p.ReadText, text: str) -> bool:
    pattern = {"temperature": _TEMPERATURE, "version": _VERSION}.get(action.validator)
    if action.validator == "regex":
        pattern = re.compile(action.pattern)
    return pattern is None or pattern.fullmatch(text) is not None


def _json_array(labels: Sequence[str]) -> str:
    """Built by hand like the Operator's: only backslash and quote are escaped, so that a line feed makes it invalid JSON."""
    return "[" + ",".join('"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"' for label in labels) + "]"


async def enter_text(run: PlanRun, action: p.EnterText) -> ActionResult:
    async def attempt() -> ActionResult:
        node = await _find(run, action.matcher)
        target = next((n for n in action_targets(node) if is_editable(n)), node)
        if not target.focused:
            await run.surface.focus(target)
            await run.surface.click(target)
        accepted = await run.surface.set_text(target, action.text)
        run.acted("accessibility_action", target, accepted=accepted)
        if not accepted:
            raise PlanFailure("Failed to set text on matching UI node")
        if action.submit:
            await run.surface.click(target)
        data = {"text": action.text, "submit": _word(action.submit)}
        if p.at_least(run.generation, "0.9"):
            data = {"text": action.text, "clear": _word(action.clear), "submit": _word(action.submit)}
        if p.at_least(run.generation, "0.12"):
            submitted = {"submission": "accepted", "submit_method": "ime_enter"}
            data |= {"text_entry": "accepted", **(submitted if action.submit else {"submission": "not_requested"})}
        return success(data)

    return await _stage(run, f"enterText({action.matcher})", "Enter text", action.retry, attempt)


async def snapshot_ui(run: PlanRun, action: p.SnapshotUi) -> ActionResult:
    async def attempt() -> ActionResult:
        facts = await run.surface.snapshot(run.step_id)
        if facts is None:
            raise PlanFailure(SNAPSHOT_UNAVAILABLE, final=run.rested)
        return success({"actual_format": "hierarchy_xml", **(facts if run.modern else {})})

    return await _stage(run, "logUiTree", "Log UI tree", action.retry, attempt)


async def query_ui(run: PlanRun, action: p.QueryUi) -> ActionResult:
    tree = await run.tree()
    if action.matcher is None:
        found = tree.nodes if action.everything else tree.on_screen
    else:
        found = action.matcher.find_all(tree, everything=action.everything)
    answer = query_result(found, action.limit, on_screen=set(tree.on_screen_indexes), complete=True)
    if len(answer.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        words = f"The query result is larger than {MAX_QUERY_BYTES} bytes"
        return failure("PAYLOAD_TOO_LARGE", {"message": words})
    return success({"query": answer})


async def gesture(run: PlanRun, action: p.Gesture) -> ActionResult:
    path = action.start.x, action.start.y, action.end.x, action.end.y
    if action.hold_ms:
        done = await run.surface.drag(path[:2], path[2:], action.hold_ms, action.move_ms)
        times = {"hold_duration_ms": str(action.hold_ms), "move_duration_ms": str(action.move_ms)}
    else:
        done = await run.surface.swipe(*path, action.move_ms)
        times = {"duration_ms": str(action.move_ms)}
    run.acted("coordinate_gesture", accepted=done)
    if not done:
        raise PlanFailure("GESTURE_FAILED: the gesture was refused")
    return success({"start": _at(action.start), "end": _at(action.end), **times})


def _at(point: p.Point) -> str:
    return as_json({"x": float(point.x), "y": float(point.y)})


async def app_action(run: PlanRun, action: p.AppAction) -> ActionResult:
    return await run.surface.perform(action.name, action.values)


def _word(value: bool) -> str:
    return "true" if value else "false"


async def sleep(run: PlanRun, action: p.Sleep) -> ActionResult:
    async def attempt() -> ActionResult:
        await run.clock.sleep(action.duration_ms / 1000)
        return success({"duration_ms": str(action.duration_ms)})

    return await _stage(run, "pause", "Pause", presets.NONE, attempt)


async def press_key(run: PlanRun, action: p.PressKey) -> ActionResult:
    if await run.surface.key(action.key):
        return success({"key": action.key})
    return failure("GLOBAL_ACTION_FAILED", {"key": action.key})


async def doctor_ping(run: PlanRun, _action: p.DoctorPing) -> ActionResult:
    options, debugging = await run.surface.developer_settings()
    words = {True: "true", False: "false"}
    data = {"developer_options_enabled": words[options], "usb_debugging_enabled": words[debugging]}
    return success(data | {name: words[holds] for name, holds in (await run.surface.readiness()).items()})


async def scroll_until(run: PlanRun, action: p.ScrollUntil) -> ActionResult:
    return await scrolling.scroll_until(
        run, action, lambda matcher, how: _click_matching(run, matcher, how, presets.UI_READINESS)
    )


async def scroll_and_click(run: PlanRun, action: p.ScrollAndClick) -> ActionResult:
    return await scrolling.scroll_and_click(
        run, action, lambda matcher, how: _click_matching(run, matcher, how, action.click_retry)
    )


async def wait_for_navigation(run: PlanRun, action: p.WaitForNavigation) -> ActionResult:
    """Done when the foreground *became* the expected package, or when the expected node is there (either is enough)."""
    started = run.clock.now()
    last = await run.surface.foreground()
    changed = False
    while True:
        changed = changed or last != action.expected_package
        elapsed_ms = round((run.clock.now() - started) * 1000)
        arrived = changed and action.expected_package != "" and last == action.expected_package
        if arrived or await _node_is_there(run, action.expected_node):
            return success({**({"resolved_package": last} if last else {}), "elapsed_ms": str(elapsed_ms)})
        if elapsed_ms >= action.timeout_ms:
            return ActionResult(False, {"error": "NAVIGATION_TIMEOUT", **({"last_package": last} if last else {})})
        await run.clock.sleep(min(POLL_MS, action.timeout_ms - elapsed_ms) / 1000)
        last = await run.surface.foreground()


async def _node_is_there(run: PlanRun, matcher: Query | None) -> bool:
    if matcher is None:
        return False
    tree = await run.surface.dump()
    return tree is not None and matcher.first(tree) is not None


async def read_key_value_pair(run: PlanRun, action: p.ReadKeyValuePair) -> ActionResult:
    async def attempt() -> ActionResult:
        tree = await run.tree()
        label = action.label.first(tree)
        if label is None:
            raise StepFailure(failure("NODE_NOT_FOUND"))
        value = value_beside(tree, label)
        if value is None:
            raise StepFailure(failure("VALUE_NODE_NOT_FOUND"))
        return success({"label": label.label, "value": value.label})

    return await _stage(run, f"getValue({action.label})", "Read value", action.retry, attempt)


def value_beside(tree: UiTree, label: UiNode) -> UiNode | None:
    """The value of a label: the first labelled node after it, a ``/summary`` preferred (wire.md#key-and-value)."""
    visible = tree.on_screen
    branch, ancestor = label, label.parent
    while ancestor is not None:
        after = [n for n in visible if branch.end <= n.index < ancestor.end]
        if after:
            labelled = [n for n in after if n.label.strip()]
            summary = (n for n in labelled if n.resource_id.endswith("/summary"))
            return next(summary, labelled[0] if labelled else None)
        if ancestor.role in BOUNDARY_ROLES:
            return None
        branch, ancestor = ancestor, ancestor.parent
    return None


async def recording(run: PlanRun, action: p.RecordAction) -> ActionResult:
    data = await run.surface.record(action.command, action.session_id)
    return ActionResult("error" not in data, data)


async def _find(run: PlanRun, matcher: Query, *, waits: bool = False) -> UiNode:
    """The first match now. Raises ``PlanFailure``."""
    tree = await run.tree(waits=waits)
    found = matcher.candidates(tree)
    if not found:
        run.observer.missed(tree)
        raise no_node(matcher)
    run.took(found[0], len(found))
    return found[0]


async def _stage(
    run: PlanRun, stage: str, label: str, retry: RetryPolicy, attempt: Callable[[], Awaitable[ActionResult]]
) -> ActionResult:
    return await run.stage(stage, label, retry, attempt, lambda outcome: outcome.data)


_ACTIONS: Mapping[type[Any], Callable[[PlanRun, Any], Awaitable[ActionResult]]] = {
    p.OpenApp: open_app,
    p.OpenUri: open_uri,
    p.CloseApp: close_app,
    p.WaitForNode: wait_for_node,
    p.Click: click,
    p.ReadText: read_text,
    p.EnterText: enter_text,
    p.SnapshotUi: snapshot_ui,
    p.TakeScreenshot: take_screenshot,
    p.Sleep: sleep,
    p.PressKey: press_key,
    p.Scroll: scrolling.scroll,
    p.ScrollUntil: scroll_until,
    p.ScrollAndClick: scroll_and_click,
    p.WaitForNavigation: wait_for_navigation,
    p.ReadKeyValuePair: read_key_value_pair,
    p.RecordAction: recording,
    p.QueryUi: query_ui,
    p.Gesture: gesture,
    p.AppAction: app_action,
    p.DoctorPing: doctor_ping,
}
