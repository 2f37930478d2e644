"""What a command leaves to be done when its answer is out: nothing that is only written down may keep a caller waiting."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WAITING: list[Callable[[bool], object]] = []


def later(work: Callable[[bool], object]) -> None:
    """Do ``work`` after the answer of this command line, or after its failure. It must not raise and not write to stdout.

    It is told whether the process ends then.
    """
    _WAITING.append(work)


def do(*, leaving: bool) -> None:
    """The answer is out. A SIGINT ends the waiting and changes nothing about the answer any more."""
    try:
        while _WAITING:
            _WAITING.pop(0)(leaving)
    except KeyboardInterrupt:
        _WAITING.clear()
