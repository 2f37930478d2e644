"""Signals of this process while something runs, in one way for every face."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

ENDING = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks us to end: Ctrl-C, a supervisor, and a terminal or a connection that went away. Windows has no SIGHUP."""


@contextmanager
def hearing(call: Callable[[], object], numbers: Iterable[signal.Signals] = ENDING) -> Iterator[Callable[[], None]]:
    """Let each of ``numbers`` that comes be a call of ``call`` in the running loop; gives what ends that early.

    A signal that our parent ignores for us, as ``nohup`` and scripts do for what they start in the background, stays ignored.
    Afterwards each has its former handler again; SIGINT has Python's own.
    """
    loop = asyncio.get_running_loop()
    heard: dict[signal.Signals, Any] = {}

    def end() -> None:
        while heard:
            number, before = heard.popitem()
            loop.remove_signal_handler(number)
            if number != signal.SIGINT:  # the loop leaves the others with the system's default
                signal.signal(number, before)

    for number in numbers:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            with suppress(NotImplementedError):  # Windows: Python's own way remains
                loop.add_signal_handler(number, call)
                heard[number] = before
    try:
        yield end
    finally:
        end()
