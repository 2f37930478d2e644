"""The drop box: crash reports of the system, and the output of ``dumpsys dropbox --print TAG``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

MAX_ENTRIES = 1000


class Drop(NamedTuple):
    """One report; ``time`` in seconds since the epoch."""

    time: float
    tag: str
    text: str


class DropBox:
    def __init__(self) -> None:
        self.drops: list[Drop] = []

    def add(self, time: float, tag: str, text: str) -> None:
        self.drops = [*self.drops, Drop(time, tag, text)][-MAX_ENTRIES:]

    def dump(self, tags: Sequence[str]) -> str:
        """The reports of these tags (none: of all), oldest first."""
        found = [drop for drop in self.drops if not tags or drop.tag in tags]
        head = f"Drop box contents: {len(self.drops)} entries\nMax entries: {MAX_ENTRIES}\n"
        head += f"Searching for: {' '.join(tags)}\n" if tags else ""
        return head + "".join(_entry(drop) for drop in found) + ("" if found else "\n(No entries found.)\n")


def _entry(drop: Drop) -> str:
    stamp = datetime.fromtimestamp(drop.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"\n{'=' * 40}\n{stamp} {drop.tag} (text, {len(drop.text.encode())} bytes)\n{drop.text}\n"
