"""Every published action on both backends and all generations, over the real adb; docs/conformance.json is what it found."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clawperator.engine import Engine, EngineError, Settings
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.events.types import CommandProgress
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.skills.artifact import compile_for
from clawperator.engine.skills.artifact_run import run_artifact
from clawperator.engine.skills.registry import load_registry
from clawperator.engine.version import OPERATOR_RELEASES
from tests.journeys.conftest import Connect, until_state
from tests.support import varied

pytestmark = pytest.mark.adb

FOUND = Path(__file__).parents[2] / "docs" / "conformance.json"
SETTINGS, SHOP, FEED, SPINNER = "com.android.settings", "com.example.shop", "com.example.feed", "com.example.spinner"
COLUMNS: dict[str, dict[str, Any]] = {
    **{
        f"Operator {generation}": {"device": {"generation": generation}, "operator": {"listener": True}}
        for generation in OPERATOR_RELEASES
    },
    "Stock": {"operator": {"installed": False}},
}
FIELD = {"resourceId": "com.android.settings:id/search_src_text"}
CASES: Mapping[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "open_app": (("", ""), {"applicationId": SETTINGS}),
    "open_uri": (("", ""), {"uri": "https://example.com/a"}),
    "close_app": ((SETTINGS, ""), {"applicationId": SETTINGS}),
    "wait_for_node": ((SETTINGS, ""), {"matcher": {"textEquals": "Battery"}}),
    "click": ((SETTINGS, ""), {"matcher": {"textEquals": "Battery"}}),
    "read_text": ((SETTINGS, ""), {"matcher": {"textEquals": "Battery"}}),
    "enter_text": ((SETTINGS, "search"), {"matcher": FIELD, "text": "50% dark & light"}),
    "snapshot_ui": ((SETTINGS, ""), {}),
    "take_screenshot": ((SETTINGS, ""), {}),
    "sleep": ((SETTINGS, ""), {"durationMs": 1}),
    "press_key": ((SETTINGS, ""), {"key": "home"}),
    "scroll": ((SETTINGS, ""), {"settleDelayMs": 0}),
    "scroll_until": ((FEED, ""), {"maxScrolls": 2, "settleDelayMs": 0}),
    "scroll_and_click": ((SETTINGS, ""), {"target": {"textEquals": "About emulated device"}, "settleDelayMs": 0}),
    "wait_for_navigation": ((SETTINGS, ""), {"expectedNode": {"textEquals": "Battery"}, "timeoutMs": 1_000}),
    "read_key_value_pair": ((SHOP, "cart"), {"labelMatcher": {"textEquals": "Total"}}),
    "start_recording": ((SETTINGS, ""), {"sessionId": "one"}),
    "stop_recording": ((SETTINGS, ""), {"sessionId": "one"}),
    "query_ui": ((SETTINGS, ""), {"matcher": {"textEquals": "Battery"}}),
    "swipe": ((SETTINGS, ""), {"start": {"x": 540, "y": 1_800}, "end": {"x": 540, "y": 900}, "durationMs": 300}),
    "drag": (
        (SETTINGS, ""),
        {"start": {"x": 540, "y": 1_800}, "end": {"x": 540, "y": 900}, "holdDurationMs": 500, "moveDurationMs": 300},
    ),
    "show_toast": ((SETTINGS, ""), {"text": "Step 1"}),
    "cancel_toast": ((SETTINGS, ""), {}),
    "set_on_screen_log": ((SETTINGS, ""), {"text": "Step 1"}),
    "clear_on_screen_log": ((SETTINGS, ""), {}),
    "list_notifications": ((SETTINGS, ""), {}),
    "dismiss_notification": ((SETTINGS, ""), {"notificationKey": f"0|{SHOP}|1|null|10060"}),
    "invoke_notification_action": (
        (SETTINGS, ""),
        {"notificationKey": f"0|{SHOP}|2|null|10060", "actionId": "open"},
    ),
    "list_media_sessions": ((SETTINGS, ""), {}),
    "get_media_status": ((SETTINGS, ""), {"applicationId": FEED}),
    "media_pause": ((SETTINGS, ""), {"applicationId": FEED}),
    "media_play": ((SETTINGS, ""), {"applicationId": FEED}),
    "media_seek": ((SETTINGS, ""), {"applicationId": FEED, "positionMs": 5_000}),
    "observe_media": ((SETTINGS, ""), {"durationMs": 10}),
}
BESIDE_THE_SCREEN: dict[str, Any] = {
    "notifications": [
        {"package": SHOP, "id": 1, "title": "Parcel"},
        {"package": SHOP, "id": 2, "title": "Order", "actions": [{"id": "open", "title": "Open"}]},
    ],
    "media": [{"package": FEED, "state": "playing", "title": "Song"}],
}


class Phone(NamedTuple):
    """One column's device; ``run`` performs one action on it."""

    engine: Engine
    world: SimulatedDevice
    serial: str
    backend: str

    async def run(self, action: str, params: dict[str, Any]) -> ExecutionResult:
        step = {"id": "s1", "type": action, "params": params}
        plan = build.single("conformance", "snapshot_ui") | {"actions": [step]}
        return await self.engine.execute(plan, device_id=self.serial, backend=self.backend)

    def show(self, package: str, screen: str = "") -> None:
        for task in self.world.ui.tasks:
            self.world.ui.kill(task.app.package)
        if package:
            assert self.world.ui.show(package, screen)

    async def answer(self, action: str, params: dict[str, Any]) -> tuple[str, Mapping[str, str]]:
        """Return ``yes`` or the error code, and the step's data."""
        try:
            done = await self.run(action, params)
        except EngineError as exc:
            return exc.code.value, {}
        (step,) = done.envelope["stepResults"] or [{"data": {}}]
        refused = done.envelope.get("errorCode") or step["data"].get("errorCode") or step["data"].get("error")
        return "yes" if done.succeeded else str(refused), step["data"]


