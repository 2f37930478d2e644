"""The header and the events of a recording file (wire.md#recording-files). Unknown keys are ignored, invalid ones rejected."""

# ruff: noqa: N815 - fields are named as JSON names them
# No postponed annotations: pydantic would have to evaluate them again, which slows commands down.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from clawperator.engine.contracts.limits import MAX_ID_LENGTH
from clawperator.engine.contracts.values import SESSION_ID
from clawperator.engine.hierarchy.nodes import Bounds

SCHEMA_VERSION = 1

SessionId = Annotated[str, Field(pattern=SESSION_ID, max_length=MAX_ID_LENGTH)]
_Name = Annotated[str, Field(min_length=1, max_length=512)]


class _Read(BaseModel):
    """A line of the file. Keys of later Operator versions are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Header(_Read):
    """The first line. ``startedAt`` is the device's clock, in milliseconds since the epoch."""

    type: Literal["recording_header"]
    schemaVersion: int
    sessionId: SessionId
    startedAt: Annotated[int, Field(ge=0)]
    operatorPackage: _Name


class Rectangle(_Read):
    """Bounds in pixels; ``right`` and ``bottom`` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.left, self.top, self.right, self.bottom)


class _Event(_Read):
    """An event: ``ts`` is the device's clock, ``seq`` the number of the event, ``snapshot`` a UI dump."""

    ts: int
    seq: int
    snapshot: str | None = None


class WindowChange(_Event):
    """A window came to the foreground; ``snapshot`` shows it."""

    type: Literal["window_change"]
    packageName: _Name
    className: str | None = None
    title: str | None = None


class Click(_Event):
    """A click; ``snapshot`` shows the screen at that moment, usually before its effect."""

    type: Literal["click"]
    packageName: _Name
    resourceId: str | None = None
    text: str | None = None
    contentDesc: str | None = None
    bounds: Rectangle


class Scroll(_Event):
    """A scroll; offsets in pixels, -1 if unknown."""

    type: Literal["scroll"]
    packageName: _Name
    resourceId: str | None = None
    scrollX: int
    scrollY: int
    maxScrollX: int
    maxScrollY: int


class PressKey(_Event):
    """A system key; ``snapshot`` shows the screen before its effect."""

    type: Literal["press_key"]
    key: _Name


class TextChange(_Event):
    """The text of a field changed; the event does not identify the field."""

    type: Literal["text_change"]
    packageName: _Name
    resourceId: str | None = None
    text: str | None = None


Event = Annotated[WindowChange | Click | Scroll | PressKey | TextChange, Field(discriminator="type")]
EVENT_TYPES = ("window_change", "click", "scroll", "press_key", "text_change")


class Omission(NamedTuple):
    """A recorded event that is left out. ``reason`` has no text of the device."""

    seq: int
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording. ``started_at`` is 0 if it was read from a step log; ``dropped`` is what that does not have."""

    session_id: str
    started_at: int
    operator_package: str
    events: tuple[WindowChange | Click | Scroll | PressKey | TextChange, ...]
    dropped: tuple[Omission, ...] = ()

    @property
    def missing_snapshots(self) -> Iterator[int]:
        """Return ``seq`` of the clicks and window changes without a snapshot."""
        return (event.seq for event in self.events if isinstance(event, Click | WindowChange) and not event.snapshot)
