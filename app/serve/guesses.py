"""Slow down wrong tokens: each address has a rate at which they are answered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

INTERVAL = 0.1
"""Seconds per wrong token and address, after the first ``BURST``."""
BURST = 10
LONGEST_WAIT = 3.0
_KEPT = 1_000
"""Addresses that are remembered: those that guessed last."""


class Guesses:
    """When an address is answered that its token is wrong. Right tokens are not counted and never wait.

    The caller waits also when the address is refused: an answer at once would make guessing cheap.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next: OrderedDict[str, float] = OrderedDict()

    def count(self, address: str) -> tuple[float, bool]:
        """Count one wrong token; return the seconds to wait, and whether the address guesses too fast."""
        now = self._clock()
        turn = max(self._next.get(address, 0.0), now - BURST * INTERVAL) + INTERVAL
        if turn - now > LONGEST_WAIT:
            return LONGEST_WAIT, True
        self._next[address] = turn
        self._next.move_to_end(address)
        if len(self._next) > _KEPT:
            self._next.popitem(last=False)
        return max(turn - now, 0.0), False
