"""Bad news of the stream in full: what happened, what that means, and the raw text where there is one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.engine.errors import ErrorCode
from clawperator.widgets.format.raw_lines import raw_slots
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, folded
from clawperator.widgets.text.times import duration

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import Mark


def mark_slots(mark: Mark, sheet: Sheet) -> Iterator[Slot]:
    """A mark's sentences, then what the device sent."""
    for text, role in _told(mark):
        yield from folded(text, sheet.width, role)
    if mark.raw:
        yield BLANK
        yield from raw_slots(mark.raw, sheet)


def _told(mark: Mark) -> Iterator[tuple[str, str]]:
    if mark.kind == "malformed":
        where = f", character {mark.column}" if mark.column else ""
        yield f"An envelope could not be read ({ErrorCode.RESULT_ENVELOPE_MALFORMED}): {mark.text}{where}.", "warn"
        yield "Which command it belongs to cannot be told from it; that command will seem to get no result.", "text"
        yield ErrorCode.RESULT_ENVELOPE_MALFORMED.hint, "accent"
    elif mark.kind == "gap":
        yield f"The log of {mark.device_id or 'the device'} broke off: {mark.text}", "warn"
        if math.isnan(mark.until):
            yield "It is opened again by itself as soon as that can be done.", "text"
        else:
            yield (
                f"It went on {duration(mark.until - mark.at)} later. What was logged in between may be missing.",
                "text",
            )
    elif mark.kind == "dropped":
        yield f"{mark.count:,} messages were dropped: {mark.text}.", "warn"
        yield "They are missing in the views of the log; executions may lack lines.", "text"
    else:
        times = f", {mark.count:,} times" if mark.count > 1 else ""
        yield f"The Operator said this of no command that is known here{times}:", "muted"
        yield mark.text, "text"
