"""What the stock backend adds to the shell commands that any host would send."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.shell_session import ShellSession
from tests.benchmarks.conftest import Phone, Report
from tests.benchmarks.raw_script import RawShell, click

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(180)]

NOTHING = {"operator": {"installed": False}}
AT_ONCE = {**NOTHING, "speed": 0}
PHONE_LIKE = {**NOTHING, "speed": 1, "latency_ms": {"round_trip": 20}}
"""A quiet second for each tree, 40 ms for each input, 20 ms for each round trip."""


async def side_by_side(phone: Phone, rounds: int, sent: _Sent) -> tuple[float, str]:
    """A click by the engine and the same scripts by hand in turns: the median ratio, and both medians in words."""
    raw = RawShell(phone.port, phone.serial)
    pairs: list[tuple[float, float]] = []
    settings = Settings.resolve({"device_id": phone.serial, "backend": "stock"}, phone.env)
    async with Engine(settings) as engine:
        for number in range(rounds + 1):
            sent.clear()
            began = time.perf_counter()
            assert (await engine.execute(click(f"c{number}"))).succeeded
            middle = time.perf_counter()
            await asyncio.to_thread(raw.run, sent.before, sent.session)
            pairs.append((middle - began, time.perf_counter() - middle))
    assert len(sent.session) == 2, "a tree and a tap"
    pairs = pairs[1:]
    ours, floor = (statistics.median(column) * 1_000 for column in zip(*pairs, strict=True))
    return statistics.median(mine / theirs for mine, theirs in pairs), f"{ours:.1f} / {floor:.1f} ms"


class _Sent:
    """The scripts of the last execution."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before: list[str] = []
        self.session: list[str] = []
        alone, shared = AdbDevice.script, ShellSession.run

        async def script(device: AdbDevice, text: str, **more: Any) -> Any:
            self.before.append(text)
            return await alone(device, text, **more)

        async def run(session: ShellSession, text: str, **more: Any) -> Any:
            self.session.append(text)
            return await shared(session, text, **more)

        monkeypatch.setattr(AdbDevice, "script", script)
        monkeypatch.setattr(ShellSession, "run", run)

    def clear(self) -> None:
        self.before.clear()
        self.session.clear()


@pytest.mark.parametrize("phone", [AT_ONCE], indirect=True, ids=["at once"])
def test_one_click_at_zero_latency(phone: Phone, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = _Sent(monkeypatch)
    what, floor = "stock backend: one click at zero latency", "raw-socket script of the same shell commands"
    report.ratio(what, floor, 3, lambda: asyncio.run(side_by_side(phone, 30, sent)))


@pytest.mark.parametrize("phone", [PHONE_LIKE], indirect=True, ids=["phone-like"])
def test_one_click_on_a_phone(phone: Phone, report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = _Sent(monkeypatch)
    what, floor = "stock backend: one click, phone-like latencies", "raw-socket script of the same shell commands"
    report.ratio(what, floor, 1.15, lambda: asyncio.run(side_by_side(phone, 2, sent)))
