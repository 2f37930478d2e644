"""The only writer of stdout, which gets the answer: one JSON document, or human-readable output.

Text from devices is hostile. In JSON ``encode`` escapes every hidden character; in human-readable output ``visible`` does, and
rich never parses it as markup.
"""

from __future__ import annotations

import errno
import os
import sys
from io import StringIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from io import RawIOBase
    from typing import Any, TextIO

READER_GONE = 141
"""Exit code after a closed pipe: what a shell reports for a program that SIGPIPE ended."""
PIPE_BYTES = 4_096
"""Bytes that a pipe with any room takes whole (PIPE_BUF)."""


class Progress:
    """How much stdout has taken: exact wherever a signal may raise ``KeyboardInterrupt``."""

    def __init__(self) -> None:
        self.size = -1
        """Bytes to write; -1 until they are known."""
        self.taken: list[int] = []

    @property
    def whole(self) -> bool:
        """Whether everything is written."""
        return sum(self.taken) == self.size


class CannotWriteError(Exception):
    """stdout cannot be written; the process ends with ``exit_code``."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


def stated_format(arguments: Iterable[str]) -> str:
    """Return ``json`` or ``pretty`` as chosen, also on a command line that the parser refuses.

    Agrees with the parser on every line that it accepts: no value may start with a dash there.
    """
    previous = ""
    answer = "json"
    for argument in arguments:
        if argument == "--":
            break
        if argument in ("--output=pretty", "--format=pretty") or (
            argument == "pretty" and previous in ("--output", "--format")
        ):
            answer = "pretty"
        previous = argument
    return answer


def print_bytes(data: bytes, progress: Progress) -> None:
    """Write ``data`` and record in ``progress`` how much of it stdout took."""
    _write(data, progress)


def print_json(document: Mapping[str, Any] | Sequence[Any], *, indent: int | None = None) -> None:
    """Write one JSON document and a newline: compact, or indented."""
    _write(encode(document, indent=indent) + b"\n")


def encode(document: Mapping[str, Any] | Sequence[Any], *, indent: int | None = None) -> bytes:
    """Return UTF-8 JSON in which hidden characters and those that control a terminal are JSON escapes."""
    import json

    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=False, separators=separators, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text.encode()
    from clawperator.engine.text.invisible import reveal

    return reveal(text, lambda character: json.dumps(character)[1:-1], spared="\n").encode()


def print_text(text: str) -> None:
    """Write text of the product as it is: help, versions, completion scripts."""
    _write(text.encode(errors="backslashreplace"))


async def write(data: bytes) -> None:
    """Write ``data`` whole without blocking the event loop while the reader of stdout pauses."""
    for at in range(0, len(data), PIPE_BYTES):
        await _reader_ready()
        _write(data[at : at + PIPE_BYTES])


def has_room(stream: TextIO) -> bool:
    """Whether ``stream`` takes ``PIPE_BYTES`` bytes at once, or it cannot be known."""
    import select

    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (AttributeError, OSError, ValueError):  # no descriptor, or one that cannot be polled
        return True


async def _reader_ready() -> None:
    """Return when stdout takes ``PIPE_BYTES`` bytes at once. It stays blocking: other processes may share it."""
    import asyncio

    if sys.stdout is None or has_room(sys.stdout):
        return
    try:
        descriptor = sys.stdout.fileno()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(descriptor, ready.set)
    except (AttributeError, OSError, ValueError, NotImplementedError):  # no descriptor, or one that cannot be polled
        return
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


def visible(text: object, *, lines: bool = False) -> str:
    """Return device text with every hidden character spelled out; line feeds and tabs stay where ``lines`` is true."""
    from clawperator.engine.text import invisible

    return invisible.visible(str(text), lines=lines)


def is_terminal() -> bool:
    """Whether stdout is a terminal."""
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # closed
        return False


def _write(data: bytes, progress: Progress | None = None) -> None:
    """Write all bytes. Raises ``CannotWriteError``."""
    stream = sys.stdout
    if stream is None:
        raise CannotWriteError("stdout is closed", READER_GONE)
    try:
        if isinstance(stream, StringIO):  # the caller of ``main`` collects its output in memory
            stream.write(data.decode())
            return
        stream.flush()
        buffer: Any = stream.buffer
        _write_raw(data, getattr(buffer, "raw", buffer), progress or Progress())
    except BrokenPipeError as exc:
        raise CannotWriteError("the reader of stdout closed the pipe", READER_GONE) from exc
    except (OSError, ValueError) as exc:
        raise CannotWriteError(f"stdout cannot be written: {exc}", 1) from exc


def _write_raw(data: bytes, raw: RawIOBase, progress: Progress) -> None:
    """Write past the buffer, which does not tell what an interrupted write has left in it.

    No bytecode runs between a write and the record of what it took: a signal is handled before both or after both.
    """
    progress.size = len(data)
    rest = memoryview(data)
    while rest:
        progress.taken.extend(filter(None, map(raw.write, (rest,))))
        done = sum(progress.taken)
        if done == len(data) - len(rest):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = memoryview(data)[done:]
