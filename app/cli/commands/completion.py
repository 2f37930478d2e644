"""``completion``: scripts for shells, made from the same parsers that read command lines."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

import shtab

from clawperator.app.cli import output
from clawperator.app.cli.arguments import Parser as CommandParser
from clawperator.app.cli.arguments import build_parser
from clawperator.app.cli.command import Command
from clawperator.app.cli.table import COMMANDS, GROUPS, load
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser

SHELLS = ("bash", "zsh", "tcsh")
_RESERVED = frozenset({"execute best-effort"})


class Completion(Command):
    usage = "bash|zsh|tcsh"
    examples = ("bash > ~/.local/share/bash-completion/completions/clawperator", "zsh > ~/.zfunc/_clawperator")

    def configure(self, parser: Parser) -> None:
        parser.word("shell", about=", ".join(SHELLS), suggest=SHELLS)

    def run(self, options: Namespace) -> int:
        if options.shell not in SHELLS:
            raise EngineError(
                ErrorCode.USAGE,
                f"completion requires one of: {', '.join(SHELLS)}",
                extra={"example": "clawperator completion bash"},
            )
        output.print_text(shtab.complete(root_parser(), options.shell) + "\n")
        return 0


def root_parser() -> ArgumentParser:
    """All commands as one argparse tree, which shtab can read."""
    root = _completed(CommandParser("clawperator"))
    words_of = {"": root.add_subparsers(parser_class=ArgumentParser)}
    alone: dict[str, ArgumentParser] = {}
    for words, (_, summary) in COMMANDS.items():
        first, _, second = words.partition(" ")
        if words in _RESERVED:
            continue
        if second and first not in words_of:  # a group, or a command that has others below it
            group = alone.get(first) or words_of[""].add_parser(first, help=GROUPS[first], add_help=False)
            words_of[first] = group.add_subparsers(parser_class=ArgumentParser)
        parents = [_completed(build_parser(load(words)))]
        parser = words_of[first if second else ""].add_parser(
            second or first, help=summary, parents=parents, add_help=False
        )
        if not second:
            alone[first] = parser
    return root


def _completed(parser: CommandParser) -> CommandParser:
    """Tell shtab which values there are; the parsers that read command lines check them elsewhere."""
    for action in parser._actions:  # noqa: SLF001 -- argparse names its actions nowhere else, and shtab reads the same list
        if action.dest in parser.files:
            setattr(action, "complete", shtab.FILE)  # noqa: B010 -- shtab's protocol; argparse declares no such attribute
        elif suggestions := parser.completions.get(action.dest):
            action.choices = suggestions
    return parser
