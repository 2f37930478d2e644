"""``observe`` and ``inspect ui``: reading the screen."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import OVERWRITE_FLAG, RESULT_FLAGS, SNAPSHOT_FLAG
from clawperator.app.cli.parsing.flags import Flag
from clawperator.app.cli.parsing.values import text_value
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build

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
    flags = (
        Flag("--view", "<name>", f"select the amount of detail: {', '.join(VIEWS)} [full]", choices=VIEWS),
        Flag("--max-bytes", "<n>", "truncate a view after n bytes [no limit]"),
        SNAPSHOT_FLAG,
        *RESULT_FLAGS,
    )

    def run(self, options: Options) -> Answer:
        if options.snapshot is None and options.view in (None, "full") and options.max_bytes is None:
            from clawperator.app.cli.execution import execute

            return execute(build.snapshot(), options)
        if options.max_snapshot_bytes is not None:
            raise EngineError(
                ErrorCode.USAGE,
                "--max-snapshot-bytes cuts the text of a whole tree: it cannot be combined with --view, --max-bytes or --snapshot",
                hint="Use --max-bytes instead.",
            )
        from clawperator.app.cli.tree_input import viewed

        return viewed(options, options.view or "full")


class Screenshot(Command):
    usage = "[--path <file>] [--overwrite] [options]"
    notes = "Without --path, the image is saved in the temporary folder; the result contains its path."
    examples = ("--path screen.png", "--path screen.png --overwrite")
    flags = (
        Flag("--path", "<file>", "save the PNG here; the folder must exist [a temporary file]", file=True),
        *RESULT_FLAGS,
        OVERWRITE_FLAG,
    )

    def run(self, options: Options) -> Answer:
        from clawperator.app.cli.execution import execute

        return execute(build.screenshot(text_value("--path", options.path, "actions.0.params.path")), options)
