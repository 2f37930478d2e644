"""Snapshots that the host takes for itself: follow mode's, and those before and after an execution, under its device lock.

Those after an execution show what it changed: they are repeated until two are equal. A snapshot changes nothing on the device.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.limits import BACKENDS
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.attempt import Attempt, settling
from clawperator.engine.executions.internal_snapshot import snapshot_command, tree_of
from clawperator.engine.executions.run import Finished
from clawperator.engine.executions.trace import Trace
from clawperator.engine.logcat.signals import CapturedHierarchy

if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice
    from clawperator.engine.executions.backend import Backend, Outcome
    from clawperator.engine.executions.device_lock import HeldDevice
    from clawperator.engine.executions.finish import RunOptions
    from clawperator.engine.executions.references import References
    from clawperator.engine.executions.validate import Validated

_NEEDED_MS, _WANTED_MS = 5_000, 1_500
"""Time limits of the snapshot before a plan, with and without references: a secure window takes all of it."""
_AFTER_MS = 3_000
_INTERVAL_SECONDS = 0.04
"""Between the requests of two trees that are compared, at least."""
_REACTION_SECONDS = 0.5
"""How long a screen that does not change after an action is read: apps react late."""
_SETTLE_SECONDS = 3.0
"""How long a changing screen is read."""
_COMPARING = ("diff", "none")
"""Forms of ``then`` that are about the difference: where a snapshot takes seconds, the others do without the one before the plan."""


def _cut_lines(outcome: Outcome) -> int:
    """Return how many lines of a snapshot's tree the device's log has cut."""
    return next((tree.cut_lines for tree in reversed(outcome.hierarchies) if tree.complete), 0)


Run = Callable[..., Awaitable[Finished]]
"""``plan_run.run_held``, or that of a composition."""


async def run_between_snapshots(
    backend: Backend,
    device: AdbDevice,
    held: HeldDevice,
    attempt: Attempt,
    *,
    run: Run,
    acting: Backend,
    options: RunOptions,
    references: References | None,
) -> Finished:
    """Call ``run`` for the plan of ``attempt``, after resolving ``references``, and with ``then`` if ``options`` ask for it.

    ``backend`` takes the snapshots, ``acting`` is that of the plan. Raises ``EngineError`` as ``run``, and before the dispatch if the
    references cannot be resolved. A failure of the snapshots after the plan is part of ``then``.
    """
    reader = _Reader(backend, device, held, attempt.trace)
    async with backend.attached(device, attempt.trace):
        assert attempt.validated is not None
        attempt.trace.enter("look")
        looked_at, before, fresh = time.time(), options.then_since, ""
        # a tree of before tells whether the screen changed while a picture was taken
        compared = options.then in _COMPARING or _has(attempt.validated, "take_screenshot")
        if not before and (references is not None or not backend.look_ms or compared):
            before = fresh = await reader.before(needed=references is not None)
        if references is not None:
            resolved, composed = await asyncio.to_thread(references.resolved, before)
            attempt.validated = resolved
            run = run if composed is None else composed.run_held
        attempt.trace.fresh = fresh
        with settling(held, attempt.trace):
            finished = await run(acting, device, attempt.validated, options, attempt.trace)
        if options.then and not before and not _has(attempt.validated, "close_app"):  # the host stops those before
            looked_at, before = attempt.trace.before_acting or (looked_at, "")
        if before:
            attempt.trace.trees.insert(0, (looked_at, CapturedHierarchy("then.before", before, complete=True)))
        if not options.then:
            return finished
        attempt.trace.enter("then")
        return replace(finished, then=await reader.then(attempt.validated, finished, before, options))


def _has(validated: Validated, action_type: str) -> bool:
    return any(action.type == action_type for action in validated.execution.actions)


async def add_verified(device: AdbDevice, envelope: dict[str, Any], backend: Backend) -> None:
    """Add ``data.verified`` to the last snapshot: what the window and display managers report (``hierarchy.blind.Facts``)."""
    from clawperator.engine.adb.batch import run_scripts
    from clawperator.engine.adb.displays import DISPLAY_SCRIPT, WINDOW_SCRIPT, parse_displays, window_facts
    from clawperator.engine.adb.parse import parse_sdk
    from clawperator.engine.adb.quote import device_script

    steps = [step for step in envelope["stepResults"] if "text" in step["data"] and step["actionType"] == "snapshot_ui"]
    if not steps:
        return
    scripts = map(device_script, (WINDOW_SCRIPT, DISPLAY_SCRIPT, "getprop ro.build.version.sdk"))
    window, display, sdk = await run_scripts(device, list(scripts))
    facts: dict[str, Any] = {**window_facts(window.text), "accessibility_tool": backend.name != BACKENDS[0]}
    if displays := parse_displays(display.text):
        facts["displays"] = [other.id for other in displays if other.on and other.id]
        facts["screen"] = next(([main.width, main.height] for main in displays if not main.id), [])
    if api := parse_sdk(sdk.text):
        facts["sdk"] = api
    steps[-1]["data"]["verified"] = facts


class _Reader:
    """Reads trees of a device whose lock is ``held`` for the execution of ``trace``."""

    def __init__(self, backend: Backend, device: AdbDevice, held: HeldDevice, trace: Trace) -> None:
        self._backend = backend
        self._device = device
        self._held = held
        self._trace = trace

    async def _look(self, limit_ms: int) -> Outcome:
        look = Trace()
        with settling(self._held, look):
            limit_ms = max(limit_ms, self._backend.look_ms)
            return await self._backend.run(self._device, snapshot_command(limit_ms), look)

    async def before(self, *, needed: bool) -> str:
        """Return the tree; empty if the device has none and it is not ``needed``."""
        outcome = await self._look(_NEEDED_MS if needed else _WANTED_MS)
        try:
            return tree_of(outcome)
        except EngineError:
            if needed:
                raise
            return ""

    async def then(
        self, validated: Validated, finished: Finished, before: str, options: RunOptions
    ) -> Mapping[str, Any]:
        """Return the settled screen as JSON data."""
        actions = validated.execution.actions
        acted = bool(options.then_since) or any(
            action.type not in OBSERVING and step.status in ("done", "unknown")
            for action, step in zip(actions, finished.outcome.steps, strict=False)
        )
        own = self._trace.hierarchies[-1:] if actions[-1].type == "snapshot_ui" else []
        try:
            seen, seconds, settled = await self._settled(before, own[0].xml if own else "", acted=acted)
        except EngineError as exc:
            return {"error": exc.to_dict()}
        after = tree_of(seen)
        self._trace.trees.append((time.time(), CapturedHierarchy("then.after", after, complete=True)))
        facts = {"settled": settled, "settledMs": round(seconds * 1000)}
        known = {"settled": settled, "cut_lines": _cut_lines(seen)} | (
            await self._windows() if acted and after == before else {}
        )
        return await asyncio.to_thread(_then, options, before, after, facts, known)

    async def _windows(self) -> dict[str, Any]:
        """Return the facts about windows: an unchanged tree after an action may come from a stale cache."""
        from clawperator.engine.adb.displays import WINDOW_SCRIPT, window_facts
        from clawperator.engine.adb.quote import device_script

        try:
            return dict(window_facts((await self._device.script(device_script(WINDOW_SCRIPT))).text))
        except EngineError:
            return {}

    async def _settled(self, before: str, last: str, *, acted: bool) -> tuple[Outcome, float, bool]:
        """Return a snapshot, after how many seconds it was read, and whether the one before it was equal.

        A backend whose snapshots take seconds waits for a quiet second itself, so that one is enough.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        if self._backend.look_ms:
            return await self._look(_AFTER_MS), loop.time() - began, True
        while True:
            asked_at = loop.time()
            outcome = await self._look(_AFTER_MS)
            tree = tree_of(outcome)
            seconds = loop.time() - began
            if tree == last and (tree != before or not acted or seconds >= _REACTION_SECONDS):
                return outcome, seconds, True
            if seconds >= _SETTLE_SECONDS:
                return outcome, seconds, False
            last = tree
            await asyncio.sleep(max(0.0, asked_at + _INTERVAL_SECONDS - loop.time()))


def _then(
    options: RunOptions, before: str, after: str, facts: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``facts`` about the screen ``after`` with the view that ``options`` ask for; ``known`` are those of ``blind.Facts``."""
    from clawperator.engine.contracts.references import tree_id
    from clawperator.engine.hierarchy import blind
    from clawperator.engine.hierarchy.tree import parse
    from clawperator.engine.hierarchy.views import Budget, changes, json_size, view

    answer: dict[str, Any] = {"changed": after != before if before else None, **facts, "tree": tree_id(after)}
    if options.then == "none":
        return answer
    budget = Budget(options.then_bytes, json_size, "maxBytes") if options.then_bytes is not None else None
    seen = blind.Facts(**known)
    try:
        tree = parse(after, recover=True)
        if options.then == "diff" and answer["changed"] is False:
            return answer | blind.field(tree, seen)
        if options.then != "diff":
            return answer | view(tree, str(options.then), after, budget, seen)
        return answer | changes(
            parse(before, recover=True) if before else None, tree, before, after, budget, facts=seen
        )
    except EngineError as exc:
        return answer | {"error": exc.to_dict()}
