"""The emulator's console: the text port beside the adb port, used by ``adb emu …`` (android-facts 5c)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from clawperator.engine.simulator.device import SimulatedDevice

GREETING: Final = "Android Console: type 'help' for a list of commands\r\nOK\r\n"
AUTH_GREETING: Final = (
    "Android Console: Authentication required\r\n"
    "Android Console: type 'auth <auth_token>' to authenticate\r\n"
    "Android Console: you can find your <auth_token> in \r\n'{file}'\r\nOK\r\n"
)
TOKEN_FILE: Final = "~/.emulator_console_auth_token"  # noqa: S105 - the name of a file
BEFORE_AUTH: Final = frozenset({"auth", "avd", "quit", "exit"})


class EmulatorConsole:
    """Serves any number of connections; an empty ``token`` means no authentication.

    ``on_kill`` is called for ``kill``; without it, the device disconnects from adb.
    """

    def __init__(
        self, device: SimulatedDevice, *, token: str = "", on_kill: Callable[[], object] | None = None
    ) -> None:
        self._device = device
        self._token = token
        self._on_kill = on_kill or device.disconnect

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until ``quit`` or its end."""
        trusted = not self._token
        writer.write((GREETING if trusted else AUTH_GREETING.format(file=TOKEN_FILE)).encode())
        try:
            while line := await reader.readuntil(b"\n"):
                words = line.decode("utf-8", "replace").split()
                if not words:
                    continue
                if words[0] in ("quit", "exit"):
                    break
                if words[0] == "auth":
                    trusted = trusted or words[1:] == [self._token]
                    answer = (
                        GREETING
                        if trusted
                        else "KO: authentication token does not match ~/.emulator_console_auth_token\r\n"
                    )
                elif not trusted and words[0] not in BEFORE_AUTH:
                    answer = "KO: unknown command, try 'help'\r\n"
                else:
                    answer = self.answer(words)
                writer.write(answer.encode())
                await writer.drain()
        except (EOFError, asyncio.LimitOverrunError):
            pass

    def answer(self, words: list[str]) -> str:
        """The output of a command, up to its ``OK`` or ``KO``."""
        match words:
            case ["avd", "name"]:
                return f"{self._device.avd_name}\r\nOK\r\n"
            case ["kill"]:
                self._on_kill()
                return "OK: killing emulator, bye bye\r\n"
            case _:
                return "KO: unknown command, try 'help'\r\n"
