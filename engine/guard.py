"""Checks operations that are not executions against the policy, and records each decision in the audit.

Executions have ``policy.admit`` and the recorder of the history for the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator.engine.config.active_profile import load_profile, permit
from clawperator.engine.config.policy import WRITE_FILES
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.errors import EngineError, ErrorCode, not_writable
from clawperator.engine.files.regular import new_file

if TYPE_CHECKING:
    from typing import BinaryIO

    from clawperator.engine.config.settings import Settings
    from clawperator.engine.history.records import AuditEvent, AuditRecord

Write = Callable[["AuditRecord"], object]


class Guard:
    """The policy for one caller. ``settings`` name the profile; the audit names ``face``, and is not kept without one.

    ``write`` takes the rows of the audit; by default they are written at once, which blocks on the disk.
    """

    def __init__(
        self, settings: Settings, face: str = "", caller: Caller = ANONYMOUS, write: Write | None = None
    ) -> None:
        self.settings = settings
        self.face = face
        self.caller = caller
        self.record = write or self._write_now

    @contextmanager
    def acting(self, capability: str, what: str, *, device_id: str = "") -> Iterator[None]:
        """Permit ``what`` (it completes "it cannot …"), and record that it was allowed and how it ended.

        Raises ``EngineError`` as ``active_profile.permit`` does, after recording the refusal.
        """
        self.permit(capability, what, device_id=device_id)
        facts = {"profile": load_profile(self.settings).name, "rule": f"capability {capability}"}
        self._record("allowed", what, device_id, **facts)
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
            self._record("result", what, device_id, **facts, code=code, duration_ms=spent)

    @contextmanager
    def writing(self, path: str) -> Iterator[None]:
        """Permit and record writing to a file or folder that the caller names."""
        with self.acting(WRITE_FILES, f"write {path}"):
            yield

    @contextmanager
    def new_file(self, path: str, *, replace: bool = False, what: str = "", hint: str = "") -> Iterator[BinaryIO]:
        """Yield a stream as ``files.new_file`` does, for a file that the caller names.

        ``what`` names the file's part in the command, ``hint`` replaces that of FILE_EXISTS. Raises ``EngineError``: as
        ``acting`` before anything is written, and as ``not_writable``, also for an ``OSError`` of the block.
        """
        with self.writing(path):
            if "\0" in path:
                raise not_writable(path, ValueError("embedded null byte"), what=what)
            try:
                with new_file(path, replace=replace) as stream:
                    yield stream
            except OSError as exc:
                raise not_writable(path, exc, what=what, hint=hint) from exc

    def write_file(self, path: str, content: bytes, *, replace: bool = False, what: str = "", hint: str = "") -> None:
        """Write ``content`` as ``new_file`` does."""
        with self.new_file(path, replace=replace, what=what, hint=hint) as stream:
            stream.write(content)

    def allows(self, capability: str) -> bool:
        """Return whether the caller's profile has ``capability``; nothing is recorded."""
        return load_profile(self.settings).allows_capability(capability)

    def permit(self, capability: str, what: str, *, device_id: str = "") -> None:
        """Raise what ``active_profile.permit`` raises, after recording the refusal."""
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
        from clawperator.engine.history.row_builders import denial, rule_of

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

    def _record(self, event: AuditEvent, what: str, device_id: str, **facts: object) -> None:
        if not self.audited:
            return
        from clawperator.engine.history.audit_rows import operation

        caller = self.caller
        self.record(
            operation(event, what, face=self.face, caller=caller.name, peer=caller.peer, device_id=device_id, **facts)
        )

    def _write_now(self, row: AuditRecord) -> None:
        from clawperator.engine.history.audit_rows import write_audit

        write_audit(self.settings, row)
