"""The only writer of stderr: notes, warnings, progress and questions."""

from __future__ import annotations

import sys

from clawperator.app.cli.output import PIPE_BYTES, has_room, visible

_PIPE_CHARACTERS = PIPE_BYTES // 4
"""UTF-8 has at most four bytes for each."""
_lost = 0
"""Messages that stderr had no room for."""


def traceback(error: Exception) -> None:
    """Write where an unexpected exception came from."""
    from traceback import format_exception

    _write(visible("".join(format_exception(error)), lines=True))


def warn(text: str) -> None:
    _write(f"[clawperator] WARN: {visible(text)}\n")


def note(text: str) -> None:
    """Write one line of information that is in no document."""
    _write(f"[clawperator] {visible(text)}\n")


def raw(line: str) -> None:
    """Write a line for programs, in which hidden characters are escaped already."""
    _write(f"{line}\n")


def redraw(text: str) -> None:
    """Replace the last line of the terminal; an empty text clears it."""
    import shutil

    room = max(shutil.get_terminal_size().columns - 1, 1)
    _write(f"\r\x1b[K{visible(text)[:room]}")


def is_terminal() -> bool:
    """Whether stderr is a terminal."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def takes(text: str) -> bool:
    """Whether the encoding of stderr has these characters."""
    try:
        text.encode((sys.stderr and sys.stderr.encoding) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def can_ask() -> bool:
    """Whether stdin and stderr are terminals, so that a person can answer a question."""
    try:
        return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    except ValueError:  # closed
        return False


def ask(question: str) -> bool:
    """Ask on the terminal; only ``y`` and ``yes`` mean yes."""
    _write(f"{visible(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def prompt(question: str) -> str:
    """Ask on the terminal for a line."""
    _write(visible(question))
    return read_line()


def read_line() -> str:
    """Return one line of stdin without its end; empty if stdin cannot be read."""
    try:
        return sys.stdin.readline(4096).strip() if sys.stdin is not None else ""
    except (OSError, ValueError):  # closed, or not text
        return ""


def _write(text: str) -> None:
    """Write to stderr; errors are ignored, as they must not cost the answer.

    In an event loop it does not wait for the reader: messages without room are counted, and the count is shown later.
    """
    global _lost  # noqa: PLW0603 -- of the process, as stderr is
    if sys.stderr is None:
        return
    may_block = not _in_event_loop()
    if _lost and (may_block or has_room(sys.stderr)):
        text, _lost = f"[clawperator] WARN: {_lost} messages were not shown: stderr was not read\n{text}", 0
    try:
        for at in range(0, len(text), _PIPE_CHARACTERS):
            if not (may_block or has_room(sys.stderr)):
                _lost += 1
                return
            sys.stderr.write(text[at : at + _PIPE_CHARACTERS])
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")  # not imported for this: light commands have none
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False
