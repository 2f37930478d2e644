"""One run of the doctor as the console knows it: what was found, what is still waited for, what was never reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from clawperator.engine.doctor.verdict import Verdict, verdict_of
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.adb.parse import DeviceEntry

Check = Mapping[str, Any]
"""One check as the doctor reports it: id, status (pass, warn, fail), summary, and where known code, detail, fix, evidence.

Rows of ``DoctorReport.rows`` without a result have ``waiting``, ``running`` or ``skipped`` as their status; a skipped one
names what stopped it in ``stopper``.
"""

STATUS = {
    "pass": Status.OK,
    "warn": Status.WARN,
    "fail": Status.FAILED,
    "running": Status.RUNNING,
    "waiting": Status.WAITING,
    "skipped": Status.SKIPPED,
}


_OF_VERDICT = {"ready": Status.OK, "ready_with_hints": Status.WARN, "not_ready": Status.FAILED}

DeviceMark = tuple[()] | tuple[str, int]
"""What changes when a device comes back or changes its state; ``("", 0)`` while it is away, empty where nobody looked."""


def mark_of(device: DeviceEntry | None) -> DeviceMark:
    return ("", 0) if device is None else (device.state, device.transport_id)


def status_of(check: Check) -> Status:
    return STATUS.get(str(check.get("status")), Status.UNKNOWN)


def id_of(check: Check) -> str:
    return str(check.get("id", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """``checks`` are the results, ``ids`` all that this kind of run makes, ``pending`` those still waited for, all in order.

    ``critical`` ids make the report fail, ``stopping`` ones end the run when they fail. ``ended`` is when the last run of
    any of them ended (0: not yet), ``device`` how adb listed the device then, ``stopped`` that somebody ended it before it was through, ``problem`` why it broke off.
    """

    EMPTY: ClassVar[DoctorReport]

    checks: tuple[Check, ...] = ()
    ids: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    critical: frozenset[str] = frozenset()
    stopping: frozenset[str] = frozenset()
    running: bool = False
    ended: float = 0.0
    device_id: str = ""
    device: DeviceMark = ()
    full: bool = False
    stopped: bool = False
    problem: str = ""

    # -- the course of a run

    def begun(self, pending: Sequence[str]) -> DoctorReport:
        """``pending`` are made, again or for the first time; what else was found stays."""
        again = frozenset(pending)
        kept = tuple(check for check in self.checks if id_of(check) not in again)
        return replace(self, checks=kept, pending=tuple(pending), running=True, stopped=False, problem="")

    def took(self, check: Check) -> DoctorReport:
        """A result is there. What was to come before it will not come any more: checks have a fixed order."""
        name = id_of(check)
        others = tuple(other for other in self.checks if id_of(other) != name)
        place = self._place(name)
        before = sum(1 for other in others if self._place(id_of(other)) <= place)
        pending = self.pending[self.pending.index(name) + 1 :] if name in self.pending else self.pending
        return replace(self, checks=(*others[:before], check, *others[before:]), pending=pending)

    def over(self, at: float, *, stopped: bool = False) -> DoctorReport:
        """The run has ended, one way or the other: nothing is waited for."""
        return replace(self, pending=(), running=False, ended=at, stopped=stopped)

    def _place(self, name: str) -> int:
        return self.ids.index(name) if name in self.ids else len(self.ids)

    # -- questions

    def find(self, name: str) -> Check | None:
        """The result of a check; ``None`` while there is none."""
        return next((check for check in self.checks if id_of(check) == name), None)

    def rows(self) -> tuple[Check, ...]:
        """Every check: with its result, or why there is none."""
        found = {id_of(check): check for check in self.checks}
        rows = [found.pop(name) if name in found else self._without_result(name) for name in self.ids]
        return (*rows, *found.values())

    def _without_result(self, name: str) -> Check:
        if name in self.pending:
            return {"id": name, "status": "running" if name == self.pending[0] else "waiting"}
        return {"id": name, "status": "skipped", "stopper": self.stopper(name)}

    def stopper(self, name: str) -> str:
        """The check for which ``name`` was not made; empty where it is not known."""
        place = self._place(name)
        before = [check for check in self.checks if check.get("status") != "pass" and self._place(id_of(check)) < place]
        for check in before:
            if check.get("status") == "fail" and id_of(check) in self.stopping:
                return id_of(check)
        # Otherwise it was one that it needs, which is the one closest in kind, and of these the first.
        return max((id_of(check) for check in before), key=lambda other: _kinship(name, other), default="")

    def grouped(self) -> Iterator[tuple[str, list[Check]]]:
        """``critical`` and ``advisory`` with their rows, each in the order of the report; empty groups are left out."""
        rows = self.rows()
        for group, wanted in (("critical", True), ("advisory", False)):
            if members := [row for row in rows if (id_of(row) in self.critical) == wanted]:
                yield group, members

    def verdict(self) -> Verdict:
        """The engine's verdict on the checks that have a result; meaningful once the run is over."""
        return verdict_of(self.checks)

    def status(self) -> Status:
        """The state of the whole: failed (not ready), warn (ready with hints) or ok; running and idle before there is a verdict."""
        if self.running:
            return Status.RUNNING
        if not self.checks:
            return Status.IDLE
        return Status.WARN if self.stopped else _OF_VERDICT[self.verdict().status]


DoctorReport.EMPTY = DoctorReport()


def _kinship(one: str, other: str) -> int:
    """How many leading parts two ids share."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
