"""One operation on many devices: which devices, how many at a time, and a row for each of them whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from clawperator.engine import fan_out
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.fan_out import DeviceRow, Target, choose_devices, run_on_each
from tests.support import table

LISTED = (DeviceEntry("A", "device"), DeviceEntry("B", "device"), DeviceEntry("C", "offline"))
KNOWN = {
    "pixel": DeviceProfile("A", ("lab",)),
    "same": DeviceProfile("A", ()),
    "away": DeviceProfile("Z", ("lab", "field")),
}
DONE = {"ok": True, "outcome": {"status": "succeeded"}}


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("all", ["A", "B"]),
        ("B, pixel", ["B", "A"]),
        ("pixel,A,same", ["A"]),
        ("tag:lab", ["A", "Z"]),
        ("tag:field,all,C", ["Z", "A", "B", "C"]),
    ],
)
def test_devices_are_chosen_once_in_the_order_given(text: str, chosen: list[str]) -> None:
    targets = choose_devices(text, LISTED, KNOWN)
    assert [target.serial for target in targets] == chosen
    assert {target.alias for target in targets} <= {"pixel", "away", ""}


@table(
    ("text", "code", "hint"),
    [
        ("tag:labb", "DEVICE_TAG_UNKNOWN", "Did you mean 'lab'?"),
        ("tag:x", "DEVICE_TAG_UNKNOWN", "Known tags: field, lab."),
        ("pixle", "DEVICE_NOT_FOUND", "Did you mean 'pixel'?"),
        ("A,,B", "USAGE", "Write --devices a,b,tag:c."),
        ("", "USAGE", "Write --devices a,b,tag:c."),
        ("A,tag:", "USAGE", "Write --devices a,b,tag:c."),
    ],
)
def test_a_name_that_nothing_has_is_refused_before_anything_runs(text: str, code: str, hint: str) -> None:
    with pytest.raises(EngineError) as caught:
        choose_devices(text, LISTED, KNOWN)
    assert (caught.value.code, caught.value.hint) == (code, hint)
    with pytest.raises(EngineError) as caught:
        choose_devices("all", LISTED[2:], KNOWN)
    assert caught.value.code == ErrorCode.NO_DEVICES


def targets(count: int) -> list[Target]:
    return [Target(str(number)) for number in range(count)]


async def test_no_more_than_jobs_run_and_none_runs_twice() -> None:
    running = most = 0
    started: list[str] = []
    crowd = asyncio.Event()

    async def run(serial: str) -> Mapping[str, Any]:
        nonlocal running, most
        started.append(serial)
        running, most = running + 1, max(most, running + 1)
        if running == 4:
            crowd.set()
        await crowd.wait()
        running -= 1
        return DONE

    rows = [row async for row in run_on_each(targets(50), run, jobs=4)]
    assert most == 4
    assert sorted(started, key=int) == [target.serial for target in targets(50)]
    assert sorted(row.target.serial for row in rows) == sorted(started)
    assert fan_out.summary(rows, duration_ms=1.4)["summary"] == {
        "devices": 50,
        "succeeded": 50,
        "partial": 0,
        "failed": 0,
        "unknown": 0,
        "notRun": 0,
        "durationMs": 1,
    }


def error(code: ErrorCode, **extra: str) -> EngineError:
    return EngineError(code, "It failed", extra=extra)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (DONE, "succeeded"),
        ({"ok": True, "outcome": {"status": "partial"}}, "partial"),
        ({"ok": False, "errors": [{"code": "X", "message": "m"}]}, "failed"),
        (error(ErrorCode.DEVICE_OFFLINE), "failed"),
        (error(ErrorCode.LOGCAT_UNAVAILABLE, broadcastDispatchStatus="not_sent"), "failed"),
        (error(ErrorCode.LOGCAT_UNAVAILABLE, broadcastDispatchStatus="sent"), "unknown"),
        (ValueError("a defect"), "unknown"),
    ],
)
async def test_the_status_says_whether_the_device_may_have_acted(ending: Any, status: str) -> None:
    async def run(_: str) -> Mapping[str, Any]:
        if isinstance(ending, Exception):
            raise ending
        return dict(ending)

    [row] = [row async for row in run_on_each(targets(1), run)]
    assert row.status == status
    assert row.to_dict()["deviceId"] == "0"


async def test_fail_fast_starts_no_other_and_names_what_was_not_run() -> None:
    async def run(serial: str) -> Mapping[str, Any]:
        if serial == "1":
            raise error(ErrorCode.DEVICE_OFFLINE)
        return DONE

    rows = [row async for row in run_on_each(targets(4), run, jobs=1, fail_fast=True)]
    assert [row.status for row in rows] == ["succeeded", "failed", "not_run", "not_run"]
    assert rows[2].answer["error"]["code"] == "NOT_RUN"
    document = ET.fromstring(fan_out.junit(rows, "clawperator execute", duration_ms=5, at=0))[0]
    assert (document.get("tests"), document.get("failures"), document.get("skipped")) == ("4", "1", "2")


async def test_once_abandoned_what_runs_ends_by_itself_and_nothing_else_starts() -> None:
    started = []

    async def run(serial: str) -> Mapping[str, Any]:
        started.append(serial)
        await asyncio.sleep(0)
        return DONE

    each = run_on_each(targets(4), run, jobs=2, abandoned=lambda: bool(started))
    rows = [row async for row in each]
    assert started == ["0"]
    assert [row.status for row in rows] == ["succeeded", *["not_run"] * 3]
    assert {row.answer["error"]["message"] for row in rows[1:]} == {"Not run: the operation was interrupted"}


async def test_an_interrupt_ends_what_runs_and_leaves_a_row_for_every_device() -> None:
    started = asyncio.Event()
    rows: list[DeviceRow] = []

    async def run(serial: str) -> Mapping[str, Any]:
        if serial == "0":
            return DONE
        if serial == "2":
            started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as exc:
            if serial == "1":
                exc.__cause__ = interruption("not_sent")
            raise
        return DONE

    async def collect() -> None:
        async for row in run_on_each(targets(6), run, jobs=2):
            rows.append(row)  # noqa: PERF401 -- the rows so far are what an interrupt leaves

    task = asyncio.create_task(collect())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    found = {row.target.serial: row.status for row in rows}
    assert found == {"0": "succeeded", "1": "failed", "2": "unknown", "3": "not_run", "4": "not_run", "5": "not_run"}
    words = {row.target.serial: row.answer["error"]["message"] for row in rows[1:]}
    assert words["2"] == "Interrupted: whether anything was sent to the device is unknown"
    total = fan_out.summary(rows, duration_ms=0, interrupted=True)
    assert (total["ok"], total["summary"]["interrupted"]) == (False, True)


async def test_a_reader_that_goes_away_ends_everything() -> None:
    started: list[str] = []

    async def run(serial: str) -> Mapping[str, Any]:
        started.append(serial)
        if serial != "0":
            await asyncio.Event().wait()
        return DONE

    each = run_on_each(targets(9), run, jobs=2)
    assert (await anext(each)).status == "succeeded"
    await each.aclose()
    before = list(started)
    await asyncio.sleep(0)
    assert started == before
    assert [task for task in asyncio.all_tasks() if task.get_name() == "fan-out"] == []
