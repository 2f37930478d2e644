"""The Operator app on a simulated device: how it handles a broadcast, and every line that it logs (wire.md#log-lines and wire.md#envelope).

``runtime`` has the semantics of the actions; this is the receiver, the one-command-at-a-time queue, the device-side
deadline, the envelope, the known defects, and the faults of a scenario.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from functools import partial
from random import Random

from clawperator.engine.contracts.operator_identity import brand_of, service_of
from clawperator.engine.runtime.actions import run_plan
from clawperator.engine.runtime.outcome import PlanOutcome
from clawperator.engine.runtime.payload import PayloadError, read_payload
from clawperator.engine.runtime.plan import Generation, OperatorPlan, PlanStep, at_least
from clawperator.engine.runtime.run import PlanRun
from clawperator.engine.simulator.android_users import IDS_PER_USER
from clawperator.engine.simulator.apps.layout import Node
from clawperator.engine.simulator.clock import DeviceClock
from clawperator.engine.simulator.operator_log import AppProcess, Build, CommandLines, OperatorLogWriter, split_message
from clawperator.engine.simulator.operator_surface import OperatorSurface
from clawperator.engine.simulator.platform import Platform
from clawperator.engine.simulator.recording import Recorder
from clawperator.engine.simulator.results import (
    LONGEST_LINE,
    Written,
    failed_envelope,
    json_line,
    success_envelope,
    typed_envelope,
    written,
)

RECEIVER = "OperatorCommandReceiver"

_UNAVAILABLE = "Accessibility service is not available"
_RESULT_WRITER = "ResultEnvelopeTransportKt"


class CommandTimeout(Exception):  # noqa: N818 - Kotlin's word for it; never leaves this module
    """The device-side budget ran out."""


class ProcessDied(Exception):  # noqa: N818 - an event, not an error
    """The app's process is gone, and the command with it: no envelope."""


class BudgetClock:
    """The device's clock with a command's deadline: sleeping past it ends the command."""

    def __init__(self, clock: DeviceClock, deadline: float) -> None:
        self._clock = clock
        self._deadline = deadline

    def now(self) -> float:
        return self._clock.now()

    async def sleep(self, seconds: float) -> None:
        left = self._deadline - self._clock.now()
        await self._clock.sleep(max(0.0, min(seconds, left)))
        if seconds >= left:
            raise CommandTimeout


