"""One execution as the console knows it: steps, live lines, trees, log lines; and problems of the stream.

Times are seconds since the epoch, ``nan`` while unknown.
"""

from __future__ import annotations

import math
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
    """One line of an execution's timeline. ``tree`` is the key of the tree that it is about."""

    at: float
    status: Status
    kind: str
    text: str
    tree: str = ""


@dataclass(frozen=True, slots=True)
class TreeMark:
    """A tree that an execution took. ``key`` is a ``tree_key``, in the history the sha256 of its text."""

    step_id: str
    at: float
    key: str
    characters: int
    complete: bool


class LineSpan(NamedTuple):
    """Numbers of the first and last log line in the ring that name an execution; false without one."""

    first: int
    last: int

    def __bool__(self) -> bool:
        return self.last >= self.first

    def with_line(self, number: int) -> LineSpan:
        return LineSpan(min(self.first, number), max(self.last, number)) if self else LineSpan(number, number)


NO_LINES = LineSpan(0, -1)


@dataclass(slots=True, eq=False)
class ExecutionState:
    """One run of a command.

    ``code`` is the reason of a failure; ``duplicates`` counts further envelopes. ``ours``: sent by this console;
    ``foreign``: not sent from this machine, and its start was not seen; ``gave_up``: its sender stopped waiting;
    ``late``: the result came afterwards. ``begun``: the device has reported something of it. ``phases`` are host phases in milliseconds. ``version`` changes with every
    change.
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
    lost: bool = False
    """Whether its result came in chunk records that cannot be put together: the plan has run."""
    ours: bool = False
    foreign: bool = False
    gave_up: bool = False
    late: bool = False
    duplicates: int = 0
    snapshots: int = 0
    follow_snapshots: int = 0
    """How many follow snapshots this row stands for; 0: it is none."""
    payload: Mapping[str, Any] | None = None
    mode: str = ""
    backend: str = ""
    phases: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[Mapping[str, Any], ...] = ()
    outcome: Mapping[str, Any] = field(default_factory=dict)
    """The outcome of each step as in the engine's result; empty while unknown."""
    trees: list[TreeMark] = field(default_factory=list)
    log: LineSpan = NO_LINES
    line: int = 0
    """The number of the next log line when it was first seen."""
    execution_id: str = ""
    """Of an attempt of this process."""
    begun: bool = False
    nth: int = 1
    """Which run of its command on its device this is."""
    run_of: str = ""
    """The commandId of the execution that this one repeats; empty: none."""
    version: int = 0

    @property
    def key(self) -> str:
        """Return a key that no other run of its device has."""
        return self.command_id if self.nth == 1 else f"{self.command_id}\n{self.nth}"

    @property
    def over(self) -> bool:
        return self.status not in (Status.RUNNING, Status.WAITING)

    @property
    def running_step(self) -> StepState | None:
        return next((step for step in reversed(self.steps) if step.status is Status.RUNNING), None)

    def elapsed(self, now: float) -> float:
        return (now if math.isnan(self.ended) else self.ended) - self.started

    @property
    def at_line(self) -> int:
        """Return the number of the log line where it begins, as near as known."""
        return self.log.first if self.log else self.line

    def frozen_copy(self) -> ExecutionState:
        """Return a copy that does not change."""
        return replace(self, steps=[replace(step) for step in self.steps], lines=self.lines[:], trees=self.trees[:])


@dataclass(slots=True, eq=False)
class Mark:
    """A problem of the stream that belongs to no known command. ``line`` is the number of the next log line.

    ``malformed``: an unreadable envelope (``raw``), at ``column`` from 1 (0: unknown); ``gap``: the log was interrupted
    until ``until`` (``nan``: still); ``dropped``: ``count`` messages that this host could not process; ``event``: an
    Operator message without a command (``count`` times).
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


def kind_word(kind: str) -> str:
    """Return how a kind of live line is shown; the history stores the kind itself."""
    return "failed" if kind == "gave up" else kind


def tree_key(run: str, step_id: str) -> str:
    """Return the key of a live tree: run (``ExecutionState.key``) and step."""
    return f"{run}/{step_id}"


def tree_owner(key: str) -> str:
    """Return the run in a live tree's key."""
    return key.rpartition("/")[0]
