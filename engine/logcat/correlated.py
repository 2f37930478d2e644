"""The last log lines of the Operator about one command, for error reports (wire.md#log-lines)."""

from __future__ import annotations

from collections import deque

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.hierarchies import MARKER

_WITHOUT_ID = (
    b"[TaskScope]",
    b"[TaskUiScope]",
    b"[UiActionEngine]",
    b"[UiTreeManager]",
    b"[TaskRunnerManager]",
    b"[Operator-Receiver]",
)


class CorrelatedLines:
    """Keeps the last ``limit`` messages about ``command_id``, each cut to ``width`` characters, dumps without bodies.

    Lines without an id count as the command's; give it the Operator's entries only.
    """

    def __init__(self, command_id: str, *, limit: int = 30, width: int = 500) -> None:
        self._id = f"commandId={command_id}".encode()
        self._width = width
        self._entries: deque[LogEntry] = deque(maxlen=limit)

    def add(self, entry: LogEntry) -> None:
        if entry.payload.startswith(_WITHOUT_ID) or self._id in entry.payload:
            self._entries.append(entry)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._text(entry) for entry in self._entries)

    def _text(self, entry: LogEntry) -> str:
        return (entry.message.partition("\n")[0] if entry.payload.startswith(MARKER) else entry.message)[: self._width]
