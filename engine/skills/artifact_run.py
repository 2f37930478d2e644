"""Run a compiled artifact: its executions in order, then its outputs and confirmations (skills.md#recipes)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from clawperator.engine.errors import EngineError
from clawperator.engine.executions import build
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.follow.trees import tree_text
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.progress import unreported
from clawperator.engine.skills.compiled import Choice, Compiled, with_matcher
from clawperator.engine.skills.node_choice import choose
from clawperator.engine.skills.outputs import failed_confirms, read_outputs, redacted, steps_of, variance
from clawperator.engine.skills.salt import installation_salt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.config.policy import Profile
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.executions.attempt import ExecutionResult

OnEvent = Callable[[Mapping[str, Any]], object]


@dataclass(slots=True)
class ArtifactReport:
    """The result of a run, filled in while it lasts. ``results`` are those of the executions that ran, fewer than planned after a failure.

    ``errors`` are error objects. ``variance``: optional steps that failed. ``outputs`` are redacted as the recipe declares, and so
    is all of ``to_dict``; ``results`` are not. ``snapshots`` are those for choices; ``chosen`` has ``stepId``, ``executionId`` and
    ``matcher`` (or ``None``) of each. ``then`` is the screen after the run, if ``RunOptions.then`` asked for it.
    """

    compiled: Compiled
    results: list[ExecutionResult] = field(default_factory=list)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    variance: list[Mapping[str, Any]] = field(default_factory=list)
    errors: list[Mapping[str, Any]] = field(default_factory=list)
    warnings: list[Mapping[str, Any]] = field(default_factory=list)
    duration_ms: float = 0.0
    snapshots: list[ExecutionResult] = field(default_factory=list)
    chosen: list[Mapping[str, Any]] = field(default_factory=list)
    then: Mapping[str, Any] | None = None
    salt: bytes = b""

    @property
    def failed(self) -> bool:
        return bool(self.errors)

    def to_dict(self) -> dict[str, Any]:
        """Return the run report; ``skillId`` and ``artifact`` if known; ``recipe``, ``outputs`` and ``variance`` for recipes."""
        answer: dict[str, Any] = {"ok": not self.failed, **_names(self.compiled)}
        if self.compiled.recipe is not None:
            answer["recipe"] = dict(self.compiled.recipe)
        answer["deviceId"] = (*self.snapshots, *self.results)[0].device_id
        answer["planned"] = len(self.compiled.executions)
        answer["executions"] = [documented(result) for result in self.results]
        if self.compiled.recipe is not None:
            answer |= {"outputs": dict(self.outputs), "variance": [dict(entry) for entry in self.variance]}
        if self.chosen:
            answer["choices"] = [dict(entry) for entry in self.chosen]
        answer["errors"] = [dict(error) for error in self.errors]
        if self.failed:
            answer |= self.compiled.fallback
        if self.warnings:
            answer["warnings"] = [dict(warning) for warning in self.warnings]
        if self.then is not None:
            answer["then"] = dict(self.then)
        return self.redacted({**answer, "durationMs": round(self.duration_ms)})

    def redacted(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``answer`` without the texts that the recipe redacts."""
        steps = steps_of(result.envelope for result in self.results)
        return redacted(answer, self.compiled.outputs, self.compiled.private, steps, self.salt)


def documented(result: ExecutionResult) -> dict[str, Any]:
    """Return one execution of a report, without the keys of the report itself."""
    return {key: value for key, value in result.to_dict().items() if key not in ("ok", "deviceId", "then")}


class Executor(Protocol):
    """Runs executions: the engine, or a front end's wrapper of it."""

    settings: Settings

    async def execute(
        self,
        payload: Any,
        /,
        *,
        device_id: str | None = None,
        receiver_package: str | None = None,
        timeout_ms: object = None,
        options: RunOptions | None = None,
    ) -> ExecutionResult: ...


async def screen_after(
    executor: Executor, options: RunOptions, device_id: str | None, receiver_package: str | None = None
) -> Mapping[str, Any]:
    """Return the settled screen, which an execution of its own reads, as ``options.then``; ``error`` if that fails."""
    how = {"device_id": device_id, "receiver_package": receiver_package}
    try:
        result = await executor.execute(build.snapshot(), **how, options=options)
    except EngineError as exc:
        return {"error": exc.to_dict()}
    return result.then or {}


