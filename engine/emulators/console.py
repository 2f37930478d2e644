"""The emulator console: a TCP port on this computer that names the AVD and stops the emulator."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.text.numbers import whole_number

HOST = "127.0.0.1"
TOKEN_FILE = ".emulator_console_auth_token"  # noqa: S105 - the name of a file
_UNAUTHENTICATED = ("avd name",)
"""Commands that need no token."""
_LONGEST_LINE = 4096
_MOST_LINES = 200
_LONGEST_TOKEN = 256


def console_port(serial: str) -> int:
    """Return the console port of ``emulator-NNNN``; 0 for any other serial."""
    number = serial.removeprefix("emulator-")
    port = (whole_number(number, digits=5) or 0) if number != serial else 0
    return port if port < 65_536 else 0


async def ask(serial: str, command: str, env: Mapping[str, str], *, timeout: float) -> list[str]:
    """Send a command to the console of ``serial``, as ``adb emu`` does, and return the lines before its ``OK``.

    Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE): no console, no answer within ``timeout`` seconds, or a refusal (``KO``).
    """
    try:
        async with asyncio.timeout(timeout):
            return await _converse(serial, command, env)
    except TimeoutError as exc:
        raise _failed(serial, f"no answer within {timeout:g} s") from exc
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as exc:
        raise _failed(serial, str(exc) or type(exc).__name__) from exc


async def avd_name(serial: str, env: Mapping[str, str], *, timeout: float) -> str:
    """Return the AVD's name. Raises as ``ask`` does."""
    for line in await ask(serial, "avd name", env, timeout=timeout):
        if line.strip():
            return line.strip()
    raise _failed(serial, "it reported no AVD name")


async def _converse(serial: str, command: str, env: Mapping[str, str]) -> list[str]:
    port = console_port(serial)
    if not port:
        raise ValueError("this serial has no console port")
    reader, writer = await asyncio.open_connection(HOST, port, limit=_LONGEST_LINE)
    try:
        greeting = await _answer(reader)
        if command not in _UNAUTHENTICATED and any("auth <auth_token>" in line for line in greeting):
            writer.write(f"auth {_token(env)}\n".encode())
            await _answer(reader)
        writer.write(f"{command}\nquit\n".encode())
        return await _answer(reader, may_close=command == "kill")
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader, *, may_close: bool = False) -> list[str]:
    """Return the lines before ``OK``. ``may_close``: a closed connection ends the answer, too."""
    lines: list[str] = []
    while len(lines) < _MOST_LINES:
        try:
            raw = await reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            if may_close:
                return lines
            raise
        line = raw.decode("utf-8", "replace").strip("\r\n")
        if line == "OK" or line.startswith("OK:"):
            return lines
        if line.startswith("KO"):
            raise ValueError(line)
        lines.append(line)
    raise ValueError(f"its answer has more than {_MOST_LINES} lines")


def _token(env: Mapping[str, str]) -> str:
    """Return the token from the user's file; empty without one (then the console requires none)."""
    path = os.path.join(env.get("HOME") or os.path.expanduser("~"), TOKEN_FILE)
    try:
        with open_regular(path) as stream:
            return stream.readline(_LONGEST_TOKEN).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _failed(serial: str, reason: str) -> EngineError:
    message = f"The console of {serial} cannot be used: {reason}"
    return EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, message, details={"deviceId": serial})
