"""The part of an execution that waits for the device lock and holds it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.execution import Action
from clawperator.engine.executions.attempt import Attempt, settling
from clawperator.engine.executions.backend import Backend
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.device_lock import HeldDevice
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.plan_run import run_held
from clawperator.engine.executions.run import Finished

if TYPE_CHECKING:
    from clawperator.engine.executions.references import References


async def run_locked(
    attempt: Attempt,
    device: AdbDevice,
    acting: Backend,
    reader: Backend,
    *,
    hold: AbstractAsyncContextManager[HeldDevice],
    composed: Composition | None,
    references: References | None,
    options: RunOptions,
) -> Finished:
    """Lock ``device`` and run the admitted execution there, between snapshots where references or ``then`` need them.

    ``reader`` takes these.
    """
    assert attempt.validated is not None
    execution = attempt.validated.execution
    if reader.look_ms and (references is not None or options.then):
        execution = replace(execution, actions=(*execution.actions, Action("then", "snapshot_ui")))
    elif composed is not None and reader.look_ms and not composed.reads_screen:
        execution = replace(execution, actions=())

    async def check() -> None:
        attempt.warnings += await acting.check(device, execution)
        attempt.package = acting.package or attempt.package
        if reader is not acting:
            await reader.check(device)

    if not reader.look_ms:
        await check()
    attempt.await_lock()
    async with hold as held:
        attempt.locked()
        if reader.look_ms:  # what is bound is not known while another execution reads the screen
            attempt.trace.enter("check")
            await check()
        run = run_held if composed is None else composed.run_held
        if references is None and not options.then:
            with settling(held, attempt.trace):
                finished = await run(acting, device, attempt.validated, options, attempt.trace)
            if options.verify:
                from clawperator.engine.executions.snapshots import add_verified

                await add_verified(device, finished.envelope, acting)
            return finished
        from clawperator.engine.executions.snapshots import run_between_snapshots

        return await run_between_snapshots(
            reader, device, held, attempt, run=run, acting=acting, options=options, references=references
        )
