"""Play a compiled artifact: its executions one after the other, then what was declared about them (skills contract §9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from clawperator.engine.errors import EngineError
from clawperator.engine.executions.run import RunOptions
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.outputs import failed_confirms, read_outputs, steps_of, variance
from clawperator.engine.skills.salt import installation_salt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.facade import Engine

Tell = Callable[[Mapping[str, Any]], object]


def untold(_: Mapping[str, Any]) -> None:
    """For callers that want the report only."""


@dataclass(frozen=True, slots=True)
class PlayReport:
    """How it went. ``results`` are those of the executions that ran, fewer than planned where one failed.

    ``errors``: what failed, as error objects (``code`` only where there is one). ``variance``: optional steps that found
    something else, which fails nothing. ``outputs`` are redacted as the recipe says; the envelopes in ``results`` are not.
    """

    compiled: Compiled
    results: tuple[ExecutionResult, ...]
    outputs: Mapping[str, Any]
    variance: tuple[Mapping[str, Any], ...]
    errors: tuple[Mapping[str, Any], ...]
    warnings: tuple[Mapping[str, Any], ...]
    duration_ms: float

    @property
    def failed(self) -> bool:
        return bool(self.errors)

    def to_dict(self) -> dict[str, Any]:
        """The run report; ``recipe``, ``outputs`` and ``variance`` only for recipes, which alone can have them."""
        answer: dict[str, Any] = {
            "ok": not self.failed,
            "skillId": self.compiled.skill_id,
            "artifact": self.compiled.artifact,
        }
        if self.compiled.recipe is not None:
            answer["recipe"] = dict(self.compiled.recipe)
        answer["deviceId"] = self.results[0].device_id
        answer["planned"] = len(self.compiled.executions)
        answer["executions"] = [documented(result) for result in self.results]
        if self.compiled.recipe is not None:
            answer |= {"outputs": dict(self.outputs), "variance": [dict(entry) for entry in self.variance]}
        answer["errors"] = [dict(error) for error in self.errors]
        if self.warnings:
            answer["warnings"] = [dict(warning) for warning in self.warnings]
        return {**answer, "durationMs": round(self.duration_ms)}


def documented(result: ExecutionResult) -> dict[str, Any]:
    """One execution of a report; what the report says itself is not repeated."""
    said = ("ok", "deviceId")
    return {key: value for key, value in result.to_dict().items() if key not in said}


async def play(
    engine: Engine,
    compiled: Compiled,
    *,
    device_id: str | None = None,
    receiver_package: str | None = None,
    timeout_ms: object = None,
    options: RunOptions | None = None,
    tell: Tell = untold,
) -> PlayReport:
    """Run the executions of ``compiled`` in order, each with ``timeout_ms`` where given; ``tell`` hears of each before and after.

    An execution that fails, or whose confirmation does, ends the play: nothing acts on what it does not know. One that is
    optional may fail and is left out. Every step counts (the flat profile), whatever the device calls the whole plan.

    Raises ``EngineError`` where an execution has no result at all; ``skillId``, ``artifact`` and the ``executions`` before it
    stand beside the code.
    """
    began = time.monotonic()
    salt, trouble = b"", ""
    if any(output.redaction == "hash" for output in compiled.outputs):
        salt, trouble = await asyncio.to_thread(installation_salt, engine.settings.environment)
    chosen = replace(options or RunOptions(), profile="flat")
    results: list[ExecutionResult] = []
    varied: list[Mapping[str, Any]] = []
    errors: list[Mapping[str, Any]] = []
    for index, execution in enumerate(compiled.executions):
        optional = _optional_step(compiled, execution)
        about = {"index": index, "count": len(compiled.executions), "commandId": execution["commandId"]}
        tell({"event": "play.execution", **about, "actionCount": len(execution["actions"]), "optional": optional})
        try:
            result = await engine.execute(
                execution,
                device_id=device_id,
                receiver_package=receiver_package,
                timeout_ms=timeout_ms,
                options=chosen,
            )
        except EngineError as exc:
            _name(exc, compiled, results)
            raise
        results.append(result)
        device_id = result.device_id  # the same one to the end, whatever is connected meanwhile
        succeeded = _succeeded(result)
        tell({"event": "play.result", **about, "executionId": result.execution_id, "succeeded": succeeded})
        if optional and not succeeded:
            varied.append(variance(optional, execution, result.envelope))
            continue
        errors += [_failure(result)] if not succeeded else _unconfirmed(compiled, execution, result, salt)
        if errors:
            break
    outputs, absent = read_outputs(compiled.outputs, steps_of(result.envelope for result in results), salt)
    warnings = [*compiled.warnings, *(warning for result in results for warning in result.warnings), *absent]
    if trouble:
        warnings.append({"code": "SALT_NOT_KEPT", "path": "", "message": trouble})
    return PlayReport(
        compiled,
        tuple(results),
        outputs,
        tuple(varied),
        tuple(errors),
        tuple(warnings),
        (time.monotonic() - began) * 1000,
    )


def _optional_step(compiled: Compiled, execution: Mapping[str, Any]) -> str:
    """The optional step that is all of this execution; '' for one that has to succeed."""
    ids = {action["id"] for action in execution["actions"]}
    return next((step for step in compiled.optional if step in ids), "")


def _succeeded(result: ExecutionResult) -> bool:
    """Raw envelopes are not reconciled with their steps, so the steps are asked, too."""
    return result.succeeded and all(step["success"] for step in result.envelope["stepResults"])


def _unconfirmed(
    compiled: Compiled, execution: Mapping[str, Any], result: ExecutionResult, salt: bytes
) -> list[dict[str, Any]]:
    ids = {action["id"] for action in execution["actions"]}
    confirms = [confirm for confirm in compiled.confirms if confirm.action_id in ids]
    return failed_confirms(confirms, steps_of([result.envelope]), compiled.outputs, salt)


def _failure(result: ExecutionResult) -> dict[str, Any]:
    """A failed envelope as an error object."""
    envelope = result.envelope
    step = next((step for step in envelope["stepResults"] if not step["success"]), None)
    code = envelope.get("errorCode") or (step or {}).get("data", {}).get("error")
    details = {"commandId": envelope["commandId"], **({"actionId": step["id"]} if step else {})}
    message = envelope.get("error") or "The execution failed"
    return {**({"code": code} if code else {}), "message": message, "details": details}


def _name(error: EngineError, compiled: Compiled, results: list[ExecutionResult]) -> None:
    error.extra.setdefault("skillId", compiled.skill_id)
    error.extra.setdefault("artifact", compiled.artifact)
    if results:
        error.extra.setdefault("executions", [documented(result) for result in results])
