"""The plan of a recording: repeatable steps, and the inputs that they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clawperator.engine.recordings.inputs import RecordedInput
from clawperator.engine.recordings.records import Omission
from clawperator.engine.recordings.targets import Target

Kind = Literal["open_app", "wait_for_node", "click", "scroll_and_click", "enter_text", "press_key"]
Sign = Literal["", "appeared", "typed", "present"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step. ``text`` is a template; ``confirm`` is the element that confirms it, ``sign`` the kind of confirmation.

    ``stand_in`` is a button that replaces a key, which recipes cannot press. ``effect`` is ``toggle``, ``purchase`` or empty;
    ``was_on`` is the previous state of a switch. ``notes`` are human-readable, without texts of the device.
    """

    seq: int
    id: str
    kind: Kind
    package: str
    target: Target | None = None
    container: Target | None = None
    direction: str = "down"
    text: str = ""
    key: str = ""
    stand_in: Target | None = None
    effect: str = ""
    was_on: bool | None = None
    confirm: Target | None = None
    sign: Sign = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps. ``fresh``: the recording starts by opening the app. ``warnings`` are about omitted and doubtful events."""

    session_id: str
    started_at: int
    application_id: str
    fresh: bool
    steps: tuple[PlannedStep, ...]
    inputs: tuple[RecordedInput, ...]
    frameworks: tuple[str, ...]
    warnings: tuple[str, ...]
    omitted: tuple[Omission, ...] = ()
