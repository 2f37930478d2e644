"""Records the executions of this process: a row at the dispatch, the rest at the end.

An execution without a dispatch gets one row at its end; ``refused`` if the policy, validation or the device lock refused it. A payload
without a command id is only in the audit. ``--validate-only`` and ``--dry-run`` are not executions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine.errors import NotPrivateError
from clawperator.engine.history import write_ahead

if TYPE_CHECKING:
    from clawperator.engine.executions.attempt import Attempt
    from clawperator.engine.history.store import History
    from clawperator.engine.history.worker import HistoryWorker


class HistoryRecorder:
    """An ``ExecutionRecorder`` that leaves the work to the history's thread, so that results are not delayed."""

    def __init__(self, worker: HistoryWorker, face: str) -> None:
        self._worker = worker
        self._face = face

    def dispatched(self, attempt: Attempt) -> None:
        """Note the dispatch, so that a process that dies later leaves a row."""
        noted = False
        try:
            write_ahead.write(self._worker.path, attempt, self._face, safe=self._worker.safe)
            noted = True
        except NotPrivateError as exc:
            self._worker.report(exc.to_engine_error().message)
        except OSError:
            pass  # the row that follows has the same problem and reports it

        def begin(history: History) -> None:
            from clawperator.engine.history.row_builders import begun

            history.put(*begun(attempt, self._face))

        self._worker.write(begin, soon=noted)

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:
        """Record the end; the caller may change ``result`` afterwards."""
        ended_at, own = time.time(), _own(result)

        def end(history: History) -> int | None:
            number = put(history)
            write_ahead.remove(history.path, attempt.execution_id)
            return number

        def put(history: History) -> int | None:
            from clawperator.engine.history.row_builders import Ending, ended

            audit, run = ended(attempt, Ending(self._face, own, ended_at, duration_ms))
            *before, last = audit
            for row in before:
                history.put_audit(row)
            if run is not None:
                return history.put(run, last)
            history.put_audit(last)
            return None

        def note() -> None:
            from clawperator.engine.history.row_builders import Ending, conclusion

            if (known := conclusion(attempt, Ending(self._face, own, ended_at, duration_ms))) is not None:
                write_ahead.conclude(self._worker.path, attempt.execution_id, known)

        self._worker.write(end, late=True, otherwise=note)


def _own(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy as deep as callers change envelopes: they replace trees by views."""
    envelope = result.get("envelope")
    if not isinstance(envelope, Mapping):
        return dict(result)
    steps = [{**step, "data": dict(step["data"])} for step in envelope["stepResults"]]
    return {**result, "envelope": {**envelope, "stepResults": steps}}
