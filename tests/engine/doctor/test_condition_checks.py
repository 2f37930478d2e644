"""Screen, log buffer and clock: from the words of several Androids, and from any text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.doctor import device_health
from tests.engine.doctor.conftest import Admit
from tests.support import table

DEVICE = "R5CT 1"


def part(text: str, exit_code: int = 0) -> BatchOutput:
    return BatchOutput(text.encode(), exit_code)


@table(
    ("power", "policy", "status", "summary"),
    [
        ("  mWakefulness=Awake\n", "      showing=false\n", "pass", "The screen is on and unlocked"),
        ("  mWakefulness=Asleep\n", "      showing=false\n", "warn", "The screen is off (Asleep)"),
        ("  mWakefulness=Dozing\n", "", "warn", "The screen is off (Dozing)"),
        ("Display Power: state=OFF\n", "", "warn", "The screen is off (OFF)"),
        ("  mScreenOn=true\n", "    mShowingLockscreen=true mShowingDream=false\n", "warn", "The device is locked"),
        ("  mWakefulness=Awake\n", "  mStatusBar=null isStatusBarKeyguard=true\n", "warn", "The device is locked"),
        ("  mWakefulness=Awake\n", "", "warn", "The screen is on; whether it is locked could not be read"),
        ("null", "null", "warn", "The screen state could not be read"),
    ],
)
def test_screen(power: str, policy: str, status: str, summary: str) -> None:
    check = device_health.screen(part(power), part(policy), DEVICE)
    assert (check.status, check.summary, check.code) == (status, summary, None)


def test_what_to_do_about_a_dark_screen_is_quoted_for_the_shell() -> None:
    check = device_health.screen(part("mWakefulness=Asleep"), part(""), DEVICE)
    assert check.fix[0].value == "clawperator device wake --device-id 'R5CT 1'"


@table(
    ("text", "size", "used", "status"),
    [
        (
            "main: ring buffer is 5 MiB (25 KiB consumed, 1 KiB readable), max entry is 5120 B",
            5 << 20,
            25 << 10,
            "pass",
        ),
        ("main: ring buffer is 256 KiB (240 KiB consumed, 239 KiB readable), max entry", 256 << 10, 240 << 10, "pass"),
        ("main: ring buffer is 64KiB (64KiB consumed), max entry is 5120B", 64 << 10, 64 << 10, "warn"),
        ("main: ring buffer is 256Kb (255Kb consumed), max entry is 5120b", 256 << 10, 255 << 10, "pass"),
        ("/dev/log/main: ring buffer is 64Kb (63Kb consumed), max entry", 64 << 10, 63 << 10, "warn"),
        ("system: ring buffer is 64 KiB (1 B consumed)\nmain: ring buffer is 1 MiB (0 B consumed)", 1 << 20, 0, "pass"),
    ],
)
def test_log_buffer(text: str, size: int, used: int, status: str) -> None:
    check = device_health.log_buffer(part(text), DEVICE)
    assert (check.status, check.evidence) == (status, {"sizeBytes": size, "usedBytes": used})


@table(
    ("text", "summary"),
    [
        ("1000030\n", "The clocks of device and host agree"),
        ("1000090", "The device's clock is 90 s ahead of this computer's"),
        ("999000\r\n", "The device's clock is 16 min behind this computer's"),
        ("0", "The device's clock is 11 days behind this computer's"),
        ("%s", "The device's clock could not be read"),
        ("1e9", "The device's clock could not be read"),
        ("9" * 4000, "The device's clock could not be read"),
    ],
)
def test_clock(text: str, summary: str) -> None:
    check = device_health.clock(part(text), 1_000_000.9)
    assert check.summary == summary
    assert (check.status == "pass") == (summary == "The clocks of device and host agree")


@given(st.text(), st.text(), st.integers(0, 255))
def test_no_text_is_too_odd(one: str, two: str, exit_code: int) -> None:
    checks = [
        device_health.screen(part(f"mWakefulness={one}", exit_code), part(f" showing={two}\n{one}"), DEVICE),
        device_health.log_buffer(part(f"main: ring buffer is {one} ({two} consumed", exit_code), DEVICE),
        device_health.clock(part(one, exit_code), 0.0),
    ]
    for check in checks:
        assert check.status in ("pass", "warn")
        assert check.code is None


@pytest.mark.parametrize(
    ("device", "check_id"),
    [
        ({"awake": False}, "device.screen"),
        ({"locked": True}, "device.screen"),
        ({"log_buffer_kib": 64}, "device.log_buffer"),
        ({"clock_skew_ms": -120_000}, "device.clock"),
        ({"clock_skew_ms": 86_400_000}, "device.clock"),
    ],
)
@pytest.mark.parametrize("sdk", [23, 34])
async def test_on_a_simulated_device(admit: Admit, device: dict[str, Any], check_id: str, sdk: int) -> None:
    patient = await admit(device={**device, "sdk": sdk})
    checks = await patient.by_id()
    elsewhere = {"readiness.handshake"} | ({"stock.programs"} if sdk < 24 else set())
    assert {name for name, check in checks.items() if check.status != "pass"} - elsewhere == {check_id}
