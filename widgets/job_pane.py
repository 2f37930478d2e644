"""A job: its stages, with foldable tool output."""

from __future__ import annotations

from collections.abc import Iterable

from clawperator.widgets import keys
from clawperator.widgets.format.jobs import job_slots
from clawperator.widgets.format.slot import Slot
from clawperator.widgets.models.job import Job
from clawperator.widgets.row_panes import FoldState, SlotPane


class JobPane(SlotPane):
    """The running or last job."""

    BINDINGS = keys.binding_list("job")

    EMPTY = "No job is running.\nPress P to see the provisioning plan."

    _job: Job | None = None

    def show(self, job: Job | None) -> None:
        if job is self._job:
            return
        before, self._job = self._job, job
        if job is not None and (before is None or (before.kind, before.since) != (job.kind, job.since)):
            self.visit(FoldState())
        else:
            self.rearrange()

    def tick(self) -> None:
        """Update the times of a running job; called every second."""
        if self._job is not None and self._job.running:
            self.rearrange()

    def slots(self, width: int) -> Iterable[Slot]:
        return job_slots(self._job, self.sheet(width)) if self._job is not None else ()
