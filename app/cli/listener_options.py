"""The flags of the servers, the options that they choose, and the announcement of the address."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.values import integer, number
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options
    from clawperator.app.serve.hosting import Listening
    from clawperator.app.serve.options import ServeOptions

SCREENSHOTS_FLAG = Flag(
    "--screenshots-dir",
    "<folder>",
    "allow requests to save screenshots in this folder [~/.clawperator/screenshots]",
    file=True,
)


def listening_flags(port: int) -> tuple[Flag, ...]:
    """Return the flags of a server whose default is ``port``."""
    return (
        Flag("--host", "<address>", "listen on this address [127.0.0.1]"),
        Flag("--port", "<n|auto>", f"listen on this port, or auto for a free one [{port}]"),
        Flag("--token-file", "<file>", "require a token from this file; it is created if missing", file=True),
        switch("--no-auth", "require no token, even on an address that other hosts can reach"),
        Flag("--allow-origin", "<origin>", "allow requests from these web origins (comma-separated)"),
        Flag("--allow-host", "<name>", "accept these additional Host names (comma-separated)"),
        Flag("--rate", "<n>", "limit requests per second and client [100; no limit on loopback]"),
        Flag("--grace", "<seconds>", "wait this long for running executions on shutdown [their timeouts]"),
    )


def listening_options(options: Options, port: int) -> ServeOptions:
    """Return what the flags choose. Raises ``EngineError`` (USAGE, EXECUTION_VALIDATION_FAILED)."""
    from clawperator.app.serve.options import DEFAULT_HOST, EXPOSED_RATE, ServeOptions, is_loopback

    if options.host is not None and not options.host.strip():
        raise EngineError(ErrorCode.USAGE, "--host value must not be blank")
    host = options.host or DEFAULT_HOST
    rate = number("--rate", options.rate)
    if rate is None:
        rate = 0.0 if is_loopback(host) else EXPOSED_RATE
    elif rate < 0:
        raise EngineError(ErrorCode.USAGE, "--rate must not be negative", hint="Use 0 for no limit.")
    return ServeOptions(
        host=host,
        port=port if options.port is None else _port(options.port),
        token_file=options.token_file or "",
        no_auth=options.no_auth,
        allow_origins=_names(options.allow_origin),
        allow_hosts=_names(options.allow_host),
        rate=rate,
        screenshots_dir=screenshots_folder(options),
        grace=number("--grace", options.grace),
        verbose=options.verbose,
    )


def screenshots_folder(options: Options) -> str:
    """Return the folder in which requests may save screenshots."""
    import os

    from clawperator.engine.config.settings import home_folder

    chosen: str | None = options.screenshots_dir
    return chosen or os.path.join(home_folder(os.environ), "screenshots")


def announce(listening: Listening, url: str, name: str, options: Options) -> None:
    """Write the address: as one JSON line on stdout with ``--json``, else on stderr."""
    from clawperator.app.cli import output

    for warning in listening.warnings:
        diagnostics.note(warning)
    if options.output != "pretty" and options.json:
        output.print_json({"ok": True, "host": listening.host, "port": listening.port, "url": url})
    else:
        diagnostics.note(f"{name} listening on {url}")


def _port(text: str) -> int:
    """The port to listen on; 0 stands for a free one."""
    if text == "auto":
        return 0
    try:
        return integer("--port", text, 1, 65_535) or 0
    except EngineError as exc:
        hint = "Use --port auto to select a free port."
        raise EngineError(ErrorCode.USAGE, "Invalid port number. Must be 1-65535.", hint=hint) from exc


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
