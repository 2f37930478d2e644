"""Places that one mode can send the user to in another: values that name the mode, so that no feature imports another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState
    from clawperator.widgets.models.executions import ExecutionLog


class Destination:
    """A place in the mode ``MODE``; the screen of that mode shows it (``ConsoleScreen.arrive``)."""

    MODE: ClassVar[str]
    LEAVES_DIALOG: ClassVar[bool] = False
    """Whether an open dialog stays open in the mode that is left."""


@dataclass(frozen=True, slots=True)
class NodePlace(Destination):
    """A node of the tree that is shown."""

    MODE: ClassVar[str] = "inspect"
    node: UiNode


@dataclass(frozen=True, slots=True)
class MatcherPlace(Destination):
    """The matcher line with this matcher in it."""

    MODE: ClassVar[str] = "inspect"
    matcher: Matcher


class PickPlace(Destination):
    """The tree, to pick the selector that a dialog waits for (``DraftKeeper.pick``)."""

    MODE: ClassVar[str] = "inspect"
    LEAVES_DIALOG: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ExecutionPlace(Destination):
    """A run in the stream; without its ``number`` the newest one of the command."""

    MODE: ClassVar[str] = "stream"
    command_id: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class DraftPlace(Destination):
    """The draft; ``run`` asks whether to send it."""

    MODE: ClassVar[str] = "run"
    run: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonPlace(Destination):
    """Two runs side by side: their commands, and when they began; of an unknown time the newest run."""

    MODE: ClassVar[str] = "history"
    a: str
    b: str
    a_at: float = math.nan
    b_at: float = math.nan

    @classmethod
    def with_previous(cls, log: ExecutionLog, run: ExecutionState) -> ComparisonPlace | None:
        """Compare with the run that this one repeats, else with the previous one of its task; ``None`` without one."""
        before = log.before(run)
        if before is not None:
            return cls(before.command_id, run.command_id, before.started, run.started)
        return cls(run.run_of, run.command_id, b_at=run.started) if run.run_of else None


@dataclass(frozen=True, slots=True)
class SkillPlace(Destination):
    """A skill; ``run`` opens the form before it runs."""

    MODE: ClassVar[str] = "skills"
    skill_id: str
    run: bool = False


@dataclass(frozen=True, slots=True)
class SkillOutputPlace(Destination):
    """The output of the skill that runs."""

    MODE: ClassVar[str] = "skills"


@dataclass(frozen=True, slots=True)
class FixPlace(Destination):
    """The check because of which the device is not ready, and the fix that it offers."""

    MODE: ClassVar[str] = "doctor"


@dataclass(frozen=True, slots=True)
class EmulatorJobPlace(Destination):
    """The job that runs on a virtual device."""

    MODE: ClassVar[str] = "devices"
