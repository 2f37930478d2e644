"""What a device says about itself, including nonsense and refusals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.engine.adb.device import ShellResult
from clawperator.engine.adb.phones import Phones
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.probe import DeviceFacts, Probe

PACKAGE = "com.clawperator.operator"


class Answers:
    """A device that gives prepared results in turn."""

    serial = "emulator-5554"
    transport_id = 1
    server = SimpleNamespace(phones=Phones())

    def __init__(self, *results: tuple[str, int]) -> None:
        self._results = [ShellResult(out.encode(), b"", code) for out, code in results]

    async def script(self, *_: Any) -> ShellResult:
        return self._results.pop(0)

    shell = script


async def facts(*results: tuple[str, int]) -> DeviceFacts:
    device: Any = Answers(*results)
    return await Probe().facts(device, PACKAGE)


async def test_version_and_variants() -> None:
    listed = (
        f"34\npackage:{PACKAGE}.dev uid:10191\npackage:{PACKAGE} uid:10190,1010190\npackage:{PACKAGE}.other uid:1\n"
    )
    assert await facts((listed, 0)) == DeviceFacts(34, {PACKAGE: 10190, f"{PACKAGE}.dev": 10191})


async def test_an_old_package_manager_knows_no_uids() -> None:
    refused, names = "23\nError: Unknown option: -U\n", f"package:{PACKAGE}\n"
    assert await facts((refused, 1), (names, 0)) == DeviceFacts(23, {PACKAGE: -1})


async def test_a_package_manager_that_ignores_the_option_for_uids() -> None:
    assert await facts((f"30\npackage:{PACKAGE}\n", 0)) == DeviceFacts(30, {PACKAGE: -1})


@pytest.mark.parametrize("code", [0, 20])
async def test_a_package_manager_that_does_not_answer_is_not_an_absent_app(code: int) -> None:
    down = "cmd: Can't find service: package\n"
    assert await facts((f"34\n{down}", code), (down, code)) == DeviceFacts(34, {}, listed=False)


async def test_an_absent_app_is_known_to_be_absent() -> None:
    assert await facts(("34\n", 0)) == DeviceFacts(34, {}, listed=True)


@pytest.mark.parametrize("answer", ["", "\n", "thirty-four\n", "²\n", "٣٤\n", "9" * 5_000])
async def test_nonsense_is_refused(answer: str) -> None:
    with pytest.raises(EngineError, match="Android version") as caught:
        await facts((answer, 0))
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE


async def test_a_device_that_was_away_is_asked_again() -> None:
    device: Any = Answers((f"34\npackage:{PACKAGE} uid:1\n", 0), (f"34\npackage:{PACKAGE} uid:2\n", 0), ("nonsense", 0))
    probe = Probe()
    first = await probe.facts(device, PACKAGE)
    probe.keep_only({device.serial, "another"})
    assert await probe.facts(device, PACKAGE) is first
    probe.keep_only({"another"})
    assert (await probe.facts(device, PACKAGE)).packages == {PACKAGE: 2}
    probe.forget(device.serial)
    with pytest.raises(EngineError):
        await probe.facts(device, PACKAGE)
