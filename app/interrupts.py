"""SIGINT, SIGTERM and SIGHUP of a command line outside an event loop: they raise ``KeyboardInterrupt``.

After the second SIGINT the process leaves in any case: work that hangs, or waits for a thread that hangs, is not waited for.
Imported by every command: it must stay light.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from clawperator.engine.errors import EngineError

INTERRUPTED = 130
"""Exit code after a signal."""
_AGAIN_SECONDS, _LATER_SECONDS = 0.001, 0.02
_LEAVE_SECONDS = 0.75
"""How long a process may take to end by itself after the second SIGINT."""

outcome: Callable[[], EngineError] | None = None
"""Returns the error for a signal outside a session: what the last session dispatched. ``None`` without a session."""
before_outcome: Callable[[], object] = int
"""Called before an outcome is printed."""
last_words: Callable[[], int] | None = None
"""Prints the outcome of a command that hangs, and returns its exit code; ``None`` where stdout is not for an outcome."""


class _Process:
    """``owned``: this process runs one command line, and ends with it. ``heard``: its SIGINTs. ``answering``: whose outcome has stdout.

    It is held per thread and can be taken again: a signal may come between taking it and any note of that.
    """

    owned = False
    heard = 0
    answering = _thread.RLock()


def begin() -> None:
    """Handle SIGTERM and SIGHUP like SIGINT. A signal that the parent process ignores for us stays ignored."""
    _Process.owned = True
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    sys.meta_path.insert(0, _DatetimeFirst)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _again)
        sys.unraisablehook = _lost


def end(exit_code: int) -> None:
    """Ignore the first signal after the outcome is written, while records are; the next one ends the process."""
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


def answer() -> None:
    """Have stdout for the outcome of this command alone: the one after a second SIGINT is not written any more."""
    if _Process.owned:
        _Process.answering.acquire()  # where the other outcome has it, until the process ends


def count(*_: object) -> None:
    """Count a SIGINT; after the second one, leave soon. A signal handler."""
    _Process.heard += 1
    if _Process.owned and _Process.heard == 2:
        _thread.start_new_thread(_leave, ())


def count_and_raise(*_: object) -> None:
    """Count a SIGINT, and raise ``KeyboardInterrupt``. A signal handler."""
    count()
    raise KeyboardInterrupt


def _leave() -> None:
    time.sleep(_LEAVE_SECONDS)
    code = INTERRUPTED
    try:
        if last_words is not None and _Process.answering.acquire(blocking=False):
            code = last_words()
    finally:
        os._exit(code)


class _DatetimeFirst:
    """Import ``datetime`` before ``pydantic_core``, whose native code would turn a signal during that import into a panic."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 -- a finder's form
        if name == "pydantic_core":
            import datetime as dt  # noqa: F401


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Call the handler of SIGINT; that of ``asyncio.run`` cancels the main task."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        handler = signal.default_int_handler
    handler(signal.SIGINT, frame)


def _again(number: int, frame: FrameType | None) -> None:
    """Interrupt after ``_lost``. On a busy machine the alarm comes while it runs, and what is raised there is lost for good."""
    caller = frame
    while caller is not None:
        if caller.f_code is _lost.__code__:
            signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)
            return
        caller = caller.f_back
    _interrupt(number, frame)


def _lost(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that was lost in a callback of the interpreter, such as those of the import system."""
    if unraisable.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
    else:
        sys.__unraisablehook__(unraisable)
