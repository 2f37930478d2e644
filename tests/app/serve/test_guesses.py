"""Wrong tokens take time, and what is remembered of addresses is bounded."""

from __future__ import annotations

import pytest

from clawperator.app.serve.guesses import BURST, INTERVAL, LONGEST_WAIT, Guesses


def test_an_address_that_guesses_waits_ever_longer() -> None:
    now = 1_000.0
    guesses = Guesses(lambda: now)
    assert [guesses.count("a")[0] for _ in range(BURST)] == pytest.approx([0.0] * BURST)
    assert guesses.count("a")[0] == pytest.approx(INTERVAL)
    assert guesses.count("b") == (0, False)
    waits = int(LONGEST_WAIT / INTERVAL) - 2
    assert all(guesses.count("a")[0] <= LONGEST_WAIT for _ in range(waits))
    assert [guesses.count("a") for _ in range(2)][1] == (LONGEST_WAIT, True), "no guess is answered at once"
    now += LONGEST_WAIT + BURST * INTERVAL
    assert guesses.count("a") == (0, False)


def test_what_is_remembered_is_bounded() -> None:
    guesses = Guesses(lambda: 0.0)
    for number in range(5_000):
        guesses.count(f"{number}")
    assert len(guesses._next) == 1_000
