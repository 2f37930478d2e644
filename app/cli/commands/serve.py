"""``serve``: the HTTP server, until SIGINT, SIGTERM or SIGHUP."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.listener_options import SCREENSHOTS_FLAG, announce, listening_flags, listening_options
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS

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
    flags = (*listening_flags(_PORT), SCREENSHOTS_FLAG, HISTORY_FLAG, *POLICY_FLAGS)

    def run(self, options: Options) -> int:
        chosen = listening_options(options, _PORT)
        try:
            from clawperator.app.http.server import run
        except ImportError as exc:
            from clawperator.app.extras import not_installed

            raise not_installed("server", f"The server needs the package '{exc.name}'") from exc
        from clawperator.app.cli.settings import resolve_settings
        from clawperator.engine import Engine

        run(
            lambda: Engine(resolve_settings(options), face="http", logged=True),
            chosen,
            ready=lambda listening: announce(listening, listening.url, "Clawperator API server", options),
            tell=diagnostics.note,
        )
        return 0
