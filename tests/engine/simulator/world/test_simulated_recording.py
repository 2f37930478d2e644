"""The simulated Operator's recordings against wire.md#recording-files, key by key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.recording import Recorder
from clawperator.engine.simulator.scenario import Scenario

PACKAGE = "com.clawperator.operator"
FOLDER = f"/sdcard/Android/data/{PACKAGE}/files/recordings"
EXTRA = {
    "window_change": ["packageName", "className", "title"],
    "click": ["packageName", "resourceId", "text", "contentDesc", "bounds"],
    "scroll": ["packageName", "resourceId", "scrollX", "scrollY", "maxScrollX", "maxScrollY"],
    "press_key": ["key"],
    "text_change": ["packageName", "resourceId", "text"],
}


@pytest.fixture
def device() -> SimulatedDevice:
    return create_device(Scenario.model_validate({"speed": 0}), generation="0.5")


def recorder(device: SimulatedDevice) -> Recorder:
    return device.operators[PACKAGE].recorder


def written(device: SimulatedDevice, session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in device.files.read(f"{FOLDER}/{session}.ndjson").splitlines()]


def tap(device: SimulatedDevice, name: str) -> None:
    node = next(n for n in device.ui.window().nodes if n.resource_id.endswith(f"/{name}") and not n.seen.empty)
    device.ui.tap(*node.seen.center)


async def test_every_event_has_its_keys(device: SimulatedDevice) -> None:
    recorder(device).command("start", "one")
    device.activities.launch("com.example.shop")
    device.ui.swipe(540, 1800, 540, 900)
    tap(device, "search_bar")
    tap(device, "search_src_text")
    device.input.type_text("tea")
    device.input.key("BACK")
    stopped = recorder(device).command("stop", "")
    header, *events = written(device, "one")
    assert header == {
        "type": "recording_header",
        "schemaVersion": 1,
        "sessionId": "one",
        "startedAt": header["startedAt"],
        "operatorPackage": PACKAGE,
    }
    assert {event["type"] for event in events} == set(EXTRA)
    for number, event in enumerate(events, 1):
        assert [*event] == ["ts", "seq", "type", *EXTRA[event["type"]], "snapshot"]
        assert event["seq"] == number
        assert event["ts"] >= header["startedAt"]
        assert (event["snapshot"] is None) == (event["type"] in ("scroll", "text_change"))
    assert stopped == {"sessionId": "one", "filePath": f"{FOLDER}/one.ndjson", "eventCount": str(len(events))}
    assert device.files.read(f"{FOLDER}/latest") == b"one"


def test_a_click_shows_the_screen_before_it(device: SimulatedDevice) -> None:
    recorder(device).command("start", "one")
    device.activities.launch("com.example.shop")
    tap(device, "search_bar")
    opened, clicked, changed = written(device, "one")[1:]
    assert clicked["snapshot"] == opened["snapshot"]
    assert "search_edit_frame" in changed["snapshot"]
    assert clicked["bounds"].keys() == {"left", "top", "right", "bottom"}


@pytest.mark.parametrize("package", [PACKAGE, f"{PACKAGE}.dev"])
def test_the_operators_own_packages_are_skipped(device: SimulatedDevice, package: str) -> None:
    recorder(device).command("start", "one")
    recorder(device).on_event("TYPE_WINDOW_STATE_CHANGED", package, None)
    assert written(device, "one")[1:] == []


def test_a_name_of_its_own(device: SimulatedDevice) -> None:
    import re

    session = recorder(device).command("start", "")["sessionId"]
    assert re.fullmatch(r"record-\d{13}-[0-9a-f]{8}", session)


def test_one_at_a_time(device: SimulatedDevice) -> None:
    assert recorder(device).command("stop", "")["error"] == "RECORDING_NOT_IN_PROGRESS"
    recorder(device).command("start", "one")
    second = recorder(device).command("start", "two")
    assert (second["error"], second["sessionId"]) == ("RECORDING_ALREADY_IN_PROGRESS", "one")
    assert "error" not in recorder(device).command("stop", "two")


def test_a_full_or_missing_storage(device: SimulatedDevice) -> None:
    device.files.write("/sdcard/Android/data/" + PACKAGE, b"a file where the folder should be")
    refused = recorder(device).command("start", "one")
    assert refused["error"] == "RECORDING_STORAGE_UNAVAILABLE"
    assert refused["message"]
    device.files.remove("/sdcard/Android/data/" + PACKAGE)
    assert "error" not in recorder(device).command("start", "one")
    device.files.mkdir(f"{FOLDER}/latest")
    assert recorder(device).command("stop", "")["error"] == "RECORDING_STOP_FAILED"
    assert recorder(device).command("stop", "")["error"] == "RECORDING_NOT_IN_PROGRESS"
