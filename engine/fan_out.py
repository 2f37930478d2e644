"""One operation on many devices: the choice of the devices, a bounded number at a time, one row per device, a summary."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.adb.phones import rank, shared_serial_error
from clawperator.engine.adb.recognition import list_devices
from clawperator.engine.contracts.issues import device_suggestion, shown, suggestion
from clawperator.engine.contracts.limits import JOBS
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions.outcome import Status, status_of
from clawperator.engine.text.junit import Case, junit_xml

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.config.device_profile import DeviceProfile
    from clawperator.engine.facade import Engine

TAG = "tag:"
Run = Callable[[str], Awaitable[Mapping[str, Any]]]
"""What runs on one device, by its serial: returns the answer document, or raises ``EngineError``."""


OnRow = Callable[["DeviceRow", int], Awaitable[object]]


async def _ignore(row: DeviceRow, total: int) -> None:
    """Ignore a row."""


class Target(NamedTuple):
    """One device of a fan-out; ``alias`` is its name in the settings, ``other_transports`` are other serials of the same phone."""

    serial: str
    alias: str = ""
    other_transports: tuple[str, ...] = ()


class DeviceRow(NamedTuple):
    """The end of the operation on one device. ``answer`` is that of a single execution, with ``ok`` and, if false, ``error``."""

    target: Target
    status: Status
    answer: Mapping[str, Any]
    duration_ms: float

    def to_dict(self) -> dict[str, Any]:
        alias: dict[str, Any] = {"alias": self.target.alias} if self.target.alias else {}
        if self.target.other_transports:
            alias["otherTransports"] = list(self.target.other_transports)
        state = {"status": self.status, "durationMs": round(self.duration_ms)}
        return {"deviceId": self.target.serial, **alias, **state, **self.answer}


def choose_devices(text: str, listed: Iterable[DeviceEntry], known: Mapping[str, DeviceProfile]) -> list[Target]:
    """Return the devices of ``text``: serials, aliases, ``tag:<name>`` and ``all`` (every ready one), separated by commas.

    A phone is chosen once, by USB if several of its serials are meant. One that the settings name is chosen even if it is not
    connected. Raises ``EngineError``: USAGE, DEVICE_NOT_FOUND, DEVICE_TAG_UNKNOWN, MULTIPLE_DEVICES_DEVICE_ID_REQUIRED, NO_DEVICES.
    """
    entries = list(listed)
    aliases = {profile.serial: alias for alias, profile in reversed([*known.items()])}
    connected = [entry.serial for entry in entries]
    chosen: list[str] = []
    for word in names_in(text):
        if word == "all":
            chosen += [entry.serial for entry in entries if entry.usable]
        elif word.startswith(TAG):
            chosen += _tagged(word.removeprefix(TAG), known)
        elif word in known:
            chosen.append(known[word].serial)
        elif named := [entry.serial for entry in entries if entry.is_named(word)]:
            chosen += named
        elif word in aliases:
            chosen.append(word)
        else:
            raise shared_serial_error(word, entries) or EngineError(
                ErrorCode.DEVICE_NOT_FOUND,
                f"Device {shown(word)} is neither connected nor an alias in the settings",
                hint=device_suggestion(word, [*known, *connected]) or None,
                details={"connected": connected, "aliases": list(known)},
            )
    if not chosen:
        raise EngineError(ErrorCode.NO_DEVICES, "No device is ready")
    return once_per_phone(list(dict.fromkeys(chosen)), entries, aliases)


def once_per_phone(chosen: Sequence[str], entries: Iterable[DeviceEntry], aliases: Mapping[str, str]) -> list[Target]:
    """Return one target for each phone, in the order of its first serial."""
    rows = {entry.serial: entry for entry in entries}
    ways: dict[frozenset[str], list[str]] = {}
    for serial in chosen:
        others = rows[serial].other_transports if serial in rows else ()
        ways.setdefault(frozenset((serial, *others)), []).append(serial)
    targets = []
    for phone, serials in ways.items():
        used = (
            min(serials, key=lambda serial: (not rows[serial].preferred, rank(rows[serial])))
            if len(phone) > 1
            else serials[0]
        )
        alias = next((aliases[serial] for serial in (used, *serials) if serial in aliases), "")
        targets.append(Target(used, alias, rows[used].other_transports if len(phone) > 1 else ()))
    return targets


def names_in(text: str) -> list[str]:
    """Return the names in ``--devices``. Raises ``EngineError`` (USAGE) for an empty one."""
    names = [part.strip() for part in text.split(",")]
    if "" in names or TAG in names:
        raise EngineError(ErrorCode.USAGE, "--devices has an empty name", hint="Write --devices a,b,tag:c.")
    return names


def _tagged(tag: str, known: Mapping[str, DeviceProfile]) -> list[str]:
    if found := [profile.serial for profile in known.values() if tag in profile.tags]:
        return found
    tags = sorted({name for profile in known.values() for name in profile.tags})
    raise EngineError(
        ErrorCode.DEVICE_TAG_UNKNOWN,
        f"No device has the tag {shown(tag)}",
        hint=suggestion(tag, tags) or (f"Known tags: {', '.join(tags)}." if tags else None),
        details={"tags": tags},
    )


async def run_on_each(
    targets: Sequence[Target],
    run: Run,
    *,
    jobs: int = JOBS,
    fail_fast: bool = False,
    abandoned: Callable[[], bool] = bool,
) -> AsyncGenerator[DeviceRow]:
    """Call ``run`` for every device once, up to ``jobs`` at a time, and yield a row as each ends; nothing is repeated.

    After the first row that did not succeed, ``fail_fast`` starts no other; nor does any start once ``abandoned``, while what runs
    goes on. A cancellation ends what runs; the rows of all devices are yielded before it is raised again.
    """
    pending, ended = deque(targets), asyncio.Queue[DeviceRow | None]()
    stopped = False
    interrupted: asyncio.CancelledError | None = None

    async def work() -> None:
        nonlocal stopped
        while pending and not stopped and not abandoned():
            row = await _row(pending.popleft(), run)
            if fail_fast and row.status != "succeeded":
                stopped = True
            ended.put_nowait(row)

    workers = [asyncio.create_task(work(), name="fan-out") for _ in range(min(jobs, len(targets)))]
    for worker in workers:
        worker.add_done_callback(lambda _: ended.put_nowait(None))
    working = len(workers)
    try:
        while working:
            try:
                row = await ended.get()
            except asyncio.CancelledError as exc:
                interrupted, stopped = exc, True
                for worker in workers:
                    worker.cancel()
                continue
            if row is None:
                working -= 1
            else:
                yield row
        for target in pending:
            yield _not_run(target, _INTERRUPTED if interrupted or not stopped else "Not run: another device failed")
    finally:
        stopped = True
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    if interrupted is not None:
        raise interrupted


async def _row(target: Target, run: Run) -> DeviceRow:
    began = time.monotonic()
    try:
        answer = await run(target.serial)
    except asyncio.CancelledError as exc:  # the worker ends because ``stopped`` is set
        cause = exc.__cause__
        answer = (cause if isinstance(cause, EngineError) else interruption("error: unknown")).to_answer()
    except EngineError as exc:
        answer = exc.to_answer()
    except Exception as exc:  # noqa: BLE001 -- the rows of the other devices must not be lost
        unknown = {"broadcastDispatchStatus": "unknown"}
        answer = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, f"{type(exc).__name__}: {exc}", extra=unknown).to_answer()
    return DeviceRow(target, status_of(answer), answer, (time.monotonic() - began) * 1000)


def interrupted_rows(targets: Iterable[Target], started: Container[str], rows: Iterable[DeviceRow]) -> list[DeviceRow]:
    """Return rows for the ``targets`` without one, after an interrupt that did not wait: ``unknown`` if ``started``."""
    ended = {row.target for row in rows}
    lost = interruption("error: unknown").to_answer()
    return [
        DeviceRow(target, "unknown", lost, 0.0) if target.serial in started else _not_run(target, _INTERRUPTED)
        for target in targets
        if target not in ended
    ]


_INTERRUPTED = "Not run: the operation was interrupted"


def _not_run(target: Target, reason: str) -> DeviceRow:
    error = EngineError(ErrorCode.NOT_RUN, reason, extra={"broadcastDispatchStatus": "not_sent"})
    return DeviceRow(target, "not_run", error.to_answer(), 0.0)


async def report(
    engine: Engine,
    text: str,
    run: Run,
    *,
    jobs: int = JOBS,
    fail_fast: bool = False,
    on_row: OnRow = _ignore,
    remote: Sequence[Target] | None = None,
    abandoned: Callable[[], bool] = bool,
) -> dict[str, Any]:
    """Call ``run`` on each of the devices of ``text`` and return the summary with all ``rows``; ``on_row`` gets row and total.

    ``remote`` are the devices of a fleet, in place of those of ``engine``.
    """
    began = time.monotonic()
    listed = await list_devices(engine.server) if remote is None else ()
    targets = choose_devices(text, listed, engine.settings.devices) if remote is None else remote
    rows: list[DeviceRow] = []
    async with aclosing(run_on_each(targets, run, jobs=jobs, fail_fast=fail_fast, abandoned=abandoned)) as each:
        async for row in each:
            rows.append(row)
            await on_row(row, len(targets))
    skipped = listed if takes_all(text) else ()
    total = summary(rows, duration_ms=(time.monotonic() - began) * 1000, listed=skipped)
    return {**total, "rows": [row.to_dict() for row in rows]}


def takes_all(text: str) -> bool:
    """Return whether ``--devices`` asks for every device that is ready."""
    return "all" in names_in(text)


def summary(
    rows: Sequence[DeviceRow], *, duration_ms: float, interrupted: bool = False, listed: Iterable[DeviceEntry] = ()
) -> dict[str, Any]:
    """Return the last line of a fan-out; ``listed`` adds the devices that ``all`` did not take because they are not ready."""
    counts = Counter(row.status for row in rows)
    states: dict[str, int] = {status: counts[status] for status in ("succeeded", "partial", "failed", "unknown")}
    states["notRun"] = counts["not_run"]
    answer: dict[str, Any] = {"ok": counts["succeeded"] == len(rows) and not interrupted}
    answer["summary"] = {"devices": len(rows), **states, "durationMs": round(duration_ms)}
    if interrupted:
        answer["summary"]["interrupted"] = True
    if not_ready := {entry.serial: str(entry.state) for entry in listed if not entry.usable}:
        answer["summary"]["notReady"] = not_ready
    return answer


def overall(rows: Sequence[DeviceRow]) -> Status:
    """Return the status of all: ``partial`` if every plan ran to its end, but steps of some failed."""
    found = {row.status for row in rows}
    return "succeeded" if found <= {"succeeded"} else "partial" if found <= {"succeeded", "partial"} else "failed"


def junit(rows: Sequence[DeviceRow], name: str, *, duration_ms: float, at: float) -> bytes:
    """Return one test case per device; devices that were not run are skipped."""
    return junit_xml(name, [_case(row, name) for row in rows], seconds=duration_ms / 1000, properties={}, at=at)


def _case(row: DeviceRow, name: str) -> Case:
    names = (name.replace(" ", "."), row.target.alias or row.target.serial, row.duration_ms / 1000)
    outcome, errors = row.answer.get("outcome", {}), row.answer.get("errors") or [{}]
    failure = row.answer.get("error") or outcome.get("error") or errors[0]
    if row.status == "succeeded":
        return Case(*names, "passed", text=row.target.serial)
    message = str(failure.get("message", row.status))
    if row.status == "not_run":
        return Case(*names, "skipped", message)
    text = f"{row.target.serial}: {row.status}\n{failure.get('hint', '')}".rstrip()
    return Case(*names, "failed", message, str(failure.get("code", row.status)), text)
