"""The emulator's console: a text port on this computer that names the AVD and ends the emulator (android-facts 5c)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.writing import open_regular

HOST = "127.0.0.1"
TOKEN_FILE = ".emulator_console_auth_token"  # noqa: S105 - the name of a file
_OPEN_TO_ALL = ("avd name",)
"""Answered before anybody has shown a token."""
_LONGEST_LINE = 4096
_MOST_LINES = 200
_LONGEST_TOKEN = 256


def console_port(serial: str) -> int:
    """The console's port of ``emulator-NNNN``; 0 where the serial is no emulator's."""
    number = serial.removeprefix("emulator-")
    port = int(number) if number != serial and number.isascii() and number.isdigit() and len(number) <= 5 else 0
    return port if port < 65_536 else 0


async def ask(serial: str, command: str, env: Mapping[str, str], *, timeout: float) -> list[str]:
    """Lines that the console of ``serial`` answers before its ``OK``; ``adb -s <serial> emu <command>`` asks the same.

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
    """The AVD's name: the first line that says something. Raises like ``ask``."""
    for line in await ask(serial, "avd name", env, timeout=timeout):
        if line.strip():
            return line.strip()
    raise _failed(serial, "it names no AVD")


async def _converse(serial: str, command: str, env: Mapping[str, str]) -> list[str]:
    port = console_port(serial)
    if not port:
        raise ValueError("the serial names no console")
    reader, writer = await asyncio.open_connection(HOST, port, limit=_LONGEST_LINE)
    try:
        greeting = await _answer(reader)
        if command not in _OPEN_TO_ALL and any("auth <auth_token>" in line for line in greeting):
            writer.write(f"auth {_token(env)}\n".encode())
            await _answer(reader)
        writer.write(f"{command}\nquit\n".encode())
        return await _answer(reader, last_words=command == "kill")
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader, *, last_words: bool = False) -> list[str]:
    """Lines up to ``OK``. ``last_words``: the end of the connection is an answer, too."""
    lines: list[str] = []
    while len(lines) < _MOST_LINES:
        try:
            raw = await reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            if last_words:
                return lines
            raise
        line = raw.decode("utf-8", "replace").strip("\r\n")
        if line == "OK" or line.startswith("OK:"):
            return lines
        if line.startswith("KO"):
            raise ValueError(line)
        lines.append(line)
    raise ValueError("its answer does not end")


def _token(env: Mapping[str, str]) -> str:
    """Of the user's own file; empty where there is none (the console then asks for none)."""
    path = os.path.join(env.get("HOME") or os.path.expanduser("~"), TOKEN_FILE)
    try:
        with open_regular(path) as stream:
            return stream.readline(_LONGEST_TOKEN).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _failed(serial: str, reason: str) -> EngineError:
    message = f"the console of {serial} cannot be used: {reason}"
    return EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, message, details={"deviceId": serial})
