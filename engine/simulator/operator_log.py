"""Write the Operator's lines to the device's log: tags per build, chunking, process and thread (wire.md#log-lines)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.contracts.limits import utf16_length
from clawperator.engine.runtime.outcome import ActionResult
from clawperator.engine.runtime.plan import Generation, at_least
from clawperator.engine.runtime.run import Observer
from clawperator.engine.simulator.log_buffer import LogBuffer

CHUNK_UNITS = 4_000

CLASSES = (
    "OperatorCommandReceiver",
    "AgentCommandExecutorDefault",
    "TaskRunnerManagerDefault",
    "UiActionEngineDefault",
    "TaskScopeDefault",
    "ClawperatorResultEmitter",
    "OperatorAccessibilityService",
    "UxInspectorDefault",
)
_RELEASE_TAGS: Mapping[str, tuple[str, ...]] = {
    "0.3": ("w", "a", "o", "E", "E0", "d", "q", "B"),
    "0.5": ("r", "f", "k", "u1", "n", "I", "c", "x4"),
}
_RELEASE_TYPES: Mapping[str, str] = {"0.3": "m", "0.5": "t2"}


def split_message(message: str) -> list[str]:
    """The log entries of one message: itself, or from 4,000 UTF-16 units on its lines, split into pieces of 4,000."""
    if utf16_length(message) < CHUNK_UNITS:
        return [message]
    parts: list[str] = []
    for line in message.split("\n"):
        parts += [line] if utf16_length(line) <= CHUNK_UNITS else _pieces(line)
    return parts


def _pieces(line: str) -> Iterable[str]:
    """Cut by UTF-16 units as the app does, in the middle of a surrogate pair too."""
    data = line.encode("utf-16-le", "surrogatepass")
    step = 2 * CHUNK_UNITS
    return (data[start : start + step].decode("utf-16-le", "surrogatepass") for start in range(0, len(data), step))


@dataclass(frozen=True, slots=True)
class Build:
    """One build of the app: whether its tags are readable, and below API 26 how long they may be."""

    generation: Generation
    brand: str
    debug: bool
    sdk: int

    @property
    def readable(self) -> bool:
        """Whether classes keep their names: the release build obfuscated them before 0.9.3."""
        return self.debug or at_least(self.generation, "0.9")

    def tag(self, source: str) -> str:
        """The tag of lines logged from class ``source``; the release build's names are random but constant for one build."""
        if not self.readable:
            return _RELEASE_TAGS[self.generation][CLASSES.index(source)]
        name = "AgentCommandExecutorDefault$execute" if source == "AgentCommandExecutorDefault" else source
        return name if self.sdk >= 26 else name[:23]

    def type_name(self, action_type: str) -> str:
        """The class of a step in ``step_start``: obfuscated in the release build."""
        readable = "".join(word.capitalize() for word in action_type.split("_"))
        return readable if self.readable else f"{_RELEASE_TYPES[self.generation]}${readable[0].lower()}"

    def stack(self, exception: str, message: str) -> str:
        """The text that an exception adds to a message: the exception line, and frames with the build's names."""
        frames: tuple[str, ...] = (
            "app.clawperator.operator.TaskRunner.run",
            "app.clawperator.operator.Executor.execute",
        )
        if not self.readable:
            frames = ("a2.c.a", "a2.c$b.invokeSuspend", "l4.a.resumeWith")
        lines = [
            f"{exception}: {message}",
            *(f"\tat {name}(Unknown Source:{7 + 12 * i})" for i, name in enumerate(frames)),
        ]
        return "\n" + "\n".join(lines)


@dataclass(slots=True)
class AppProcess:
    """The Operator's process as log entries show it. A crash makes a new one."""

    pid: int
    uid: int


class OperatorLogWriter:
    """The logging facade of one process."""

    def __init__(self, log: LogBuffer, process: AppProcess, build: Build) -> None:
        self._log = log
        self.process = process
        self.build = build

    def write(self, source: str, level: str, message: str, *, tid: int = 0) -> None:
        """``tid`` 0 is the main thread."""
        self.write_parts(source, level, split_message(message), tid=tid)

    def write_parts(
        self, source: str, level: str, parts: Iterable[str], *, tid: int = 0, foreign: bool = False
    ) -> None:
        """Entries of one message, already split; ``foreign``: another app writes them under this one's tag."""
        pid, uid = (self.process.pid + 1, self.process.uid + 1) if foreign else (self.process.pid, self.process.uid)
        self._log.write_all(parts, pid=pid, tid=tid or pid, uid=uid, level=level, tag=self.build.tag(source))


