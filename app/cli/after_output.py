"""Work that waits until the answer is written, so that records do not delay the caller."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WAITING: list[Callable[[bool], object]] = []
_LISTENERS: list[Callable[[int], object]] = []


def schedule(work: Callable[[bool], object]) -> None:
    """Call ``work(leaving)`` after the answer or the error of this command line. It must not raise and not write to stdout."""
    _WAITING.append(work)


def on_exit_code(call: Callable[[int], object]) -> None:
    """Call ``call`` with the exit code after the answer, before the scheduled work."""
    _LISTENERS.append(call)


def notify(exit_code: int) -> None:
    """Pass the exit code to those who wait for it: the answer is written."""
    for call in _LISTENERS:
        call(exit_code)


def run_all(*, leaving: bool) -> None:
    """Do the scheduled work; ``leaving``: the process ends afterwards. SIGINT skips the rest and does not change the answer."""
    try:
        while _WAITING:
            _WAITING.pop(0)(leaving)
    except KeyboardInterrupt:
        _WAITING.clear()
