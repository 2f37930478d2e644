"""The only writer of stderr, and the only place that decides exit codes. stderr is the story, stdout the answer."""

from __future__ import annotations

import sys

from clawperator.app.cli.output import visible
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clawperator.app.cli.output import Answer

INTERRUPTED = 130
"""Exit code after SIGINT."""


def interrupted(dispatch_status: str = "not_sent", names: Mapping[str, str] | None = None) -> EngineError:
    """SIGINT, as an error; ``dispatch_status`` says whether the device may act all the same (execution contract §9).

    ``names`` are the ids of the execution that was cut off.
    """
    messages = {
        "not_sent": "Interrupted before the command was sent to the device",
        "sent": "Interrupted after the command was sent: it may still act on the device",
    }
    message = messages.get(dispatch_status, "Interrupted twice: whether anything was sent to the device is unknown")
    return EngineError(
        ErrorCode.INTERRUPTED, message, extra={"broadcastDispatchStatus": dispatch_status, **(names or {})}
    )


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


def _write(text: str) -> None:
    """A stderr that is closed or full loses the story, never the answer."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
