"""Wrong tokens take time: each address has a rate at which tokens are judged, whether they are right or wrong."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.guard import Caller

INTERVAL = 0.1
"""Seconds per token and address, after the first ``BURST``."""
BURST = 10
LONGEST_WAIT = 3.0
"""Whoever would have to wait longer is told to come back."""
_KEPT = 1_000
"""Addresses, and callers of addresses, that are remembered: those that were heard of last."""


class Guesses:
    """When an address may have its next token judged.

    A right token waits as a wrong one does, so that nothing is learnt by not waiting; but only the first time: whoever was
    right at an address passes there at once, whatever else is tried there.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next: OrderedDict[str, float] = OrderedDict()
        self._right: OrderedDict[tuple[str, str], None] = OrderedDict()

    def knows(self, address: str, caller: Caller) -> bool:
        return (address, caller.name) in self._right

    def was_right(self, address: str, caller: Caller) -> None:
        _keep(self._right, (address, caller.name), None)

    def wait(self, address: str) -> float:
        """Return the seconds to wait, and count one token. Raises ``EngineError`` (RATE_LIMITED) beyond ``LONGEST_WAIT``."""
        now = self._clock()
        turn = max(self._next.get(address, 0.0), now - BURST * INTERVAL) + INTERVAL
        if turn - now > LONGEST_WAIT:
            raise EngineError(ErrorCode.RATE_LIMITED, "Too many wrong tokens from this address")
        _keep(self._next, address, turn)
        return max(turn - now, 0.0)


def _keep(kept: OrderedDict[Any, Any], key: object, value: object) -> None:
    """Remember it as the last one; forget the first one where there are too many."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _KEPT:
        kept.popitem(last=False)
