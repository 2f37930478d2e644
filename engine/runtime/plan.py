"""A plan as values: what the Operator has understood of a payload, defaults filled in and numbers clamped (wire.md#payload-parsing-on-the-device)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from clawperator.engine.runtime import retry as presets
from clawperator.engine.runtime.app_actions import BACKGROUND
from clawperator.engine.runtime.query import Query
from clawperator.engine.runtime.retry import RetryPolicy

Generation = Literal["0.3", "0.5", "0.9", "0.10", "0.12", "1.0"]
"""0.3 = 0.3.0 and 0.3.1; 0.5 has all that 0.3.2 added, and its own; 0.9 = 0.9.3, 0.10 = 0.10.0, 0.12 = 0.12.5."""
_GENERATIONS = get_args(Generation)


def at_least(generation: Generation, first: Generation) -> bool:
    """Whether ``generation`` is ``first`` or newer."""
    return bool(_GENERATIONS.index(generation) >= _GENERATIONS.index(first))


class PlanAction:
    """The parameters of one action."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OpenApp(PlanAction):
    """``wait_ms``: how long to wait for the app; ``None`` where the payload does not say."""

    application_id: str
    retry: RetryPolicy
    waits: bool = True
    wait_ms: int | None = None


@dataclass(frozen=True, slots=True)
class OpenUri(PlanAction):
    uri: str
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class CloseApp(PlanAction):
    application_id: str


@dataclass(frozen=True, slots=True)
class WaitForNode(PlanAction):
    matcher: Query
    retry: RetryPolicy
    timeout_ms: int | None


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Click(PlanAction):
    """Exactly one of ``matcher`` and ``coordinate``; ``how`` is ``click``, ``long_click`` or ``focus``."""

    matcher: Query | None
    coordinate: Point | None
    how: str
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class ReadText(PlanAction):
    matcher: Query
    container: Query | None
    all: bool
    validator: str
    pattern: str
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class EnterText(PlanAction):
    matcher: Query
    text: str
    submit: bool
    retry: RetryPolicy
    clear: bool = False


@dataclass(frozen=True, slots=True)
class SnapshotUi(PlanAction):
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class TakeScreenshot(PlanAction):
    pass


@dataclass(frozen=True, slots=True)
class Sleep(PlanAction):
    duration_ms: int


@dataclass(frozen=True, slots=True)
class PressKey(PlanAction):
    key: str


@dataclass(frozen=True, slots=True)
class Scroll(PlanAction):
    """One gesture (wire.md#scrolling); ``direction`` is lower case."""

    container: Query | None
    direction: str
    distance_ratio: float
    settle_delay_ms: int
    find_first_scrollable_child: bool
    strict: bool = False
    retry: RetryPolicy = presets.NONE


@dataclass(frozen=True, slots=True)
class ScrollUntil(PlanAction):
    scroll: Scroll
    max_scrolls: int
    max_duration_ms: int | None
    threshold: int
    matcher: Query | None
    click_after: bool
    how: str


@dataclass(frozen=True, slots=True)
class ScrollAndClick(PlanAction):
    target: Query
    scroll: Scroll
    max_swipes: int
    click_after: bool
    how: str
    scroll_retry: RetryPolicy
    click_retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class WaitForNavigation(PlanAction):
    expected_package: str
    expected_node: Query | None
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class ReadKeyValuePair(PlanAction):
    label: Query
    retry: RetryPolicy


@dataclass(frozen=True, slots=True)
class RecordAction(PlanAction):
    command: Literal["start", "stop"]
    session_id: str


@dataclass(frozen=True, slots=True)
class QueryUi(PlanAction):
    """``matcher`` is ``None`` for all nodes; ``everything`` are also those off screen."""

    matcher: Query | None
    everything: bool
    limit: int


@dataclass(frozen=True, slots=True)
class Gesture(PlanAction):
    """A swipe, or with ``hold_ms`` a drag."""

    start: Point
    end: Point
    move_ms: int
    hold_ms: int = 0


@dataclass(frozen=True, slots=True)
class AppAction(PlanAction):
    """What the app alone can do (``app_actions``), with the values of all parameters."""

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DoctorPing(PlanAction):
    pass


class PlanStep(NamedTuple):
    """``type`` is the canonical name, as in the envelope."""

    id: str
    type: str
    action: PlanAction


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    steps: tuple[PlanStep, ...]

    @property
    def background(self) -> bool:
        """Whether the app runs it without its accessibility service."""
        return all(step.type in BACKGROUND for step in self.steps)
