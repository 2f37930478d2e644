"""What a command is: the flags it accepts, its help, and a ``run`` that returns an ``Answer``."""

from __future__ import annotations

from types import SimpleNamespace

from clawperator.app import interrupts
from clawperator.app.cli.command_table import COMMANDS
from clawperator.app.cli.parsing.flags import global_flags
from clawperator.app.cli.parsing.parser import Parser
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clawperator.app.cli.parsing.flags import Declared

Options = SimpleNamespace
"""The values of a command's flags and arguments, and of the global options."""
EXIT_CODES = {
    "succeeded": 0,
    "partial": 1,
    "failed": 1,
    "unknown": 1,
    "not_run": 1,
    "interrupted": interrupts.INTERRUPTED,
}
"""The exit code of every command, by the status of its answer (cli.md#exit-codes). An error is ``failed``."""


def exit_code(status: str, *, allow_partial: bool = False) -> int:
    """Return the exit code of ``status``; with ``allow_partial`` 0 where the plan ran to its end, but steps failed."""
    return EXIT_CODES["succeeded" if allow_partial and status == "partial" else status]


OPTIONS_HELP = "Options of every command: clawperator help options"


class Answer:
    """The result of a command: the JSON ``document``, and how ``--output pretty`` draws it.

    ``view`` is a ``module.function`` of ``pretty`` that draws ``data`` (default: the document); without one, the document is
    indented. ``status`` and ``allow_partial`` decide the exit code (``exit_code``); ``failed`` is short for that status.
    ``indent`` is for the one command whose JSON is indented by contract.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        view: str = "",
        data: object = None,
        failed: bool = False,
        status: str = "succeeded",
        allow_partial: bool = False,
        indent: int | None = None,
    ) -> None:
        self.document = document
        self.view = view
        self.data = document if data is None else data
        self.status = "failed" if failed else status
        self.allow_partial = allow_partial
        self.indent = indent

    @property
    def failed(self) -> bool:
        """Whether the exit code is not 0."""
        return exit_code(self.status, allow_partial=self.allow_partial) != 0


class Command:
    """Base of every command; ``words`` are the ones it was called by.

    ``usage`` is the form without the words, ``notes`` a paragraph for the help text, ``examples`` the argument part of
    command lines that work; errors quote the first one. ``run`` returns an exit code when it has written everything itself.
    """

    usage = "[options]"
    notes = ""
    examples: tuple[str, ...] = ()
    flags: tuple[Declared, ...] = ()
    """Flags and arguments beyond the global options, in the order of the help."""
    flag_code: ErrorCode | None = None
    """The code of errors about flags, in place of the flags' own."""
    surface = "classic"
    """The profile of its results: ``classic`` or ``flat``."""
    formats: tuple[str, ...] = ("json", "pretty")
    """Values of ``--output``; the first one is the default."""
    long_lived = False
    """Runs until it is stopped: garbage collection is on, which short commands skip."""
    keeps_warm = False
    """A warm process runs as long as this command does (cli.md#the-warm-process)."""
    own_payload = False
    """Makes its payload of its flags: errors about the payload name them."""
    reserved = False
    """Named by the contract but not implemented: its flags are not checked, only the command is refused."""

    def __init__(self, words: str) -> None:
        self.words = words

    def run(self, options: Options) -> Answer | int:
        raise NotImplementedError

    def usage_error(
        self, message: str, code: ErrorCode = ErrorCode.USAGE, *, example: str | None = None
    ) -> EngineError:
        """The error about a wrong form of this command, with ``example`` (default: its first one)."""
        arguments = self.examples[0] if example is None else example
        return EngineError(code, message, extra={"example": f"clawperator {self.words} {arguments}".rstrip()})

    def missing(self, what: str, code: ErrorCode = ErrorCode.USAGE, *, example: str | None = None) -> EngineError:
        """The error about an argument that this command requires."""
        return self.usage_error(f"{self.words} requires {what}", code, example=example)


def load(words: str) -> Command:
    """The command object for words of ``COMMANDS``."""
    module, _, name = COMMANDS[words][0].partition(":")
    loaded = __import__(f"clawperator.app.cli.commands.{module}", fromlist=[name])  # loads no ``importlib``
    command: Command = getattr(loaded, name)(words)
    return command


def executing_commands() -> dict[str, bool]:
    """Return the words of all commands that run executions, and whether they take ``--allow-partial``."""
    taken = {words: {getattr(flag, "dest", "") for flag in load(words).flags} for words in COMMANDS}
    return {
        words: "allow_partial" in flags
        for words, flags in taken.items()
        if "allow_partial" in flags or words in ("match", "suggest")
    }


def build_parser(command: Command) -> Parser:
    """The parser of one command, global options included."""
    examples = "\n".join(f"  clawperator {command.words} {example}".rstrip() for example in command.examples)
    parser = Parser(
        f"clawperator {command.words}",
        usage=command.usage,
        description="\n\n".join(filter(None, (f"{COMMANDS[command.words][1]}.", command.notes))),
        epilog="\n\n".join((*([f"examples:\n{examples}"] if examples else ()), OPTIONS_HELP)),
    )
    parser.add(*command.flags, code=command.flag_code)
    parser.add(*global_flags(command.formats), everywhere=True)
    parser.defaults["surface"] = command.surface
    return parser


def global_parser() -> Parser:
    """A parser of the global options alone."""
    parser = Parser("clawperator")
    parser.add(*global_flags(), everywhere=True)
    return parser
