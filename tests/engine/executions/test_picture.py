from __future__ import annotations

from pathlib import Path

import pytest

from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build, screenshot
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks
from clawperator.engine.executions.run import refuse_unwritable_pictures
from clawperator.engine.executions.validate import validate
from clawperator.engine.facade import Engine
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.render import render_png
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario

PNG = b"\x89PNG\r\n\x1a\n" + b"body" + b"IEND\xaeB`\x82"


class Device:
    """Answers ``screencap`` with ``output``."""

    def __init__(self, output: bytes) -> None:
        self.output = output

    async def exec_out(self, argv: list[str], **_: float) -> bytes:
        assert argv == ["screencap", "-p"]
        return self.output


async def test_words_around_the_picture_are_cut_off() -> None:
    device = Device(b"WARNING: linker: unused DT entry\n" + PNG + b"\n")
    assert await screenshot.picture(device) == PNG  # type: ignore[arg-type]  # the one method that it uses


@pytest.mark.parametrize(
    ("output", "words"),
    [(b"", "empty output"), (b"Capturing failed.\n", "Capturing failed."), (PNG[:-6], "broke off after")],
)
async def test_what_is_no_picture_is_an_error_of_the_engine(output: bytes, words: str) -> None:
    with pytest.raises(EngineError) as caught:
        await screenshot.picture(Device(output))  # type: ignore[arg-type]  # the one method that it uses
    assert caught.value.code is ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT
    assert words in caught.value.message


async def test_a_picture_needs_neither_operator_nor_lock(tmp_path: Path) -> None:
    device = create_device(Scenario.model_validate({"operator": {"installed": False}}))
    async with Simulation([device], mode="server") as simulation:
        engine = Engine(Settings.resolve({"lock_dir": str(tmp_path)}, simulation.env()))
        async with DeviceLocks(engine.settings.lock_dir).hold(device.serial, Command.internal(build.doctor_ping())):
            assert await engine.picture() == render_png(device.ui)
        with pytest.raises(EngineError) as caught:
            await engine.picture(device_id="elsewhere")
        assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND


async def test_steps_whose_ids_give_one_file_name_are_no_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of files without a chosen path keep ASCII letters of the ids only, and not all of long ones."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("time.time_ns", lambda: 0)
    steps: list[dict[str, object]] = [
        {"id": name, "type": "take_screenshot"} for name in ("首页", "设置", "b" * 90 + "1", "b" * 90 + "2")
    ]
    execution = validate(build.single("test", "sleep") | {"actions": steps}).execution
    await refuse_unwritable_pictures(execution, overwrite=False)
    steps = [{**step, "params": {"path": str(tmp_path / "one.png")}} for step in steps]
    execution = validate(build.single("test", "sleep") | {"actions": steps}).execution
    with pytest.raises(EngineError, match="is written by two steps"):
        await refuse_unwritable_pictures(execution, overwrite=False)
