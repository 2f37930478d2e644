"""One command line from beginning to end: exactly one document (or help text) on stdout, and the exit code."""

from __future__ import annotations

import gc

from clawperator.app import interrupts
from clawperator.app.cli import deferred, diagnostics, output
from clawperator.app.cli.parsing.arguments import HelpWantedError, build_parser, find_command, read
from clawperator.app.cli.table import GROUPS, load
from clawperator.engine.errors import EngineError, ErrorCode, interruption

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.app.cli.output import Answer


def dispatch(arguments: Sequence[str], *, leaving: bool = False) -> int:
    """Run a command line and print its outcome; every failure becomes the documented error object.

    ``leaving``: the process ends with it.
    """
    try:
        return _run([*_format_of_terminal(arguments), *arguments], leaving=leaving)
    finally:
        deferred.do(leaving=leaving)


def _run(arguments: Sequence[str], *, leaving: bool) -> int:
    outcome: Answer | EngineError | int
    interrupts.outcome = None
    try:
        outcome = _answer(arguments)
    except EngineError as exc:
        if exc.code is ErrorCode.UNKNOWN_RUNTIME_ERROR and "--verbose" in arguments:
            diagnostics.traceback(exc)
        outcome = exc
    except output.CannotWriteError as exc:
        return _unheard(exc)
    except Exception as exc:  # noqa: BLE001 -- the last border: whatever it is, callers get one JSON object
        if "--verbose" in arguments:
            diagnostics.traceback(exc)
        outcome = diagnostics.unexpected(exc)
    return _finish(outcome, output.stated_format(arguments), leaving=leaving)


def _format_of_terminal(arguments: Sequence[str]) -> list[str]:
    """The flags that the setting ``output.terminal`` stands for; none where the command line chooses, or opens the console."""
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
    """Print the outcome of a signal that came before or after a session."""
    return _finish(_interruption(), output.stated_format(arguments), leaving=False)


def _answer(arguments: Sequence[str]) -> Answer | int:
    """Understand the whole line, then run its command. An exit code means that everything is written already."""
    words = ""
    try:
        words, rest, after_dashes = find_command(arguments)
        return _carried_out(words, rest, after_dashes)
    except HelpWantedError as wanted:
        return _explain(wanted.topic)
    except EngineError as exc:
        exc.hint = exc.hint.replace("help <command>", f"help {words}" if words else "--help")
        raise


def _carried_out(words: str, rest: Sequence[str], after_dashes: Sequence[str]) -> Answer | int:
    """The answer of the command ``words``, or its exit code."""
    if words in GROUPS:
        raise EngineError(ErrorCode.USAGE, GROUPS[words])
    command = load(words or "console")
    parser = build_parser(command)
    try:
        options = read(parser, words, rest, after_dashes)
    except EngineError:
        if not command.reserved:
            raise
        options = parser.parse_args([])
    if options.version:
        from clawperator.engine.version import __version__

        output.print_text(f"{__version__}\n")
        return 0
    if not words and (rest or not _has_terminal()):
        return _explain("")
    if command.long_lived:
        gc.enable()
    return command.run(options)


def _has_terminal() -> bool:
    """Without a command, people get the console and everything else gets the help."""
    from clawperator.app.cli.commands.console import has_terminal

    return has_terminal()


def _interruption() -> EngineError:
    return (interrupts.outcome or interruption)()


def _explain(topic: str) -> Answer | int:
    from clawperator.app.cli.help import help_text

    output.print_text(help_text(topic))
    return 0


def _finish(outcome: Answer | EngineError | int, fmt: str, *, leaving: bool) -> int:
    """Print the outcome. A signal before its first byte is the outcome, one in the middle of it ends the printing, one after it changes nothing."""
    progress = output.Progress()
    try:
        exit_code = outcome if isinstance(outcome, int) else _printed(outcome, fmt, progress)
        if leaving:
            interrupts.end(exit_code)
    except KeyboardInterrupt:
        reported = isinstance(outcome, EngineError) and outcome.code is ErrorCode.INTERRUPTED
        if not isinstance(outcome, int) and not progress.taken and not reported:
            return _finish(_interruption(), fmt, leaving=leaving)
        if isinstance(outcome, int) or not progress.whole:
            return interrupts.INTERRUPTED
        exit_code = diagnostics.exit_code(outcome)
        if leaving:
            interrupts.end(exit_code)
    return exit_code


def _printed(outcome: Answer | EngineError, fmt: str, progress: output.Progress) -> int:
    answer = output.Answer(outcome.to_dict(), view="error") if isinstance(outcome, EngineError) else outcome
    try:
        output.print_answer(answer, fmt, progress)
    except output.CannotWriteError as exc:
        return _unheard(exc)
    return diagnostics.exit_code(outcome)


def _unheard(error: output.CannotWriteError) -> int:
    """A reader that left wants no more words; a full disk deserves one."""
    if error.exit_code != output.READER_GONE:
        diagnostics.note(str(error))
    return error.exit_code
