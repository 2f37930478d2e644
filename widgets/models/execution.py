"""What is known of one execution, as values: its steps, its signs of life, its trees, its lines of the log; and bad news.

Moments are seconds since the epoch, ``nan`` while unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from clawperator.widgets.models.status import Status

MarkKind = Literal["malformed", "gap", "dropped", "event"]


@dataclass(slots=True)
class StepState:
    """One action of an execution."""

    id: str
    type: str = ""
    status: Status = Status.RUNNING
    started: float = math.nan
    ended: float = math.nan
    retries: int = 0
    retry: str = ""
    code: str = ""
    note: str = ""
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class LiveLine:
    """One sign of life of an execution: a moment, a status and what happened. ``tree`` is the key of a tree that it tells of."""

    at: float
    status: Status
    kind: str
    text: str
    tree: str = ""


@dataclass(frozen=True, slots=True)
class TreeMark:
    """A tree that an execution took. ``key`` finds it: ``tree_key`` for live ones, the sha256 of its text in the history."""

    step_id: str
    at: float
    key: str
    characters: int
    complete: bool


class LineSpan(NamedTuple):
    """The numbers of the first and the last log line, in the ring of lines, that name an execution; false where none did."""

    first: int
    last: int

    def __bool__(self) -> bool:
        return self.last >= self.first

    def with_line(self, number: int) -> LineSpan:
        return LineSpan(min(self.first, number), max(self.last, number)) if self else LineSpan(number, number)


NO_LINES = LineSpan(0, -1)


@dataclass(slots=True, eq=False)
class ExecutionState:
    """Everything known of one command. ``code`` is the reason of a failure; ``duplicates`` counts further envelopes.

    ``ours``: sent from this console; ``foreign``: its result came, but nobody on this machine sent it and its start was not
    seen; ``gave_up``: nobody waits for its result any more; ``late``: it came all the same. ``phases`` are milliseconds by
    the name of a phase of the host's work. ``version`` changes with every change.
    """

    command_id: str
    device_id: str
    number: int
    started: float
    task_id: str = ""
    source: str = ""
    timeout_ms: int = 0
    action_count: int = 0
    status: Status = Status.RUNNING
    ended: float = math.nan
    code: str = ""
    message: str = ""
    stage: str = ""
    steps: list[StepState] = field(default_factory=list)
    lines: list[LiveLine] = field(default_factory=list)
    envelope: Mapping[str, Any] | None = None
    raw: str = ""
    raw_hidden: int = 0
    parts: int = 1
    problem: str = ""
    ours: bool = False
    foreign: bool = False
    gave_up: bool = False
    late: bool = False
    duplicates: int = 0
    snapshots: int = 0
    looks: int = 0
    """How many looks of a follow mode this row stands for; 0: it is no look."""
    payload: Mapping[str, Any] | None = None
    mode: str = ""
    backend: str = ""
    phases: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[Mapping[str, Any], ...] = ()
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """What became of each step, as answers carry it; empty while that is not known."""
    trees: list[TreeMark] = field(default_factory=list)
    log: LineSpan = NO_LINES
    line: int = 0
    """The number of the log line that came next when it was first heard of."""
    run_of: str = ""
    """The commandId of the execution that this one repeats; empty: none."""
    version: int = 0

    @property
    def over(self) -> bool:
        return self.status not in (Status.RUNNING, Status.WAITING)

    @property
    def steps_done(self) -> int:
        return sum(1 for step in self.steps if step.status is not Status.RUNNING)

    @property
    def running_step(self) -> StepState | None:
        return next((step for step in reversed(self.steps) if step.status is Status.RUNNING), None)

    def elapsed(self, now: float) -> float:
        return (now if math.isnan(self.ended) else self.ended) - self.started

    @property
    def at_line(self) -> int:
        """The number of the log line where it begins, as near as is known."""
        return self.log.first if self.log else self.line

    def still(self) -> ExecutionState:
        """As it is now, for who must not see it change."""
        return replace(self, steps=[replace(step) for step in self.steps], lines=self.lines[:], trees=self.trees[:])


@dataclass(slots=True, eq=False)
class Mark:
    """Something that belongs to no known command. ``line`` is the number of the log line that came next.

    ``malformed``: an envelope that could not be read (``raw``), ``column`` says where, from 1, or is 0; ``gap``: the log broke
    off, and went on at ``until`` (``nan``: it has not yet); ``dropped``: ``count`` messages that this host could not take;
    ``event``: something that the Operator said of no command (``count`` times).
    """

    kind: MarkKind
    at: float
    text: str
    number: int
    raw: str = ""
    device_id: str = ""
    count: int = 1
    column: int = 0
    until: float = math.nan
    line: int = 0
    version: int = 0

    @property
    def at_line(self) -> int:
        return self.line


Item = ExecutionState | Mark


def tree_key(command_id: str, step_id: str) -> str:
    """The key of a live tree (``TreeMark.key``): which step of which command took it."""
    return f"{command_id}/{step_id}"


def tree_owner(key: str) -> str:
    """The commandId in a live tree's key."""
    return key.rpartition("/")[0]


_MATCHER = re.compile(r"NodeMatcher\((resourceId=.*?, contentDescContains=.*?)\)")
_FIELD_EDGE = re.compile(r", (?=(?:role|textEquals|textContains|contentDescEquals|contentDescContains)=)")


def brief(text: str) -> str:
    """Matchers as the Operator prints them, without the fields that are not set. For reading; the raw text stays as it is.

    ``click(NodeMatcher(resourceId=null, role=null, textEquals=OK, …))`` → ``click(textEquals=OK)``.
    """
    return _MATCHER.sub(_set_fields, text) if "NodeMatcher(" in text else text


def fields_in_words(text: str) -> dict[str, str]:
    """The fields that are set in the first matcher of a text of the Operator's; empty without one."""
    found = _MATCHER.search(text)
    fields = (field.partition("=") for field in _FIELD_EDGE.split(found[1])) if found is not None else ()
    return {name: value for name, _, value in fields if value not in ("", "null")}


def _set_fields(match: re.Match[str]) -> str:
    return ", ".join(field for field in _FIELD_EDGE.split(match[1]) if not field.endswith("=null"))
