"""The run of a plan: with one command, or in parts where the host chooses nodes."""

from __future__ import annotations

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.generation import fits_every_generation, host_chooses
from clawperator.engine.executions.ambiguity import CODES as AMBIGUOUS
from clawperator.engine.executions.backend import Backend
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.run import Finished, close_apps, dispatch
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Validated


async def run_held(
    backend: Backend, device: AdbDevice, validated: Validated, options: RunOptions, trace: Trace
) -> Finished:
    """Run ``validated`` on ``device``, whose lock the caller holds, and record it in ``trace``.

    Raises ``EngineError`` without a usable envelope; a failed pre-flight stops before the dispatch.
    """
    execution = validated.execution
    if not fits_every_generation(execution):
        version = await backend.version(device)
        if any(host_chooses(action, version) for action in execution.actions):
            from clawperator.engine.executions.selection import run_selected

            return await run_selected(backend, device, validated, options, trace, version=version)
    closed = await close_apps(device, execution, trace)
    finished = await dispatch(backend, device, validated, options, trace, closed=closed)
    if (finished.outcome.error or {}).get("code") in AMBIGUOUS:
        from clawperator.engine.executions.selection import with_candidates

        return await with_candidates(backend, device, execution, finished, trace)
    return finished
