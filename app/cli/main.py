"""Entry point of the console script: prints ``--version``, and passes everything else to ``dispatch``.

Startup time is measured, so nothing is imported before it is needed.
"""

from __future__ import annotations

import gc
import os
import sys

from clawperator.app.warm import NOT_WARM, WARM_VARIABLE, socket_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own arguments) and return the exit code; never raises."""
    if argv is not None:
        return _dispatch(argv, leaving=False)
    exit_code = _run_warm(sys.argv[1:])
    return run(sys.argv[1:]) if exit_code is None else exit_code


def run(arguments: Sequence[str]) -> int:
    """Run a command line in this process, which ends with it."""
    _without_plugins()
    gc.disable()  # most commands end before a collection is worth it: it costs a tenth of their time
    exit_code = _run(arguments)
    gc.freeze()  # Python's last collection would visit every object
    return exit_code


def _without_plugins() -> None:
    """Keep pydantic from looking for the plugins of other packages, for which it imports two dozen modules.

    The name is undocumented: where it is another one, pydantic looks.
    """
    loader = type(sys)("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules.setdefault(loader.__name__, loader)


def _run_warm(arguments: Sequence[str]) -> int | None:
    """Return the exit code of a warm process that ran the command line; ``None`` without one, or if it must not."""
    excluded = os.environ.get(WARM_VARIABLE) == "0" or not {"--no-warm", "--no-daemon"}.isdisjoint(arguments)
    if excluded or not arguments or arguments[0] in NOT_WARM or not os.path.exists(socket_path()):
        return None
    if any("/fd/" in word for word in arguments):  # as a shell's <(…): only the standard streams are handed over
        return None
    from clawperator.app.warm import client

    try:
        return client.run(arguments)
    except client.BrokenOffError as exc:
        from clawperator.app.cli.dispatch import lost

        return lost(arguments, str(exc))


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
    if list(arguments) in (["--version"], ["-V"]):
        return _print_version()
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
        from clawperator.app.cli.dispatch import not_written

        return not_written(exc)
    return 0
