"""A skill at work: what it printed so far, what of that means something, and what came of it. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple, Protocol, Self

from clawperator.engine.skills.frames import kind_of
from clawperator.widgets.models.status import Status

LINES_KEPT = 20_000
CHARACTERS_KEPT = 4_000_000
LINE_KEPT = 2_000
"""Characters of one line; the rest is counted by whoever draws it."""
_FORGOTTEN_AT_ONCE = 1_000


class Printed(Protocol):
    """A line as ``engine.skills.run`` tells it; ``at`` in seconds since the epoch."""

    @property
    def stream(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def at(self) -> float: ...


class Marker(Enum):
    """What a line says beyond its words (skills.md#conventions)."""

    NONE = ""
    RESULT = "result"
    PICTURE = "screenshot"
    BEGIN = "text"
    INSIDE = "text block"
    END = "end of text"
    DONE = "done"
    FRAME = "result frame"
    HOST = "host"


MEANS_SOMETHING = frozenset({Marker.RESULT, Marker.FRAME, Marker.PICTURE})
_KINDS = {
    "result": Marker.RESULT,
    "screenshot": Marker.PICTURE,
    "skillResult": Marker.FRAME,
    "done": Marker.DONE,
}
"""What ``engine.skills.frames`` calls them; the begin and the end of a text depend on the lines before."""


class SkillOutputLine(NamedTuple):
    """One line. ``stream`` is ``stdout``, ``stderr``, or ``host`` for what the console itself says; ``cut`` counts what is missing."""

    stream: str
    text: str
    at: float
    marker: Marker = Marker.NONE
    cut: int = 0


class OutputRing:
    """The newest lines; a line keeps its number when older ones go. ``generation`` changes with each change."""

    def __init__(self, *, lines: int = LINES_KEPT, characters: int = CHARACTERS_KEPT) -> None:
        self.first = 0
        self.generation = 0
        self._lines: list[SkillOutputLine] = []
        self._most_lines = lines
        self._most_characters = characters
        self._characters = 0
        self._inside = False
        self._marked: list[int] = []

    @property
    def end(self) -> int:
        """The number that the next line gets."""
        return self.first + len(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> SkillOutputLine:
        """The line of this number; raises ``IndexError`` when it has gone or has not come."""
        if number < self.first:
            raise IndexError(number)
        return self._lines[number - self.first]

    def add(self, line: Printed) -> None:
        text = line.text.rstrip("\r\n")
        marker = self._marker(text) if line.stream != "host" else Marker.HOST
        self._lines.append(
            SkillOutputLine(line.stream, text[:LINE_KEPT], line.at, marker, max(0, len(text) - LINE_KEPT)),
        )
        if line.stream == "stderr" or marker in MEANS_SOMETHING:
            self._marked.append(self.end - 1)
        self._characters += min(len(text), LINE_KEPT)
        self.generation += 1
        while len(self._lines) > self._most_lines or (self._characters > self._most_characters and self._lines):
            gone = self._lines[: max(1, min(_FORGOTTEN_AT_ONCE, len(self._lines) // 4))]
            self._characters -= sum(len(line.text) for line in gone)
            del self._lines[: len(gone)]
            self.first += len(gone)
            del self._marked[: bisect_left(self._marked, self.first)]

    def _marker(self, text: str) -> Marker:
        kind = kind_of(text[:LINE_KEPT])
        if self._inside:
            self._inside = not (kind == "text" and text.strip() == "TEXT_END")
            return Marker.INSIDE if self._inside else Marker.END
        if kind == "text":
            self._inside = text.strip() != "TEXT_END"
            return Marker.BEGIN if self._inside else Marker.END
        return _KINDS.get(kind, Marker.NONE)

    @property
    def marked(self) -> Sequence[int]:
        """The numbers of the lines that deserve a look, rising."""
        return self._marked

    def texts(self) -> Iterable[str]:
        """Everything kept, for copying."""
        return (line.text for line in self._lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRunState:
    """``what`` names the script or the recipe, ``command`` the command line that does the same, without personal values.

    ``status`` is RUNNING until it ``ended``; then ``words`` say what came of it, ``code`` and ``hint`` belong to a failure.
    ``exit_code`` is a script's. ``limit`` is in seconds, 0 for none. ``stopping``: somebody cancelled it and it has not ended yet.
    """

    number: int
    skill_id: str
    what: str
    command: str = ""
    device_id: str = ""
    since: float = math.nan
    ended: float = math.nan
    status: Status = Status.RUNNING
    words: str = ""
    code: str = ""
    hint: str = ""
    exit_code: int | None = None
    limit: float = 0.0
    stopping: bool = False
    output: OutputRing = field(default_factory=OutputRing)
    printed: int = 0
    """The output's generation at the last news: what tells two states of one run apart."""

    @property
    def running(self) -> bool:
        return math.isnan(self.ended)

    def seconds(self, now: float) -> float:
        return max(0.0, (now if self.running else self.ended) - self.since)

    def over(
        self, status: Status, words: str, now: float, *, code: str = "", hint: str = "", exit_code: int | None = None
    ) -> Self:
        return replace(
            self,
            status=status,
            words=words,
            ended=now,
            code=code,
            hint=hint,
            exit_code=exit_code,
            stopping=False,
            printed=self.output.generation,
        )
