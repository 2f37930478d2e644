"""Executions on a simulated device through the real adb: the plain journeys, and exactly one outcome under every fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.events.types import (
    CommandProgress,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    LogAttached,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.executions import build
from clawperator.engine.history.store import History
from clawperator.engine.logcat import hierarchies

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SETTINGS = "com.android.settings"


def plan(*actions: dict[str, Any], command_id: str = "journey-1", timeout_ms: int = 5_000) -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": "journey",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": [{"id": f"s{number}", **action} for number, action in enumerate(actions, 1)],
    }


SNAPSHOT = {"type": "snapshot_ui"}
PING = plan({"type": "sleep", "params": {"durationMs": 0}})


async def outcome_of(
    bench: Any, payload: dict[str, Any]
) -> tuple[dict[str, Any] | EngineError, list[ExecutionFinished]]:
    """The outcome, and every terminal event that the bus carried for it."""
    with bench.engine.events.subscribe() as subscription:
        try:
            outcome: dict[str, Any] | EngineError = (await bench.engine.execute(payload)).to_dict()
        except EngineError as exc:
            outcome = exc
        seen = await subscription.batch()
    return outcome, [event for event in seen if isinstance(event, ExecutionFinished)]


# -- plain journeys


async def test_a_plan_that_fails_says_what_became_of_each_step(connect: Connect) -> None:
    """The envelope stays as the device wrote it: empty where the plan was cut short."""
    bench = await connect()
    missing = {"matcher": {"textEquals": "No such text"}, "retry": {"maxAttempts": 1}}
    payload = plan(
        {"type": "open_app", "params": {"applicationId": SETTINGS}},
        {"type": "sleep", "params": {"durationMs": 0}},
        {"type": "click", "params": missing},
        SNAPSHOT,
    )
    answer, (finished,) = await outcome_of(bench, payload)
    assert isinstance(answer, dict)
    assert (answer["ok"], answer["envelope"]["status"], answer["envelope"]["stepResults"]) == (True, "failed", [])
    outcome = answer["outcome"]
    assert outcome["status"] == "failed"
    assert [step["status"] for step in outcome["steps"]] == ["done", "done", "failed", "not_run"]
    assert all(isinstance(step["durationMs"], int) for step in outcome["steps"][:3])
    assert outcome["failedStep"] == {"id": "s3", "index": 2, "type": "click"}
    assert outcome["error"]["code"] == "NODE_NOT_FOUND"
    assert outcome["error"]["retryable"] is False
    assert finished.result["outcome"] == outcome


@pytest.mark.usefixtures("impatient")
async def test_an_execution_without_an_answer_carries_what_is_known(connect: Connect) -> None:
    bench = await connect(**fault("silence"))
    error, (finished,) = await outcome_of(bench, plan({"type": "sleep", "params": {"durationMs": 0}}, timeout_ms=1_000))
    assert isinstance(error, EngineError)
    assert error.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT
    outcome = error.extra["outcome"]
    assert (outcome["status"], outcome["error"]["code"]) == ("unknown", "RESULT_ENVELOPE_TIMEOUT")
    assert finished.result["outcome"] == outcome
    assert "outcome" not in finished.result["error"]


async def test_open_look_and_read(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(
        plan({"type": "open_app", "params": {"applicationId": SETTINGS}}, SNAPSHOT), device_id=bench.serial
    )
    answer = result.to_dict()
    assert {key: answer[key] for key in ("ok", "deviceId", "terminalSource", "mode", "backend")} == {
        "ok": True,
        "deviceId": bench.serial,
        "terminalSource": "clawperator_result",
        "mode": "direct",
        "backend": "operator",
    }
    steps = answer["envelope"]["stepResults"]
    assert [(step["actionType"], step["success"]) for step in steps] == [("open_app", True), ("snapshot_ui", True)]
    assert steps[1]["data"]["actual_format"] == "hierarchy_xml"
    assert steps[1]["data"]["text"].startswith("<?xml")
    assert f'package="{SETTINGS}"' in steps[1]["data"]["text"]


async def test_two_snapshots_of_one_plan_keep_their_own_trees(connect: Connect) -> None:
    bench = await connect()
    result = await bench.engine.execute(
        plan(SNAPSHOT, {"type": "open_app", "params": {"applicationId": SETTINGS}}, SNAPSHOT)
    )
    first, _, second = result.envelope["stepResults"]
    assert SETTINGS not in first["data"]["text"]
    assert f'package="{SETTINGS}"' in second["data"]["text"]


async def test_a_screenshot_lands_in_the_file_asked_for_and_replaces_no_other_kind_of_file(
    connect: Connect, tmp_path: Any
) -> None:
    bench = await connect()
    path = tmp_path / "screen.png"
    payload = plan({"type": "take_screenshot", "params": {"path": str(path)}})
    step = (await bench.engine.execute(payload)).envelope["stepResults"][0]
    assert step == {"id": "s1", "actionType": "take_screenshot", "success": True, "data": {"path": str(path)}}
    picture = path.read_bytes()
    assert picture.startswith(b"\x89PNG")
    await bench.engine.execute(payload)
    assert path.read_bytes().startswith(b"\x89PNG"), "an older picture is replaced (amendment 16)"
    path.write_text("notes")
    with pytest.raises(EngineError) as again:
        await bench.engine.execute(payload)
    assert again.value.code is ErrorCode.FILE_EXISTS
    assert path.read_text() == "notes"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".clawperator-")] == []


async def test_closing_happens_on_the_host_and_hostile_names_reach_no_shell(connect: Connect) -> None:
    bench = await connect(start={"package": SETTINGS})
    bench.world.files.write("/sdcard/keep", b"me")
    hostile = "x; rm -rf /sdcard"
    payload = plan({"type": "close_app", "params": {"applicationId": hostile}}, SNAPSHOT)
    outcome, _ = await outcome_of(bench, payload)
    assert bench.world.files.read("/sdcard/keep") == b"me"
    if isinstance(outcome, EngineError):
        assert outcome.code in (ErrorCode.EXECUTION_VALIDATION_FAILED, ErrorCode.DEVICE_SHELL_UNAVAILABLE)
    good = await bench.engine.execute(plan({"type": "close_app", "params": {"applicationId": SETTINGS}}, SNAPSHOT))
    closed = good.envelope["stepResults"][0]
    assert closed["success"] is False
    assert closed["data"]["error"] == "UNSUPPORTED_RUNTIME_CLOSE"
    assert closed["data"]["host_preflight_ok"] == "true"
    assert SETTINGS not in good.envelope["stepResults"][1]["data"]["text"]


async def test_text_with_every_kind_of_quote_arrives_unchanged(connect: Connect) -> None:
    bench = await connect(start={"package": "com.example.shop"})
    text = 'it\'s "5" $HOME `id` \\ % ; & | <b> \u202e日本 🙂'
    decoy = {"type": "click", "params": {"matcher": {"textContains": "search"}}}
    write = {"type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": text}}
    read = {"type": "read_text", "params": {"matcher": {"role": "textfield"}}}
    result = await bench.engine.execute(plan(decoy, write, read))
    assert result.envelope["status"] == "success", result.envelope
    assert result.envelope["stepResults"][2]["data"]["text"] == text


async def test_a_payload_beyond_the_service_limit_goes_through_stdin(connect: Connect) -> None:
    bench = await connect()
    filler = {"type": "wait_for_node", "params": {"matcher": {"textContains": "'" * 500}, "retry": {"maxAttempts": 1}}}
    payload = plan(SNAPSHOT, *([filler] * 40))
    assert len(json.dumps(payload)) * 2 > 40_000
    result = await bench.engine.execute(payload)
    assert result.envelope["status"] == "failed"
    assert result.envelope["errorCode"] == ErrorCode.NODE_NOT_FOUND
    assert result.envelope["errorCodeSource"] == "host"


async def test_the_log_is_never_cleared(connect: Connect) -> None:
    bench = await connect()
    device = AdbDevice(bench.engine.server, bench.serial)
    await device.shell(["log", "-t", "mine", "keep me"])
    await bench.engine.snapshot()
    assert "keep me" in (await device.shell(["logcat", "-d"])).text


@pytest.mark.parametrize("sdk", [23, 24, 30, 33, 34])
async def test_android_versions_differ_in_how_their_log_is_read(connect: Connect, sdk: int) -> None:
    bench = await connect(device={"sdk": sdk})
    result = await bench.engine.snapshot()
    assert result.envelope["stepResults"][0]["data"]["text"].rstrip().endswith("</hierarchy>")


@pytest.mark.parametrize("generation", ["0.3", "0.5"])
async def test_what_the_installed_app_is_too_old_for_is_refused_before_dispatch(
    connect: Connect, generation: str
) -> None:
    bench = await connect(device={"generation": generation})
    payload = plan({"type": "click", "params": {"coordinate": {"x": 500, "y": 900}}})
    outcome, _ = await outcome_of(bench, payload)
    if generation == "0.5":
        assert isinstance(outcome, dict)
        assert outcome["envelope"]["status"] == "success"
    else:
        assert isinstance(outcome, EngineError)
        assert outcome.code is ErrorCode.EXECUTION_ACTION_UNSUPPORTED
        assert outcome.details["requiresApk"].startswith("0.5")


# -- exactly one outcome


def fault(kind: str, **more: Any) -> dict[str, Any]:
    return {"faults": [{"kind": kind, **more}]}


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        (fault("silence"), ErrorCode.RESULT_ENVELOPE_TIMEOUT),
        (fault("malformed_envelope", how="truncated"), ErrorCode.RESULT_ENVELOPE_MALFORMED),
        (fault("malformed_envelope", how="not_json"), ErrorCode.RESULT_ENVELOPE_MALFORMED),
        (fault("malformed_envelope", how="wrong_types"), ErrorCode.RESULT_ENVELOPE_MALFORMED),
        (fault("oversized_envelope"), ErrorCode.RESULT_ENVELOPE_MALFORMED),
        (fault("broadcast_failure"), ErrorCode.RECEIVER_NOT_INSTALLED),
        (fault("broadcast_failure", stderr="cmd: Failure calling service activity"), ErrorCode.BROADCAST_FAILED),
        (fault("disconnect", step=0), ErrorCode.LOGCAT_UNAVAILABLE),
        (fault("disconnect", step=1), ErrorCode.LOGCAT_UNAVAILABLE),
        ({"operator": {"installed": False}}, ErrorCode.RECEIVER_NOT_INSTALLED),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
async def test_faults_that_leave_no_result(connect: Connect, scenario: dict[str, Any], code: ErrorCode) -> None:
    bench = await connect(**scenario)
    payload = plan(SNAPSHOT, timeout_ms=1_000)
    outcome, finished = await outcome_of(bench, payload)
    assert isinstance(outcome, EngineError), outcome
    assert outcome.code is code, outcome.to_dict()
    assert len(finished) == 1
    assert finished[0].result["ok"] is False
    assert finished[0].result["error"]["code"] == code
    assert outcome.extra["executionId"] == finished[0].execution_id


@pytest.mark.parametrize(
    "scenario",
    [
        {},
        fault("duplicate_envelope", copies=3),
        fault("late_envelope", delay_ms=1_500) | {"speed": 1.0},
        fault("chunked_envelope", units=20_000, noise_between=5),
        fault("foreign_envelope"),
        fault("foreign_envelope", damaged=True),
        fault("interleaved_dump", every=2),
        fault("noise", lines_per_second=5_000) | {"speed": 1.0},
        fault("slow_action", extra_ms=300) | {"speed": 1.0},
        fault("huge_tree", nodes=3_000),
    ],
    ids=json.dumps,
)
async def test_faults_that_do_not_matter(connect: Connect, scenario: dict[str, Any]) -> None:
    bench = await connect(**scenario)
    outcome, finished = await outcome_of(bench, plan(SNAPSHOT))
    assert isinstance(outcome, dict), outcome
    assert outcome["envelope"]["status"] == "success"
    assert outcome["envelope"]["stepResults"][0]["data"]["text"].rstrip().endswith("</hierarchy>")
    assert len(finished) == 1


async def test_a_truncated_dump_is_reported_not_hidden(connect: Connect) -> None:
    bench = await connect(**fault("truncated_dump"))
    outcome, _ = await outcome_of(bench, plan(SNAPSHOT))
    assert isinstance(outcome, dict)
    step = outcome["envelope"]["stepResults"][0]
    assert outcome["envelope"]["status"] == "success"
    assert (step["success"], step["data"]["error"]) == (False, "SNAPSHOT_EXTRACTION_FAILED")


@pytest.mark.ci
async def test_a_tree_of_eleven_mebibytes_is_read(connect: Connect) -> None:
    bench = await connect(**fault("huge_tree", nodes=30_000))
    outcome, _ = await outcome_of(bench, plan(SNAPSHOT, timeout_ms=60_000))
    assert isinstance(outcome, dict)
    assert len(outcome["envelope"]["stepResults"][0]["data"]["text"]) > 11_000_000


async def test_of_a_tree_beyond_the_limit_the_size_is_told(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchies, "MAX_TREE_BYTES", 50_000)
    bench = await connect(**fault("huge_tree", nodes=300))
    outcome, _ = await outcome_of(bench, plan(SNAPSHOT))
    assert isinstance(outcome, dict)
    data = outcome["envelope"]["stepResults"][0]["data"]
    assert data["error"] == "HIERARCHY_TOO_LARGE"
    size = len(bench.world.ui.window().xml.encode())
    assert f"The UI tree has {size:,} bytes" in data["message"]


async def test_a_dead_service_is_an_answer_with_a_hint(connect: Connect) -> None:
    bench = await connect(**fault("service_down"))
    outcome, _ = await outcome_of(bench, plan(SNAPSHOT))
    assert isinstance(outcome, dict)
    assert outcome["envelope"]["status"] == "failed"
    assert outcome["envelope"]["errorCode"] == ErrorCode.SERVICE_UNAVAILABLE
    assert outcome["envelope"]["hint"]


async def test_a_timeout_says_what_is_known(connect: Connect) -> None:
    bench = await connect(**fault("silence"))
    outcome, _ = await outcome_of(bench, plan(SNAPSHOT, timeout_ms=1_000))
    assert isinstance(outcome, EngineError)
    answer = outcome.to_dict()
    assert answer["message"] == "No [Clawperator-Result] envelope within 6000ms"
    assert answer["broadcastDispatchStatus"] == "sent"
    assert answer["details"]["lastActionType"] == "snapshot_ui"
    assert answer["details"]["lastStage"] == "logUiTree"
    assert answer["lastCorrelatedEvents"]
    assert not any("<node" in line for line in answer["lastCorrelatedEvents"])
    assert bench.engine.lock(bench.serial).state == "settling"
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute(PING)
    assert caught.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT


async def test_an_unauthorized_device_is_named_as_such(connect: Connect) -> None:
    bench = await connect(wait_for="unauthorized", faults=[{"kind": "unauthorized"}])
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute(PING)
    assert caught.value.code is ErrorCode.DEVICE_UNAUTHORIZED
    assert caught.value.details["state"] == "unauthorized"


# -- one at a time, and watching


async def test_two_engines_collide_and_the_loser_is_reported_at_once(connect: Connect) -> None:
    bench = await connect(speed=1.0)
    slow = plan({"type": "sleep", "params": {"durationMs": 1_500}}, command_id="slow")
    with bench.engine.events.subscribe() as subscription:
        running = asyncio.create_task(bench.engine.execute(slow))
        while not any(isinstance(event, ExecutionDispatched) for event in await subscription.batch()):
            pass
        assert bench.engine.lock(bench.serial).state == "held"
        async with bench.another_engine() as other:
            with pytest.raises(EngineError) as caught:
                await other.execute(PING)
        assert caught.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        assert caught.value.details["inFlightCommandId"] == "slow"
        assert (await running).succeeded
    assert bench.engine.lock(bench.serial).state == "free"


async def test_cancelling_releases_everything_but_the_doubt(connect: Connect) -> None:
    bench = await connect(speed=1.0)
    slow = plan({"type": "sleep", "params": {"durationMs": 4_000}}, command_id="slow")
    with bench.engine.events.subscribe() as subscription:
        running = asyncio.create_task(bench.engine.execute(slow))
        seen: list[Any] = []
        while not any(isinstance(event, CommandProgress) for event in seen):
            seen += await subscription.batch()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        seen += await subscription.batch()
    (finished,) = (event for event in seen if isinstance(event, ExecutionFinished))
    assert finished.result["error"]["code"] == ErrorCode.INTERRUPTED
    assert finished.result["error"]["broadcastDispatchStatus"] == "sent"
    assert bench.engine.lock(bench.serial).state == "settling"


async def test_what_another_process_dispatches_is_seen_live(connect: Connect) -> None:
    bench = await connect()
    with bench.engine.events.subscribe() as subscription:
        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
        async with bench.another_engine() as other:
            result = await other.execute(build.snapshot())
        seen: list[Any] = []
        while not any(isinstance(event, EnvelopeSeen) for event in seen):
            seen += await subscription.batch()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    (tree,) = (event for event in seen if isinstance(event, SnapshotSeen))
    (envelope,) = (event for event in seen if isinstance(event, EnvelopeSeen))
    assert tree.xml == result.envelope["stepResults"][0]["data"]["text"]
    assert tree.command_id == envelope.command_id == result.envelope["commandId"]
    assert not any(isinstance(event, LogGap) for event in seen)


async def test_a_device_that_comes_back_is_watched_again(connect: Connect) -> None:
    bench = await connect(**fault("disconnect", step=0))
    with bench.engine.events.subscribe() as subscription:
        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        seen: list[Any] = []
        while not any(isinstance(event, LogAttached) for event in seen):
            seen += await subscription.batch()
        with pytest.raises(EngineError):
            await bench.engine.execute(PING)
        bench.world.connect()
        await bench.engine.server.connect_device(bench.serial)
        while not any(isinstance(event, LogGap) for event in seen):
            seen += await subscription.batch()
        seen.clear()
        while not any(isinstance(event, LogAttached) for event in seen):
            seen += await subscription.batch()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_the_doctor_finds_a_healthy_device_healthy(connect: Connect) -> None:
    bench = await connect()
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    assert checks["readiness.handshake"].status == "pass"
    assert checks["readiness.version.compatibility"].status == "pass"
    assert [check.id for check in checks.values() if check.status == "fail"] == []


async def test_the_doctor_names_a_dead_service(connect: Connect) -> None:
    bench = await connect(**fault("service_down"))
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    assert checks["readiness.handshake"].code is ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING


async def test_a_tree_in_another_format_and_whole_in_the_history(connect: Connect, tmp_path: Path) -> None:
    """The device gets the same payload as ever; the host renders what it dumps, and keeps the dump."""
    bench = await connect()
    settings = replace(bench.engine.settings, history_path=str(tmp_path / "history.db"), history_enabled=True)
    steps = [{"id": name, "type": "snapshot_ui", "params": {"format": name}} for name in ("ascii", "json")]
    async with Engine(settings, face="cli") as engine:
        opened = {"type": "open_app", "params": {"applicationId": SETTINGS}}
        result = await engine.execute(plan(opened, {"type": "sleep", "params": {"durationMs": 500}}, *steps))
    _, _, ascii_, json_ = (step["data"] for step in result.envelope["stepResults"])
    assert (ascii_["actual_format"], json_["actual_format"]) == ("ascii", "json")
    assert "homepage_title" in ascii_["text"]
    assert json.loads(json_["text"])["package"] == "com.android.settings"
    with History.open(str(tmp_path / "history.db")) as kept:
        (run,) = kept.export()
    assert [tree["text"][:5] for tree in run["trees"]] == ["<?xml"] * 2
    assert all(step["data"].keys() >= {"tree"} for step in run["envelope"]["stepResults"][2:])