class SimulatedOperator:
    """One installed Operator app."""

    def __init__(self, device: Platform, generation: Generation, package: str, uid: int) -> None:
        self.package = package
        self.generation: Generation = generation
        self.device = device
        self._brand = brand_of(package)
        self._build = Build(generation, self._brand.word, debug=package.endswith(".dev"), sdk=device.sdk)
        self._log = OperatorLogWriter(device.log, self._new_process(uid), self._build)
        self._mutex = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._threads = 0
        self._chance = Random(device.scenario.seed)
        self.recorder = Recorder(
            device.files,
            package,
            uid=uid,
            user=device.users.current,
            now_ms=lambda: device.log.now_ns() // 1_000_000,
            snapshot=lambda: window.xml if (window := device.accessibility.readable_window()) else None,
        )

    @property
    def service(self) -> str:
        """The accessibility service's component, as the secure settings list it."""
        return service_of(self.package)

    @property
    def connected(self) -> bool:
        """Whether the accessibility service is bound."""
        return self.device.accessibility.bound(self.service)

    @property
    def pid(self) -> int:
        return self._log.process.pid

    def _new_process(self, uid: int) -> AppProcess:
        pid = self.device.operator_pids[self.package] = self.device.new_pid()
        return AppProcess(pid, self.device.users.current * IDS_PER_USER + uid % IDS_PER_USER)

    def on_event(self, kind: str, package: str, node: Node | None) -> None:
        """Log an accessibility event, as the app does while the service is connected; those of its own package are not."""
        if package == self.package or not self.connected:
            return
        self.recorder.on_event(kind, package, node)
        cls, text = (node.cls, node.view.text or node.view.desc) if node else ("android.widget.FrameLayout", "")
        stamp = round(self.device.clock.now() * 1000)
        event = f"EventType: {kind}; EventTime: {stamp}; PackageName: {package}; ClassName: {cls}; Text: [{text}]"
        line = f"[Operator-AccessibilityService] onAccessibilityEvent({event})"
        self._log.write("OperatorAccessibilityService", "D", line)

    def receive(self, action: str, extras: Mapping[str, str], number: int) -> None:
        """``onReceive``: returns at once; the command itself runs as a task of the device."""
        payload = extras.get("payload", "")
        if action != self._brand.action:
            self._receiver("D", f"Ignoring unsupported action={action}")
        elif not payload.strip():
            self._receiver("E", "Missing required agent payload extra: payload")
        elif not self.connected:
            self._refuse(payload, number)
        else:
            self._accept(payload, number)

    def _refuse(self, payload: str, number: int) -> None:
        try:
            plan = read_payload(payload, self.generation)
        except PayloadError as exc:
            text = f"{_UNAVAILABLE} and failed to parse agent command payload"
            self._receiver("E", text + self._stack(exc))
            return
        if plan.background:
            self._begin(plan, number)
            return
        self._receiver("E", f"{_UNAVAILABLE} commandId={plan.command_id} taskId={plan.task_id}")
        self._result(json_line(failed_envelope(plan, _UNAVAILABLE, "SERVICE_UNAVAILABLE")), tid=0)

    def _accept(self, payload: str, number: int) -> None:
        try:
            plan = read_payload(payload, self.generation)
        except PayloadError as exc:
            self._receiver("E", "Failed to parse agent command payload" + self._stack(exc))
            return
        self._begin(plan, number)

    def _begin(self, plan: OperatorPlan, number: int) -> None:
        self._threads += 1
        command = _Command(self, plan, number, tid=self.pid + 17 + self._threads % 8)
        task = self.device.spawn(command.run(self._mutex))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _stack(self, exc: PayloadError) -> str:
        return self._build.stack("java.lang.IllegalArgumentException", str(exc))

    def _receiver(self, level: str, text: str) -> None:
        self._log.write(RECEIVER, level, f"[Operator-Receiver] {text}")

    def _result(self, line: str, *, tid: int) -> None:
        self._log.write("ClawperatorResultEmitter", "I", self.prefix("Result") + line, tid=tid)

    def prefix(self, kind: str) -> str:
        """The beginning of a log line of that kind, such as ``[Clawperator-Result] ``."""
        return f"[{self._brand.word}-{kind}] "

    def die(self, reason: str) -> None:
        """The process crashes; Android disables its accessibility service. The next line comes from a new process."""
        pid = self.pid
        stack = self._build.stack("java.util.MissingFormatArgumentException", reason)
        message = f"FATAL EXCEPTION: DefaultDispatcher-worker-1\nProcess: {self.package}, PID: {pid}{stack}"
        uid = self._log.process.uid
        self.device.log.write(
            pid=pid, tid=pid + 17, uid=uid, level="E", tag="AndroidRuntime", message=message, buffer="crash"
        )
        version = self.device.packages[self.package]
        facts = f"Process: {self.package}\nPID: {pid}\nFlags: 0x20e8be46\n"
        facts += f"Package: {self.package} v{version.version_code} ({version.version_name})\nForeground: Yes\n"
        drop = f"{facts}\n{stack.lstrip()}"
        self.device.dropbox.add(self.device.log.now_ns() / 1e9, "data_app_crash", drop)
        self.device.accessibility.disable(self.service)
        self.device.noise.system("ActivityManager", f"Process {self.package} (pid {pid}) has died: fg  TOP")
        self.stop()

    def stop(self) -> None:
        """End the process with all of its commands; later lines come from a new one."""
        self.device.noise.zygote(f"Process {self.pid} exited due to signal 9 (Killed)")
        current = asyncio.current_task() if self._running else None
        for task in self._running - ({current} if current else set()):
            task.cancel()
        self._log.process = self._new_process(self._log.process.uid)
        self._mutex = asyncio.Lock()


