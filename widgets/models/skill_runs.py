"""A running skill: its output, marked lines, and outcome. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.skills.frames import kind_of
from clawperator.widgets.models.job import Job

if TYPE_CHECKING:
    from clawperator.engine.skills.run import OutputLine

LINES_KEPT = 20_000
CHARACTERS_KEPT = 4_000_000
LINE_KEPT = 2_000
"""Characters kept of one line; the rest is counted."""
_FORGOTTEN_AT_ONCE = 1_000


class Marker(Enum):
    """Meaning of a line (skills.md#conventions)."""

    NONE = ""
    RESULT = "result"
    PICTURE = "screenshot"
    BEGIN = "text"
    INSIDE = "text block"
    END = "end of text"
    DONE = "done"
    FRAME = "result frame"
    HOST = "host"


MARKED = frozenset({Marker.RESULT, Marker.FRAME, Marker.PICTURE})
_KINDS = {
    "result": Marker.RESULT,
    "screenshot": Marker.PICTURE,
    "skillResult": Marker.FRAME,
    "done": Marker.DONE,
}
"""Kinds of ``engine.skills.frames``; the begin and end of a text block depend on the lines before."""


class SkillOutputLine(NamedTuple):
    """One line.

    ``stream`` is ``stdout``, ``stderr``, or ``host`` for messages of the console; ``cut`` counts missing characters.
    """

    stream: str
    text: str
    at: float
    marker: Marker = Marker.NONE
    cut: int = 0


class OutputRing:
    """The newest lines with stable numbers. ``generation`` changes with each change."""

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
        """Return the number of the next line."""
        return self.first + len(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> SkillOutputLine:
        """Return the line with this number; raises ``IndexError`` when it is not in the ring."""
        if number < self.first:
            raise IndexError(number)
        return self._lines[number - self.first]

    def add(self, line: OutputLine | SkillOutputLine) -> None:
        text = line.text.rstrip("\r\n")
        marker = self._marker(text) if line.stream != "host" else Marker.HOST
        self._lines.append(
            SkillOutputLine(line.stream, text[:LINE_KEPT], line.at, marker, max(0, len(text) - LINE_KEPT)),
        )
        if line.stream == "stderr" or marker in MARKED:
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
        """Return the numbers of the marked lines, ascending."""
        return self._marked

    def texts(self) -> Iterable[str]:
        """Return all kept lines."""
        return (line.text for line in self._lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRunState(Job):
    """A job whose ``subject`` is the skill and whose ``kind`` names the script or recipe.

    ``command`` is the equivalent command line without personal values. ``limit`` is in seconds, 0 for none.
    """

    number: int
    command: str = ""
    device_id: str = ""
    exit_code: int | None = None
    limit: float = 0.0
    output: OutputRing = field(default_factory=OutputRing)
    printed: int = 0
    """The output's generation at the last update: tells two states of one run apart."""
