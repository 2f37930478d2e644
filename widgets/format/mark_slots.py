"""Stream problems in full: what happened, what it means, and the raw text."""

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
    """Yield the sentences of a mark, then what the device sent."""
    for text, role in _sentences(mark):
        yield from folded(text, sheet.width, role)
    if mark.raw:
        yield BLANK
        yield from raw_slots(mark.raw, sheet)


def _sentences(mark: Mark) -> Iterator[tuple[str, str]]:
    if mark.kind == "malformed":
        where = f", character {mark.column}" if mark.column else ""
        yield f"An envelope could not be read ({ErrorCode.RESULT_ENVELOPE_MALFORMED}): {mark.text}{where}.", "warn"
        yield "Its commandId is unreadable, so its command will appear to have no result.", "text"
        yield ErrorCode.RESULT_ENVELOPE_MALFORMED.hint, "accent"
    elif mark.kind == "gap":
        yield f"The log of {mark.device_id or 'the device'} was interrupted: {mark.text}", "warn"
        if math.isnan(mark.until):
            yield "It reconnects automatically.", "text"
        else:
            yield (
                f"It resumed {duration(mark.until - mark.at)} later. Lines logged in between may be missing.",
                "text",
            )
    elif mark.kind == "dropped":
        yield f"{mark.count:,} messages were dropped: {mark.text}.", "warn"
        yield "They are missing in the log views; executions may lack lines.", "text"
    else:
        times = f", {mark.count:,} times" if mark.count > 1 else ""
        yield f"Operator message without a known command{times}:", "muted"
        yield mark.text, "text"
