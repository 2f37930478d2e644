"""``mcp``: the Model Context Protocol, over stdin and stdout for the client that starts it, or over HTTP."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag, add_policy_flags
from clawperator.app.cli.commands.skills import add_registry_flag
from clawperator.app.cli.listener_options import (
    LISTENING,
    add_listening_flags,
    add_screenshots_flag,
    listening_options,
    say_where,
    screenshots_folder,
)
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.app.serve.hosting import Listening
    from clawperator.engine import Engine, Settings

_PORT = 3001


class Mcp(Command):
    long_lived = True
    usage = "[--read-only] [--http [--host <address>] [--port <n|auto>]] [options]"
    notes = (
        "An MCP client starts the server and communicates over stdin and stdout; messages for people go to stderr. With --http, it\n"
        "listens at /mcp with the same protection as serve: Host, Origin, and a token when other hosts can reach it.\n"
        "--read-only refuses every action that changes a device; policy profiles also apply."
    )
    examples = (
        "",
        "--read-only",
        "--http --port auto --json",
        "--http --host 0.0.0.0 --token-file ~/.clawperator/server-token",
    )

    def configure(self, parser: Parser) -> None:
        parser.switch("--read-only", about="refuse every action that changes a device")
        parser.switch("--http", about="listen on HTTP instead of stdin and stdout")
        add_listening_flags(parser, _PORT)
        add_screenshots_flag(parser)
        add_registry_flag(parser)
        add_history_flag(parser)
        add_policy_flags(parser)

    def run(self, options: Namespace) -> int:
        if not options.http:
            for name in LISTENING:
                if getattr(options, name):
                    raise EngineError(ErrorCode.USAGE, f"--{name.replace('_', '-')} requires --http")
        try:
            from clawperator.app.mcp import http, stdio  # noqa: F401 -- both, so that what is missing shows before anything begins
        except ImportError as exc:
            from clawperator.app.extras import not_installed

            raise not_installed("mcp", f"The MCP server needs the package '{exc.name}'") from exc
        if options.http:
            _serve(options)
        else:
            _speak(options)
        return 0


def _engine(options: Namespace) -> Engine:
    from dataclasses import replace

    from clawperator.app.cli.context import settings
    from clawperator.engine import Engine

    chosen: Settings = settings(options)
    if options.read_only:
        chosen = replace(chosen, read_only=True)
    if options.registry:
        chosen = replace(chosen, skills_registry=options.registry)
    return Engine(chosen, face="mcp", logged=True)


def _speak(options: Namespace) -> None:
    import asyncio
    import sys

    from clawperator.app.mcp import stdio

    if sys.stdin is not None and sys.stdin.isatty():
        diagnostics.note(
            "Serving MCP on stdin and stdout. An MCP client should start this command (press Ctrl-C to stop)"
        )

    async def main() -> None:
        async with _engine(options) as engine:
            await stdio.serve(engine, pictures=screenshots_folder(options), tell=diagnostics.note)

    asyncio.run(main())


def _serve(options: Namespace) -> None:
    import asyncio

    from clawperator.app.mcp import http

    chosen = listening_options(options, _PORT)

    def ready(listening: Listening) -> None:
        say_where(listening, f"{listening.url}{http.PATH}", "MCP server", options)

    async def main() -> None:
        async with _engine(options) as engine:
            await http.serve(engine, chosen, ready=ready, tell=diagnostics.note)

    asyncio.run(main())
