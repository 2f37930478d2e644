"""``observe`` and ``inspect ui``: looking without touching."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_result_flags
from clawperator.app.cli.parsing.values import text_value
from clawperator.app.cli.tree_source import add_snapshot_flag, viewed
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.output import Answer
    from clawperator.app.cli.parsing.arguments import Parser

VIEWS = ("full", "interactive", "compact")


class Snapshot(Command):
    usage = "[--view full|interactive|compact] [--max-bytes <n>] [--snapshot <file|->] [options]"
    notes = (
        "The step's data.text contains the tree as the device wrote it. With --view or --max-bytes, data.view replaces it:\n"
        "  full         view.text: the dump\n"
        "  interactive  view.nodes: the nodes on screen with an action or text, each with a selector\n"
        "  compact      view.lines: an outline, one node per line: role #id @x,y actions and states: label\n"
        "A view larger than --max-bytes (JSON, at least 512) is truncated between nodes; view.truncated counts what is missing.\n"
        "With --snapshot, no device is used, and the view is at the top level of the result."
    )
    examples = (
        "",
        "--output pretty",
        "--view interactive --max-bytes 8000",
        "--view compact --snapshot screen.xml",
        "--max-snapshot-bytes 20000",
    )

    def configure(self, parser: Parser) -> None:
        parser.value(
            "--view", metavar="<name>", choices=VIEWS, about=f"{', '.join(VIEWS)}: select the amount of detail"
        )
        parser.value("--max-bytes", metavar="<n>", about="truncate a view after n bytes")
        add_snapshot_flag(parser)
        add_result_flags(parser)

    def run(self, options: Namespace) -> Answer:
        if options.snapshot is None and options.view in (None, "full") and options.max_bytes is None:
            from clawperator.app.cli.execution import execute
            from clawperator.engine.executions.build import snapshot

            return execute(snapshot(), options)
        if options.max_snapshot_bytes is not None:
            raise EngineError(
                ErrorCode.USAGE,
                "--max-snapshot-bytes cuts the text of a whole tree: it cannot be combined with --view, --max-bytes or --snapshot",
                hint="Use --max-bytes instead.",
            )
        return viewed(options, options.view or "full")


class Screenshot(Command):
    usage = "[--path <file>] [--overwrite] [options]"
    notes = "Without --path, the image is saved in the temporary folder; the result contains its path."
    examples = ("--path screen.png", "--path screen.png --overwrite")

    def configure(self, parser: Parser) -> None:
        parser.value("--path", metavar="<file>", about="save the PNG here; the folder must exist", file=True)
        add_result_flags(parser, pictures=True)

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.execution import execute
        from clawperator.engine.executions.build import screenshot

        return execute(screenshot(text_value("--path", options.path, "actions.0.params.path")), options)
