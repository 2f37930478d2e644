"""One command on many devices: a line per device as it ends, a summary, and the exit code of the worst."""

from __future__ import annotations

import os
import time
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, cast

from clawperator.app.cli import output
from clawperator.app.cli.command import Answer, exit_code
from clawperator.app.cli.session import run as run_session
from clawperator.app.cli.settings import policy_guard
from clawperator.engine import fan_out
from clawperator.engine.adb.recognition import list_devices
from clawperator.engine.contracts.limits import JOBS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.outcome import status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from clawperator.app.cli.command import Options
    from clawperator.app.fleet.client import Fleet
    from clawperator.engine import Engine

    Remotely = Callable[[Engine, Fleet], fan_out.Run]
    """What runs on one device of a fleet, given the engine of this computer and the fleet; called once."""


def on_one(options: Options, remotely: Remotely) -> Mapping[str, Any]:
    """Run on ``--device-id`` in the fleet of ``--fleet``."""

    async def use(engine: Engine) -> Mapping[str, Any]:
        if not options.device_id:
            raise EngineError(
                ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
                "A fleet needs --device host/serial, or --devices",
                hint=f"`clawperator fleet devices {options.fleet}` lists its devices.",
            )
        async with _fleet(options) as found:
            return await remotely(engine, found)(options.device_id)

    return run_session(options, use, remote=True)


def _fleet(options: Options) -> AbstractAsyncContextManager[Fleet]:
    from clawperator.app.extras import require_nats

    require_nats()
    from clawperator.app.fleet.client import fleet

    return fleet(options.fleet)


def run(
    options: Options,
    name: str,
    locally: Callable[[Engine], fan_out.Run] | None,
    remotely: Remotely | None = None,
) -> int:
    """Run on each device of ``--devices`` and print what the module says; ``name`` is that of the JUnit suite.

    ``locally`` and, with ``--fleet``, ``remotely`` return what runs; they are called once, before anything is sent.

    After a signal what runs is ended, its rows and the summary are printed, and the exit code is 130; so also after a second signal,
    which does not wait for what runs.
    """
    began, at = time.monotonic(), time.time()
    work = _Work(options, locally, remotely)
    target = os.path.expanduser(options.junit) if options.junit is not None else None
    file = policy_guard(options).new_file(target, replace=True, what="--junit") if target else nullcontext()
    with file as stream:
        interrupted = False
        try:
            run_session(options, work.run, remote=remotely is not None)
        except EngineError as exc:
            if exc.code is not ErrorCode.INTERRUPTED or not work.chosen:
                raise
            interrupted = True
            work.print_interrupted()
        spent = (time.monotonic() - began) * 1000
        if stream is not None:
            stream.write(fan_out.junit(work.rows, name, duration_ms=spent, at=at))
    total = fan_out.summary(work.rows, duration_ms=spent, interrupted=interrupted, listed=work.not_ready)
    output.print_bytes(_line(total, "executions.fan_out_summary", options), output.Progress())
    status = "interrupted" if interrupted else fan_out.overall(work.rows)
    return exit_code(status, allow_partial=getattr(options, "allow_partial", False))


class _Work:
    """What runs on the chosen devices; each row is printed as its device ends. ``chosen`` is empty before anything is sent."""

    def __init__(
        self, options: Options, locally: Callable[[Engine], fan_out.Run] | None, remotely: Remotely | None
    ) -> None:
        self.rows: list[fan_out.DeviceRow] = []
        self.chosen: list[fan_out.Target] = []
        self.not_ready: list[Any] = []
        self._options, self._locally, self._remotely = options, locally, remotely
        self._printed = 0
        self._started: set[str] = set()

    async def run(self, engine: Engine) -> None:
        devices = self._options.devices
        if self._remotely is not None and self._options.fleet is not None:
            async with _fleet(self._options) as found:
                await self._on_each(await found.targets(devices), self._remotely(engine, found))
            return
        assert self._locally is not None
        listed = await list_devices(engine.server)
        if fan_out.takes_all(devices):
            self.not_ready.extend(listed)
        await self._on_each(fan_out.choose_devices(devices, listed, engine.settings.devices), self._locally(engine))

    async def _on_each(self, targets: Sequence[fan_out.Target], run_on: fan_out.Run) -> None:
        async def run_one(serial: str) -> Mapping[str, Any]:
            self._started.add(serial)
            return await run_on(serial)

        self.chosen.extend(targets)
        jobs, fail_fast = self._options.jobs or JOBS, self._options.fail_fast
        async with aclosing(fan_out.run_on_each(targets, run_one, jobs=jobs, fail_fast=fail_fast)) as each:
            async for row in each:
                self.rows.append(row)
                await output.write(self._row(row))
                self._printed += 1

    def print_interrupted(self) -> None:
        """Print the rows that a signal has kept back, and those of the devices that it has ended."""
        self.rows += fan_out.interrupted_rows(self.chosen, self._started, self.rows)
        for row in self.rows[self._printed :]:
            output.print_bytes(self._row(row), output.Progress())

    def _row(self, row: fan_out.DeviceRow) -> bytes:
        return _line(row.to_dict(), "executions.device_row", self._options)


def reported(options: Options, name: str, run: Callable[[], Answer | int]) -> Answer:
    """Call ``run`` for the one device of a command without ``--devices``, and write its end to the file of ``--junit``."""
    began, at = time.monotonic(), time.time()
    answer: Answer | None = None
    failure: EngineError | None = None
    with policy_guard(options).new_file(os.path.expanduser(options.junit), replace=True, what="--junit") as stream:
        try:
            done = run()
            assert isinstance(done, Answer)
            answer, found = done, cast("Mapping[str, Any]", done.data)
        except EngineError as exc:
            failure, found = exc, exc.to_answer()
        spent = (time.monotonic() - began) * 1000
        target = fan_out.Target(str(found.get("deviceId") or options.device_id or "device"))
        row = fan_out.DeviceRow(target, status_of(found), found, spent)
        stream.write(fan_out.junit([row], name, duration_ms=spent, at=at))
    if failure is not None:
        raise failure
    assert answer is not None
    return answer


def _line(document: Mapping[str, Any], view: str, options: Options) -> bytes:
    if options.output != "pretty":
        return output.encode(document) + b"\n"
    from clawperator.app.cli.pretty import draw

    return draw(view, document)
