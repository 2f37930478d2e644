"""One doctor run: results, pending checks, and checks that were not reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from clawperator.engine.doctor.verdict import OPTIONAL, Verdict, concerns, verdict_of
from clawperator.engine.errors import ErrorCode
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry

Check = Mapping[str, Any]
"""A check as the doctor reports it: id, status (pass, warn, fail), summary, and where known code, detail, fix,
evidence.

Rows of ``DoctorReport.rows`` without a result have the status ``waiting``, ``running`` or ``skipped``; ``stopper`` of a
skipped one is the check that stopped the run.
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
"""Changes when a device reconnects or changes its state; ``("", 0)`` while it is away, empty where unknown."""


def mark_of(device: DeviceEntry | None) -> DeviceMark:
    return ("", 0) if device is None else (device.state, device.transport_id)


def status_of(check: Check) -> Status:
    status = STATUS.get(str(check.get("status")), Status.UNKNOWN)
    return Status.UNKNOWN if check.get("unknown") and status is Status.WARN else status


def id_of(check: Check) -> str:
    return str(check.get("id", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """Results (``checks``), all ids of this kind of run, and those still ``pending``, in order.

    ``critical`` ids fail the report, ``stopping`` ones end the run when they fail. ``ended`` is when the last run ended
    (0: never), ``device`` how adb listed the device then, ``stopped`` whether the user ended it, ``problem`` why it
    broke off.
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
    backend: str = "operator"
    stopped: bool = False
    problem: str = ""

    # -- progress

    def begun(self, pending: Sequence[str]) -> DoctorReport:
        """Start a run of ``pending``; other results are kept."""
        again = frozenset(pending)
        kept = tuple(check for check in self.checks if id_of(check) not in again)
        return replace(self, checks=kept, pending=tuple(pending), running=True, stopped=False, problem="")

    def took(self, check: Check) -> DoctorReport:
        """Add a result. Pending checks before it will not run any more: checks have a fixed order."""
        name = id_of(check)
        others = tuple(other for other in self.checks if id_of(other) != name)
        place = self._place(name)
        before = sum(1 for other in others if self._place(id_of(other)) <= place)
        pending = self.pending[self.pending.index(name) + 1 :] if name in self.pending else self.pending
        return replace(self, checks=(*others[:before], check, *others[before:]), pending=pending)

    def over(self, at: float, *, stopped: bool = False) -> DoctorReport:
        """End the run: nothing is pending."""
        return replace(self, pending=(), running=False, ended=at, stopped=stopped)

    def _place(self, name: str) -> int:
        return self.ids.index(name) if name in self.ids else len(self.ids)

    # -- queries

    def find(self, name: str) -> Check | None:
        """Return the result of a check, or ``None``."""
        return next((check for check in self.checks if id_of(check) == name), None)

    def rows(self) -> tuple[Check, ...]:
        """Return every check: its result, or why it has none."""
        found = {id_of(check): check for check in self.checks}
        rows = [found.pop(name) if name in found else self._without_result(name) for name in self.ids]
        return (*rows, *found.values())

    def _without_result(self, name: str) -> Check:
        if name in self.pending:
            return {"id": name, "status": "running" if name == self.pending[0] else "waiting"}
        return {"id": name, "status": "skipped", "stopper": self.stopper(name)}

    def stopper(self, name: str) -> str:
        """Return the check because of which ``name`` did not run; empty where unknown."""
        place = self._place(name)
        before = [check for check in self.checks if check.get("status") != "pass" and self._place(id_of(check)) < place]
        for check in before:
            if check.get("status") == "fail" and id_of(check) in self.stopping:
                return id_of(check)
        # Else it was a prerequisite: the one with the closest id, and of these the first.
        return max((id_of(check) for check in before), key=lambda other: _kinship(name, other), default="")

    def grouped(self) -> Iterator[tuple[str, list[Check]]]:
        """Yield the groups that have rows, in the order of the screen, with their rows."""
        groups: dict[str, list[Check]] = {"critical": [], "advisory": [], "stock backend": [], "optional": []}
        for row in self.rows():
            name = id_of(row)
            other = "optional" if name in OPTIONAL else "" if concerns(name, "operator") else "stock backend"
            groups[other or ("critical" if name in self.critical else "advisory")].append(row)
        return ((group, members) for group, members in groups.items() if members)

    @property
    def problems(self) -> list[Check]:
        """Return what the first screen shows: the checks that fail, then those with a hint."""
        checks = [check for check in self.checks if concerns(id_of(check), self.backend)]
        bad = [check for check in checks if status_of(check) is Status.FAILED]
        open_ = (Status.WARN, Status.UNKNOWN)
        hints = [check for check in checks if status_of(check) in open_ and id_of(check) not in OPTIONAL]
        return bad + hints

    @property
    def summary(self) -> list[Check]:
        """Return ``problems``; once the run is over, the check that decided against the device leads, with the verdict."""
        problems, obstacle = self.problems, "" if self.running or self.stopped else self.verdict().check_id
        if not obstacle:
            return problems
        first = {"id": obstacle, "status": "waiting" if self.in_use else "fail", "summary": self.verdict().summary}
        return [first, *(check for check in problems if id_of(check) != obstacle)]

    @property
    def in_use(self) -> bool:
        """Return whether an execution kept the checks from their end; they are repeated once the device is free."""
        check = None if self.running else self.find(self.verdict().check_id)
        return check is not None and check.get("code") == ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value

    def verdict(self) -> Verdict:
        """Return the engine's verdict on the results; meaningful once the run is over."""
        return verdict_of(self.checks, self.backend)

    def status(self) -> Status:
        """Return the overall status; running or idle before there is a verdict."""
        if self.running:
            return Status.RUNNING
        if not self.checks:
            return Status.IDLE
        if self.in_use:
            return Status.WAITING
        return Status.WARN if self.stopped else _OF_VERDICT[self.verdict().status]


DoctorReport.EMPTY = DoctorReport()


def _kinship(one: str, other: str) -> int:
    """Return how many leading parts two ids share."""
    pairs = zip(one.split("."), other.split("."), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
