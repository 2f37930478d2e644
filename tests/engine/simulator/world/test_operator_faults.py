"""Each fault of a scenario does what its name says, to the commands that it names, and leaves the others alone."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine.contracts.operator_identity import AGENT_ACTION
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.packages import SimulatedPackage

Make = Callable[..., SimulatedDevice]
Send = Callable[..., Awaitable[list[dict[str, Any]]]]
Operate = Callable[..., Awaitable[dict[str, Any]]]

PING: tuple[str, dict[str, Any]] = ("doctor_ping", {})
SNAPSHOT: tuple[str, dict[str, Any]] = ("snapshot_ui", {})
PACKAGE = "com.clawperator.operator"


def messages(device: SimulatedDevice, start: str = "") -> list[str]:
    texts = [record.text()[1].decode("utf-8", "replace") for record in device.log.records()]
    return [text for text in texts if text.startswith(start)]


async def command(device: SimulatedDevice, *actions: tuple[str, dict[str, Any]], command_id: str = "c-1") -> None:
    """As ``send``, for envelopes that cannot be parsed."""
    steps = [{"id": f"s{n}", "type": kind, "params": params} for n, (kind, params) in enumerate(actions, 1)]
    payload = json.dumps({"commandId": command_id, "taskId": "t", "source": "s", "actions": steps})
    await device.broadcast(AGENT_ACTION, PACKAGE, {"payload": payload})
    await device.idle()


async def test_silence_is_for_the_commands_it_names(make: Make, send: Send) -> None:
    device = make({"kind": "silence", "commands": [2]})
    assert [len(await send(device, PING)) for _ in range(3)] == [1, 0, 1]
    assert len(messages(device, "[Operator-Receiver] Agent command completed")) == 3


async def test_faults_go_by_the_pattern_of_the_id(make: Make, send: Send) -> None:
    device = make({"kind": "silence", "command_id": "quiet-*"})
    assert len(await send(device, PING, commandId="quiet-7")) == 0
    assert len(await send(device, PING, commandId="loud-7")) == 1


async def test_duplicate_envelopes(make: Make, send: Send) -> None:
    envelopes = await send(make({"kind": "duplicate_envelope", "copies": 3}), PING)
    assert len(envelopes) == 3
    assert envelopes[0] == envelopes[1] == envelopes[2]


@pytest.mark.parametrize("how", ["truncated", "not_json", "wrong_types"])
async def test_malformed_envelopes_are_no_envelopes(make: Make, how: str) -> None:
    device = make({"kind": "malformed_envelope", "how": how})
    await command(device, PING)
    [line] = messages(device, "[Clawperator-Result] ")
    text = line.removeprefix("[Clawperator-Result] ")
    if how == "wrong_types":
        assert json.loads(text)["status"] == "perhaps"
    else:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
            json.loads(text)
    assert "c-1" in text


async def test_a_late_envelope_costs_the_device_s_time(make: Make, send: Send) -> None:
    device = make({"kind": "late_envelope", "delay_ms": 2000})
    started = device.clock.now()
    assert len(await send(device, PING)) == 1
    assert device.clock.now() - started == pytest.approx(2.0, abs=0.1)


async def test_a_chunked_envelope_has_full_parts_with_noise_between(make: Make) -> None:
    device = make({"kind": "chunked_envelope", "units": 9000, "noise_between": 2})
    await command(device, PING)
    texts = messages(device)
    first = next(number for number, text in enumerate(texts) if text.startswith("[Clawperator-Result]"))
    parts = [texts[first], texts[first + 3], texts[first + 6]]
    assert [len(part) for part in parts[:2]] == [4000, 4000]
    assert json.loads("".join(parts).removeprefix("[Clawperator-Result] "))["status"] == "success"


async def test_an_oversized_envelope_has_more_than_64_parts(make: Make) -> None:
    device = make({"kind": "oversized_envelope"})
    await command(device, PING)
    assert len([text for text in messages(device) if len(text) == 4000]) > 64


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_foreign_envelope_comes_first(make: Make, damaged: bool) -> None:
    device = make({"kind": "foreign_envelope", "damaged": damaged})
    await command(device, PING)
    foreign, own = messages(device, "[Clawperator-Result] ")
    assert '"commandId":"foreign-1"' in foreign
    assert '"commandId":"c-1"' in own
    assert foreign.endswith("}") is not damaged


async def test_an_interleaved_dump_has_foreign_lines_inside(make: Make) -> None:
    device = make({"kind": "interleaved_dump", "every": 2})
    await command(device, SNAPSHOT)
    uid = device.packages[PACKAGE].uid
    records = device.log.records()
    starts = [n for n, record in enumerate(records) if b"UI Hierarchy:" in record.text()[1]]
    inside = [record.header()[3] == uid for record in records[starts[0] : starts[0] + 6]]
    assert inside == [True, True, False, True, True, False]


async def test_a_truncated_dump_lacks_its_end_and_succeeds(make: Make, operate: Operate) -> None:
    device = make({"kind": "truncated_dump", "entries": 4})
    envelope = await operate(device, SNAPSHOT)
    assert envelope["stepResults"][0]["success"]
    assert len(messages(device, "<?xml")) == 1
    assert messages(device, "</hierarchy>") == []


async def test_slow_actions_count_against_the_timeout(make: Make, operate: Operate) -> None:
    device = make({"kind": "slow_action", "action": "snapshot_ui", "extra_ms": 20_000})
    assert (await operate(device, PING))["status"] == "success"
    envelope = await operate(device, SNAPSHOT, timeoutMs=10_000)
    assert envelope["error"] == "Agent command timed out after 10000ms"


async def test_disconnect_at_a_step_and_back(make: Make, send: Send) -> None:
    device = make({"kind": "disconnect", "step": 2, "reconnect_after_ms": 500, "commands": [1]})
    seen: list[str] = []
    device.on_disconnect(lambda: seen.append(f"gone, {device.state}"))
    leave = device.on_connect(lambda: seen.append(f"back, {device.state}"))
    assert len(await send(device, PING, PING)) == 1
    assert seen == ["gone, offline", "back, device"]
    leave()
    device.disconnect()
    device.connect()
    assert seen[2:] == ["gone, offline"]


async def test_disconnect_as_the_broadcast_arrives(make: Make, send: Send) -> None:
    device = make({"kind": "disconnect", "step": 0})
    await send(device, PING)
    assert device.state == "offline"


async def test_a_failing_broadcast_delivers_nothing(make: Make) -> None:
    device = make({"kind": "broadcast_failure", "stderr": "Error: no", "exit_code": 3, "commands": [1]})
    with pytest.raises(CommandError, match="Error: no") as caught:
        await command(device, PING)
    assert caught.value.status == 3
    assert messages(device) == []
    await command(device, PING)
    assert len(messages(device, "[Clawperator-Result]")) == 1


async def test_a_crash_leaves_no_envelope_and_no_service(make: Make, send: Send) -> None:
    device = make({"kind": "crash", "step": 2})
    operator = device.operator
    assert operator is not None
    pid = operator.pid
    assert await send(device, PING, PING) == []
    assert operator.pid != pid
    assert not operator.connected
    [crash] = device.log.reader(["crash"]).take()
    assert b"FATAL EXCEPTION" in crash.text()[1]
    secure = device.settings["secure"]
    secure["enabled_accessibility_services"] = operator.service
    secure["accessibility_enabled"] = "1"
    assert operator.connected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("50%", "Task execution failed: Conversion = 'c'"),
        ("5%)", "Task execution failed: Conversion = ')'"),
        ("1% or 2%", ""),
    ],
)
async def test_the_percent_defect(make: Make, send: Send, text: str, error: str) -> None:
    device = make()
    wait = ("wait_for_node", {"matcher": {"textContains": text}, "retry": {"maxAttempts": 1}})
    envelopes = await send(device, wait)
    assert [envelope["error"] for envelope in envelopes] == ([error] if error else [])
    assert device.operator is not None
    assert device.operator.connected is bool(error)


async def test_noise_comes_by_itself(make: Make) -> None:
    device = make({"kind": "noise", "lines_per_second": 5000}, speed=0.1)
    device.start()
    device.start()
    reader = device.log.reader()
    for _ in range(5):
        await reader.wait()
        reader.take()
    await device.close()
    assert len(messages(device)) >= 2500


async def test_a_huge_tree_has_exactly_that_many_nodes(make: Make, operate: Operate) -> None:
    for nodes in (2, 3, 5000):
        device = make({"kind": "huge_tree", "nodes": nodes})
        envelope = await operate(device, SNAPSHOT)
        assert envelope["status"] == "success"
        assert sum(text.count("<node ") for text in messages(device)) == nodes


async def test_unauthorized_and_other_states(make: Make) -> None:
    assert make({"kind": "unauthorized"}).state == "unauthorized"
    assert make(device={"state": "recovery"}).state == "recovery"


async def test_a_command_dies_with_its_process(make: Make, send: Send) -> None:
    device = make(speed=1.0)
    payload = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "actions": [{"id": "a", "type": "sleep", "params": {"durationMs": 90_000}}],
    }
    await device.broadcast(AGENT_ACTION, PACKAGE, {"payload": json.dumps(payload)})
    device.force_stop(PACKAGE)
    await device.idle()
    assert messages(device, "[Clawperator-Result]") == []
    assert isinstance(device.packages[PACKAGE], SimulatedPackage)
    assert await send(device, PING) == []  # stopped: nothing is delivered
