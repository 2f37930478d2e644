"""Signal handlers in the running event loop, the same for every face."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from clawperator.app import interrupts

ENDING = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end the process: Ctrl-C, a supervisor, a closed terminal or connection. Windows has no SIGHUP."""


@contextmanager
def signal_handlers(
    call: Callable[[], object], numbers: Iterable[signal.Signals] = ENDING
) -> Iterator[Callable[[], None]]:
    """Call ``call`` in the running loop for each signal of ``numbers``; yield what removes the handlers early.

    A signal that the parent process ignores for us, as ``nohup`` and background jobs of scripts do, stays ignored. Afterwards
    each signal has its former handler again; SIGINT has Python's own.
    """
    loop = asyncio.get_running_loop()
    former: dict[signal.Signals, Any] = {}

    def end() -> None:
        while former:
            number, before = former.popitem()
            loop.remove_signal_handler(number)
            if number != signal.SIGINT:  # the loop resets the others to the system's default
                signal.signal(number, before)

    for number in numbers:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            with suppress(NotImplementedError):  # Windows: Python's own handler remains
                loop.add_signal_handler(number, call)
                if number == signal.SIGINT:  # the loop learns of signals also beside this handler, unless it hangs
                    signal.signal(number, interrupts.count)
                former[number] = before
    try:
        yield end
    finally:
        end()
