"""A recording as values: its header and the events in their order (wire.md#recording-files).

The models are the contract of the file: what is not said here is ignored, what is said wrongly is refused.
"""

# ruff: noqa: N815 - fields are named as JSON names them
# Annotations are no strings here: pydantic would have to evaluate every one again, which a command would notice.

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from clawperator.engine.contracts.limits import MAX_ID_LENGTH
from clawperator.engine.contracts.values import SESSION_ID
from clawperator.engine.hierarchy.nodes import Bounds

SCHEMA_VERSION = 1

SessionId = Annotated[str, Field(pattern=SESSION_ID, max_length=MAX_ID_LENGTH)]
_Name = Annotated[str, Field(min_length=1, max_length=512)]


class _Read(BaseModel):
    """A line of the file. Keys that a later Operator may add are no concern of ours."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class Header(_Read):
    """The first line. ``startedAt`` is the device's clock, in milliseconds since the epoch."""

    type: Literal["recording_header"]
    schemaVersion: int
    sessionId: SessionId
    startedAt: Annotated[int, Field(ge=0)]
    operatorPackage: _Name


class Rectangle(_Read):
    """Pixels of the screen; ``right`` and ``bottom`` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.left, self.top, self.right, self.bottom)


class _Event(_Read):
    """Common to all: ``ts`` as in the header, ``seq`` counts the events of the recording, ``snapshot`` is a dump."""

    ts: int
    seq: int
    snapshot: str | None = None


class WindowChange(_Event):
    """Another window came to the front; ``snapshot`` shows it."""

    type: Literal["window_change"]
    packageName: _Name
    className: str | None = None
    title: str | None = None


class Click(_Event):
    """Something was clicked; ``snapshot`` shows the screen as it was just then, usually before anything came of it."""

    type: Literal["click"]
    packageName: _Name
    resourceId: str | None = None
    text: str | None = None
    contentDesc: str | None = None
    bounds: Rectangle


class Scroll(_Event):
    """Something was scrolled; offsets in pixels, -1 where the device does not know them."""

    type: Literal["scroll"]
    packageName: _Name
    resourceId: str | None = None
    scrollX: int
    scrollY: int
    maxScrollX: int
    maxScrollY: int


class PressKey(_Event):
    """A key of the system; ``snapshot`` shows what was there before it had an effect."""

    type: Literal["press_key"]
    key: _Name


class TextChange(_Event):
    """A field has another text; which one, the event does not say."""

    type: Literal["text_change"]
    packageName: _Name
    resourceId: str | None = None
    text: str | None = None


Event = Annotated[WindowChange | Click | Scroll | PressKey | TextChange, Field(discriminator="type")]
EVENT_TYPES = ("window_change", "click", "scroll", "press_key", "text_change")


@dataclass(frozen=True, slots=True)
class Recording:
    """All of a file. ``started_at`` is 0 where only a step log is left of it."""

    session_id: str
    started_at: int
    operator_package: str
    events: tuple[WindowChange | Click | Scroll | PressKey | TextChange, ...]

    @property
    def missing_snapshots(self) -> Iterator[int]:
        """``seq`` of the clicks and window changes whose screen is unknown."""
        return (event.seq for event in self.events if isinstance(event, Click | WindowChange) and not event.snapshot)
