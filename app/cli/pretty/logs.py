"""``--output pretty`` of ``logs`` and ``watch``: one line per entry or event."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from rich.text import Text

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Data, Drawing, line, safe_text

_STYLES = {"debug": FAINT, "info": GOOD, "warn": UNSURE, "error": BAD}
_MAIN_KEYS = ("ts", "level", "event", "message")


def log_lines(lines: Sequence[str]) -> Drawing:
    """Draw lines of the log file without their JSON."""
    yield from map(_log_line, lines)


def _log_line(text: str) -> Text:
    try:
        entry = json.loads(text)
        ts, level, event, message = (str(entry[key]) for key in _MAIN_KEYS)
    except (ValueError, TypeError, KeyError):  # written by another program
        return safe_text(text, FAINT)
    rest = "  ".join(f"{key}={value}" for key, value in entry.items() if key not in _MAIN_KEYS)
    return line((ts, FAINT), "  ", (event, _STYLES.get(level, "")), f"  {message}  ", (rest, FAINT))


def event(data: Data) -> Drawing:
    """Draw one line of ``watch``."""
    clock = time.strftime("%H:%M:%S", time.localtime(data["at"]))
    shown = {key: value for key, value in data.items() if key not in ("at", "event", "deviceId", "text", "raw")}
    values = "  ".join(f"{key}={value}" for key, value in shown.items())
    yield line((clock, FAINT), "  ", (data["event"], GOOD), "  ", values)
