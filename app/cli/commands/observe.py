"""``observe`` and ``inspect ui``: reading the screen."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import DISPLAY_FLAG, OBSERVE_FLAGS, OVERWRITE_FLAG, SNAPSHOT_FLAG
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.values import invalid, text_value
from clawperator.engine.contracts.references import TREE_ID
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build

VIEWS = ("full", "interactive", "compact")


class Snapshot(Command):
    own_payload = True
    usage = "[--view full|interactive|compact] [--verify] [--if-changed <tree>] [--max-bytes <n>] [--snapshot <file|->] [options]"
    notes = (
        "The step's data.text contains the tree as the device wrote it. With --view or --max-bytes, data.view replaces it:\n"
        "  full         view.text: the dump\n"
        "  compact      view.lines: an outline, one node a line: role ref id @x,y actions and states: text\n"
        "  interactive  view.lines: only the nodes with an action or text, each with a reference, and with the selector of those that\n"
        "               neither id nor text finds\n"
        "view.tree is the id of the tree: --if-changed <tree> prints no view if the screen still has it, and the node e12 of the tree\n"
        "7f3a1b2c is the reference e12@7f3a1b2c, which every selector flag family takes as --ref.\n"
        "A view larger than --max-bytes (JSON, at least 512) is truncated between nodes; view.truncated counts what is missing.\n"
        "blind, in a view or in data, lists what the tree cannot show, each with its certainty and a remedy; without findings it is left out.\n"
        "--verify reads more for it, in data.verified: the focused window, secure or not, the keyboard, displays; about 0.2 s on a phone.\n"
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
        Flag("--if-changed", "<tree>", "print the view only if the screen has another tree than this"),
        Flag("--max-bytes", "<n>", "truncate a view after n bytes [no limit]"),
        switch("--verify", "also ask the window and display managers what the tree cannot show"),
        SNAPSHOT_FLAG,
        *OBSERVE_FLAGS,
    )

    def run(self, options: Options) -> Answer:
        if options.if_changed is not None:
            if options.snapshot is not None:
                raise EngineError(ErrorCode.USAGE, "use --snapshot OR --if-changed, not both")
            if not TREE_ID.fullmatch(options.if_changed):
                raise invalid("--if-changed must be the id of a tree, such as 7f3a1b2c", "--if-changed")
        elif options.snapshot is None and options.view in (None, "full") and options.max_bytes is None:
            from clawperator.app.cli.tree_input import snapshot_with_blind

            return snapshot_with_blind(options)
        if options.verify and options.snapshot is not None:
            raise EngineError(ErrorCode.USAGE, "use --snapshot OR --verify, not both")
        if options.max_snapshot_bytes is not None:
            raise EngineError(
                ErrorCode.USAGE,
                "--max-snapshot-bytes cuts the text of a whole tree: it cannot be combined with --view, --max-bytes or --snapshot",
                hint="Use --max-bytes instead.",
            )
        from clawperator.app.cli.tree_input import viewed

        return viewed(options, options.view or "full")


class Screenshot(Command):
    own_payload = True
    usage = "[--path <file>] [--overwrite] [--annotate | --display <n>] [options]"
    notes = (
        "Without --path, the image is saved in a private folder below the temporary one, which keeps the newest 200 of a day; the\n"
        "result contains its path. An existing PNG is replaced, any other existing file only with --overwrite.\n"
        "--annotate reads the tree before and after the screenshot, and draws a box with its reference (e12) around each node that can be\n"
        "acted on. then contains the interactive view of that tree; the warning SCREEN_CHANGED means that picture and tree may differ.\n"
        "Other displays have no tree: neither the Operator nor uiautomator reads them."
    )
    examples = ("--path screen.png", "--path screen.png --overwrite", "--annotate --path screen.png")
    flags = (
        Flag("--path", "<file>", "save the PNG here; the folder must exist [a temporary file]", file=True),
        switch("--annotate", "draw the references of the nodes that can be acted on"),
        DISPLAY_FLAG,
        *OBSERVE_FLAGS,
        OVERWRITE_FLAG,
    )

    def run(self, options: Options) -> Answer:
        payload = build.screenshot(text_value("--path", options.path, "actions.0.params.path"))
        if options.annotate and options.display:
            raise EngineError(ErrorCode.USAGE, "--annotate draws the tree of display 0: other displays have no tree")
        if options.annotate:
            from clawperator.app.cli.tree_input import annotated

            return annotated(payload, options)
        from clawperator.app.cli.execution import execute

        return execute(payload, options)
