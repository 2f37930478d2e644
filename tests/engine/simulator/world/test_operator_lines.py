"""Every line of the simulated Operator against goldens written by hand from wire.md#log-lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.operator_identity import AGENT_ACTION
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import HierarchySignal
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.log_buffer import LogRecord
from clawperator.engine.simulator.operator_log import split_message
from clawperator.engine.simulator.scenario import Scenario

Make = Callable[..., SimulatedDevice]
Send = Callable[..., Awaitable[list[dict[str, Any]]]]

PACKAGE = "com.clawperator.operator"
M_NO = (
    "NodeMatcher(resourceId=no, role=null, textEquals=null, textContains=null, contentDescEquals=null, "
    "contentDescContains=null)"
)
FAILED = 'I [Clawperator-Result] {"commandId":"c-1","taskId":"t-1","status":"failed","stepResults":[],'
IDS = "commandId=c-1 taskId=t-1"


def lines(device: SimulatedDevice) -> list[str]:
    """Level and first physical line of each entry of the Operator's, accessibility events left out."""
    uid = device.packages[device.operator_package].uid
    texts = [
        f"{record.level} {record.text()[1].decode().partition(chr(10))[0]}"
        for record in device.log.records()
        if record.header()[3] == uid
    ]
    return [text for text in texts if "onAccessibilityEvent" not in text]


def records(device: SimulatedDevice, text: str) -> list[LogRecord]:
    return [record for record in device.log.records() if text in record.text()[1].decode("utf-8", "replace")]


async def test_a_successful_command_line_by_line(make: Make, send: Send) -> None:
    device = make(generation="0.3")
    await send(device, ("sleep", {"durationMs": 250}), ("snapshot_ui", {}), timeoutMs=15_000)
    found = lines(device)
    assert found[:11] == [
        f"I [Clawperator-Command] start {IDS} source=test timeoutMs=15000 actionCount=2",
        "D [TaskRunnerManager] Task execution started",
        "D [UiActionEngine] step_start id=s1 type=m$s",
        "D [TaskScope] Executing UI operations",
        f"D [Clawperator-Command] stage-start {IDS} id=pause label=Pause",
        f"D [Clawperator-Command] stage-success {IDS} id=pause data={{duration_ms=250}}",
        "D [TaskScope] UI operations completed",
        "D [UiActionEngine] step_success id=s1 type=m$s data={duration_ms=250}",
        "D [UiActionEngine] step_start id=s2 type=m$s",
        "D [TaskScope] Executing UI operations",
        f"D [Clawperator-Command] stage-start {IDS} id=logUiTree label=Log UI tree",
    ]
    assert found[11:14] == [
        "D [TaskScope] Logging UI tree",
        "D [TaskScope] UI Hierarchy:",
        "D <?xml version='1.0' encoding='UTF-8' standalone='yes' ?>",
    ]
    assert found[-8] == "D </hierarchy>"
    assert found[-7:-3] == [
        f"D [Clawperator-Command] stage-success {IDS} id=logUiTree data={{actual_format=hierarchy_xml}}",
        "D [TaskScope] UI operations completed",
        "D [UiActionEngine] step_success id=s2 type=m$s data={actual_format=hierarchy_xml}",
        "D [TaskRunnerManager] Task completed successfully in 262ms with value: UiActionResult(steps=2)",
    ]
    assert found[-3] == f"I [Clawperator-Command] success {IDS} stepCount=2"
    assert found[-2] == (
        'I [Clawperator-Result] {"commandId":"c-1","taskId":"t-1","status":"success","stepResults":['
        '{"id":"s1","actionType":"sleep","success":true,"data":{"duration_ms":"250"}},'
        '{"id":"s2","actionType":"snapshot_ui","success":true,"data":{"actual_format":"hierarchy_xml"}}],"error":null}'
    )
    assert found[-1:] == [f"D [Operator-Receiver] Agent command completed successfully {IDS}"]


