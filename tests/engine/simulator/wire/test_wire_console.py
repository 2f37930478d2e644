"""The emulator's console."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from clawperator.engine.simulator.console import GREETING, EmulatorConsole
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.listener import Listener
from tests.support import patience


async def say(device: SimulatedDevice, text: str, *, token: str = "") -> str:
    listener = Listener(EmulatorConsole(device, token=token).serve)
    await listener.listen("127.0.0.1")
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    try:
        writer.write(text.encode())
        async with asyncio.timeout(patience(5)):
            return (await reader.read()).decode()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        await listener.close()


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("avd name", "Pixel_7_API_34\r\nOK\r\n"),
        ("auth whatever", GREETING),
        ("nonsense", "KO: unknown command, try 'help'\r\n"),
        ("", ""),
    ],
)
async def test_answers_end_in_ok_or_ko(device: SimulatedDevice, command: str, answer: str) -> None:
    assert await say(device, f"{command}\r\nquit\r\n") == GREETING + answer


async def test_a_token_is_asked_for_but_not_for_the_name(device: SimulatedDevice) -> None:
    answer = await say(device, "kill\navd name\nauth wrong\nauth right\navd name\nquit\n", token="right")
    assert answer.startswith("Android Console: Authentication required\r\n")
    assert answer.endswith(
        "KO: unknown command, try 'help'\r\nPixel_7_API_34\r\nOK\r\n"
        "KO: authentication token does not match ~/.emulator_console_auth_token\r\n"
        + GREETING
        + "Pixel_7_API_34\r\nOK\r\n"
    )
    assert device.state == "device"


async def test_kill_takes_the_device_away(device: SimulatedDevice) -> None:
    assert (await say(device, "kill\nquit\n")).endswith("OK: killing emulator, bye bye\r\n")
    assert device.state == "offline"


async def test_an_endless_line_ends_the_connection(device: SimulatedDevice) -> None:
    with contextlib.suppress(ConnectionResetError):
        assert await say(device, "x" * 200_000) == GREETING
