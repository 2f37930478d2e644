"""Delay the answers to wrong tokens, per address."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

INTERVAL = 0.1
"""Seconds per wrong token and address, after the first ``BURST``."""
BURST = 10
MAX_WAIT = 3.0
_MAX_ADDRESSES = 1_000
"""Addresses that are remembered: the most recent ones."""


class TokenThrottle:
    """The delay of the next wrong token of each address. Valid tokens are neither counted nor delayed.

    The caller waits also when the address is refused: an immediate answer would make guessing cheap.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next: OrderedDict[str, float] = OrderedDict()

    def count(self, address: str) -> tuple[float, bool]:
        """Count one wrong token; return the seconds to wait, and whether the address exceeds the rate."""
        now = self._clock()
        turn = max(self._next.get(address, 0.0), now - BURST * INTERVAL) + INTERVAL
        if turn - now > MAX_WAIT:
            return MAX_WAIT, True
        self._next[address] = turn
        self._next.move_to_end(address)
        if len(self._next) > _MAX_ADDRESSES:
            self._next.popitem(last=False)
        return max(turn - now, 0.0), False
