"""``help [command|topic]``, ``explain`` and ``guide``."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.help import TOPICS, error_facts, error_text, help_text, wrapped
from clawperator.app.cli.output import print_text
from clawperator.app.cli.parsing.flags import Word
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.engine.errors import EngineError, ErrorCode


class Help(Command):
    usage = "[<command>|options|flat|errors [<code>]]"
    examples = ("action click", "options", "errors NODE_NOT_FOUND")
    flags = (Word("command", "command or topic", suggest="help", many=True),)

    def run(self, options: Options) -> int:
        topic, *spare = options.command or [""]
        code = spare.pop(0) if topic == "errors" and spare else ""
        if topic not in TOPICS:
            topic, spare, _ = find_command(options.command)
        if spare:
            raise EngineError(ErrorCode.USAGE, f"unexpected argument '{spare[0]}'")
        print_text(error_text(code) if code else help_text(topic))
        return 0


class Explain(Command):
    usage = "<code> [options]"
    notes = "The same as help errors <code>, as JSON unless --output pretty is given."
    examples = ("NODE_NOT_FOUND", "NODE_NOT_FOUND --output pretty")
    flags = (Word("code", "error code", suggest="errors"),)

    def run(self, options: Options) -> Answer | int:
        if options.code is None:
            raise self.missing("<code>", ErrorCode.MISSING_ARGUMENT)
        if options.output != "pretty":
            return Answer(error_facts(options.code))
        print_text(error_text(options.code))
        return 0


class Guide(Command):
    notes = "Prints text; with --json, the text is the key guide."
    examples = ("",)

    def run(self, options: Options) -> Answer | int:
        from clawperator.engine.text.guide import CLI_GUIDE

        if options.json:
            return Answer({"ok": True, "guide": CLI_GUIDE})
        print_text(f"{wrapped(CLI_GUIDE)}\n")
        return 0
