"""The four views of the stream, and its counts."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class StreamView(Enum):
    """What the rows are; ``t`` cycles."""

    EXECUTIONS = "executions"
    ENVELOPES = "envelopes"
    OPERATOR = "Operator log"
    LOG = "device log"

    @property
    def next(self) -> StreamView:
        views = tuple(StreamView)
        return views[(views.index(self) + 1) % len(views)]

    @property
    def of_lines(self) -> bool:
        return self in (StreamView.OPERATOR, StreamView.LOG)


class Counts(NamedTuple):
    """Shown and total rows; ``fresh`` ones arrived since it stopped following, ``behind`` since it was paused."""

    shown: int
    total: int
    fresh: int
    behind: int
