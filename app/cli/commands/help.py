"""``help [command]``."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.arguments import find_command
from clawperator.app.cli.command import Command
from clawperator.app.cli.help import help_text
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser


class Help(Command):
    usage = "[command]"
    examples = ("action click",)

    def configure(self, parser: Parser) -> None:
        parser.word("command", about="the command to explain", many=True)

    def run(self, options: Namespace) -> int:
        words, spare, _ = find_command(options.command)
        if spare:
            raise EngineError(ErrorCode.USAGE, f"unexpected argument '{spare[0]}'")
        output.print_text(help_text(words))
        return 0
