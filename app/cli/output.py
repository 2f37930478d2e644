"""The only writer of stdout. stdout is the answer: one JSON document, or text for eyes.

Text from devices is hostile. In JSON it can hide nothing, because ``engine/text/invisible.py`` escapes every hidden character; in
``pretty`` output ``visible`` makes it harmless, and rich never parses it as markup.
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

    from rich.console import RenderableType

READER_GONE = 141
"""Exit code after a closed pipe: what a shell reports for a program that SIGPIPE ended."""
SURELY_TAKEN = 4_096
"""Bytes that a pipe with any room takes whole (PIPE_BUF)."""
_UNBOUNDED = 10_000_000
"""Columns of a pipe: rows stay whole for ``grep``."""


class Answer:
    """What a command has to say: the JSON ``document``, and how people see it.

    ``view`` names a function of ``pretty`` that gets ``data`` (default: the document); without one the indented document is
    shown. ``failed`` makes the exit code 1. ``indent`` is for the one command whose JSON is indented by contract.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        view: str = "",
        data: object = None,
        failed: bool = False,
        indent: int | None = None,
    ) -> None:
        self.document = document
        self.view = view
        self.data = document if data is None else data
        self.failed = failed
        self.indent = indent


class Progress:
    """How much of what is written stdout has taken: exact wherever a signal may raise ``KeyboardInterrupt``."""

    def __init__(self) -> None:
        self.size = -1
        """Bytes, once they are known."""
        self.taken: list[int] = []

    @property
    def whole(self) -> bool:
        """Everything is out."""
        return sum(self.taken) == self.size


class CannotWriteError(Exception):
    """stdout does not take the answer; ``exit_code`` is what the process ends with."""

    def __init__(self, reason: str, exit_code: int) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


def stated_format(arguments: Iterable[str]) -> str:
    """``json`` or ``pretty`` as the command line asks, readable even where the rest of it is not.

    Agrees with the real parser on every line that the parser accepts: no value may start with a dash there.
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


def print_answer(answer: Answer, fmt: str, progress: Progress) -> None:
    """Write one command's answer in the asked-for format (``json`` or ``pretty``)."""
    if fmt == "pretty":
        _write(drawn(answer.view, answer.data), progress)
    else:
        _write(encode(answer.document, indent=answer.indent) + b"\n", progress)


def print_json(document: Mapping[str, Any] | Sequence[Any], *, indent: int | None = None) -> None:
    """Write one JSON document and a newline: compact, or indented."""
    _write(encode(document, indent=indent) + b"\n")


def encode(document: Mapping[str, Any] | Sequence[Any], *, indent: int | None = None) -> bytes:
    """UTF-8 JSON in which no character can steer a terminal or hide on it: JSON's own escapes keep the data the same."""
    import json

    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=False, separators=separators, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text.encode()
    from clawperator.engine.text.invisible import reveal

    return reveal(text, lambda character: json.dumps(character)[1:-1], spared="\n").encode()


def print_text(text: str) -> None:
    """Write text of our own as it is: help, versions, completion scripts."""
    _write(text.encode(errors="backslashreplace"))


def print_pretty(view: str, data: Any) -> None:
    """Draw ``data`` with the named function of ``pretty``; colours only on a terminal that wants them."""
    _write(drawn(view, data))


def drawn(view: str, data: Any) -> bytes:
    """What ``print_pretty`` writes."""
    from clawperator.app.cli.pretty import document

    return _rendered(getattr(document, view or "document")(data))


def print_renderables(renderables: Iterable[RenderableType]) -> None:
    _write(_rendered(renderables))


def _rendered(renderables: Iterable[RenderableType]) -> bytes:
    from rich.console import Console

    canvas = StringIO()
    terminal = is_terminal()
    console = Console(
        file=canvas,
        force_terminal=terminal,
        width=None if terminal else _UNBOUNDED,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for renderable in renderables:
        console.print(renderable)
    text = canvas.getvalue()
    if not terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    return text.encode(errors="backslashreplace")


async def write(data: bytes) -> None:
    """Write ``data`` whole; while the reader of stdout pauses, the event loop runs on and the caller can be cancelled."""
    for at in range(0, len(data), SURELY_TAKEN):
        await _reader_ready()
        _write(data[at : at + SURELY_TAKEN])


def has_room(stream: TextIO) -> bool:
    """Whether ``stream`` takes ``SURELY_TAKEN`` bytes at once, or nobody can know."""
    import select

    try:
        return bool(select.select([], [stream.fileno()], [], 0)[1])
    except (AttributeError, OSError, ValueError):  # no descriptor, or one that no system waits for
        return True


async def _reader_ready() -> None:
    """Return when stdout takes ``SURELY_TAKEN`` bytes at once. It is not made non-blocking: others may share it."""
    import asyncio

    if sys.stdout is None or has_room(sys.stdout):
        return
    try:
        descriptor = sys.stdout.fileno()
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(descriptor, ready.set)
    except (AttributeError, OSError, ValueError, NotImplementedError):  # no descriptor, or one that no system waits for
        return
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


def visible(text: object, *, lines: bool = False) -> str:
    """Device text with every hidden character spelled out; line feeds and tabs stay where ``lines`` is true."""
    from clawperator.engine.text import invisible

    return invisible.visible(str(text), lines=lines)


def is_terminal() -> bool:
    """Whether people look at stdout directly."""
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # closed
        return False


def _write(data: bytes, progress: Progress | None = None) -> None:
    """Write bytes whole: the encoding of the answer is UTF-8 wherever it goes."""
    stream = sys.stdout
    if stream is None:
        raise CannotWriteError("stdout is closed", READER_GONE)
    try:
        if isinstance(stream, StringIO):  # somebody collects the output of ``main`` in memory
            stream.write(data.decode())
            return
        stream.flush()
        buffer: Any = stream.buffer
        _pass_on(data, getattr(buffer, "raw", buffer), progress or Progress())
    except BrokenPipeError as exc:
        raise CannotWriteError("the reader of stdout closed the pipe", READER_GONE) from exc
    except (OSError, ValueError) as exc:
        raise CannotWriteError(f"stdout cannot be written: {exc}", 1) from exc


def _pass_on(data: bytes, raw: RawIOBase, progress: Progress) -> None:
    """Write past the buffer, which does not say what an interrupted write has left in it.

    Between a write and the note of what it took no bytecode runs: a signal is heard before both or after both.
    """
    progress.size = len(data)
    rest = memoryview(data)
    while rest:
        progress.taken.extend(filter(None, map(raw.write, (rest,))))
        done = sum(progress.taken)
        if done == len(data) - len(rest):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = memoryview(data)[done:]
