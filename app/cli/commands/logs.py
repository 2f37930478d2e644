"""``logs``: today's log file, and what is appended to it."""

from __future__ import annotations

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.flags import switch


class Logs(Command):
    long_lived = True
    usage = "[--no-follow] [options]"
    notes = "One JSON object per line; --output pretty formats them. Press Ctrl-C to stop."
    examples = ("", "--output pretty", "--no-follow")
    flags = (switch("--no-follow", "exit after the existing lines"),)

    def run(self, options: Options) -> int:
        from clawperator.app.cli import diagnostics
        from clawperator.app.cli.log_tail import Tail
        from clawperator.app.cli.settings import policy_guard, resolve_settings
        from clawperator.engine.config.policy import OBSERVE

        policy_guard(options).permit(OBSERVE, "read the log file")
        with Tail(resolve_settings(options).log_dir, options.output or "json") as tail:
            try:
                if not tail.print_news():
                    diagnostics.note(f"no log file {tail.path}: nothing has been logged today")
                elif not options.no_follow:
                    tail.follow()
            except KeyboardInterrupt:  # the end of following
                pass
        return 0
