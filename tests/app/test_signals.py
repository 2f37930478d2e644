"""Signals as calls: while asked for, not before and after, and never those that our parent wants ignored."""

from __future__ import annotations

import asyncio
import signal

from clawperator.app.signals import signal_handlers


async def test_a_signal_is_a_call_while_it_is_heard() -> None:
    came = asyncio.Event()
    before = signal.getsignal(signal.SIGHUP)
    with signal_handlers(came.set, (signal.SIGHUP,)):
        signal.raise_signal(signal.SIGHUP)
        await asyncio.wait_for(came.wait(), 5)
    assert signal.getsignal(signal.SIGHUP) == before


async def test_hearing_may_end_early() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with signal_handlers(lambda: None, (signal.SIGHUP,)) as end:
        assert signal.getsignal(signal.SIGHUP) != before
        end()
        assert signal.getsignal(signal.SIGHUP) == before


async def test_what_is_ignored_stays_ignored() -> None:
    came = asyncio.Event()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signal_handlers(came.set, (signal.SIGHUP, signal.SIGUSR1)):
            signal.raise_signal(signal.SIGHUP)
            assert not came.is_set()
            signal.raise_signal(signal.SIGUSR1)  # signals come in the order of their wakeups
            await asyncio.wait_for(came.wait(), 5)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
