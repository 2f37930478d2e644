"""``help [command|topic]``."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.command import Command
from clawperator.app.cli.help import TOPICS, error_text, help_text
from clawperator.app.cli.parsing.arguments import find_command
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


class Help(Command):
    usage = "[<command>|options|flat|errors [<code>]]"
    examples = ("action click", "options", "errors NODE_NOT_FOUND")

    def configure(self, parser: Parser) -> None:
        parser.word("command", about="command or topic", suggest="help", many=True)

    def run(self, options: Namespace) -> int:
        topic, *more = options.command or [""]
        if topic == "errors" and len(more) == 1:
            output.print_text(error_text(more[0]))
            return 0
        if topic in TOPICS and not more:
            output.print_text(help_text(topic))
            return 0
        words, spare, _ = find_command(options.command)
        if spare:
            raise EngineError(ErrorCode.USAGE, f"unexpected argument '{spare[0]}'")
        output.print_text(help_text(words))
        return 0