async def test_a_failing_command_line_by_line(make: Make, send: Send) -> None:
    device = make()
    wait = ("wait_for_node", {"matcher": {"resourceId": "no"}, "retry": {"maxAttempts": 2, "initialDelayMs": 100}})
    await send(device, wait)
    reason = f"No UI node found matching criteria: {M_NO}"
    assert lines(device)[4:] == [
        f"D [Clawperator-Command] stage-start {IDS} id=waitForNode({M_NO}) label=Wait for node",
        f"D [Clawperator-Command] stage-retry {IDS} id=waitForNode({M_NO}) attempt=2/2 delayMs=100",
        f"E [Clawperator-Command] stage-failure {IDS} id=waitForNode({M_NO}) reason={reason}",
        f"D [Clawperator-Command] stage-log {IDS} message=StageFailure context: stage=waitForNode({M_NO}), reason={reason}",
        f"E [TaskRunnerManager] Task failed after 124ms: {reason}",
        f"E [Clawperator-Command] failure {IDS} reason=Task execution failed: {reason}",
        FAILED + f'"error":"Task execution failed: {reason}"}}',
        f"E [Operator-Receiver] Agent command failed {IDS}: Task execution failed: {reason}",
    ]
    [failure] = records(device, "[Clawperator-Command] failure")
    assert b"\njava.lang.IllegalStateException: No UI node found" in failure.text()[1]
    assert b"\n\tat " in failure.text()[1]


async def test_the_scrolling_stages(make: Make, send: Send) -> None:
    device = make(generation="0.3", start="com.example.feed")
    await send(
        device,
        ("scroll", {"direction": "up"}),
        ("scroll_and_click", {"target": {"resourceId": "no"}, "maxSwipes": 1, "scrollRetry": {}}),
    )
    stages = [line.split(" id=")[1] for line in lines(device) if "stage-start" in line]
    assert stages == ["scrollOnce(dir=Up) label=Scroll up", f"scrollUntil(target={M_NO}) label=Scroll to target"]


async def broadcast(device: SimulatedDevice, payload: str | None, action: str = AGENT_ACTION) -> None:
    await device.broadcast(action, PACKAGE, {} if payload is None else {"payload": payload})
    await device.idle()


GOOD = json.dumps({"commandId": "c-1", "taskId": "t-1", "source": "s", "actions": [{"id": "a", "type": "doctor_ping"}]})
BAD = json.dumps({"commandId": "c-1", "taskId": "t-1", "source": "s", "actions": [{"id": "a", "type": "fly"}]})


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (None, "E [Operator-Receiver] Missing required agent payload extra: payload"),
        ("  ", "E [Operator-Receiver] Missing required agent payload extra: payload"),
        ("{", "E [Operator-Receiver] Failed to parse agent command payload"),
        (BAD, "E [Operator-Receiver] Failed to parse agent command payload"),
    ],
)
async def test_no_envelope_for_what_cannot_be_read(make: Make, payload: str | None, expected: str) -> None:
    device = make()
    await broadcast(device, payload)
    assert lines(device) == [expected]


async def test_an_unsupported_action_is_named_in_the_stack(make: Make) -> None:
    device = make()
    await broadcast(device, BAD)
    [record] = records(device, "Failed to parse")
    assert record.text()[1].decode().split("\n")[1] == (
        "java.lang.IllegalArgumentException: unsupported action type at index=0: fly"
    )


async def test_a_foreign_broadcast_is_ignored(make: Make) -> None:
    device = make()
    await broadcast(device, GOOD, "com.clawperator.operator.ACTION_AGENT_COMMAND")
    assert lines(device) == [
        "D [Operator-Receiver] Ignoring unsupported action=com.clawperator.operator.ACTION_AGENT_COMMAND"
    ]


async def test_with_the_service_down_there_is_a_failed_envelope(make: Make) -> None:
    device = make({"kind": "service_down"})
    await broadcast(device, GOOD)
    await broadcast(device, BAD)
    assert lines(device) == [
        f"E [Operator-Receiver] Accessibility service is not available {IDS}",
        FAILED + '"error":"Accessibility service is not available","errorCode":"SERVICE_UNAVAILABLE"}',
        "E [Operator-Receiver] Accessibility service is not available and failed to parse agent command payload",
    ]


def sleeper(seconds: int) -> str:
    step = {"id": "a", "type": "sleep", "params": {"durationMs": seconds * 1000}}
    return json.dumps({"commandId": "c-0", "taskId": "t", "source": "s", "actions": [step]})


async def test_a_second_command_queues(make: Make, send: Send) -> None:
    device = make()
    _, envelopes = await asyncio.gather(
        device.broadcast(AGENT_ACTION, PACKAGE, {"payload": sleeper(0)}), send(device, ("doctor_ping", {}))
    )
    found = lines(device)
    queued = found.index(f"I [Clawperator-Command] queued {IDS} waiting_for_active_command=true")
    assert found.index(f"I [Clawperator-Command] start {IDS} source=test timeoutMs=30000 actionCount=1") > queued
    assert [envelope["commandId"] for envelope in envelopes] == ["c-0", "c-1"]


