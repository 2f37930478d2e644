"""What a recording amounts to: steps that can be done again, and the inputs they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clawperator.engine.recordings.inputs import RecordedInput
from clawperator.engine.recordings.targets import Target

Kind = Literal["open_app", "wait_for_node", "click", "scroll_and_click", "enter_text", "press_key"]
Sign = Literal["", "appeared", "typed", "present"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One thing to do. ``text`` is a template; ``confirm`` the sign that it worked, ``sign`` what kind of sign that is.

    ``stand_in`` is a button that does what a key does, for those who have no keys. ``effect`` is ``toggle``, ``purchase`` or
    empty; ``was_on`` is what a switch was before. ``notes`` are for people and hold no text of the device.
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
    """All of it. ``fresh``: it began with opening the app. ``warnings`` name what the recording has and no step does."""

    session_id: str
    started_at: int
    application_id: str
    fresh: bool
    steps: tuple[PlannedStep, ...]
    inputs: tuple[RecordedInput, ...]
    frameworks: tuple[str, ...]
    warnings: tuple[str, ...]
