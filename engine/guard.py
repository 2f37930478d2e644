"""Holds what is no execution against the policy, and records each decision: who asked, from where, for what, and the verdict.

Executions have ``policy.admit`` and the history's own recorder for the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator.engine.config.active_profile import load_profile, permit
from clawperator.engine.config.policy import WRITE_FILES
from clawperator.engine.contracts.caller import ANYBODY, Caller
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.history.rows import AuditRow

Write = Callable[["AuditRow"], object]


class Guard:
    """The policy for one caller. ``settings`` name the profile, ``face`` stands in the audit; without a face none is kept.

    ``write`` takes the rows of the audit; without it they are written at once, which blocks for as long as the disk takes.
    """

    def __init__(
        self, settings: Settings, face: str = "", caller: Caller = ANYBODY, write: Write | None = None
    ) -> None:
        self.settings = settings
        self.face = face
        self._caller = caller
        self._write = write or self._write_now

    @contextmanager
    def acting(self, capability: str, what: str, *, device_id: str = "") -> Iterator[None]:
        """Permit ``what`` (it completes "it cannot …"), and record that it was allowed, and how it ended.

        Raises ``EngineError`` as ``policy.permit`` does, after recording the refusal.
        """
        self.permit(capability, what, device_id=device_id)
        rule = f"capability {capability}"
        profile = load_profile(self.settings).name
        self._record("allowed", what, device_id, profile=profile, rule=rule)
        began = time.monotonic()
        code = ErrorCode.INTERRUPTED.value
        try:
            yield
            code = ""
        except Exception as exc:
            code = (exc.code if isinstance(exc, EngineError) else ErrorCode.UNKNOWN_RUNTIME_ERROR).value
            raise
        finally:
            spent = (time.monotonic() - began) * 1000
            self._record("result", what, device_id, profile=profile, rule=rule, code=code, duration_ms=spent)

    @contextmanager
    def writing(self, path: str) -> Iterator[None]:
        """``acting`` for a file or a folder that the caller names."""
        with self.acting(WRITE_FILES, f"write {path}"):
            yield

    def allows(self, capability: str) -> bool:
        """Whether the caller's profile has ``capability``; a refusal is left to what follows, and none is recorded."""
        return load_profile(self.settings).allows_capability(capability)

    def permit(self, capability: str, what: str, *, device_id: str = "") -> None:
        """Raise what ``policy.permit`` raises, after recording the refusal."""
        with self.refusals(what, device_id=device_id):
            permit(self.settings, capability, what)

    @contextmanager
    def refusals(self, what: str, *, device_id: str = "") -> Iterator[None]:
        """Record every ``EngineError`` that leaves the block as a refusal of ``what``."""
        try:
            yield
        except EngineError as exc:
            self.refused(exc, what, device_id=device_id)
            raise

    def refused(self, error: EngineError, what: str, *, device_id: str = "", denied: str = "", count: int = 1) -> None:
        """Record that ``what`` was refused because of ``error``; ``count`` equal refusals are one entry."""
        from clawperator.engine.history.account import denial, rule_of

        found = denial(error.details)
        self._record(
            "refused",
            what,
            device_id,
            code=error.code.value,
            profile=found.profile,
            denied=denied or found.subject,
            rule=rule_of(error.code, error.details),
            times=count,
        )

    @property
    def audited(self) -> bool:
        """Whether an audit is kept."""
        return bool(self.face and self.settings.history_enabled and self.settings.history_path)

    def record(self, row: AuditRow) -> None:
        """Write ``row`` to the audit."""
        self._write(row)

    def _record(self, event: str, what: str, device_id: str, **facts: object) -> None:
        if not self.audited:
            return
        from clawperator.engine.history.auditing import operation

        self.record(
            operation(
                event,
                what,
                face=self.face,
                caller=self._caller.name,
                peer=self._caller.peer,
                device_id=device_id,
                **facts,
            )
        )

    def _write_now(self, row: AuditRow) -> None:
        from clawperator.engine.history.auditing import write_audit

        write_audit(self.settings, row)
