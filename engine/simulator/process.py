"""A running command of the device: its arguments, its streams, its shell."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from getopt import GetoptError, getopt, gnu_getopt
from typing import Final, Protocol

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.shell_tree import Script
from clawperator.engine.simulator.streams import InputStream, Sink, Streams

SHELL: Final = "/system/bin/sh"


class ShellSession(Protocol):
    """The shell that runs a command, as commands and built-ins use it."""

    cwd: str
    uid: int
    status: int
    nesting: int
    streams: Streams
    parameters: list[str]
    variables: dict[str, str]

    @property
    def device(self) -> SimulatedDevice: ...
    @property
    def pid(self) -> int: ...
    @property
    def command_line(self) -> str: ...
    @property
    def tty(self) -> bool: ...
    def find(self, name: str) -> Command | None: ...
    def child(self, process: Process, parameters: Sequence[str] | None) -> ShellSession: ...
    async def run(self, script: str) -> int: ...
    async def run_input(self) -> int: ...
    async def run_script(self, script: Script, streams: Streams) -> None: ...
    async def execute(
        self,
        argv: Sequence[str],
        streams: Streams,
        variables: Mapping[str, str] | None = None,
    ) -> int: ...


@dataclass(slots=True)
class Process:
    """One running command. Text is UTF-8 on the wire; bytes that are none travel as surrogate escapes."""

    argv: Sequence[str]
    device: SimulatedDevice
    shell: ShellSession
    streams: Streams
    variables: Mapping[str, str]
    uid: int

    @property
    def name(self) -> str:
        return posixpath.basename(self.argv[0])

    @property
    def arguments(self) -> list[str]:
        return list(self.argv[1:])

    @property
    def stdin(self) -> InputStream:
        return self.streams.stdin

    @property
    def stdout(self) -> Sink:
        return self.streams.stdout

    async def out(self, text: str) -> None:
        await self.streams.stdout.write(encode(text))

    async def lines(self, lines: Iterable[str]) -> None:
        await self.out("".join(f"{line}\n" for line in lines))

    async def error(self, message: str) -> None:
        """A line on stderr."""
        await self.streams.stderr.write(encode(f"{message}\n"))

    async def complain(self, message: str) -> None:
        """A line on stderr that begins with the command's name, as toybox does."""
        await self.error(f"{self.name}: {message}")

    def path(self, name: str) -> str:
        """``name`` as an absolute path."""
        return posixpath.normpath(posixpath.join(self.shell.cwd, name))

    def read(self, name: str) -> bytes:
        """A file's bytes, with the caller's rights. Raises OSError."""
        return self.device.files.read(self.path(name), uid=self.uid)

    async def contents(self, name: str) -> bytes:
        """A file's bytes; ``-`` is standard input."""
        return await self.stdin.all() if name == "-" else self.read(name)

    def options(self, short: str, long: Sequence[str] = ()) -> tuple[dict[str, str], list[str]]:
        """Options without dashes (the last one wins), and operands.

        Raises CommandError with toybox's text. A leading ``+`` in ``short`` stops at the first operand.
        """
        parse = getopt if short.startswith("+") else gnu_getopt
        try:
            pairs, operands = parse(self.arguments, short.removeprefix("+"), list(long))
        except GetoptError as exc:
            raise CommandError(f"{self.name}: Unknown option '{exc.opt}' (see \"{self.name} --help\")") from exc
        return {key.lstrip("-"): value for key, value in pairs}, operands

    def require(self, words: list[str], count: int = 1) -> list[str]:
        """Return ``words``. Raises CommandError with toybox's text for fewer than ``count``."""
        if len(words) < count:
            plural = "" if count == 1 else "s"
            raise CommandError(f'{self.name}: Needs {count} argument{plural} (see "{self.name} --help")')
        return words


Command = Callable[[Process], Awaitable[int]]
Service = Callable[[Process, list[str]], Awaitable[int]]
"""A verb or a system service: the arguments may come from ``cmd SERVICE …`` as well."""


def command_of(service: Service) -> Command:
    """The command that passes all of its arguments to ``service``."""
    return lambda process: service(process, process.arguments)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
