"""SIGINT, SIGTERM and SIGHUP of a command line while no event loop hears them: they raise ``KeyboardInterrupt``.

Imported by every command: it must stay light.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from clawperator.engine.errors import EngineError

INTERRUPTED = 130
"""Exit code after any of them."""
_AGAIN_SECONDS = 0.001

outcome: Callable[[], EngineError] | None = None
"""Makes the error for a signal that no session hears: what the session before it dispatched. ``None`` where there was none."""


def begin() -> None:
    """Let SIGTERM and SIGHUP do what SIGINT does. A signal that our parent ignores for us stays ignored."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        sys.unraisablehook = _lost


def end(exit_code: int) -> None:
    """The outcome is written, and its record may still be: the first signal changes nothing, the next ends the process."""
    came = False

    def heard(*_: object) -> None:
        nonlocal came
        if came:
            os._exit(exit_code)
        came = True

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, heard)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Call the handler of SIGINT: that of ``asyncio.run`` cancels the main task."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        handler = signal.default_int_handler
    handler(signal.SIGINT, frame)


def _lost(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that came in a callback of the interpreter (the import system has some), where it is lost."""
    if unraisable.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(unraisable)
