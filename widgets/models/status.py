"""States of the console in one table, so that a state looks the same in every pane.

Each has a glyph, its ASCII form, a word and a role (a semantic colour name of the themes).
"""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """State of a check, a step, an execution, a device, a lock."""

    OK = ("✓", "[ok]", "ok", "ok")
    WARN = ("!", "[!!]", "warn", "warn")
    FAILED = ("✗", "[xx]", "failed", "fail")
    RUNNING = ("●", "[>>]", "running", "run")
    IDLE = ("○", "[  ]", "idle", "idle")
    SKIPPED = ("–", "[--]", "skipped", "idle")
    UNKNOWN = ("?", "[??]", "unknown", "idle")
    WAITING = ("◌", "[..]", "waiting", "idle")

    def __init__(self, glyph: str, ascii_form: str, word: str, role: str) -> None:
        self.glyph = glyph
        self.ascii_form = ascii_form
        self.word = word
        self.role = role