async def run_document(
    engine: Executor, document: object, profile: Profile, *, timeout_ms: object = None, **how: Any
) -> ArtifactReport:
    """Run the output of ``compile-artifact`` as ``run_artifact`` does, if ``profile`` allows it.

    Raises ``EngineError``: EXECUTION_VALIDATION_FAILED before anything runs, CAPABILITY_DENIED, and what ``run_artifact`` raises.
    """
    from clawperator.engine.skills.compiled_json import admit_compiled, read_compiled

    compiled = await asyncio.to_thread(read_compiled, document, timeout_ms=timeout_ms)
    admit_compiled(profile, compiled)
    return await run_artifact(engine, compiled, timeout_ms=timeout_ms, **how)


async def run_artifact(
    engine: Executor,
    compiled: Compiled,
    *,
    device_id: str | None = None,
    receiver_package: str | None = None,
    timeout_ms: object = None,
    options: RunOptions | None = None,
    on_event: OnEvent = unreported,
) -> ArtifactReport:
    """Run the executions of ``compiled`` in order, each with ``timeout_ms`` if given; ``on_event`` gets an event before and after each.

    An execution with a choice is preceded by a snapshot, as a separate execution; without exactly one node it has failed. A
    failed execution or confirmation ends the run, unless it is optional. Every step counts (the flat profile).

    ``options.then`` is part of the last execution, which records the screen before several executions too; where the last one did
    not run, an execution of its own reads the screen.

    Raises ``EngineError`` for an execution without a result, with ``skillId``, ``artifact`` and the previous ``executions``.
    """
    began = time.monotonic()
    salt, trouble = b"", ""
    if any(output.redaction == "hash" for output in compiled.outputs):
        salt, trouble = await asyncio.to_thread(installation_salt, engine.settings.environment)
    how = {"receiver_package": receiver_package, "timeout_ms": timeout_ms}
    report = ArtifactReport(compiled, salt=salt)
    run = _ArtifactRun(
        engine, report, device_id, how, replace(options or RunOptions(), profile="flat", strict=False), salt, on_event
    )
    await run.begin()
    for index in range(len(compiled.executions)):
        await run.run(index)
        if report.failed:
            break
    await run.end(trouble)
    report.duration_ms = (time.monotonic() - began) * 1000
    return report


