"""``help [command]``."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.command import Command
from clawperator.app.cli.help import help_text

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
        output.print_text(help_text(" ".join(options.command)))
        return 0
