"""``logs``: what stands in today's log file, and what is written to it from now on."""

from __future__ import annotations

from clawperator.app.cli.command import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


class Logs(Command):
    long_lived = True
    usage = "[--no-follow] [options]"
    notes = "One JSON object per line; --output pretty formats them. Press Ctrl-C to stop."
    examples = ("", "--output pretty", "--no-follow")

    def configure(self, parser: Parser) -> None:
        parser.switch("--no-follow", about="exit after the existing lines")

    def run(self, options: Namespace) -> int:
        from clawperator.app.cli import diagnostics
        from clawperator.app.cli.context import settings
        from clawperator.app.cli.log_tail import Tail

        with Tail(settings(options).log_dir, options.output or "json") as tail:
            try:
                if not tail.print_news():
                    diagnostics.note(f"no log file {tail.path}: nothing has been logged today")
                elif not options.no_follow:
                    tail.follow()
            except KeyboardInterrupt:  # the way in which following ends
                pass
        return 0
