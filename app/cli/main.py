"""The console script's way in: answers ``--version`` at once and hands everything else to ``dispatch``.

Whole processes are measured here, so nothing is imported before it is known to be needed.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own arguments) and return the exit code; never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    collecting = gc.isenabled()
    gc.disable()  # most commands are over before a collection could pay: it costs a tenth of their time
    try:
        if arguments == ["--version"]:
            return _print_version()
        return _run(arguments) if argv is None else _dispatch(arguments, leaving=False)
    finally:
        if argv is None:
            gc.freeze()  # the process is about to end: Python's last collection would look at everything once more
        if collecting:
            gc.enable()


def _run(arguments: Sequence[str]) -> int:
    """``_dispatch`` for a process of our own, which ends with it."""
    try:
        exit_code = _dispatch(arguments, leaving=True)
    except KeyboardInterrupt:  # a second one, in the middle of the document about the first
        exit_code = 130  # ``interrupts`` may not be loaded yet
    from clawperator.app import interrupts

    interrupts.end(exit_code)
    return exit_code


def _dispatch(arguments: Sequence[str], *, leaving: bool) -> int:
    try:
        if leaving:
            from clawperator.app import interrupts

            interrupts.begin()
        from clawperator.app.cli.dispatch import dispatch

        return dispatch(arguments, leaving=leaving)
    except KeyboardInterrupt:
        # Only before and after a command: an engine session answers for itself (session.py).
        from clawperator.app.cli.dispatch import interrupted

        return interrupted(arguments)


def _print_version() -> int:
    from clawperator.app.cli.output import CannotWriteError, print_text
    from clawperator.engine.version import __version__

    try:
        print_text(f"{__version__}\n")
    except CannotWriteError as exc:
        return exc.exit_code
    return 0