@pytest.fixture
async def phones(adb_env: dict[str, str], tmp_path: Path) -> AsyncIterator[dict[str, Phone]]:
    """One simulator with a device for each column."""
    worlds = [
        create_device(Scenario.model_validate({"speed": 0, **BESIDE_THE_SCREEN, **scenario}))
        for scenario in COLUMNS.values()
    ]
    async with AsyncExitStack() as stack:
        simulation = await stack.enter_async_context(Simulation(worlds, mode="adbd"))
        engine = await stack.enter_async_context(
            Engine(Settings.resolve({}, {**adb_env, "HOME": str(tmp_path)}), strict=False)
        )
        for serial in simulation.serials:
            await engine.server.connect_device(serial)
            stack.push_async_callback(engine.server.disconnect_device, serial)
            await until_state(engine, serial, "device")
        yield {
            name: Phone(engine, world, serial, "stock" if name == "Stock" else "operator")
            for name, world, serial in zip(COLUMNS, worlds, simulation.serials, strict=True)
        }


async def test_every_action_on_every_backend(phones: dict[str, Phone]) -> None:
    assert CASES.keys() == ACTIONS.keys()
    found: dict[str, dict[str, str]] = {}
    for action, (start, params) in CASES.items():
        effects = {}
        for name, phone in phones.items():
            phone.show(*start)
            answer, _ = await phone.answer(action, params)
            found.setdefault(action, {})[name] = answer
            if answer == "yes":
                effects[name] = _effect(phone.world)
        assert len(set(effects.values())) <= 1, f"{action}: the same on every backend: {effects}"
    if os.environ.get("CLAWPERATOR_WRITE_CONFORMANCE"):
        kept = json.loads(FOUND.read_text()) if FOUND.exists() else {"differences": []}
        FOUND.write_text(json.dumps({**kept, "actions": found}, indent=1, ensure_ascii=False) + "\n")
    assert json.loads(FOUND.read_text())["actions"] == found


def _effect(world: SimulatedDevice) -> tuple[object, ...]:
    """What the device shows: the window and its visible texts, but for the icon of the app that one device lacks."""
    window = world.ui.window()
    texts = (node.view.text for node in window.nodes if not node.seen.empty)
    return window.component, tuple(text for text in texts if text not in ("", "Operator"))


async def test_both_backends_report_the_start_of_a_plan_alike(phones: dict[str, Phone]) -> None:
    seen = []
    for name in ("Operator 0.5", "Stock"):
        phone = phones[name]
        with phone.engine.events.subscribe() as events:
            await phone.answer("sleep", {"durationMs": 1})
            found = [event for event in events.taken() if isinstance(event, CommandProgress)]
        seen += [dict(event.fields) for event in found if event.kind == "start"]
    for fields in seen:
        for name in ("commandId", "taskId"):
            fields.pop(name, "")
    assert seen[0] == seen[1]


Check = Callable[[Phone, Phone], Awaitable[None]]


async def _text(operator: Phone, stock: Phone) -> None:
    for phone, answer in ((operator, "yes"), (stock, "TEXT_NOT_DELIVERED")):
        phone.show(SETTINGS, "search")
        assert (await phone.answer("enter_text", {"matcher": FIELD, "text": "Größe"}))[0] == answer
    assert not stock.world.ui.state.get("query"), "nothing was typed"
    _, data = await stock.answer("enter_text", {"matcher": FIELD, "text": "dark"})
    assert (data["route"], data["verified"]) == ("input text", "true")


