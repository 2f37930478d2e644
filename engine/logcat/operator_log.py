"""Read the Operator's messages from log entries: envelopes, hierarchy dumps, refusals, progress; and ends of processes.

Pure: no clock, no I/O. Tags are never compared, because release builds obfuscate them; the Operator is recognised by its
uid, else its pid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter

from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.logcat.assembly import Assembly, AssemblyResult
from clawperator.engine.logcat.chunks import CHUNK, PUBLICATION, ChunkedResults
from clawperator.engine.logcat.deaths import DEATH_BYTES, read_death
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.envelopes import NO_JSON, RESULT, EnvelopeAssembly, begins_envelope
from clawperator.engine.logcat.hierarchies import MARKER, HierarchyAssembly, command_of_tree
from clawperator.engine.logcat.progress import OPERATOR_PREFIXES, read_progress
from clawperator.engine.logcat.refusals import RefusalAssembly, begins_refusal
from clawperator.engine.logcat.signals import (
    CapturedHierarchy,
    EnvelopeSignal,
    HierarchySignal,
    ProgressSignal,
    Signal,
)
from clawperator.engine.logcat.stages import type_of_stage
from clawperator.engine.logcat.users import app_id

_SCREEN_CHANGED = "[Operator-AccessibilityService] onAccessibilityEvent("
"""The Operator logs every accessibility event, and every change of the screen is one (wire.md#log-lines)."""
_LOOKING = frozenset({"snapshot_ui", "wait_for_node", "read_text", "sleep"})
_MAX_OPEN = 32
_MAX_DUMPS = 2
"""Unfinished at the same time: the Operator runs one command at a time, and its process may have just been replaced."""
_MAX_PROCESSES = 256
_SOURCE = itemgetter(*map(LogEntry._fields.index, ("pid", "tid", "tag", "level")))
_FIRST_BYTES = (*{prefix[:2] for prefix in OPERATOR_PREFIXES}, *DEATH_BYTES)
_END_OF_DUMPS = (
    b"[UiActionEngine] step_success",
    b"[TaskRunnerManager] Task ",
    *(f"[{brand}-Command] {end}".encode() for brand in BRANDS for end in ("success", "failure")),
    *RESULT,
    *CHUNK,
    *PUBLICATION,
)
"""Lines that follow a dump: the Operator runs one command at a time, but not always on one thread."""


@dataclass(slots=True)
class _Process:
    """The state of one process of the Operator."""

    command_id: str = ""
    step_id: str = ""
    acts: bool = True
    """Whether the step may change the screen, judged by its stage."""


class OperatorLog:
    """Feed it the entries of a stream in order.

    ``uid`` is the Operator's for any Android user: entries of other apps are ignored. Where entries have none, ``pid`` decides; without one it is
    taken from the first line with ``command_id``, which others cannot know (only refusals are accepted before it). With none
    of the three, as for a captured file, every process is accepted.
    """

    def __init__(self, uid: int | None = None, pid: int | None = None, *, command_id: str = "") -> None:
        self._uid, self._pid = uid if uid is None else app_id(uid), pid
        self._names = (
            tuple(f"{key}{command_id}".encode() for key in ("commandId=", '"commandId":"')) if command_id else ()
        )
        self.screen = 0
        """Counts accessibility events and actions: an equal number means the same screen."""
        self._screen_of_dump = -1
        self._pid_of_screen = -1
        self._open: dict[tuple[int, int], Assembly] = {}
        self._chunked = ChunkedResults()
        self._processes: dict[int, _Process] = {}

    @property
    def pid(self) -> int | None:
        """The accepted process where entries have no uid; None while unknown."""
        return self._pid

    @property
    def pending(self) -> bool:
        """Whether a message waits for its next part; otherwise ``expire`` has no effect."""
        return bool(self._open) or self._chunked.pending

    def transport(self, command_id: str) -> Mapping[str, int] | None:
        """What has arrived of a result in chunk records (``EnvelopeSignal.transport``); ``None`` where none did."""
        return self._chunked.transport(command_id)

    def feed(self, entries: Iterable[LogEntry]) -> list[Signal]:
        """Process many entries at once; lines of other programs cost next to nothing, those of a dump little more."""
        waiting = entries if isinstance(entries, list) else list(entries)
        signals: list[Signal] = []
        position, follow = 0, self._chunked.follow
        while position < len(waiting):
            if self._open:
                position = self._feed_run(waiting, position, signals)
                continue
            for entry in islice(waiting, position, None):
                position += 1
                if entry.payload.startswith(_FIRST_BYTES):
                    if taken := follow(entry):
                        if not isinstance(taken, bool):
                            signals += [*self._trees(taken), taken]
                        continue
                    signals += self.push(entry)
                    if self._open:
                        break
        return signals

    def _feed_run(self, entries: list[LogEntry], position: int, signals: list[Signal]) -> int:
        """Process the consecutive entries of one thread: dumps have thousands of them."""
        first = entries[position]
        assembly = self._open.get((first.pid, first.tid))
        if not isinstance(assembly, HierarchyAssembly) or assembly.tag != first.tag or assembly.level != first.level:
            signals += self.push(first)
            return position + 1
        _, group = next(groupby(islice(entries, position, None), key=_SOURCE))
        run = list(group)
        if assembly.add_lines([entry.payload for entry in run]):
            assembly.idle_since = None
        else:
            for entry in run:
                signals += self.push(entry)
        return position + len(run)

    def push(self, entry: LogEntry) -> list[Signal]:
        """One entry; most give no signal."""
        if self._open:
            thread = (entry.pid, entry.tid)
            assembly = self._open.get(thread)
            if assembly is not None and assembly.tag == entry.tag and assembly.level == entry.level:
                assembly.idle_since = None
                outcome = assembly.add(entry)
                return [] if outcome is None else self._close(thread, outcome)
        if entry.payload.startswith(DEATH_BYTES) and (death := read_death(entry)) is not None:
            return [death]
        if not self._accepts(entry):
            return []
        signals = self._interrupt(entry) if self._open else []
        if entry.payload.startswith(OPERATOR_PREFIXES):
            signals += self._read(entry)
        return signals

    def expire(self, now: float) -> list[Signal]:
        """Give up on messages without a further part; call it regularly with any clock in seconds.

        The limit is two seconds for envelopes and dumps, 0.3 for the stack trace of a refusal, from the first call after the last
        part; 0.5 for a result in chunk records, after the app has written the last.
        """
        signals: list[Signal] = []
        for thread, assembly in list(self._open.items()):
            if self._open.get(thread) is not assembly:
                continue
            if assembly.idle_since is None:
                assembly.idle_since = now
            elif now - assembly.idle_since >= assembly.timeout:
                signals += self._close(thread, assembly.abandon(f"no further part within {assembly.timeout:g} s"))
        return [*signals, *self._chunked.expire(now)]

    def finish(self) -> list[Signal]:
        """The end of the stream: report unfinished messages."""
        signals: list[Signal] = []
        while self._open:
            thread, assembly = next(iter(self._open.items()))
            signals += self._close(thread, assembly.abandon("the log ended before its end"))
        return [*signals, *self._chunked.finish()]

    def _accepts(self, entry: LogEntry) -> bool:
        if self._uid is not None and entry.uid >= 0:
            return app_id(entry.uid) == self._uid
        if entry.pid < 0 and self._pid is None and not self._names:
            return not entry.is_note
        if self._pid is not None:
            return entry.pid == self._pid
        if not self._names:
            return True
        if any(name in entry.payload for name in self._names) and entry.payload.startswith(OPERATOR_PREFIXES):
            self._pid = entry.pid
            return True
        return begins_refusal(entry)

    def _read(self, entry: LogEntry) -> list[Signal]:
        """One of the Operator's lines that no open message claims."""
        if begins_envelope(entry):
            return self._begin(EnvelopeAssembly(entry), entry)
        if begins_refusal(entry):
            return self._begin(RefusalAssembly(entry), entry)
        if entry.payload.startswith((*CHUNK, *PUBLICATION)):
            result = self._chunked.read(entry)
            return [] if result is None else [*self._trees(result), result]
        process = self._process(entry.pid)
        if entry.payload.startswith(MARKER):
            command_id = command_of_tree(entry) or process.command_id
            step_id = process.step_id if command_id == process.command_id else ""
            return self._begin(HierarchyAssembly(entry, step_id, command_id), entry)
        message = entry.message
        progress = read_progress(message)
        if progress is None:
            self.screen += message.startswith(_SCREEN_CHANGED)
            return []
        kind, fields = progress
        command_id = fields.get("commandId") or process.command_id
        if kind == "start" and entry.pid != self._pid_of_screen:
            self.screen, self._pid_of_screen = (
                self.screen + 1,
                entry.pid,
            )  # events may have been missed while no process ran
        signal = ProgressSignal(kind, command_id, fields, message, entry, self.screen)
        self._follow(process, entry, kind, fields)
        return [signal]

    def _begin(self, assembly: Assembly, entry: LogEntry) -> list[Signal]:
        outcome = assembly.add(entry)
        if outcome is not None:
            return self._signals(outcome)
        signals: list[Signal] = []
        thread = (entry.pid, entry.tid)
        if thread in self._open:  # without thread ids, two tags of one process share the place
            signals = self._close(thread, self._open[thread].abandon("another message began before its end"))
        elif (oldest := self._oldest_beyond_limit(assembly)) is not None:
            signals = self._close(oldest, self._open[oldest].abandon("too many unfinished messages"))
        self._open[thread] = assembly
        return signals

    def _oldest_beyond_limit(self, new: Assembly) -> tuple[int, int] | None:
        """The thread of the unfinished message to discard for a ``new`` one, because their number is limited."""
        if isinstance(new, HierarchyAssembly):
            dumps = [thread for thread, each in self._open.items() if isinstance(each, HierarchyAssembly)]
            if len(dumps) >= _MAX_DUMPS:
                return dumps[0]
        return next(iter(self._open)) if len(self._open) >= _MAX_OPEN else None

    def _close(self, thread: tuple[int, int], outcome: AssemblyResult) -> list[Signal]:
        del self._open[thread]
        return self._signals(outcome)

    def _signals(self, outcome: AssemblyResult) -> list[Signal]:
        signals: list[Signal] = []
        for each in outcome.signals:
            signal = self._attributed(each)
            if isinstance(signal, EnvelopeSignal):
                self._chunked.settle(signal)
                signals += self._trees(signal)
            signals.append(signal)
        for entry in outcome.replay:
            signals += self.push(entry)
        for assembly in self._open.values() if outcome.replay else ():
            if isinstance(assembly, HierarchyAssembly):
                assembly.read_once()
        return signals

    def _attributed(self, signal: Signal) -> Signal:
        """Set the process's command on a result without JSON, and number dumps."""
        if isinstance(signal, HierarchySignal):
            return self._numbered(signal)
        if isinstance(signal, EnvelopeSignal) and signal.problem == NO_JSON:
            return signal._replace(command_id=self._process(signal.entry.pid).command_id)
        return signal

    def _trees(self, signal: EnvelopeSignal) -> Iterator[HierarchySignal]:
        """The trees that a result holds itself, from Operator 0.12.3 on."""
        for step in signal.envelope.step_results if signal.envelope is not None else ():
            text = step.data.get("text", "")
            if step.action_type == "snapshot_ui" and text.startswith("<"):
                captured = CapturedHierarchy(step.id, text, text.rstrip().endswith("</hierarchy>"))
                yield self._numbered(HierarchySignal(captured, signal.command_id, signal.entry))

    def _interrupt(self, entry: LogEntry) -> list[Signal]:
        """End what this entry interrupts: its thread's message, or all dumps of a process whose step is over."""
        signals: list[Signal] = []
        ends_dumps = entry.payload.startswith(_END_OF_DUMPS)
        for thread, assembly in list(self._open.items()):
            same_thread = thread == (entry.pid, entry.tid) and entry.tid >= 0
            over = ends_dumps and thread[0] == entry.pid and isinstance(assembly, HierarchyAssembly)
            if (same_thread or over) and self._open.get(thread) is assembly:
                signals += self._close(thread, assembly.abandon("another message began before its end"))
        return signals

    def _process(self, pid: int) -> _Process:
        if len(self._processes) > _MAX_PROCESSES:
            self._processes.clear()
        return self._processes.setdefault(pid, _Process())

    def _follow(self, process: _Process, entry: LogEntry, kind: str, fields: dict[str, str]) -> None:
        """Which command and step later lines of the process belong to."""
        if kind == "start":
            process.command_id, process.step_id = fields.get("commandId", ""), ""
            self._chunked.begin(entry, process.command_id)
        elif kind == "step-start":
            process.step_id, process.acts = fields.get("id", ""), True
        elif kind == "stage-start":
            process.acts = type_of_stage(fields.get("id", "")) not in _LOOKING
        elif kind == "snapshot-start":
            self._screen_of_dump = self.screen
        elif kind in ("step-success", "success", "failure"):
            self.screen += kind == "step-success" and process.acts
            process.step_id = ""
        elif kind in ("answered", "answered-failure") and fields.get("commandId") == process.command_id:
            process.command_id = ""

    def _numbered(self, signal: HierarchySignal) -> HierarchySignal:
        """Add the number of the screen, if it is still the one at the beginning of the dump."""
        screen = self.screen if self._screen_of_dump == self.screen else -1
        return signal._replace(captured=replace(signal.captured, screen=screen))
