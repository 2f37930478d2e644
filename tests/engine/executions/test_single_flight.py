"""One execution per device, across processes, with the holder named and nothing left behind by the dead."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.config.settings import Settings
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions import device_lock as flight_module
from clawperator.engine.executions.backends.operator import OperatorBackend
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import SETTLE_SECONDS, DeviceLocks
from clawperator.engine.executions.device_queue import DeviceQueue
from clawperator.engine.facade import Engine
from clawperator.engine.files import lock
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario


def command(command_id: str = "cmd-1") -> Command:
    return Command(command_id, "task", "tests", 30_000, "{}", ("a1", "sleep"))


HOLD_UNTIL_STDIN_CLOSES = """
import asyncio, sys
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks

async def main():
    command = Command("other", "task", "agent", 30000, "{}", ("a", "b"))
    async with DeviceLocks(sys.argv[1]).hold("emulator-5554", command, yields="yields" in sys.argv) as flight:
        if "dispatch" in sys.argv:
            flight.dispatching()
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        if "settle" in sys.argv:
            flight.settle()

asyncio.run(main())
"""


async def hold_elsewhere(folder: Path, *words: str) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        HOLD_UNTIL_STDIN_CLOSES,
        str(folder),
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"held\n"
    return process


async def test_the_second_is_turned_away_at_once_and_reported_by_whom(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("first")):
        with pytest.raises(EngineError) as caught:
            async with flights.hold("emulator-5554", command("second")):
                pytest.fail("two hold one device")
    error = caught.value
    assert error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    assert error.message == "Another execution is in flight on this device"
    assert error.details["commandId"] == "second"
    assert error.details["inFlightCommandId"] == "first"
    assert error.details["pid"] == os.getpid()


async def test_the_same_command_id_is_turned_away_too(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command()):
        with pytest.raises(EngineError):
            async with flights.hold("emulator-5554", command()):
                pytest.fail("two hold one device")


async def test_devices_do_not_wait_for_each_other(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("one", command()), flights.hold("two", command()):
        assert [status.device_id for status in flights.taken()] == ["one", "two"]


async def test_free_again_after_an_error_inside(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        async with flights.hold("emulator-5554", command()):
            raise ZeroDivisionError
    async with flights.hold("emulator-5554", command()):
        pass


async def test_a_device_is_held_since_it_was_locked_not_since_the_wait_began(tmp_path: Path) -> None:
    now = 1_000.0
    locks = DeviceLocks(str(tmp_path), clock=lambda: now)

    async def second() -> object:
        async with locks.hold("emulator-5554", command("second"), wait_ms=60_000):
            return locks.status("emulator-5554").to_dict()["since"]

    async with locks.hold("emulator-5554", command("first")):
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)  # it waits now
        now += 10
    assert await waiting == now


async def test_another_process_excludes_this_one(tmp_path: Path) -> None:
    process = await hold_elsewhere(tmp_path)
    flights = DeviceLocks(str(tmp_path))
    with pytest.raises(EngineError) as caught:
        async with flights.hold("emulator-5554", command()):
            pytest.fail("two processes hold one device")
    assert caught.value.details["inFlightCommandId"] == "other"
    assert caught.value.details["pid"] == process.pid
    status = flights.status("emulator-5554")
    assert (status.state, status.to_dict()["source"]) == ("held", "agent")
    await process.communicate(b"")
    async with flights.hold("emulator-5554", command()):
        pass


async def killed_after_dispatch(folder: Path) -> None:
    process = await hold_elsewhere(folder, "dispatch")
    process.send_signal(signal.SIGKILL)
    await process.communicate(b"")


async def test_a_device_settles_after_a_process_that_was_killed_after_its_dispatch(tmp_path: Path) -> None:
    await killed_after_dispatch(tmp_path)
    now = time.time()
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    with pytest.raises(EngineError) as caught:
        async with flights.hold("emulator-5554", command("next")):
            pytest.fail("dispatched to a busy device")
    details = caught.value.details
    assert (details["settlingAfter"], details["notBefore"]) == ("other", now + SETTLE_SECONDS)
    now += SETTLE_SECONDS + 0.1
    async with flights.hold("emulator-5554", command("next")):
        pass
    assert flights.status("emulator-5554").state == "free"


async def test_looking_at_the_lock_begins_the_settling_once(tmp_path: Path) -> None:
    await killed_after_dispatch(tmp_path)
    now = time.time()
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    assert flights.status("emulator-5554").to_dict()["notBefore"] == now + SETTLE_SECONDS
    now += 1
    assert flights.status("emulator-5554").to_dict()["notBefore"] == now - 1 + SETTLE_SECONDS


async def test_a_killed_run_whose_own_budget_is_over_keeps_no_one_waiting(tmp_path: Path) -> None:
    await killed_after_dispatch(tmp_path)
    later = DeviceLocks(str(tmp_path), clock=lambda: time.time() + 30 + SETTLE_SECONDS)
    async with later.hold("emulator-5554", command("next")):
        pass


async def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    process = await hold_elsewhere(tmp_path)
    process.send_signal(signal.SIGKILL)
    await process.communicate(b"")
    flights = DeviceLocks(str(tmp_path))
    assert flights.status("emulator-5554").state == "free"
    async with flights.hold("emulator-5554", command()):
        pass


async def test_an_unknown_outcome_keeps_the_device_for_two_seconds_without_anybody_waiting(tmp_path: Path) -> None:
    now = 1_000.0
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    async with flights.hold("emulator-5554", command("lost")) as flight:
        flight.settle()
    assert flights.status("emulator-5554").state == "settling"
    with pytest.raises(EngineError) as caught:
        async with flights.hold("emulator-5554", command("next")):
            pytest.fail("the device was still settling")
    details = caught.value.details
    assert "settling" in caught.value.message
    assert (details["settlingAfter"], details["notBefore"]) == ("lost", now + SETTLE_SECONDS)
    assert details["retryAfterMs"] == SETTLE_SECONDS * 1000
    assert not {"inFlightCommandId", "pid"} & set(details)
    now += SETTLE_SECONDS
    async with flights.hold("emulator-5554", command("next")):
        assert flights.status("emulator-5554").to_dict()["commandId"] == "next"
    assert flights.status("emulator-5554").to_dict() == {"deviceId": "emulator-5554", "state": "free"}


@pytest.mark.parametrize(
    "serial", ["../../etc/passwd", "10.0.0.1:5555", "a/b", "..", "x" * 300, "adb-X (2)._adb-tls._tcp", "\n"]
)
async def test_no_serial_leads_out_of_the_folder_or_into_anothers_lock(tmp_path: Path, serial: str) -> None:
    folder = tmp_path / "locks"
    flights = DeviceLocks(str(folder))
    async with flights.hold(serial, command()), flights.hold("plain", command()):
        assert {status.device_id for status in flights.taken()} == {serial, "plain"}
    assert os.listdir(tmp_path) == ["locks"]
    assert len(os.listdir(folder)) == 2


async def test_lookers_never_turn_anybody_away(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command()):
        pass
    for _ in range(200):
        flights.status("emulator-5554")
        async with flights.hold("emulator-5554", command()):
            pass


WHOLE = {
    "device_id": "emulator-5554",
    "pid": 1,
    "command_id": "c",
    "task_id": "t",
    "source": "s",
    "timeout_ms": 1,
    "since": 1,
}


@pytest.mark.parametrize(
    "rubbish",
    ["{not json", "[]", "null", '{"pid": 1}', "[" * 5_000]
    + [
        json.dumps(WHOLE | wrong)
        for wrong in ({"not_before": "never"}, {"pid": "x"}, {"command_id": None}, {"yields": 1})
    ],
    ids=["cut", "list", "null", "part", "deep", "time", "pid", "name", "word"],
)
async def test_rubbish_in_a_lock_file_is_no_one(tmp_path: Path, rubbish: str) -> None:
    (tmp_path / "emulator-5554.lock").write_text(rubbish)
    flights = DeviceLocks(str(tmp_path))
    assert flights.status("emulator-5554").state == "free"
    async with flights.hold("emulator-5554", command()):
        content = json.loads((tmp_path / "emulator-5554.lock").read_text())
        assert content["pid"] == os.getpid()


async def test_no_one_else_may_read_who_holds_what(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    async with DeviceLocks(str(folder)).hold("emulator-5554", command()):
        assert folder.stat().st_mode & 0o077 == 0
        assert (folder / "emulator-5554.lock").stat().st_mode & 0o077 == 0


async def test_the_longest_names_are_kept_whole(tmp_path: Path) -> None:
    flights, name = DeviceLocks(str(tmp_path)), "🙂" * 128
    held = Command(name, name, "🙂" * 64, 30_000, "{}", ("a1", "sleep"))
    async with flights.hold("serial " * 100, held) as flight:
        assert flights.status("serial " * 100).to_dict()["commandId"] == name
        flight.settle()
    assert flights.status("serial " * 100).state == "settling"


async def test_a_clock_that_was_set_back_does_not_keep_a_device_for_hours(tmp_path: Path) -> None:
    now = 1_000_000.0
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    async with flights.hold("emulator-5554", command()) as flight:
        flight.settle()
    now -= 3_600
    assert flights.status("emulator-5554").state == "free"
    async with flights.hold("emulator-5554", command()):
        pass


async def test_a_folder_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    flights = DeviceLocks(str(tmp_path / "file" / "locks"))
    with pytest.raises(EngineError, match="file/locks") as caught:
        async with flights.hold("emulator-5554", command()):
            pytest.fail("held without a lock")
    assert caught.value.code is ErrorCode.LOCKS_UNAVAILABLE
    assert "HOME" in caught.value.hint
    assert (flights.taken(), flights.status("emulator-5554").state) == ([], "free")


async def test_a_file_system_without_locks_is_no_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", no_locks)
    with pytest.raises(EngineError, match="No locks available") as caught:
        async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command()):
            pytest.fail("held without a lock")
    assert caught.value.code is ErrorCode.LOCKS_UNAVAILABLE


# -- holders that yield


async def waiting(folder: Path, device_id: str = "emulator-5554") -> None:
    """Return when somebody waits for a yielding holder of that device."""
    while not DeviceQueue(str(folder / f"{device_id}.queue")).busy:  # noqa: ASYNC110  # a lock file tells nobody of its change
        await asyncio.sleep(0.001)


async def hold_for_a_moment(folder: Path, command_id: str = "agent") -> str:
    async with DeviceLocks(str(folder)).hold("emulator-5554", command(command_id)):
        return command_id


async def test_an_execution_waits_for_a_yielding_holder_of_this_process(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("follow"), yields=True):
        agent = asyncio.create_task(hold_for_a_moment(tmp_path))
        await waiting(tmp_path)
        assert not agent.done()
    assert await agent == "agent"


async def test_an_execution_waits_for_a_yielding_holder_of_another_process(tmp_path: Path) -> None:
    process = await hold_elsewhere(tmp_path, "yields")
    status = DeviceLocks(str(tmp_path)).status("emulator-5554").to_dict()
    assert (status["state"], status["commandId"], status["yields"]) == ("held", "other", True)
    agent = asyncio.create_task(hold_for_a_moment(tmp_path))
    await waiting(tmp_path)
    await process.communicate(b"")
    assert await agent == "agent"


async def test_who_yields_cannot_come_back_before_the_one_that_waits(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("follow-1"), yields=True):
        agent = asyncio.create_task(hold_for_a_moment(tmp_path))
        await waiting(tmp_path)
    with pytest.raises(EngineError) as caught:  # the agent has not had a turn of the loop yet: the lock itself is free
        async with flights.hold("emulator-5554", command("follow-2"), yields=True):
            pytest.fail("the follower overtook the agent")
    assert caught.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    await agent
    async with flights.hold("emulator-5554", command("follow-3"), yields=True):
        pass


async def test_who_gives_up_waiting_keeps_no_one_away(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("follow-1"), yields=True):
        agent = asyncio.create_task(hold_for_a_moment(tmp_path))
        await waiting(tmp_path)
        agent.cancel()
        await asyncio.gather(agent, return_exceptions=True)
    async with flights.hold("emulator-5554", command("follow-2"), yields=True):
        pass


async def test_who_yields_waits_for_no_one(tmp_path: Path) -> None:
    flights = DeviceLocks(str(tmp_path))
    for yields in (True, False):
        async with flights.hold("emulator-5554", command("first"), yields=yields):
            with pytest.raises(EngineError) as caught:
                async with flights.hold("emulator-5554", command("second"), yields=True):
                    pytest.fail("two hold one device")
            assert caught.value.details["inFlightCommandId"] == "first"


@pytest.mark.ci
async def test_patience_with_a_yielding_holder_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_module, "YIELD_SECONDS", 0.05)
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("hangs"), yields=True):
        with pytest.raises(EngineError) as caught:
            await hold_for_a_moment(tmp_path)
    assert caught.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    assert caught.value.details["inFlightCommandId"] == "hangs"


async def test_of_two_executions_that_wait_one_is_turned_away_by_the_other(tmp_path: Path) -> None:
    flights, done = DeviceLocks(str(tmp_path)), asyncio.Event()

    async def agent(name: str) -> None:
        async with flights.hold("emulator-5554", command(name)):
            await done.wait()

    async with flights.hold("emulator-5554", command("follow"), yields=True):
        agents = [asyncio.create_task(agent(name)) for name in ("one", "two")]
        await waiting(tmp_path)
    (loser,), _ = await asyncio.wait(agents, return_when=asyncio.FIRST_COMPLETED)
    done.set()
    error = loser.exception()
    assert isinstance(error, EngineError)
    assert {error.details["commandId"], error.details["inFlightCommandId"]} == {"one", "two"}
    await asyncio.gather(*agents, return_exceptions=True)


async def test_what_a_yielding_holder_left_settling_is_waited_for(tmp_path: Path) -> None:
    now = 1_000.0
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    async with flights.hold("emulator-5554", command("follow"), yields=True) as flight:
        flight.settle()
    assert flights.status("emulator-5554").to_dict().items() >= {"state": "settling", "yields": True}.items()
    with pytest.raises(EngineError):
        async with flights.hold("emulator-5554", command("follow-2"), yields=True):
            pytest.fail("the device was still settling")

    async def agent() -> str:
        async with flights.hold("emulator-5554", command("agent")):
            return "agent"

    task = asyncio.create_task(agent())
    await waiting(tmp_path)
    assert flights.status("emulator-5554").state == "settling"
    now += SETTLE_SECONDS
    assert await task == "agent"


async def test_the_settling_of_another_process_is_waited_for(tmp_path: Path) -> None:
    process = await hold_elsewhere(tmp_path, "yields", "settle")
    await process.communicate(b"")
    assert DeviceLocks(str(tmp_path)).status("emulator-5554").state == "settling"
    assert await hold_for_a_moment(tmp_path) == "agent"


@pytest.mark.parametrize(("more", "yields"), [({}, False), ({"yields": True}, True)])
async def test_lock_files_with_and_without_the_word_are_read(
    tmp_path: Path, more: dict[str, object], *, yields: bool
) -> None:
    content = WHOLE | {"pid": os.getpid(), "not_before": 10.0} | more
    (tmp_path / "emulator-5554.lock").write_text(json.dumps(content))
    status = DeviceLocks(str(tmp_path), clock=lambda: 9.0).status("emulator-5554")
    assert status.holder is not None
    assert (status.state, status.holder.yields, "yields" in status.to_dict()) == ("settling", yields, yields)


async def test_the_word_is_written_only_where_it_applies(tmp_path: Path) -> None:
    flights, path = DeviceLocks(str(tmp_path)), tmp_path / "emulator-5554.lock"
    for yields in (True, False):
        async with flights.hold("emulator-5554", command(), yields=yields):
            assert ("yields" in json.loads(path.read_text())) is yields


# -- waiting for one's turn


WAIT_AND_TELL = """
import asyncio, sys
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks

