"""Entry point of the console script: prints ``--version``, and passes everything else to ``dispatch``.

Startup time is measured, so nothing is imported before it is needed.
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
    gc.disable()  # most commands end before a collection is worth it: it costs a tenth of their time
    try:
        if arguments == ["--version"]:
            return _print_version()
        return _run(arguments) if argv is None else _dispatch(arguments, leaving=False)
    finally:
        if argv is None:
            gc.freeze()  # the process ends: Python's last collection would visit every object
        if collecting:
            gc.enable()


def _run(arguments: Sequence[str]) -> int:
    """Call ``_dispatch`` in a process that ends with it."""
    try:
        exit_code = _dispatch(arguments, leaving=True)
    except KeyboardInterrupt:  # a second signal, while the document about the first is written
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
        # Only before and after a command: an engine session handles its own signals (session.py).
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