@dataclass(slots=True)
class _ArtifactRun:
    """The state of a run. ``device_id`` does not change after the first execution."""

    engine: Executor
    report: ArtifactReport
    device_id: str | None
    how: Mapping[str, Any]
    options: RunOptions
    salt: bytes
    on_event: OnEvent

    async def begin(self) -> None:
        """Read the screen that ``then`` is compared with, unless the only execution does."""
        executions = self.report.compiled.executions
        if self.options.then and len(executions) > 1:
            before = await self._look(executions[0], recorded=False)
            self.options = replace(self.options, then_since=tree_text(before.envelope))

    async def end(self, salt_trouble: str) -> None:
        """Read the screen after a run whose last execution did not, the outputs and the warnings."""
        report = self.report
        if self.options.then and report.then is None:
            options = replace(self.options, raw_envelope=False, max_snapshot_bytes=None)
            report.then = await screen_after(self.engine, options, self.device_id, self.how["receiver_package"])
        steps = steps_of(result.envelope for result in report.results)
        report.outputs, absent = read_outputs(report.compiled.outputs, steps, self.salt)
        seen = (warning for result in (*report.snapshots, *report.results) for warning in result.warnings)
        report.warnings = [*report.compiled.warnings, *seen, *absent]
        if salt_trouble:
            report.warnings.append({"code": "SALT_NOT_KEPT", "path": "", "message": salt_trouble})

    async def run(self, index: int) -> None:
        """Run one execution with its choice; a failure is added to ``errors``, or to ``variance`` if optional."""
        report, compiled = self.report, self.report.compiled
        execution, count = compiled.executions[index], len(compiled.executions)
        optional = _optional_step(compiled, execution)
        about = {"index": index, "count": count, "commandId": execution["commandId"]}
        self.on_event(
            {"event": "play.execution", **about, "actionCount": len(execution["actions"]), "optional": optional}
        )
        try:
            payload = await self._complete(execution, optional, about)
            if payload is None:
                return
            last = index == count - 1
            result = await self._execute(payload, self.options if last else replace(self.options, then=None))
        except EngineError as exc:
            _name(exc, report)
            raise
        report.results.append(result)
        report.then = result.then
        succeeded = result.outcome.status == "succeeded"
        self.on_event({"event": "play.result", **about, "executionId": result.execution_id, "succeeded": succeeded})
        if succeeded:
            report.errors += _unconfirmed(compiled, execution, result, self.salt)
        elif optional:
            report.variance.append(variance(optional, execution, result.envelope))
        else:
            report.errors.append(_failure(result))

    async def _complete(
        self, execution: dict[str, Any], optional: str, about: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return ``execution`` with the matcher of its choice; ``None`` if no node was chosen."""
        choice = self.report.compiled.choice(execution)
        if choice is None:
            return execution
        looked = await self._look(execution)
        self.report.snapshots.append(looked)
        matcher, failure = await asyncio.to_thread(_chosen, looked, choice, execution)
        self.report.chosen.append({"stepId": choice.step_id, "executionId": looked.execution_id, "matcher": matcher})
        if failure is None:
            return with_matcher(execution, matcher or {})
        self.on_event({"event": "play.result", **about, "executionId": looked.execution_id, "succeeded": False})
        if optional:
            self.report.variance.append(_not_chosen(optional, choice, execution, failure))
        else:
            self.report.errors.append(failure)
        return None

    async def _look(self, execution: Mapping[str, Any], *, recorded: bool = True) -> ExecutionResult:
        """Take a snapshot for the task of ``execution``."""
        payload = {**build.snapshot(), "taskId": execution["taskId"], "source": execution["source"]}
        options = replace(self.options, raw_envelope=False, max_snapshot_bytes=None, then=None, recorded=recorded)
        return await self._execute(payload, options)

    async def _execute(self, payload: Mapping[str, Any], options: RunOptions) -> ExecutionResult:
        result = await self.engine.execute(payload, device_id=self.device_id, options=options, **self.how)
        self.device_id = result.device_id
        return result


def _chosen(
    looked: ExecutionResult, choice: Choice, execution: Mapping[str, Any]
) -> tuple[dict[str, str] | None, dict[str, Any] | None]:
    """Return the matcher for the first action of ``execution``, or an error object."""
    if looked.outcome.status != "succeeded":
        return None, _failure(looked)
    try:
        tree = parse(looked.envelope["stepResults"][0]["data"]["text"])
        return choose(tree, choice.selector, execution["actions"][0]).fields(), None
    except EngineError as exc:
        where = {"commandId": execution["commandId"], "actionId": choice.step_id}
        return None, {**exc.to_dict(), "details": {**where, **exc.details}}


def _not_chosen(
    step_id: str, choice: Choice, execution: Mapping[str, Any], failure: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the variance of an optional step without a chosen node."""
    expected = {"actionType": execution["actions"][0]["type"], "selector": dict(choice.selector)}
    found = {"error": failure.get("message"), **({"errorCode": failure["code"]} if "code" in failure else {})}
    return {"stepId": step_id, "expected": expected, "found": found}


def _optional_step(compiled: Compiled, execution: Mapping[str, Any]) -> str:
    """Return the optional step of this execution; '' for one that has to succeed."""
    ids = {action["id"] for action in execution["actions"]}
    return next((step for step in compiled.optional if step in ids), "")


def _unconfirmed(
    compiled: Compiled, execution: Mapping[str, Any], result: ExecutionResult, salt: bytes
) -> list[dict[str, Any]]:
    ids = {action["id"] for action in execution["actions"]}
    confirms = [confirm for confirm in compiled.confirms if confirm.action_id in ids]
    return failed_confirms(confirms, steps_of([result.envelope]), compiled.outputs, salt)


def _failure(result: ExecutionResult) -> dict[str, Any]:
    """Return the error with its execution and step."""
    outcome = result.outcome
    error = dict(outcome.error or {})
    step = {"actionId": outcome.failed_step.id} if outcome.failed_step is not None else {}
    return {**error, "details": {"commandId": result.envelope["commandId"], **step, **error.get("details", {})}}


def _names(compiled: Compiled) -> dict[str, str]:
    """Return the names of skill and artifact; a compiled artifact in a file has none."""
    names = {"skillId": compiled.skill_id, "artifact": compiled.artifact}
    return {key: name for key, name in names.items() if name}


def _name(error: EngineError, report: ArtifactReport) -> None:
    """Add what is known of the run to ``error``, and redact it."""
    for key, name in {**_names(report.compiled), **report.compiled.fallback}.items():
        error.extra.setdefault(key, name)
    if report.results:
        error.extra.setdefault("executions", [documented(result) for result in report.results])
    shown = report.redacted(
        {"message": error.message, "hint": error.hint, "details": error.details, "extra": error.extra}
    )
    error.message, error.hint, error.details, error.extra = (
        shown[key] for key in ("message", "hint", "details", "extra")
    )
