"""Run one command line: exactly one document (or help text) on stdout, and the exit code."""

from __future__ import annotations

import gc
from functools import partial

from clawperator.app import interrupts
from clawperator.app.cli import after_output, diagnostics, output
from clawperator.app.cli.command import Answer, build_parser, exit_code, load
from clawperator.app.cli.command_table import GROUPS
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import HelpWantedError, read
from clawperator.engine.errors import EngineError, ErrorCode, interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def dispatch(arguments: Sequence[str], *, leaving: bool = False) -> int:
    """Run a command line and print its outcome; every failure becomes the documented error object.

    ``leaving``: the process ends with it.
    """
    try:
        code = _run([*_terminal_format(arguments), *arguments], leaving=leaving)
        after_output.notify(code)
        return code
    finally:
        after_output.run_all(leaving=leaving)


def _run(arguments: Sequence[str], *, leaving: bool) -> int:
    outcome: Answer | EngineError | int
    interrupts.outcome = None
    interrupts.last_words = partial(_last_words, arguments)
    try:
        outcome = _answer(arguments, leaving=leaving)
    except EngineError as exc:
        if exc.code is ErrorCode.UNKNOWN_RUNTIME_ERROR and "--verbose" in arguments:
            diagnostics.traceback(exc)
        outcome = exc
    except output.CannotWriteError as exc:
        return not_written(exc)
    except Exception as exc:  # noqa: BLE001 -- the last handler: callers get one JSON object for every exception
        if "--verbose" in arguments:
            diagnostics.traceback(exc)
        name = type(exc).__name__
        outcome = EngineError(ErrorCode.UNKNOWN, str(exc) or name, details={"exception": name})
    interrupts.answer()
    return _finish(outcome, output.stated_format(arguments), leaving=leaving)


def _terminal_format(arguments: Sequence[str]) -> list[str]:
    """The flags of the setting ``output.terminal``; none where the command line chooses a format, or opens the console."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    chosen = any(word.partition("=")[0] in ("--json", "--output", "--format") for word in before)
    if chosen or not before or "demo" in before or not output.is_terminal():
        return []
    import tomllib

    from clawperator.engine.config.environment import settings_path

    try:
        with open(settings_path(), "rb") as file:
            pretty = tomllib.load(file)["output"]["terminal"] == "pretty"
    except (OSError, ValueError, LookupError, TypeError):  # the command itself reports what is wrong with the file
        return []
    return ["--output", "pretty"] if pretty else []


def interrupted(arguments: Sequence[str]) -> int:
    """Print the outcome of a signal that came before or after a session, and return the exit code."""
    interrupts.answer()
    return _finish(_interruption(), output.stated_format(arguments), leaving=False)


def _last_words(arguments: Sequence[str]) -> int:
    """Print the outcome of a command that hangs, and return the exit code."""
    error = _interruption()
    if error.extra.get("broadcastDispatchStatus") == "not_sent":
        error = interruption("unknown")
    return _finish(error, output.stated_format(arguments), leaving=False)


def lost(arguments: Sequence[str], why: str = "") -> int:
    """Print the outcome of a command whose process ended without an answer (``app/warm``), and return the exit code."""
    error = interruption("unknown")
    error.message = f"The process of this command {why or 'ended without an answer'}"
    return _finish(error, output.stated_format(arguments), leaving=False)


def _interruption() -> EngineError:
    return (interrupts.outcome or interruption)()


def _answer(arguments: Sequence[str], *, leaving: bool) -> Answer | int:
    """Parse the command line and run its command. An exit code means that everything is written already."""
    words = ""
    try:
        words, rest, after_dashes = find_command(arguments)
        return _run_command(words, rest, after_dashes, leaving=leaving)
    except HelpWantedError as wanted:
        return _print_help(wanted.topic)
    except EngineError as exc:
        exc.hint = exc.hint.replace("help <command>", f"help {words}" if words else "--help")
        raise


def _run_command(words: str, rest: Sequence[str], after_dashes: Sequence[str], *, leaving: bool) -> Answer | int:
    if words in GROUPS:
        raise EngineError(ErrorCode.USAGE, GROUPS[words])
    command = load(words or "console")
    parser = build_parser(command)
    try:
        options = read(parser, words, rest, after_dashes)
    except EngineError:
        if not command.reserved:
            raise
        options = parser.options()
    if options.version:
        from clawperator.engine.version import __version__

        output.print_text(f"{__version__}\n")
        return 0
    if not words:  # the console on a terminal, else the help
        from clawperator.app.cli.commands.console import has_terminal

        if rest or not has_terminal():
            return _print_help("")
    if command.long_lived:
        gc.enable()
        interrupts.last_words = None
    if command.keeps_warm and leaving and not options.no_warm:
        from clawperator.app.cli.settings import start_warm_beside

        start_warm_beside()
    return command.run(options)


def _print_help(topic: str) -> int:
    from clawperator.app.cli.help import help_text

    output.print_text(help_text(topic))
    return 0


def _finish(outcome: Answer | EngineError | int, fmt: str, *, leaving: bool) -> int:
    """Print the outcome. A signal before its first byte replaces it, one in the middle ends the printing, a later one changes nothing."""
    progress = output.Progress()
    try:
        code = outcome if isinstance(outcome, int) else _print(outcome, fmt, progress)
        if leaving:
            interrupts.end(code)
    except KeyboardInterrupt:
        reported = isinstance(outcome, EngineError) and outcome.code is ErrorCode.INTERRUPTED
        if not isinstance(outcome, int) and not progress.taken and not reported:
            return _finish(_interruption(), fmt, leaving=leaving)
        if isinstance(outcome, int) or not progress.whole:
            return interrupts.INTERRUPTED
        code = _exit_code(outcome)
        if leaving:
            interrupts.end(code)
    return code


def _print(outcome: Answer | EngineError, fmt: str, progress: output.Progress) -> int:
    answer = Answer(outcome.to_dict(), view="executions.error") if isinstance(outcome, EngineError) else outcome
    try:
        if fmt == "pretty":
            from clawperator.app.cli.pretty import draw

            output.print_bytes(draw(answer.view, answer.data), progress)
        else:
            output.print_bytes(output.encode(answer.document, indent=answer.indent) + b"\n", progress)
    except output.CannotWriteError as exc:
        return not_written(exc)
    return _exit_code(outcome)


def _exit_code(outcome: Answer | EngineError) -> int:
    if isinstance(outcome, EngineError):
        return exit_code("interrupted") if outcome.code is ErrorCode.INTERRUPTED else outcome.code.exit_code
    return exit_code(outcome.status, allow_partial=outcome.allow_partial)


def not_written(error: output.CannotWriteError) -> int:
    """Return the exit code, and report the error: a closed pipe is none."""
    if error.exit_code != output.READER_GONE:
        diagnostics.note(str(error))
    return error.exit_code