class _Command:
    """One command from its acceptance to its envelope."""

    def __init__(self, operator: SimulatedOperator, plan: OperatorPlan, number: int, tid: int) -> None:
        self._operator = operator
        self._device = operator.device
        self._log = operator._log  # noqa: SLF001 - a part of the operator, apart for its size
        self._plan = plan
        self._fault = partial(self._device.scenario.of_command, number=number, command_id=plan.command_id)
        self._tid = tid
        self._lines = CommandLines(self._log, plan.command_id, plan.task_id, tid)
        self._deadline = self._device.clock.now() + plan.timeout_ms / 1000
        self._steps = 0
        self._running: PlanStep | None = None

    async def run(self, mutex: asyncio.Lock) -> None:
        """Wait for the queue, run the plan, log the envelope. The deadline includes the queue (wire.md#queueing-on-the-device)."""
        await self._device.pauses.at("accepted")
        if mutex.locked():
            self._lines.queued()
        try:
            async with asyncio.timeout(self._real_time_left()):
                await mutex.acquire()
        except TimeoutError:
            self._lines.timed_out_in_queue(self._timed_out())
            await self._finish(self._timed_out())
            return
        try:
            self._lines.start(self._plan.source, self._plan.timeout_ms, len(self._plan.steps))
            await self._perform()
        except ProcessDied as exc:
            self._operator.die(str(exc))
        finally:
            mutex.release()

    def _real_time_left(self) -> float | None:
        """Real seconds until the deadline; ``None`` with a clock that only its own waits move."""
        clock = self._device.clock
        return (self._deadline - clock.now()) * clock.speed if clock.speed else None

    async def _perform(self) -> None:
        clock = self._device.clock
        started = clock.now()
        outcome = await self._outcome()
        elapsed_ms = round((clock.now() - started) * 1000)
        if not outcome.reason:
            self._lines.succeeded(len(outcome.records), elapsed_ms)
            await self._finish("", outcome)
            return
        if self._typed:
            self._lines.failed(outcome.reason, outcome.reason, elapsed_ms)
            await self._finish(outcome.reason, outcome)
            return
        error = (
            outcome.reason if outcome.failed_step == "" else f"Task execution failed: {self._defect(outcome.reason)}"
        )
        self._lines.failed(outcome.reason, error, elapsed_ms)
        await self._finish(error)

    @property
    def _typed(self) -> bool:
        """Whether failures have codes and steps (operator-0.10)."""
        return at_least(self._operator.generation, "0.10")

    async def _outcome(self) -> PlanOutcome:
        """A timeout is an outcome whose ``failed_step`` is empty."""
        budget = BudgetClock(self._device.clock, self._deadline)
        operator = self._operator
        surface = OperatorSurface(
            self._device,
            budget,
            self._lines,
            self._fault,
            service=operator.service,
            recorder=operator.recorder,
            generation=operator.generation,
        )
        run = PlanRun(
            surface,
            budget,
            self._operator.generation,
            self._lines,
            self._operator._chance.random,  # noqa: SLF001 - as above
            before_step=lambda step: self._before(step, budget),
        )
        try:
            return await run_plan(run, self._plan)
        except CommandTimeout:
            return PlanOutcome(tuple(run.reports), self._timed_out(), failed_data=run.receipt)

    def _timed_out(self) -> str:
        return f"Agent command timed out after {self._plan.timeout_ms}ms"

    async def _before(self, step: PlanStep, budget: BudgetClock) -> None:
        """Apply the faults at the beginning of a step."""
        self._steps, self._running = self._steps + 1, step
        await self._device.pauses.at(f"step {self._steps}")
        if self._fault("log_stream_ends", step=self._steps):
            self._device.log.end_readers()
        if cut := self._fault("disconnect", step=self._steps):
            self._device.disconnect(cut.reconnect_after_ms)
        if self._fault("crash", step=self._steps):
            raise ProcessDied("simulated crash")
        if slow := self._fault("slow_action", action=step.type) or self._fault("slow_action", action=""):
            await budget.sleep(slow.extra_ms / 1000)

    @staticmethod
    def _defect(reason: str) -> str:
        """Reproduce the APK's formatting of its failure text (wire.md#known-defects-of-the-operator): one ``%`` spoils it, two crash it."""
        marks = reason.count("%")
        if marks > 1:
            raise ProcessDied(f"Format specifier '{reason[reason.index('%') :][:2]}'")
        if marks == 0:
            return reason
        conversion = re.search(r"%[-#+ 0,(<\d.$]*(.?)", reason, re.DOTALL)
        return f"Conversion = '{conversion[1] if conversion and conversion[1] else '%'}'"

    async def _finish(self, error: str, outcome: PlanOutcome | None = None) -> None:
        if self._typed:
            envelope = typed_envelope(self._plan, outcome or PlanOutcome((), error), self._running if error else None)
        else:
            envelope = failed_envelope(self._plan, error) if outcome is None else success_envelope(self._plan, outcome)
        late = self._fault("late_envelope")
        if late is not None:
            await self._device.clock.sleep(late.delay_ms / 1000)
        await self._device.pauses.at("result")
        self._emit(envelope)
        await self._device.pauses.at("answered")
        ids = f"commandId={self._plan.command_id} taskId={self._plan.task_id}"
        if error:
            self._log.write(RECEIVER, "E", f"[Operator-Receiver] Agent command failed {ids}: {error}")
        else:
            self._log.write(RECEIVER, "D", f"[Operator-Receiver] Agent command completed successfully {ids}")

    def _emit(self, envelope: Mapping[str, object]) -> None:
        """Log the envelope, subject to the faults of this command."""
        foreign = self._fault("foreign_envelope")
        if foreign is not None:
            line = json_line({**envelope, "commandId": "foreign-1"})
            self._write(line[: len(line) // 2] if foreign.damaged else line)
        if self._fault("silence") is not None:
            return
        line = self._shaped(envelope)
        copies = self._fault("duplicate_envelope")
        for _ in range(copies.copies if copies else 1):
            self._write(line)

    def _shaped(self, envelope: Mapping[str, object]) -> str:
        malformed = self._fault("malformed_envelope")
        padded = self._fault("chunked_envelope") or self._fault("oversized_envelope")
        if padded is not None:
            return json_line({**envelope, "padding": "x" * padded.units})
        line = json_line(envelope)
        if malformed is None:
            return line
        wrong = json_line({"commandId": self._plan.command_id, "taskId": 7, "status": "perhaps", "stepResults": {}})
        prose = f"commandId={self._plan.command_id} could not be serialised"
        return {"truncated": line[: len(line) * 2 // 3], "not_json": prose, "wrong_types": wrong}[malformed.how]

    def _write(self, line: str) -> None:
        whole = self._operator.prefix("Result") + line
        if self._typed:
            self._publish(whole)
            return
        chunked = self._fault("chunked_envelope")
        for part in split_message(whole):
            self._log.write_parts("ClawperatorResultEmitter", "I", (part,), tid=self._tid)
            for _ in range(chunked.noise_between if chunked else 0):
                self._device.noise.line()

    def _publish(self, whole: str) -> None:
        """Write a result as Operator 0.10 and later do: a short one as a line, a long one in records, between two markers."""
        size, lines = len(whole.encode("utf-8", "replace")), [Written(whole)]
        changed = self._fault("changed_records") if size > LONGEST_LINE else None
        if size > LONGEST_LINE:
            head = self._operator.prefix("Result-Chunk")
            lines = written(head, whole, self._plan.command_id, self._plan.task_id, changed)
        lost, noise = self._fault("lost_records"), self._fault("chunked_envelope")
        count = sum(not line.foreign for line in lines)
        self._marker("started", size, count, 0)
        for index, line in enumerate(lines):
            if lost is None or index not in lost.records:
                self._log.write_parts(_RESULT_WRITER, "I", (line.text,), tid=self._tid, foreign=line.foreign)
            for _ in range(noise.noise_between if noise else 0):
                self._device.noise.line()
        if changed is None or changed.how != "stalled":
            self._marker("writes_completed", size, count, count)

    def _marker(self, event: str, size: int, records: int, written: int) -> None:
        facts = {"commandId": self._plan.command_id, "taskId": self._plan.task_id, "event": event, "byteLength": size}
        facts |= {"recordCount": records, "chunkCount": records if size > LONGEST_LINE else 0}
        line = self._operator.prefix("Publication") + json_line({**facts, "writtenRecords": written, "elapsedMs": 0})
        self._log.write(_RESULT_WRITER, "I", line, tid=self._tid)


def command_id_of(payload: str) -> str:
    """The ``commandId`` of an arbitrary payload; empty when there is none."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return ""
    found = value.get("commandId") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