class CommandLines(Observer):
    """The log lines of one command."""

    def __init__(self, log: OperatorLogWriter, command_id: str, task_id: str, tid: int) -> None:
        self._log = log
        self.command_id = command_id
        self._ids = f"commandId={command_id} taskId={task_id}"
        self._name = f"[{log.build.brand}-Command]"
        self._tid = tid

    def command(self, level: str, text: str) -> None:
        self._log.write("AgentCommandExecutorDefault", level, f"{self._name} {text}", tid=self._tid)

    def runner(self, level: str, text: str) -> None:
        self._log.write("TaskRunnerManagerDefault", level, f"[TaskRunnerManager] {text}", tid=self._tid)

    def scope(self, text: str) -> None:
        self._log.write("TaskScopeDefault", "D", f"[TaskScope] {text}", tid=self._tid)

    def inspector(self, text: str) -> None:
        self._log.write("UxInspectorDefault", "D", f"[Operator-UxInspector] {text}", tid=self._tid)

    def dump(self, entries: Sequence[str]) -> None:
        """Entries of a hierarchy dump, already split."""
        self._log.write_parts("TaskScopeDefault", "D", entries, tid=self._tid)

    def queued(self) -> None:
        self.command("I", f"queued {self._ids} waiting_for_active_command=true")

    def start(self, source: str, timeout_ms: int, action_count: int) -> None:
        detail = f"source={source} timeoutMs={timeout_ms} actionCount={action_count}"
        self.command("I", f"start {self._ids} {detail}")
        self.runner("D", "Task execution started")

    def succeeded(self, step_count: int, elapsed_ms: int) -> None:
        self.runner(
            "D", f"Task completed successfully in {elapsed_ms}ms with value: UiActionResult(steps={step_count})"
        )
        self.command("I", f"success {self._ids} stepCount={step_count}")

    def failed(self, reason: str, error: str, elapsed_ms: int) -> None:
        self.runner("E", f"Task failed after {elapsed_ms}ms: {reason}")
        stack = self._log.build.stack("java.lang.IllegalStateException", reason)
        self.command("E", f"failure {self._ids} reason={error}{stack}")

    def timed_out_in_queue(self, error: str) -> None:
        """The deadline passed in the queue: nothing was begun."""
        self.command("E", f"failure {self._ids} reason={error}")

    def step_start(self, step_id: str, action_type: str) -> None:
        self._engine(f"step_start id={step_id} type={self._log.build.type_name(action_type)}")
        self.scope("Executing UI operations")

    def step_done(self, step_id: str, action_type: str, outcome: ActionResult) -> None:
        self.scope("UI operations completed")
        kind = self._log.build.type_name(action_type)
        typed = at_least(self._log.build.generation, "0.10")
        rest = f"success={str(outcome.success).lower()}" if typed else f"data={_braces(outcome.data)}"
        self._engine(f"step_success id={step_id} type={kind} {rest}")

    def stage_start(self, stage: str, label: str) -> None:
        self.command("D", f"stage-start {self._ids} id={stage} label={label}")

    def stage_retry(self, stage: str, attempt: int, attempts: int, delay_ms: int) -> None:
        self.command("D", f"stage-retry {self._ids} id={stage} attempt={attempt}/{attempts} delayMs={delay_ms}")

    def stage_success(self, stage: str, data: Mapping[str, str]) -> None:
        self.command("D", f"stage-success {self._ids} id={stage} data={_braces(data)}")

    def stage_failure(self, stage: str, reason: str) -> None:
        stack = self._log.build.stack("java.lang.IllegalStateException", reason)
        self.command("E", f"stage-failure {self._ids} id={stage} reason={reason}{stack}")
        self.command("D", f"stage-log {self._ids} message=StageFailure context: stage={stage}, reason={reason}")

    def _engine(self, text: str) -> None:
        self._log.write("UiActionEngineDefault", "D", f"[UiActionEngine] {text}", tid=self._tid)


def _braces(data: Mapping[str, str]) -> str:
    """A map as Kotlin prints it."""
    return "{" + ", ".join(f"{key}={value}" for key, value in data.items()) + "}"
