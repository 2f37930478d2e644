"""The console's status vocabulary: one table, used by every pane, so that a state looks the same everywhere.

A glyph and a word come first, colour is only a help: each row has the glyph, its ASCII form, the word and the role
(a semantic colour name of the themes).
"""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """State of anything: a check, a step, an execution, a device, a lock."""

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
