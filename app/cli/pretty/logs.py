"""``logs`` in ``--output pretty``: one line of the log file per line, without its JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

_STYLES = {"debug": FAINT, "info": GOOD, "warn": UNSURE, "error": BAD}
_SPOKEN = ("ts", "level", "event", "message")


def log_lines(lines: Sequence[str]) -> Iterator[RenderableType]:
    for line in lines:
        yield _drawn(line)


def _drawn(line: str) -> Text:
    try:
        document = json.loads(line)
        ts, level, event, message = (str(document[key]) for key in _SPOKEN)
    except (ValueError, TypeError, KeyError):  # written by somebody else
        return safe_text(line, FAINT)
    rest = "  ".join(f"{key}={value}" for key, value in document.items() if key not in _SPOKEN)
    return Text.assemble(
        (visible(ts), FAINT),
        "  ",
        (visible(event), _STYLES.get(level, "")),
        f"  {visible(message)}  ",
        (visible(rest), FAINT),
    )
