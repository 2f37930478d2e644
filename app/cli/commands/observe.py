"""``observe`` and ``inspect ui``: looking without touching."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_result_flags
from clawperator.app.cli.values import text_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser
    from clawperator.app.cli.output import Answer


class Snapshot(Command):
    examples = ("", "--output pretty", "--max-snapshot-bytes 20000")

    def configure(self, parser: Parser) -> None:
        add_result_flags(parser)

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.executing import execute
        from clawperator.engine.executions.build import snapshot

        return execute(snapshot(), options)


class Screenshot(Command):
    usage = "[--path <file>] [--overwrite] [options]"
    notes = "Without --path the picture goes to the folder for temporary files; the result names the file."
    examples = ("--path screen.png", "--path screen.png --overwrite")

    def configure(self, parser: Parser) -> None:
        parser.value("--path", metavar="<file>", about="where to save the PNG; the folder must exist", file=True)
        add_result_flags(parser, pictures=True)

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.executing import execute
        from clawperator.engine.executions.build import screenshot

        return execute(screenshot(text_value("--path", options.path, "actions.0.params.path")), options)
