"""Wrong tokens take time, and what is remembered of addresses is bounded."""

from __future__ import annotations

import pytest

from clawperator.app.serve.token_throttle import BURST, INTERVAL, MAX_WAIT, TokenThrottle


def test_an_address_that_guesses_waits_ever_longer() -> None:
    now = 1_000.0
    throttle = TokenThrottle(lambda: now)
    assert [throttle.count("a")[0] for _ in range(BURST)] == pytest.approx([0.0] * BURST)
    assert throttle.count("a")[0] == pytest.approx(INTERVAL)
    assert throttle.count("b") == (0, False)
    waits = int(MAX_WAIT / INTERVAL) - 2
    assert all(throttle.count("a")[0] <= MAX_WAIT for _ in range(waits))
    assert [throttle.count("a") for _ in range(2)][1] == (MAX_WAIT, True), "no guess is answered at once"
    now += MAX_WAIT + BURST * INTERVAL
    assert throttle.count("a") == (0, False)


def test_what_is_remembered_is_bounded() -> None:
    throttle = TokenThrottle(lambda: 0.0)
    for number in range(5_000):
        throttle.count(f"{number}")
    assert len(throttle._next) == 1_000
