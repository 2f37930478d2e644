"""``serve``: the HTTP server. ``mcp``: the Model Context Protocol, over stdin and stdout or over HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.listener_options import (
    SCREENSHOTS_FLAG,
    announce,
    listening_flags,
    listening_options,
    screenshots_folder,
)
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS, REGISTRY_FLAG
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

    from clawperator.app.fleet.client import Fleet
    from clawperator.engine import Engine

_HTTP_PORT, _MCP_PORT = 3000, 3001
_LISTENING_FLAGS = listening_flags(_MCP_PORT)
_READ_ONLY_FLAG = switch("--read-only", "refuse every action that changes a device")


class Serve(Command):
    long_lived = True
    keeps_warm = True
    usage = "[--host <address>] [--port <n|auto>] [--read-only] [options]"
    notes = (
        "Listens on this computer only, unless --host is given; then requests need a token (Authorization: Bearer …).\n"
        "The token file has one token per line, optionally followed by a name for the audit and a policy profile.\n"
        "Ctrl-C stops accepting requests and waits for running executions; a second Ctrl-C exits immediately."
    )
    examples = ("", "--port auto --json", "--host 0.0.0.0 --token-file ~/.clawperator/server-token")
    flags = (*listening_flags(_HTTP_PORT), _READ_ONLY_FLAG, SCREENSHOTS_FLAG, HISTORY_FLAG, *POLICY_FLAGS)

    def run(self, options: Options) -> int:
        chosen = listening_options(options, _HTTP_PORT)
        try:
            from clawperator.app.http.server import run
        except ImportError as exc:
            from clawperator.app.extras import not_installed

            raise not_installed("server", f"The server needs the package '{exc.name}'") from exc
        run(
            lambda: _engine(options, "http"),
            chosen,
            ready=lambda listening: announce(listening, listening.url, "Clawperator API server", options),
            log_line=diagnostics.note,
        )
        return 0


class Mcp(Command):
    long_lived = True
    keeps_warm = True
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
    flags = (
        _READ_ONLY_FLAG,
        switch("--http", "listen on HTTP instead of stdin and stdout"),
        Flag("--fleet", "<nats://host:port>", "let execute use host/serial and tag:name of this fleet"),
        *_LISTENING_FLAGS,
        SCREENSHOTS_FLAG,
        REGISTRY_FLAG,
        HISTORY_FLAG,
        *POLICY_FLAGS,
    )

    def run(self, options: Options) -> int:
        for flag in () if options.http else _LISTENING_FLAGS:
            if getattr(options, flag.dest):
                raise EngineError(ErrorCode.USAGE, f"{flag.names[0]} requires --http")
        if options.fleet is not None:
            from clawperator.app.extras import require_nats

            require_nats()
        try:
            from clawperator.app.mcp import http, stdio  # noqa: F401 -- a missing package is reported before anything starts
        except ImportError as exc:
            from clawperator.app.extras import not_installed

            raise not_installed("mcp", f"The MCP server needs the package '{exc.name}'") from exc
        import asyncio

        asyncio.run(_serve_http(options) if options.http else _serve_stdio(options))
        return 0


def _engine(options: Options, face: str = "mcp") -> Engine:
    from dataclasses import replace

    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine import Engine

    chosen = resolve_settings(options)
    chosen = replace(
        chosen,
        read_only=options.read_only or chosen.read_only,
        skills_registry=getattr(options, "registry", None) or chosen.skills_registry,
    )
    return Engine(chosen, face=face, logged=True)


async def _serve_stdio(options: Options) -> None:
    import sys

    from clawperator.app.mcp import stdio

    if sys.stdin is not None and sys.stdin.isatty():
        diagnostics.note(
            "Serving MCP on stdin and stdout. An MCP client should start this command (press Ctrl-C to stop)"
        )
    async with _engine(options) as engine:
        how: dict[str, Any] = {"screenshots_dir": screenshots_folder(options), "log_line": diagnostics.note}
        async with _fleet(options) as found:
            await stdio.serve(engine, **how, fleet=found)


@asynccontextmanager
async def _fleet(options: Options) -> AsyncIterator[Fleet | None]:
    """Connect to the fleet of ``--fleet``, if there is one."""
    if options.fleet is None:
        yield None
        return
    from clawperator.app.fleet.client import fleet

    async with fleet(options.fleet, lasting=True) as found:
        yield found


async def _serve_http(options: Options) -> None:
    from clawperator.app.mcp import http

    chosen = listening_options(options, _MCP_PORT)
    async with _engine(options) as engine, _fleet(options) as found:
        await http.serve(
            engine,
            chosen,
            fleet=found,
            ready=lambda listening: announce(listening, f"{listening.url}{http.PATH}", "MCP server", options),
            log_line=diagnostics.note,
        )
