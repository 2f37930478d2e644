"""Run one command line: exactly one document (or help text) on stdout, and the exit code."""

from __future__ import annotations

import gc
import os
from functools import partial

from clawperator.app import interrupts
from clawperator.app.cli import after_output, diagnostics, output
from clawperator.app.cli.command import Answer, build_parser, exit_code, global_parser, load
from clawperator.app.cli.command_table import GROUPS
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import HelpWantedError, read
from clawperator.engine.config.environment import OUTPUT_VARIABLE, check_variables, settings_path
from clawperator.engine.errors import EngineError, ErrorCode, interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.app.cli.command import Options


def dispatch(arguments: Sequence[str], *, leaving: bool = False) -> int:
    """Run a command line and print its outcome; every failure becomes the documented error object.

    ``leaving``: the process ends with it.
    """
    try:
        code = _run([*_chosen_format(arguments), *arguments], leaving=leaving)
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


def _chosen_format(arguments: Sequence[str]) -> list[str]:
    """The flags of the format that ``CLAWPERATOR_OUTPUT`` or the settings choose, in this order.

    None for JSON, and where the command line chooses a format or opens the console.
    """
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    chosen = any(word.partition("=")[0] in ("--json", "--output", "--format") for word in before)
    if chosen or not before or ("demo" in before and output.is_terminal()):
        return []
    fmt = os.environ.get(OUTPUT_VARIABLE) or _format_of_settings()
    return ["--output", "pretty"] if fmt == "pretty" else []


def _format_of_settings() -> object:
    path = settings_path()
    if not os.path.exists(path):
        return ""
    import tomllib

    try:
        with open(path, "rb") as file:
            found = tomllib.loads(file.read().decode("utf-8-sig"))["output"]
    except (OSError, ValueError, LookupError, RecursionError):  # the command itself reports what is wrong with the file
        return ""
    if not isinstance(found, dict):
        return found
    return (output.is_terminal() and found.get("terminal")) or found.get("format")


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
        return _run_group(words, rest, after_dashes)
    command = load(words or "console")
    parser = build_parser(command)
    try:
        options = read(parser, words, rest, after_dashes)
    except EngineError as exc:
        if not command.reserved:
            from clawperator.app.cli.parsing.blame import as_written

            as_written(exc, parser, rest)
            raise
        options = parser.options()
    if options.version:
        return _print_version()
    check_variables(os.environ, _given(options))
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
    given = dict(vars(options))  # commands put values in place of others
    try:
        return command.run(options)
    except EngineError as exc:
        from clawperator.app.cli.parsing.blame import blamed

        raise blamed(exc, parser, given, rest, own=command.own_payload) from exc


def _run_group(group: str, rest: Sequence[str], after_dashes: Sequence[str]) -> int:
    """Print the help of a group without its second word; for a caller that wants JSON, that is an error."""
    options = read(global_parser(), group, rest, after_dashes)
    if options.version:
        return _print_version()
    if options.json or options.output == "json":
        raise EngineError(ErrorCode.USAGE, GROUPS[group])
    return _print_help(group)


def _given(options: Options) -> list[str]:
    """Return the options on the command line that win over variables."""
    chosen = {"output": options.output or options.json, "log_level": options.log_level, "backend": options.backend}
    return [name for name, value in chosen.items() if value]


def _print_version() -> int:
    from clawperator.engine.version import __version__

    output.print_text(f"{__version__}\n")
    return 0


def _print_help(topic: str) -> int:
    from clawperator.app.cli.help import help_text

    output.print_text(help_text(topic))
    return 0


def _finish(outcome: Answer | EngineError | int, fmt: str, *, leaving: bool) -> int:
    """Print the outcome. A signal before its first byte replaces it, one in the middle ends the printing, a later one changes nothing."""
    progress = output.Progress()
    try:
        interrupts.before_outcome()
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