async def test_the_device_gives_up_at_the_timeout(make: Make, send: Send) -> None:
    device = make()
    [envelope] = await send(device, ("sleep", {"durationMs": 5000}), ("doctor_ping", {}), timeoutMs=2000)
    assert envelope["error"] == "Agent command timed out after 2000ms"
    assert (envelope["status"], envelope["stepResults"]) == ("failed", [])
    assert (
        lines(device)[-1] == f"E [Operator-Receiver] Agent command failed {IDS}: Agent command timed out after 2000ms"
    )


async def test_the_timeout_runs_in_the_queue_too(make: Make, send: Send) -> None:
    device = make(speed=0.01)
    _, envelopes = await asyncio.gather(
        device.broadcast(AGENT_ACTION, PACKAGE, {"payload": sleeper(20)}),
        send(device, ("doctor_ping", {}), timeoutMs=1000),
    )
    assert [(e["commandId"], e["status"]) for e in envelopes] == [("c-1", "failed"), ("c-0", "success")]


def test_release_tags_mean_nothing_and_debug_tags_are_class_names() -> None:
    release, debug = (
        create_device(),
        create_device(Scenario.model_validate({"operator": {"package": PACKAGE + ".dev"}})),
    )
    for device in (release, debug):
        device.ui.listener("TYPE_VIEW_CLICKED", "com.android.settings", None)
    tags = [device.log.records()[0].text()[0] for device in (release, debug)]
    assert tags == [b"q", b"OperatorAccessibilityService"]
    assert debug.packages[PACKAGE + ".dev"].version_name == "0.3.1-d"


async def test_old_android_cuts_debug_tags(make: Make, send: Send) -> None:
    device = make(device={"sdk": 25}, operator={"package": PACKAGE + ".dev"})
    await send(device, ("doctor_ping", {}))
    assert records(device, "[Clawperator-Command] start")[0].text()[0] == b"AgentCommandExecutorDef"


async def test_process_identity_of_a_command(make: Make, send: Send) -> None:
    device = make()
    await send(device, ("snapshot_ui", {}))
    operator = device.operator
    assert operator is not None
    uid = device.packages[PACKAGE].uid
    headers = {record.header()[:2] for record in device.log.records() if record.header()[3] == uid}
    workers = {tid for pid, tid in headers if tid != pid}
    assert {pid for pid, _ in headers} == {operator.pid}
    assert len(workers) == 1


SCREENS = [
    (app.package, screen)
    for app in create_device().ui.apps.values()
    for screen in app.screens
    if app.package not in ("com.example.vault", "com.example.spinner")
]


@pytest.mark.parametrize(("package", "screen"), SCREENS)
async def test_every_screen_comes_out_of_the_log_as_it_was(make: Make, send: Send, package: str, screen: str) -> None:
    device = make()
    assert device.ui.show(package, screen)
    window = device.ui.window()
    await send(device, ("snapshot_ui", {}))
    reading = OperatorLog(uid=device.packages[PACKAGE].uid)
    parser = BinaryLogParser()
    entries = parser.feed(b"".join(record.frame for record in device.log.records()))
    signals = [signal for entry in entries for signal in reading.push(entry)]
    [dump] = [signal.captured for signal in signals if isinstance(signal, HierarchySignal)]
    assert (dump.step_id, dump.xml, dump.complete) == ("s1", window.xml, True)
    assert [node.attributes for node in parse(dump.xml).nodes] == [node.attributes for node in window.tree.nodes]


# --- chunking


def test_below_4000_units_a_message_is_one_entry() -> None:
    text = "a\n" * 1999 + "b"
    assert split_message(text) == [text]


def test_from_4000_units_on_it_is_split_at_lines_and_then_by_4000() -> None:
    text = "head\n" + "x" * 9000 + "\n\n" + "y" * 4000
    assert [len(part) for part in split_message(text)] == [4, 4000, 4000, 1000, 0, 4000]


def test_units_are_those_of_utf_16() -> None:
    assert [len(part.encode("utf-16-le")) // 2 for part in split_message("😀" * 2001)] == [4000, 2]
    assert len(split_message("é" * 3999)) == 1


@given(st.text(max_size=200).map(lambda text: text * 60))
def test_nothing_is_lost_by_splitting(text: str) -> None:
    parts = split_message(text)
    joined = "".join(parts) if len(parts) > 1 else parts[0].replace("\n", "")
    units = joined.encode("utf-16-le", "surrogatepass")
    assert units == text.replace("\n", "").encode("utf-16-le", "surrogatepass")
