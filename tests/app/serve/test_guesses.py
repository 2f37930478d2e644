"""Wrong tokens take time, and what is remembered of addresses is bounded."""

from __future__ import annotations

import pytest

from clawperator.app.serve.guesses import BURST, INTERVAL, LONGEST_WAIT, Guesses
from clawperator.engine.errors import EngineError
from clawperator.engine.guard import Caller


def test_an_address_that_guesses_waits_ever_longer() -> None:
    now = 1_000.0
    guesses = Guesses(lambda: now)
    assert [guesses.wait("a") for _ in range(BURST)] == pytest.approx([0.0] * BURST)
    assert guesses.wait("a") == pytest.approx(INTERVAL)
    assert guesses.wait("b") == 0
    waits = int(LONGEST_WAIT / INTERVAL) - 2
    assert all(guesses.wait("a") <= LONGEST_WAIT for _ in range(waits))
    with pytest.raises(EngineError) as caught:
        [guesses.wait("a") for _ in range(2)]
    assert caught.value.code == "RATE_LIMITED"
    now += LONGEST_WAIT + BURST * INTERVAL
    assert guesses.wait("a") == 0


def test_who_was_right_is_known_at_that_address_only() -> None:
    guesses = Guesses(lambda: 0.0)
    guesses.was_right("a", Caller("owner"))
    assert guesses.knows("a", Caller("owner"))
    assert not guesses.knows("a", Caller("other"))
    assert not guesses.knows("b", Caller("owner"))
    for number in range(5_000):
        guesses.was_right(f"{number}", Caller("owner"))
        guesses.wait(f"{number}")
    assert len(guesses._right) == len(guesses._next) == 1_000
