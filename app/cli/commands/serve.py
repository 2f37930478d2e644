"""``serve``: the HTTP server, until SIGINT, SIGTERM or SIGHUP."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag, add_policy_flags
from clawperator.app.cli.listener_options import add_listening_flags, add_screenshots_flag, listening_options, say_where

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.app.serve.hosting import Listening

_PORT = 3000


class Serve(Command):
    long_lived = True
    usage = "[--host <address>] [--port <n|auto>] [options]"
    notes = (
        "Listens on this computer only, unless --host is given; then requests need a token (Authorization: Bearer …).\n"
        "The token file has one token per line, optionally followed by a name for the audit and a policy profile.\n"
        "Ctrl-C stops accepting requests and waits for running executions; a second Ctrl-C exits immediately."
    )
    examples = ("", "--port auto --json", "--host 0.0.0.0 --token-file ~/.clawperator/server-token")

    def configure(self, parser: Parser) -> None:
        add_listening_flags(parser, _PORT)
        add_screenshots_flag(parser)
        add_history_flag(parser)
        add_policy_flags(parser)

    def run(self, options: Namespace) -> int:
        chosen = listening_options(options, _PORT)
        try:
            from clawperator.app.http.server import run
        except ImportError as exc:
            from clawperator.app.extras import not_installed

            raise not_installed("server", f"The server needs the package '{exc.name}'") from exc
        from clawperator.app.cli.context import settings
        from clawperator.engine import Engine

        def ready(listening: Listening) -> None:
            say_where(listening, listening.url, "Clawperator API server", options)

        run(lambda: Engine(settings(options), face="http", logged=True), chosen, ready=ready, tell=diagnostics.note)
        return 0
