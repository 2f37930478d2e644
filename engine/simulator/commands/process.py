"""What a command of the device sees: its arguments, its three streams, the device, and how to fail."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from getopt import GetoptError, getopt, gnu_getopt

from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.streams import Input, Sink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.simulator.shell import Shell, Streams


class CommandError(Exception):
    """The command ends: ``message`` goes to stderr (nothing if empty), ``status`` is its exit code."""

    def __init__(self, message: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(slots=True)
class Process:
    """One running command. Text is UTF-8 on the wire; bytes that are none travel as surrogate escapes."""

    argv: Sequence[str]
    device: SimulatedDevice
    shell: Shell
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
    def stdin(self) -> Input:
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

    def options(
        self, short: str, long: Sequence[str] = (), *, digits: bool = False
    ) -> tuple[dict[str, str], list[str]]:
        """Options without dashes (the last one wins), and operands; ``digits`` reads ``-20`` as ``-n 20``.

        Raises CommandError in toybox's words. A leading ``+`` in ``short`` stops at the first operand.
        """
        words = self.arguments
        if digits:
            words = [f"-n{word[1:]}" if word[:1] == "-" and word[1:].isdigit() else word for word in words]
        parse = getopt if short.startswith("+") else gnu_getopt
        try:
            pairs, operands = parse(words, short.removeprefix("+"), list(long))
        except GetoptError as exc:
            raise CommandError(f"{self.name}: Unknown option '{exc.opt}' (see \"{self.name} --help\")") from exc
        return {key.lstrip("-"): value for key, value in pairs}, operands

    def require(self, words: list[str], count: int = 1) -> list[str]:
        """``words``, which are at least ``count``. Raises CommandError in toybox's words."""
        if len(words) < count:
            plural = "" if count == 1 else "s"
            raise CommandError(f'{self.name}: Needs {count} argument{plural} (see "{self.name} --help")')
        return words


Command = Callable[[Process], Awaitable[int]]


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
