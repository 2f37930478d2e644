"""Signals of this process while something runs, in one way for every face."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

ENDING = (signal.SIGINT, signal.SIGTERM)
"""What asks us to end: Ctrl-C, and whoever supervises us."""


@contextmanager
def hearing(call: Callable[[], object], numbers: Iterable[signal.Signals] = ENDING) -> Iterator[Callable[[], None]]:
    """Let each of ``numbers`` that comes be a call of ``call`` in the running loop; gives what ends that early.

    A signal that our parent ignores for us, as ``nohup`` and scripts do for what they start in the background, stays ignored.
    """
    loop = asyncio.get_running_loop()
    heard: list[signal.Signals] = []

    def end() -> None:
        while heard:
            loop.remove_signal_handler(heard.pop())

    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(NotImplementedError):  # Windows: Python's own way remains
                loop.add_signal_handler(number, call)
                heard.append(number)
    try:
        yield end
    finally:
        end()