async def _click(operator: Phone, stock: Phone) -> None:
    sent = []
    for phone in (operator, stock):
        phone.show(SETTINGS)
        sent.append((await phone.answer("click", {"matcher": {"textEquals": "Battery"}}))[1].get("dispatched", ""))
    assert sent[0] == ""
    assert sent[1].startswith("input tap ")


async def _focus(operator: Phone, stock: Phone) -> None:
    for phone, answer in ((operator, True), (stock, False)):
        phone.show(SETTINGS)
        node = {"matcher": {"textEquals": "Search settings"}, "clickType": "focus", "retry": {"maxAttempts": 1}}
        assert ((await phone.answer("click", node))[0] == "yes") is answer


async def _keys(operator: Phone, stock: Phone) -> None:
    operator.show(SETTINGS)
    assert "dispatched" not in (await operator.answer("press_key", {"key": "back"}))[1]
    stock.show(SETTINGS)
    assert (await stock.answer("press_key", {"key": "back"}))[1]["dispatched"] == "input keyevent KEYCODE_BACK"


async def _off_screen(operator: Phone, stock: Phone) -> None:
    counts = []
    for phone in (operator, stock):
        phone.show(FEED)
        text = (await phone.answer("snapshot_ui", {}))[1]["text"]
        counts.append(text.count("<node"))
    assert counts[0] > counts[1] > 10


async def _timing(operator: Phone, stock: Phone) -> None:
    for phone, answer in ((operator, "yes"), (stock, "UI_NOT_IDLE")):
        phone.show(SPINNER)
        assert (await phone.answer("read_text", {"matcher": {"role": "text"}, "retry": {"maxAttempts": 1}}))[
            0
        ] == answer


async def _recording(_: Phone, stock: Phone) -> None:
    assert (await stock.answer("start_recording", {}))[0] == "EXECUTION_ACTION_UNSUPPORTED"


CHECKS: Mapping[str, Check] = {
    "Text entry": _text,
    "Click": _click,
    "Focus": _focus,
    "Global actions": _keys,
    "Off-screen nodes": _off_screen,
    "Timing": _timing,
    "Recording": _recording,
}


async def test_the_documented_differences(phones: dict[str, Phone]) -> None:
    listed = json.loads(FOUND.read_text())["differences"]
    assert [row["topic"] for row in listed] == list(CHECKS)
    for check in CHECKS.values():
        await check(phones["Operator 0.5"], phones["Stock"])


# -- skills and recordings


ARTIFACTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "com.android.settings.overview": ("overview", {}),
    "com.example.shop.search": ("search", {"query": "coffee"}),
    "com.example.thermostat.read-target": ("target", {"room": "Living room"}),
    "com.example.thermostat.set-mode": ("set-mode", {"room": "Bathroom", "mode": "Off"}),
    "com.example.feed.read-posts": ("find-post", {"post": 18}),
}


@pytest.mark.ci
async def test_the_shipped_skills_find_the_same_on_both_backends(phones: dict[str, Phone]) -> None:
    registry = load_registry("builtin")
    assert ARTIFACTS.keys() == {entry["id"] for entry in registry.skills}
    for skill, (artifact, variables) in ARTIFACTS.items():
        found = []
        for name in ("Operator 0.5", "Stock"):
            phone = phones[name]
            phone.show("")
            phone.engine.use_backend(phone.backend)
            compiled = compile_for(phone.engine.guard, registry, skill, artifact, json.dumps(variables))
            report = await run_artifact(phone.engine, compiled, device_id=phone.serial)
            assert not report.failed, report.to_dict()
            found.append(report.outputs)
        assert found[0] == found[1], skill


# -- what a device does to the stock backend


@varied(
    ("fault", "answer"),
    [
        ({"kind": "uiautomator_output"}, "yes"),
        ({"kind": "uiautomator_output", "padding_kib": 65_536}, "HIERARCHY_TOO_LARGE"),
        ({"kind": "program", "program": "input"}, "GESTURE_FAILED"),
        ({"kind": "program", "program": "uiautomator"}, "BACKEND_UNAVAILABLE"),
        ({"kind": "program", "program": "uiautomator", "how": "rotate", "calls": [1]}, "yes"),
        ({"kind": "program", "program": "input", "how": "reboot"}, "DEVICE_SHELL_UNAVAILABLE"),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
    always=2,
)
async def test_faults_of_the_programs(connect: Connect, fault: dict[str, Any], answer: str) -> None:
    """Warnings before the XML, 20 MB of it, killed programs, a display that turns between tree and tap, a reboot."""
    bench = await connect(operator={"installed": False}, faults=[fault], start={"package": SETTINGS})
    phone = Phone(bench.engine, bench.world, bench.serial, "stock")
    assert (await phone.answer("click", {"matcher": {"textEquals": "Network & internet"}}))[0] == answer
    if answer == "yes":
        assert bench.world.ui.window().screen.activity != ".Settings", "the node was tapped where it is now"
