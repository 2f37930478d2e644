"""Every program of a device prints something odd, one at a time: each verb gives an answer or an error of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.services import TOOLBOX

RARELY = ("wm", "pm", "settings", "cmd", "am", "ps", "pidof", "date", "ime", "logcat")
PROGRAMS = ("getprop", "dumpsys", *(pytest.param(name, marks=pytest.mark.ci) for name in RARELY))
TEXTS = {
    "nothing": "",
    "a word": "null\n",
    "a minor level": "36.1\n",
    "a name": "VanillaIceCream\n",
    "other digits": "٣٤ ²\n",
    "many digits": "9" * 5_000 + "\n",
    "minus": "-1\n",
    "sizes": "Physical size: 99999999999x0\nPhysical density: ²\ncur=0x0\nmCurrentRotation=9\n",
    "uids": f"package:com.clawperator.operator uid:{'1' * 30},x\n",
    "an exception": "Exception occurred while executing:\njava.lang.SecurityException: no\n",
}
VERBS: dict[str, Callable[[Engine], Awaitable[object]]] = {
    "device info": lambda engine: engine.device_admin().info(),
    "device logs": lambda engine: engine.device_admin().logs(package="com.android.settings"),
    "device rotate": lambda engine: engine.device_admin().rotate("90"),
    "app clear": lambda engine: engine.device_admin().clear("com.example.shop"),
    "packages": lambda engine: engine.packages(),
    "status": lambda engine: engine.operator_app().status(),
    "crash log": lambda engine: engine.operator_app().crash_log(),
    "compatibility": lambda engine: engine.operator_app().compatibility(),
    "press": lambda engine: engine.execute(build.press_key("home"), timeout_ms=1_000),
    "snapshot": lambda engine: engine.snapshot(timeout_ms=1_000),
}
STOCK = {"press": VERBS["press"], "snapshot": VERBS["snapshot"]}


@pytest.fixture
async def visit(tmp_path: Path) -> AsyncIterator[tuple[Engine, SimulatedDevice]]:
    world = create_device(Scenario.model_validate({"speed": 0}))
    async with Simulation([world], mode="server") as simulation:
        env = {"HOME": str(tmp_path), "PATH": "/nowhere", **simulation.env()}
        async with Engine(Settings.resolve({}, env)) as engine:
            yield engine, world


def printing(text: str) -> Any:
    async def odd(process: Any) -> int:
        await process.out(text)
        return 0

    return odd


async def outcome(work: Awaitable[object]) -> str:
    try:
        await work
    except EngineError as exc:
        return exc.code.value
    return ""


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
@pytest.mark.parametrize("program", PROGRAMS)
async def test_no_verb_fails_without_knowing_why(
    visit: tuple[Engine, SimulatedDevice], monkeypatch: pytest.MonkeyPatch, program: str, text: str
) -> None:
    engine, _ = visit
    if program == "logcat":
        monkeypatch.setattr("clawperator.engine.executions.log_stream.ATTACH_SECONDS", 0.05)
        monkeypatch.setattr("clawperator.engine.executions.log_stream._NONCE_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr("clawperator.engine.simulator.services.TOOLBOX", {**TOOLBOX, program: printing(text)})
    found: dict[str, str] = {}
    for backend, verbs in (("operator", VERBS), ("stock", STOCK)):
        engine.use_backend(backend)
        for name, verb in verbs.items():
            found[f"{backend} {name}"] = await outcome(verb(engine))
    async for check in engine.doctor(backend="stock").checks():
        found[check.id] = check.code.value if check.code else ""
    wrong = {ErrorCode.UNKNOWN_RUNTIME_ERROR.value, ErrorCode.DOCTOR_FAILED.value}
    assert {name: code for name, code in found.items() if code in wrong} == {}
