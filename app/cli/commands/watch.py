"""``watch``: the executions and UI trees of a device as they happen, of any sender. One JSON document per line."""

from __future__ import annotations

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.interrupts import INTERRUPTED
from clawperator.engine.errors import EngineError, ErrorCode


class Watch(Command):
    long_lived = True
    usage = "[--count <n>] [--no-trees] [options]"
    notes = "Sends nothing to the device and does not clear its log. Press Ctrl-C to stop."
    examples = ("", "--no-trees", "--count 1")
    flags = (
        Flag("--count", "<n>", "stop after n lines [no limit]", bounds=(1, 2**31)),
        switch("--no-trees", "omit the text of UI trees"),
    )

    def run(self, options: Options) -> int:
        """Return 0 after ``--count`` lines, 130 after Ctrl-C, which is no error: nothing was dispatched."""
        from clawperator.app.cli.session import run
        from clawperator.app.cli.watch_tail import follow

        pretty = options.output == "pretty"
        try:
            run(options, lambda engine: follow(engine, limit=options.count, trees=not options.no_trees, pretty=pretty))
        except EngineError as exc:
            if exc.code is not ErrorCode.INTERRUPTED:
                raise
            return INTERRUPTED
        return 0
