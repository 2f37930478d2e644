"""Audit entries for refused requests, bounded: a flood becomes one entry with a count."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.caller import ANONYMOUS
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from clawperator.engine.contracts.caller import Caller
    from clawperator.engine.facade import Engine

CALLER = "clawperator.caller"
"""The key of the ASGI scope under which routes find the ``Caller``."""
ENTRIES = 20
"""Entries per window and error code."""
WINDOW_SECONDS = 60.0
_RECORDED = frozenset({ErrorCode.UNAUTHORIZED, ErrorCode.ORIGIN_NOT_ALLOWED, ErrorCode.RATE_LIMITED})
_SENT_BY = ("host", "origin", "site")
_LONGEST_PATH = 128


@dataclass(slots=True)
class _Window:
    """The refusals of one code in one window: the number of entries, and the last refusal that was only counted."""

    end: asyncio.TimerHandle
    written: int = 0
    suppressed: int = 0
    last: tuple[EngineError, Caller, str] | None = None


class Refusals:
    """Records refused requests; those beyond ``ENTRIES`` per window and code become one entry with a count."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._windows: dict[ErrorCode, _Window] = {}

    def add(self, scope: MutableMapping[str, Any], error: EngineError) -> None:
        """Record ``error`` if its code is an access error."""
        if error.code not in _RECORDED:
            return
        window = self._windows.get(error.code)
        if window is None:
            timer = asyncio.get_running_loop().call_later(WINDOW_SECONDS, self._end, error.code)
            window = self._windows[error.code] = _Window(timer)
        caller = caller_in(scope)
        if window.written < ENTRIES:
            window.written += 1
            self._record(error, caller, operation_of(scope))
        else:
            window.suppressed += 1
            window.last = error, caller, operation_of(scope)

    def close(self) -> None:
        """Record the counted refusals."""
        for code in list(self._windows):
            self._end(code)

    def _end(self, code: ErrorCode) -> None:
        window = self._windows.pop(code)
        window.end.cancel()
        if window.last is not None:
            self._record(*window.last, count=window.suppressed)

    def _record(self, error: EngineError, caller: Caller, what: str, *, count: int = 1) -> None:
        denied = next((f"{name} {error.details[name]}" for name in _SENT_BY if name in error.details), "")
        self._engine.under(caller).guard.refused(error, what, denied=denied, count=count)


def caller_in(scope: MutableMapping[str, Any]) -> Caller:
    """Return the caller of the request, anonymous without a valid token."""
    client = scope.get("client")
    caller: Caller = scope.get(CALLER) or ANONYMOUS._replace(peer=client[0] if client else "")
    return caller


def operation_of(scope: MutableMapping[str, Any]) -> str:
    """Return method and path of a request without its query."""
    return f"{scope['method']} {scope['path'][:_LONGEST_PATH]}"
