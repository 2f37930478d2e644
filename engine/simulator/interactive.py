"""An interactive ``adb shell``: a prompt, echo, and the keys of a terminal's line discipline."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from typing import Final

from clawperator.engine.simulator.shell import Shell
from clawperator.engine.simulator.shell_syntax import ShellSyntaxError, parse
from clawperator.engine.simulator.streams import InputStream, Notifier, Sink

INTERRUPT: Final = 3
END: Final = 4
KILL_LINE: Final = 21
BACKSPACES: Final = (8, 127)
INTERRUPTED: Final = 130
MAX_LINE: Final = 4096


async def run_interactive(shell: Shell, *, prompt: str) -> int:
    """Read lines and run them until ``exit`` or the end of the input; ``{cwd}`` in ``prompt`` is the current folder.

    Keys typed while a command runs are that command's input. ^C ends the command (or discards the line), ^D on an empty
    line ends the input: the command's, or at the prompt the shell's.
    """
    async with asyncio.TaskGroup() as tasks:
        keyboard = _Keyboard(shell.streams.stdin, shell.streams.stdout)
        typing = tasks.create_task(keyboard.run(), name="keyboard")
        text = ""
        while not shell.left:
            await shell.streams.stdout.write(b"> " if text else prompt.format(cwd=shell.cwd).encode())
            line = await keyboard.fetch()
            if not line:
                break
            text = "" if line == keyboard.FORGET else text + line.decode("utf-8", "surrogateescape")
            if text and not _incomplete(text):
                await _run(shell, keyboard, text, tasks)
                text = ""
        typing.cancel()
    return shell.status


def _incomplete(text: str) -> bool:
    try:
        parse(text)
    except ShellSyntaxError as exc:
        return exc.incomplete
    return False


async def _run(shell: Shell, keyboard: _Keyboard, text: str, tasks: asyncio.TaskGroup) -> None:
    """Run one command in the foreground."""
    terminal = shell.streams
    shell.streams = replace(terminal, stdin=InputStream(keyboard.fetch))
    keyboard.foreground = tasks.create_task(shell.run(text), name="command at the terminal")
    await asyncio.wait({keyboard.foreground})
    if keyboard.foreground.cancelled():
        shell.status = INTERRUPTED
    keyboard.foreground = None
    shell.streams = terminal


class _Keyboard:
    """Turns keys into lines, with echo.

    As on a device, the shell's line editor echoes what it reads: pasted lines appear one by one, each at its prompt; keys
    typed while a command runs are echoed at once.
    """

    FORGET: Final = b"\x03"

    def __init__(self, keys: InputStream, screen: Sink) -> None:
        self.foreground: asyncio.Task[int] | None = None
        self._keys, self._screen = keys, screen
        self._line = bytearray()
        self._pending = bytearray()
        """Received, but not echoed yet."""
        self._lost = False
        self._arrived = Notifier()
        self._typed: deque[bytes] = deque()

    async def fetch(self) -> bytes:
        """The next line; ``b""`` for ^D or (each time) a lost terminal, ``FORGET`` for ^C at the prompt."""
        while not self._typed:
            if self._pending:
                await self._press(self._pending.pop(0))
            elif self._lost:
                return b""
            else:
                await self._arrived.wait()
        return self._typed.popleft()

    async def run(self) -> None:
        while data := await self._keys.read():
            if self.foreground is not None and INTERRUPT in data:
                data = data.rpartition(bytes((INTERRUPT,)))[2]
                await self._interrupt()
            keys = bytearray(data)
            while keys and self.foreground is not None and not self._pending:
                await self._press(keys.pop(0))
            self._pending += keys
            self._arrived.notify()
        self._lost = True
        self._arrived.notify()

    async def _press(self, key: int) -> None:
        if key == INTERRUPT:
            await self._interrupt()
        elif key == END:
            if not self._line:
                self._typed.append(b"")
        elif key in BACKSPACES:
            if self._line:
                self._erase()
                await self._screen.write(b"\b \b")
        elif key == KILL_LINE:
            width = len(self._line.decode("utf-8", "replace"))
            self._line.clear()
            await self._screen.write(b"\b \b" * width)
        elif key in b"\r\n":
            await self._screen.write(b"\n")
            self._typed.append(bytes(self._line) + b"\n")
            self._line.clear()
        elif key >= 32 and len(self._line) < MAX_LINE:
            self._line.append(key)
            await self._screen.write(bytes((key,)))

    async def _interrupt(self) -> None:
        """Discard the input typed ahead, too."""
        if self.foreground is not None:
            self._pending.clear()
        self._line.clear()
        self._typed.clear()
        await self._screen.write(b"^C\n")
        if self.foreground is None:
            self._typed.append(self.FORGET)
        else:
            self.foreground.cancel()

    def _erase(self) -> None:
        """Erase one character with its continuation bytes."""
        while self._line and self._line.pop() & 0xC0 == 0x80:
            pass
