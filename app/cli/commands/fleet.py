"""``fleet join``: offer this host's devices to a fleet. ``fleet devices``: list those of all hosts."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.listener_options import SCREENSHOTS_FLAG, screenshots_folder
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.app.fleet.host import FleetHost

_SERVERS = Word("servers", "addresses of NATS servers, comma-separated")


class Join(Command):
    long_lived = True
    usage = "<nats://host:port> [--name <host>] [options]"
    notes = (
        "Other hosts then run executions on host/serial or tag:name with --fleet. This host's policy decides what they may do, and its\n"
        "history and audit record it. Servers on other computers need tls:// and credentials: CLAWPERATOR_FLEET_CREDS names a private\n"
        "file with a NATS credentials file, an nkey, user:password, or a token; CLAWPERATOR_FLEET_CA names the certificate authority's\n"
        "file. Ctrl-C leaves the fleet."
    )
    examples = ("nats://127.0.0.1:4222", "tls://nats.example.com:4222 --name bench-3")
    flags = (
        _SERVERS,
        Flag("--name", "<host>", "use this name for the host [its host name]"),
        SCREENSHOTS_FLAG,
        HISTORY_FLAG,
        *POLICY_FLAGS,
    )

    def run(self, options: Options) -> int:
        if options.servers is None:
            raise self.missing("the address of a NATS server")
        from clawperator.app.extras import require_nats

        require_nats()
        import asyncio

        asyncio.run(_join(options))
        return 0


class Devices(Command):
    usage = "<nats://host:port> [options]"
    examples = ("nats://127.0.0.1:4222",)
    flags = (_SERVERS,)

    def run(self, options: Options) -> Answer:
        if options.servers is None:
            raise self.missing("the address of a NATS server")
        from clawperator.app.extras import require_nats

        require_nats()
        import asyncio

        from clawperator.app.cli.settings import policy_guard
        from clawperator.engine.config.policy import OBSERVE

        policy_guard(options).permit(OBSERVE, "list the devices of a fleet")
        return Answer({"ok": True, "devices": asyncio.run(_devices(options.servers))}, view="devices.fleet")


async def _devices(servers: str) -> list[dict[str, object]]:
    from clawperator.app.fleet.client import fleet

    async with fleet(servers) as found:
        return await found.devices()


async def _join(options: Options) -> None:
    import asyncio
    import socket

    from clawperator.app.cli.settings import resolve_settings
    from clawperator.app.fleet.connection import connected
    from clawperator.app.fleet.host import FleetHost
    from clawperator.app.fleet.subjects import host_name, host_subject
    from clawperator.app.signals import signal_handlers
    from clawperator.engine import Engine

    name = host_name(options.name or socket.gethostname())
    closed = asyncio.Event()
    reasons: list[str] = []

    def ended(reason: str) -> None:
        reasons.append(reason)
        closed.set()

    noted: set[str] = set()

    def note_once(error: Exception) -> None:
        words = str(error).removeprefix("nats: ")
        # a server need not permit the question whether the name is taken
        asked = f'for publish to "{host_subject(name)}"'.lower()
        if words and asked not in words.lower() and words not in noted and len(noted) < _MOST_NOTES:
            noted.add(words)
            diagnostics.note(f"NATS: {words}")

    how: dict[str, Any] = {
        "name": f"clawperator host {name}",
        "lasting": True,
        "buffer": _BUFFER_BYTES,
        "on_lost": lambda: diagnostics.note("The connection to NATS is lost; reconnecting"),
        "on_back": lambda: diagnostics.note("Connected to NATS again"),
        "on_closed": ended,
        "on_error": note_once,
    }
    async with (
        Engine(resolve_settings(options), face="fleet", logged=True) as engine,
        connected(options.servers, **how) as client,
    ):
        host = FleetHost(engine, client, name, screenshots_folder(options))
        task = asyncio.create_task(host.run(lambda: _announce(name, host, options)))
        waiting = asyncio.create_task(closed.wait())
        with signal_handlers(task.cancel):
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if reasons:
                task.cancel()
            await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        if reasons:
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, f"NATS ended the connection: {reasons[0]}")


_MOST_NOTES = 100
_BUFFER_BYTES = 2 * 1024 * 1024


def _announce(name: str, host: FleetHost, options: Options) -> None:
    from clawperator.app.cli import output

    if options.output == "pretty":
        diagnostics.note(f"Host {name} joined the fleet (press Ctrl-C to leave)")
    else:
        output.print_json({"ok": True, "host": name, "devices": list(host.offered)})