async def main():
    command = Command(sys.argv[2], "task", "agent", 30000, "{}", ("a", "b"))
    async with DeviceLocks(sys.argv[1]).hold("emulator-5554", command, wait_ms=60_000):
        print(sys.argv[2], flush=True)

asyncio.run(main())
"""


def tickets(folder: Path) -> list[str]:
    queue = folder / "emulator-5554.queue"
    return sorted(os.listdir(queue)) if queue.exists() else []


async def queued(folder: Path, count: int) -> None:
    while len(tickets(folder)) != count:  # noqa: ASYNC110  # a folder does not announce its changes
        await asyncio.sleep(0.001)


async def wait_elsewhere(folder: Path, name: str) -> asyncio.subprocess.Process:
    before = len(tickets(folder))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WAIT_AND_TELL, str(folder), name, stdout=asyncio.subprocess.PIPE
    )
    await queued(folder, before + 1)
    return process


async def in_turn(folder: Path, name: str, order: list[str], wait_ms: int = 60_000) -> None:
    async with DeviceLocks(str(folder)).hold("emulator-5554", command(name), wait_ms=wait_ms):
        order.append(name)


async def test_who_waits_gets_the_device_in_the_order_of_coming(tmp_path: Path) -> None:
    order: list[str] = []
    names = [f"w{number}" for number in range(6)]
    async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command("first")):
        waiters = []
        for number, name in enumerate(names, 1):
            waiters.append(asyncio.create_task(in_turn(tmp_path, name, order)))
            await queued(tmp_path, number)
    await asyncio.gather(*waiters)
    assert order == names
    assert tickets(tmp_path) == []


async def test_processes_wait_in_the_same_queue(tmp_path: Path) -> None:
    order: list[str] = []
    async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command("first")):
        other = await wait_elsewhere(tmp_path, "other")
        mine = asyncio.create_task(in_turn(tmp_path, "mine", order))
        await queued(tmp_path, 2)
        assert not mine.done()
    out, _ = await other.communicate()
    await mine
    assert (out, order) == (b"other\n", ["mine"])


async def test_a_killed_process_keeps_no_one_waiting(tmp_path: Path) -> None:
    order: list[str] = []
    async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command("first")):
        other = await wait_elsewhere(tmp_path, "other")
        other.send_signal(signal.SIGKILL)
        await other.communicate()
        mine = asyncio.create_task(in_turn(tmp_path, "mine", order))
        await queued(tmp_path, 2)
    await mine
    assert (order, tickets(tmp_path)) == (["mine"], [])


async def test_who_stops_waiting_leaves_the_queue(tmp_path: Path) -> None:
    order: list[str] = []
    async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command("first")):
        waiters = [asyncio.create_task(in_turn(tmp_path, name, order)) for name in ("one", "two")]
        await queued(tmp_path, 2)
        waiters[0].cancel()
        await queued(tmp_path, 1)
    await asyncio.gather(*waiters, return_exceptions=True)
    assert order == ["two"]


async def test_who_does_not_wait_cannot_overtake(tmp_path: Path) -> None:
    order: list[str] = []
    flights = DeviceLocks(str(tmp_path))
    async with flights.hold("emulator-5554", command("first")):
        waiter = asyncio.create_task(in_turn(tmp_path, "patient", order))
        await queued(tmp_path, 1)
    with pytest.raises(EngineError) as caught:  # the lock is free, and the waiter has not had a turn of the loop yet
        await in_turn(tmp_path, "hasty", order, wait_ms=0)
    assert caught.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    await waiter
    assert order == ["patient"]


async def test_a_wait_has_an_end(tmp_path: Path) -> None:
    async with DeviceLocks(str(tmp_path)).hold("emulator-5554", command("first")):
        with pytest.raises(EngineError) as caught:
            await in_turn(tmp_path, "second", [], wait_ms=30)
    assert caught.value.details["inFlightCommandId"] == "first"
    assert caught.value.details["waitedMs"] == 30
    assert tickets(tmp_path) == []


async def test_a_device_that_settles_is_waited_for(tmp_path: Path) -> None:
    now, order = 1_000.0, list[str]()
    flights = DeviceLocks(str(tmp_path), clock=lambda: now)
    async with flights.hold("emulator-5554", command("lost")) as flight:
        flight.settle()

    async def agent() -> None:
        async with flights.hold("emulator-5554", command("agent"), wait_ms=60_000):
            order.append("agent")

    task = asyncio.create_task(agent())
    await queued(tmp_path, 1)
    assert order == []
    now += SETTLE_SECONDS
    await task
    assert order == ["agent"]


async def test_callers_are_served_in_the_order_of_coming_however_long_their_checks_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    checked = OperatorBackend.check
    later = [f"w{number}" for number in range(1, 5)]

    async def check(backend: OperatorBackend, device: AdbDevice, execution: Execution | None = None) -> Any:
        if execution is not None and execution.task_id == "w0":
            while len(tickets(tmp_path)) < 5 and len(order) < 4:  # noqa: ASYNC110  # a folder does not announce its changes
                await asyncio.sleep(0.001)
        return await checked(backend, device, execution)

    monkeypatch.setattr(OperatorBackend, "check", check)
    simulation = Simulation([create_device(Scenario.model_validate({"speed": 0}))], mode="server")
    async with simulation, Engine(Settings.resolve({"lock_dir": str(tmp_path)}, simulation.env())) as engine:

        async def call(name: str) -> None:
            await engine.execute({**build.press_key("home"), "taskId": name}, wait_ms=20_000)
            order.append(name)

        await asyncio.gather(*(call(name) for name in ("w0", *later)))
    assert order == ["w0", *later]
    assert tickets(tmp_path) == []


async def test_a_ticket_of_a_failed_check_is_given_back(tmp_path: Path) -> None:
    absent = create_device(Scenario.model_validate({"operator": {"installed": False}}))
    async with Simulation([absent], mode="server") as simulation:
        engine = Engine(Settings.resolve({"lock_dir": str(tmp_path)}, simulation.env()))
        with pytest.raises(EngineError) as caught:
            await engine.execute(build.press_key("home"), wait_ms=5_000)
    assert caught.value.code is ErrorCode.RECEIVER_NOT_INSTALLED
    assert tickets(tmp_path) == []


# -- the phone behind a serial


async def test_two_serials_of_one_phone_exclude_each_other_and_two_phones_do_not(tmp_path: Path) -> None:
    locks = DeviceLocks(str(tmp_path))
    async with locks.hold("A", command("one"), phone="phone-1"):
        with pytest.raises(EngineError) as caught:
            async with locks.hold("B", command("two"), phone="phone-1"):
                pass
        assert (caught.value.details["otherTransport"], caught.value.details["inFlightCommandId"]) == ("A", "one")
        assert locks.status("B").state == "free", "a refused caller holds nothing"
        assert locks.status("B", "phone-1").state == "held"
        with pytest.raises(EngineError):
            async with locks.hold("A", command("two"), phone="phone-2"):  # it was restarted meanwhile
                pass
        async with locks.hold("C", command("two"), phone="phone-2"), locks.hold("D", command("three")):
            assert [lock.device_id for lock in locks.taken()] == ["A", "C", "D"]
    assert locks.taken() == []


async def test_an_unknown_outcome_settles_the_phone_for_its_other_serial(tmp_path: Path) -> None:
    locks = DeviceLocks(str(tmp_path))
    async with locks.hold("A", command("one"), phone="phone-1") as held:
        held.dispatching()
        held.settle()
    with pytest.raises(EngineError) as caught:
        async with locks.hold("B", command("two"), phone="phone-1"):
            pass
    assert caught.value.details["settlingAfter"] == "one"


async def test_callers_with_other_serials_of_a_phone_wait_for_their_turn(tmp_path: Path) -> None:
    locks, order = DeviceLocks(str(tmp_path)), list[str]()

    async def call(serial: str) -> None:
        async with locks.hold(serial, command(serial), phone="phone-1", wait_ms=20_000):
            order.append(serial)
            await asyncio.sleep(0)
            assert order[-1] == serial, "alone with the phone"

    await asyncio.gather(*(call(serial) for serial in "ABCDE"))
    assert sorted(order) == list("ABCDE")


async def test_locks_of_phones_that_nobody_uses_any_more_are_removed(tmp_path: Path) -> None:
    locks = DeviceLocks(str(tmp_path))
    for phone in ("phone-old", "phone-held"):
        async with locks.hold(phone[6:], command(), phone=phone, wait_ms=1):
            pass
    (tmp_path / "phone-old.queue").mkdir()
    old = time.time() - 2 * 86_400
    async with locks.hold("held", command(), phone="phone-held"):
        for name in os.listdir(tmp_path):
            os.utime(tmp_path / name, (old, old))
        async with locks.hold("new", command(), phone="phone-new"):
            pass
    names = set(os.listdir(tmp_path))
    assert names == {"phone-held.lock", "phone-new.lock", "old.lock", "held.lock", "new.lock"}, (
        "and serials keep theirs"
    )


async def test_a_lock_that_was_removed_while_it_was_opened_locks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process removes the file between our opening and our locking it, and a third one makes a new file."""
    locks, removed, path = DeviceLocks(str(tmp_path)), list[lock.FileLock](), tmp_path / "phone-1.lock"
    path.write_bytes(b"")
    acquire = lock.FileLock.try_acquire

    def removed_first(self: lock.FileLock) -> bool:
        if not removed and os.path.samestat(os.fstat(self._fd), path.stat()):
            removed.append(self)
            path.unlink()
        return acquire(self)

    monkeypatch.setattr(lock.FileLock, "try_acquire", removed_first)
    async with locks.hold("A", command("one"), phone="phone-1"):
        assert removed
        monkeypatch.undo()
        with pytest.raises(EngineError):
            async with locks.hold("B", command("two"), phone="phone-1"):
                pass
