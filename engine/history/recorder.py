"""What becomes of an execution of this process in the history: a row while the device works, everything when it is over.

What ended before anything was dispatched gets one row at its end. ``refused`` is what the rules or another's execution kept
from the device; where a payload did not even name its command, only the audit tells of it. Checking and planning
(``--validate-only``, ``--dry-run``) are no executions.
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
    """``engine/executions/attempt.py`` calls it: it takes notes and leaves the work to the history's own thread.

    Nothing that could wait is done where the answer is still to be given.
    """

    def __init__(self, worker: HistoryWorker, face: str) -> None:
        self._worker = worker
        self._face = face

    def dispatched(self, attempt: Attempt) -> None:
        """It is about to leave for the device: from here on a process that dies leaves a row."""
        try:
            write_ahead.write(self._worker.path, attempt, self._face, safe=self._worker.safe)
        except NotPrivateError as exc:
            self._worker.report(exc.to_engine_error().message)
        except OSError:
            pass  # the row that follows has the same problem, and says so

        def begin(history: History) -> None:
            from clawperator.engine.history.row_builders import begun

            history.put(*begun(attempt, self._face))

        self._worker.write(begin)

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:
        """Everything about it is known; the caller may do with ``result`` what it likes."""
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

        self._worker.write(end, late=True)


def _own(result: Mapping[str, Any]) -> dict[str, Any]:
    """A copy as deep as callers change envelopes: they put views in place of trees."""
    envelope = result.get("envelope")
    if not isinstance(envelope, Mapping):
        return dict(result)
    steps = [{**step, "data": dict(step["data"])} for step in envelope["stepResults"]]
    return {**result, "envelope": {**envelope, "stepResults": steps}}
