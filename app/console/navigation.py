"""Places that one mode can send the user to in another: values that name the mode, so that no feature imports another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode


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
    """An execution in the stream."""

    MODE: ClassVar[str] = "stream"
    command_id: str


@dataclass(frozen=True, slots=True)
class DraftPlace(Destination):
    """The draft; ``run`` asks whether to send it."""

    MODE: ClassVar[str] = "run"
    run: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonPlace(Destination):
    """The newest runs of two commands, side by side."""

    MODE: ClassVar[str] = "history"
    a: str
    b: str


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
class DevicePlace(Destination):
    """A device in the list, with what makes it usable."""

    MODE: ClassVar[str] = "devices"
    serial: str


@dataclass(frozen=True, slots=True)
class EmulatorJobPlace(Destination):
    """The job that runs on a virtual device."""

    MODE: ClassVar[str] = "devices"
