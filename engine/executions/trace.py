"""The trace of an execution: durations of its phases, live lines, trees, raw envelopes.

Phases in order: ``validate``, ``device`` (choosing it), ``check`` (is the Operator installed), ``lock``, ``close`` (apps that the
plan closes), ``look`` (a snapshot for references and ``then``), ``attach`` (to the log), ``dispatch`` (until the device's shell has the command), ``run`` (on the device), ``parse``
(reading its log), ``pictures`` (taken by the host), ``finish``, ``then`` (snapshots until the screen has settled). Their sum is the duration of the execution.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.limits import MAX_TREE_BYTES
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.outcome import ExecutionOutcome, LiveLine
from clawperator.engine.logcat.signals import CapturedHierarchy, ProgressSignal
from clawperator.engine.progress import unreported

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree

LINES_KEPT = 5_000
"""Far more than 50 actions write; further lines are counted only."""
LINE_BYTES_KEPT = 4 * 1024 * 1024


class Trace:
    """The trace of one execution. ``lines`` and ``trees`` have the host's time (seconds since the epoch)."""

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
        """The newest tree of the log stream before the run; its ``screen`` says whether it is still valid."""
        self.before_acting: tuple[float, str] | None = None
        """The time and the XML of the first tree that a backend read itself, if nothing that acts was sent before it."""
        self.fresh = ""
        """The XML of the screen, if nothing was sent to the device since it was read for this execution."""
        self.display = ""
        """The state of the display (``adb.displays.STATE_SCRIPT``) at the last tree, if the backend has read it with that."""
        self.taken: dict[str, Mapping[str, Any]] = {}
        """By step id: the node that a backend took, as ``OutcomeStep.target``."""
        self.carried_out: dict[str, tuple[float, float]] = {}
        """By step id: begin and end of what the host did itself, which is done whatever the app reports."""
        self.stale_at = -math.inf
        """When (``time.monotonic()``) the host itself last acted, or waited for the device: trees of before are out of date."""
        self.refusal: EngineError | None = None
        """Why a backend ended the plan, where it is not the device's word."""
        self.stopped: ExecutionOutcome | None = None
        """The outcome where the host ended a composition between two parts, by an error of its own."""
        self.missed: tuple[float, UiTree] | None = None
        """The tree in which the selectors of the last step matched nothing, or more than they may, if the backend read it itself."""
        self.raw: list[str] = []
        self.warnings: list[Mapping[str, str]] = []
        """Remarks about the device."""
        self.before_dispatch: list[Callable[[], object]] = []
        """Called just before the first effect is sent to the device."""
        self.on_note: Callable[[ProgressSignal], object] = unreported
        """Called with each progress line of this trace and of its parts."""
        self.is_divided = False
        """A part of it has the phases."""
        self._phase = ""
        self._since = time.perf_counter()

    @property
    def phase(self) -> str:
        """The current phase, or empty."""
        return self._phase

    def enter(self, phase: str) -> None:
        """End the current phase and begin ``phase``, unless it is empty."""
        now = time.perf_counter()
        if self._phase:
            self.phases[self._phase] = self.phases.get(self._phase, 0.0) + (now - self._since) * 1000
        self._phase, self._since = phase, now

    def split(self, phase: str, part: str, seconds: float) -> None:
        """Move ``seconds`` from the finished ``phase`` to ``part``."""
        spent = min(seconds * 1000, self.phases.get(phase, 0.0))
        self.phases[phase] = self.phases.get(phase, 0.0) - spent
        self.phases[part] = self.phases.get(part, 0.0) + spent

    def dispatched(self) -> None:
        """Note that the device may act from now on."""
        self.enter("dispatch")
        self._note_dispatch()

    def _note_dispatch(self) -> None:
        if self.was_dispatched:
            return
        self.was_dispatched, self.dispatched_at = True, time.time()
        for call in self.before_dispatch:
            call()

    @contextmanager
    def part(self) -> Iterator[Trace]:
        """Yield the trace of one part of the execution, and add it to this one at its end."""
        self.enter("")
        self.fresh = ""
        part, is_first = Trace(), not self.was_dispatched
        self.is_divided = True
        part.before_dispatch.append(self._note_dispatch)
        part.on_note = self.on_note
        try:
            yield part
        finally:
            self.is_divided = False
            part.enter("")
            for name, spent in part.phases.items():
                self.phases[name] = self.phases.get(name, 0.0) + spent
            self.lines += part.lines[: LINES_KEPT - len(self.lines)]
            self.trees += part.trees
            self.carried_out |= part.carried_out
            self.stale_at = max(self.stale_at, part.stale_at)
            if is_first:
                self.before_acting = part.before_acting
            self.raw += part.raw
            self.warnings += [each for each in part.warnings if each not in self.warnings]
            self.lines_left_out += part.lines_left_out

    def note(self, signal: ProgressSignal) -> None:
        self.on_note(signal)
        if len(self.lines) < LINES_KEPT and self._line_bytes < LINE_BYTES_KEPT:
            self._line_bytes += len(signal.entry.payload)
            self.lines.append((time.time(), signal))
        else:
            self.lines_left_out += 1

    def saw(self, tree: CapturedHierarchy) -> None:
        if self._tree_characters + len(tree.xml) > MAX_TREE_BYTES:  # of a further one only the size is kept
            tree = replace(tree, xml="", complete=False, size=len(tree.xml))
        self._tree_characters += len(tree.xml)
        self.trees.append((time.time(), tree))

    @property
    def live_lines(self) -> Iterator[LiveLine]:
        return ((at, signal.kind, signal.fields) for at, signal in self.lines)

    @property
    def hierarchies(self) -> list[CapturedHierarchy]:
        return [tree for _, tree in self.trees]

    def forget_log(self) -> None:
        """Discard what was read: the log is read again from the dispatch on."""
        self.lines.clear()
        self.trees.clear()
        self.raw.clear()
        self.tree_before = None  # its screen number belongs to the other reading
        self.lines_left_out = 0
        self._line_bytes = 0
        self._tree_characters = 0
