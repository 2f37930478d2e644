"""What an execution leaves behind on its way, whatever its end: how long each phase took, live lines, trees, raw text.

The phases in their order, in milliseconds; those that an execution has not are absent, and together they are its duration:
``validate``, ``device`` (choosing it), ``check`` (is the Operator there), ``lock``, ``close`` (apps that the plan closes),
``attach`` (to the log), ``dispatch`` (until the device's shell has it), ``run`` (on the device), ``parse`` (reading its log),
``pictures`` (that the host takes), ``finish``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping

from clawperator.engine.executions.outcome import LiveLine
from clawperator.engine.logcat.signals import CapturedHierarchy, ProgressSignal

LINES_KEPT = 5_000
"""Far above what 50 actions say; the rest is only counted."""
LINE_BYTES_KEPT = 4 * 1024 * 1024
_TREE_CHARACTERS_KEPT = 16 * 1024 * 1024
"""Of all trees of one execution; a step whose tree is left out has the warning of one without."""


class Trace:
    """Belongs to one execution. ``lines`` and ``trees`` come with the host's time (seconds since the epoch)."""

    def __init__(self) -> None:
        self.was_dispatched = False
        self.dispatched_at = math.nan
        self.phases: dict[str, float] = {}
        self.lines: list[tuple[float, ProgressSignal]] = []
        self.lines_left_out = 0
        self._line_bytes = 0
        self._tree_characters = 0
        self.trees: list[tuple[float, CapturedHierarchy]] = []
        self.tree_before: tuple[float, CapturedHierarchy] | None = None
        """The newest tree of the same log stream from before the run; its ``screen`` says whether it still counts."""
        self.raw: list[str] = []
        self.warnings: list[Mapping[str, str]] = []
        """What the caller should know of the device, whatever the outcome."""
        self.before_dispatch: list[Callable[[], object]] = []
        """Called just before the first thing that may have an effect leaves for the device."""
        self._phase = ""
        self._since = time.perf_counter()

    @property
    def phase(self) -> str:
        """The one that was entered last, or ''."""
        return self._phase

    def enter(self, phase: str) -> None:
        """What came before is over, ``phase`` begins; an empty one is none."""
        now = time.perf_counter()
        if self._phase:
            self.phases[self._phase] = self.phases.get(self._phase, 0.0) + (now - self._since) * 1000
        self._phase, self._since = phase, now

    def split(self, phase: str, part: str, seconds: float) -> None:
        """Say that ``seconds`` of a ``phase`` that is over were ``part`` of it."""
        spent = min(seconds * 1000, self.phases.get(phase, 0.0))
        self.phases[phase] = self.phases.get(phase, 0.0) - spent
        self.phases[part] = self.phases.get(part, 0.0) + spent

    def dispatched(self) -> None:
        """From here on the device may act, whatever becomes of us."""
        self.was_dispatched, self.dispatched_at = True, time.time()
        self.enter("dispatch")
        for call in self.before_dispatch:
            call()

    def note(self, signal: ProgressSignal) -> None:
        if len(self.lines) < LINES_KEPT and self._line_bytes < LINE_BYTES_KEPT:
            self._line_bytes += len(signal.entry.payload)
            self.lines.append((time.time(), signal))
        else:
            self.lines_left_out += 1

    def saw(self, tree: CapturedHierarchy) -> None:
        if self._tree_characters + len(tree.xml) <= _TREE_CHARACTERS_KEPT:
            self._tree_characters += len(tree.xml)
            self.trees.append((time.time(), tree))

    @property
    def live_lines(self) -> Iterator[LiveLine]:
        return ((at, signal.kind, signal.fields) for at, signal in self.lines)

    @property
    def hierarchies(self) -> list[CapturedHierarchy]:
        return [tree for _, tree in self.trees]

    def forget_log(self) -> None:
        """The log comes by once more from the dispatch on."""
        self.lines.clear()
        self.trees.clear()
        self.raw.clear()
        self.tree_before = None  # its screen was counted by the other reading
        self.lines_left_out = 0
        self._line_bytes = 0
        self._tree_characters = 0
