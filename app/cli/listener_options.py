"""The flags of commands that listen, what they choose, and where one says that it can be called."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.parsing.values import integer, number
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.app.serve.hosting import Listening
    from clawperator.app.serve.options import ServeOptions

LISTENING = ("host", "port", "token_file", "no_auth", "allow_origin", "allow_host", "rate", "grace")
"""Where the values of ``add_listening_flags`` are found."""


def add_listening_flags(parser: Parser, port: int) -> None:
    """``port`` is the one that is taken where none is named."""
    parser.value("--host", metavar="<address>", about="listen on this address [127.0.0.1]")
    parser.value("--port", metavar="<n|auto>", about=f"listen on this port, or auto for a free one [{port}]")
    parser.value(
        "--token-file", metavar="<file>", about="require a token from this file; it is created if missing", file=True
    )
    parser.switch("--no-auth", about="require no token, even on an address that other hosts can reach")
    parser.value("--allow-origin", metavar="<origin>", about="allow requests from these web origins (comma-separated)")
    parser.value("--allow-host", metavar="<name>", about="accept these additional Host names (comma-separated)")
    parser.value("--rate", metavar="<n>", about="limit requests per second and client [100; no limit on loopback]")
    parser.value(
        "--grace", metavar="<seconds>", about="wait this long for running executions on shutdown [their timeouts]"
    )


def add_screenshots_flag(parser: Parser) -> None:
    parser.value(
        "--screenshots-dir", metavar="<folder>", about="allow requests to save screenshots in this folder", file=True
    )


def listening_options(options: Namespace, port: int) -> ServeOptions:
    """What was chosen. Raises ``EngineError`` (USAGE, EXECUTION_VALIDATION_FAILED)."""
    from clawperator.app.serve.options import DEFAULT_HOST, EXPOSED_RATE, ServeOptions, is_loopback

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


def screenshots_folder(options: Namespace) -> str:
    """Where requests may have pictures written."""
    import os

    from clawperator.engine.config.settings import home_folder

    chosen: str | None = options.screenshots_dir
    return chosen or os.path.join(home_folder(os.environ), "screenshots")


def say_where(listening: Listening, url: str, name: str, options: Namespace) -> None:
    """One line: JSON on stdout where JSON was asked for, else words on stderr."""
    from clawperator.app.cli import output

    for words in listening.warnings:
        diagnostics.note(words)
    if options.output != "pretty" and options.json:
        output.print_json({"ok": True, "host": listening.host, "port": listening.port, "url": url})
    else:
        diagnostics.note(f"{name} listening on {url}")


def _port(text: str) -> int:
    """The port to listen on; 0 stands for a free one."""
    if text == "auto":
        return 0
    try:
        port = integer("--port", text, 1, 65_535)
    except EngineError as exc:
        hint = "Use --port auto to select a free port."
        raise EngineError(ErrorCode.USAGE, "Invalid port number. Must be 1-65535.", hint=hint) from exc
    assert port is not None
    return port


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
