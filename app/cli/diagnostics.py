"""The only writer of stderr, and the only place that decides exit codes. stderr is the story, stdout the answer."""

from __future__ import annotations

import sys

from clawperator.app.cli.output import SURELY_TAKEN, has_room, visible
from clawperator.app.interrupts import INTERRUPTED
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.output import Answer

_SURELY_TAKEN = SURELY_TAKEN // 4
"""Characters: UTF-8 has at most four bytes for each."""
_lost = 0
"""Messages that stderr had no room for."""


def exit_code(outcome: Answer | EngineError) -> int:
    """0 for an answer, 1 for a failed one, the table's code for an error, 130 for an interrupt."""
    if isinstance(outcome, EngineError):
        return INTERRUPTED if outcome.code is ErrorCode.INTERRUPTED else outcome.code.exit_code
    return 1 if outcome.failed else 0


def unexpected(error: Exception) -> EngineError:
    """The error object of something that nobody foresaw."""
    return EngineError(
        ErrorCode.UNKNOWN, str(error) or type(error).__name__, details={"exception": type(error).__name__}
    )


def traceback(error: Exception) -> None:
    """Where an unexpected exception came from; only for ``--verbose``."""
    from traceback import format_exception

    _write(visible("".join(format_exception(error)), lines=True))


def warn(text: str) -> None:
    _write(f"[clawperator] WARN: {visible(text)}\n")


def note(text: str) -> None:
    """One line of the story (``--verbose``, and news that belongs to no document)."""
    _write(f"[clawperator] {visible(text)}\n")


def raw(line: str) -> None:
    """A line for machines, in which nothing has to be made visible any more."""
    _write(f"{line}\n")


def redraw(text: str) -> None:
    """The last line of the terminal, written over what stood there; an empty text leaves it empty."""
    import shutil

    room = max(shutil.get_terminal_size().columns - 1, 1)
    _write(f"\r\x1b[K{visible(text)[:room]}")


def is_terminal() -> bool:
    """Whether people look at stderr directly."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # closed
        return False


def takes(text: str) -> bool:
    """Whether stderr has these characters in its encoding."""
    try:
        text.encode((sys.stderr and sys.stderr.encoding) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def can_ask() -> bool:
    """Whether a person sits at the terminal, reads what we say there and can answer."""
    try:
        return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    except ValueError:  # closed
        return False


def ask(question: str) -> bool:
    """Ask the person at the terminal; only ``y`` and ``yes`` mean yes."""
    _write(f"{visible(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def prompt(question: str) -> str:
    """Ask the person at the terminal for a line."""
    _write(visible(question))
    return read_line()


def read_line() -> str:
    """One line of stdin, without its end; empty where there is none."""
    try:
        return sys.stdin.readline(4096).strip() if sys.stdin is not None else ""
    except (OSError, ValueError):  # closed, or not text
        return ""


def _write(text: str) -> None:
    """A stderr that is closed or full loses the story, never the answer.

    In an event loop nothing waits for its reader: what has no room is counted, and the count is shown when there is some.
    """
    global _lost  # noqa: PLW0603 -- of the process, as stderr is
    if sys.stderr is None:
        return
    patient = not _in_event_loop()
    if _lost and (patient or has_room(sys.stderr)):
        text, _lost = f"[clawperator] WARN: {_lost} messages were not shown: stderr was not read\n{text}", 0
    try:
        for at in range(0, len(text), _SURELY_TAKEN):
            if not (patient or has_room(sys.stderr)):
                _lost += 1
                return
            sys.stderr.write(text[at : at + _SURELY_TAKEN])
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")  # not imported for this: light commands have none
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False
