"""``watch``: what happens on a device as it happens, whoever caused it. One JSON document per line."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.parsing.values import integer
from clawperator.app.interrupts import INTERRUPTED
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


class Watch(Command):
    long_lived = True
    usage = "[--count <n>] [--no-trees] [options]"
    notes = "Sends nothing to the device and does not clear its log. Press Ctrl-C to stop."
    examples = ("", "--no-trees", "--count 1")

    def configure(self, parser: Parser) -> None:
        parser.value("--count", metavar="<n>", about="stop after n lines")
        parser.switch("--no-trees", about="omit the text of UI trees")

    def run(self, options: Namespace) -> int:
        """0 after ``--count`` lines, 130 after Ctrl-C, which is no error: nothing was dispatched."""
        limit = integer("--count", options.count, 1, 2**31)
        from clawperator.app.cli.session import run
        from clawperator.app.cli.watch_tail import follow

        fmt = options.output or "json"
        try:
            run(options, lambda engine: follow(engine, limit=limit, trees=not options.no_trees, fmt=fmt))
        except EngineError as exc:
            if exc.code is not ErrorCode.INTERRUPTED:
                raise
            return INTERRUPTED
        return 0
