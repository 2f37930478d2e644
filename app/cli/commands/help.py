"""``help [command|topic]``."""

from __future__ import annotations

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.help import TOPICS, error_text, help_text
from clawperator.app.cli.output import print_text
from clawperator.app.cli.parsing.flags import Word
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.engine.errors import EngineError, ErrorCode


class Help(Command):
    usage = "[<command>|options|flat|errors [<code>]]"
    examples = ("action click", "options", "errors NODE_NOT_FOUND")
    flags = (Word("command", "command or topic", suggest="help", many=True),)

    def run(self, options: Options) -> int:
        topic, *more = options.command or [""]
        if topic == "errors" and len(more) == 1:
            print_text(error_text(more[0]))
        elif topic in TOPICS and not more:
            print_text(help_text(topic))
        else:
            words, spare, _ = find_command(options.command)
            if spare:
                raise EngineError(ErrorCode.USAGE, f"unexpected argument '{spare[0]}'")
            print_text(help_text(words))
        return 0
