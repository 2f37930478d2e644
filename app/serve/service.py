"""Base of the HTTP and MCP services: a policy profile per caller, cached trees, running work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.policy import Profile
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.errors import EngineError
from clawperator.engine.events.types import CheckFinished
from clawperator.engine.executions.drain import Drain
from clawperator.engine.executions.matcher_check import MATCHERS
from clawperator.engine.executions.references import matcher_of, nodes_of
from clawperator.engine.executions.short_ids import ids_of, short_ids, with_full_ids
from clawperator.engine.follow.trees import LastTrees, SeenTree, tree_text
from clawperator.engine.hierarchy import queries
from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.engine.hierarchy.references import Screen

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.contracts.caller import Caller
    from clawperator.engine.doctor.check import Check
    from clawperator.engine.executions.attempt import ExecutionResult
    from clawperator.engine.facade import Engine

_ANY_AGE = 10**15
"""Milliseconds: older than any tree. One that an execution has made out of date is not kept (``LastTrees.executed``)."""

Execute = Callable[..., Awaitable["ExecutionResult"]]
"""``(payload, *, device_id, …)`` to its result, for one caller."""


class Service:
    """What the HTTP routes and the MCP tools share. ``work`` counts what must finish before the server stops."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.trees = LastTrees()
        self.work = Drain()

    def profile(self, caller: Caller) -> Profile:
        """Return the profile that binds ``caller``: the policy's active one where their token names none."""
        return load_profile(self.engine.settings, caller.profile)

    @contextmanager
    def acting(self, caller: Caller) -> Iterator[Engine]:
        """Yield the engine under the caller's profile; the server waits for the block. Raises ``EngineError`` (SHUTTING_DOWN)."""
        with self.work.one():
            yield self.engine.under(caller)

    async def doctor(
        self,
        caller: Caller,
        device_id: str | None,
        backend: str | None = None,
        on_check: Callable[[Check, int, int], Awaitable[object]] | None = None,
    ) -> dict[str, Any]:
        """Run the doctor for ``caller`` and return its document, which is ``ok`` if the device can execute. ``on_check`` gets each check, the number so far, and the highest number."""
        visit = self.engine.under(caller).doctor(device_id=device_id or None, backend=backend)
        checks: list[dict[str, Any]] = []
        with self.work.one():
            async for check in visit.checks():
                checks.append(check.to_dict())
                self.engine.events.publish(CheckFinished(device_id=visit.device_id or None, check=checks[-1]))
                if on_check is not None:
                    await on_check(check, len(checks), len(visit.ids))
        verdict = verdict_of(checks, visit.backend)
        return {
            "ok": verdict.ready,
            "ready": verdict.ready,
            **verdict.to_dict(),
            "backend": visit.backend,
            "stock": verdict_of(checks, "stock").to_dict(),
            "deviceId": visit.device_id or None,
            "checks": checks,
        }

    async def tree(
        self, execute: Execute, payload: dict[str, Any], device_id: str | None, max_age_ms: int = 0
    ) -> tuple[str, SeenTree]:
        """Return serial and UI tree of a device: one from its log that is at most ``max_age_ms`` old, else by ``payload``.

        The caller's permission is checked before, because a tree from the log needs no execution.
        """
        serial = (await self.engine.device(device_id or None)).serial
        if (seen := self.trees.fresh(serial, max_age_ms)) is not None:
            await asyncio.to_thread(self.engine.trees.keep, serial, seen.xml)
            return serial, seen
        result = await execute(payload, device_id=serial)
        try:
            text = tree_text(result.envelope)
            step = {name: value for name, value in result.envelope["stepResults"][0]["data"].items() if name != "text"}
            return serial, self.trees.note(serial, text, command_id=payload["commandId"], step=step)
        except EngineError as exc:
            exc.extra |= {"executionId": result.execution_id, "deviceId": serial}
            known = result.outcome.error or {}
            if known.get("code") == exc.code:
                exc.hint, exc.details = known["hint"], {**exc.details, **known.get("details", {})}
            raise

    async def whole_ids(
        self,
        arguments: Mapping[str, Any],
        read: Callable[[int], Awaitable[tuple[str, SeenTree]]],
        *,
        plan: bool = False,
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return ``arguments`` with the whole id for each short one (``full_id``), and which became what.

        The last known tree of the device finds them, a new one what that has not exactly once: not for a plan, whose later steps
        see other screens, and whose ids stay as they are where the view does not have them once. ``read`` takes the maximum age.
        Raises ``EngineError`` (NODE_AMBIGUOUS).
        """
        short, found, start = [*short_ids(arguments)], dict[str, str](), time.time()
        if not short:
            return dict(arguments), found
        try:
            _, seen = await read(_ANY_AGE)
            tree = await seen.read()
            once = all(len(ids_of(tree, each)) == 1 for each in short)
            if not plan and not once and seen.at < start:
                _, seen = await read(0)
                tree = await seen.read()
        except EngineError:
            return dict(arguments), found  # what needs the ids reports what is wrong
        return with_full_ids(arguments, tree, found, exact=not plan), found

    async def matcher(self, fields: Mapping[str, str], serial: str, seen: SeenTree) -> Matcher:
        """Return the matcher of ``fields``, of which a reference is resolved on the tree. Raises ``EngineError``."""
        screen = Screen(await seen.read(), seen.id)
        return await asyncio.to_thread(matcher_of, fields, self.engine.trees, serial, screen)

    async def matches(
        self, asked: Mapping[str, Any], serial: str, seen: SeenTree, *, limit: int, explain: bool
    ) -> dict[str, Any]:
        """Return ``queries.matches`` of the checked arguments. Raises ``EngineError``."""
        given = {name: await self.matcher(asked[name], serial, seen) for name in MATCHERS if name in asked}
        matcher = given.pop("selector")
        others = {name: asked[name] for name in ("nth", "strict") if name in asked}
        find = partial(queries.matches, await seen.read(), matcher, limit=limit, explain=explain)
        return await asyncio.to_thread(find, **given, **others)

    async def nodes(self, fields: Mapping[str, str], serial: str, seen: SeenTree) -> Sequence[UiNode]:
        """Return the nodes of the tree that ``fields`` find. Raises ``EngineError``."""
        screen = Screen(await seen.read(), seen.id)
        return await asyncio.to_thread(nodes_of, fields, self.engine.trees, serial, screen)


def device_document(settings: Settings, devices: Iterable[DeviceEntry]) -> dict[str, Any]:
    """Return the devices, in any state, and the aliases by serial as JSON data."""
    aliases = {profile.serial: alias for alias, profile in reversed([*settings.devices.items()])}
    return {"devices": [entry.to_dict() for entry in devices], "aliases": aliases}


@dataclass(slots=True)
class CallerExecutor:
    """Runs the executions of a compiled artifact as those of one caller (``engine.skills.play.Executor``)."""

    settings: Settings
    run: Execute

    async def execute(self, payload: Any, /, **options: Any) -> ExecutionResult:
        return await self.run(payload, **{name: value for name, value in options.items() if value is not None})
