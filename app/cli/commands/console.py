"""``console``, and the bare command on a terminal: the way to the screens. The one door from the command line to Textual."""

from __future__ import annotations

import os
import shlex
import sys

from clawperator.app.cli.command import Command
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.app.console.preferences import Wishes


class Console(Command):
    long_lived = True
    usage = "[--snapshot <file> [<file> …]] [--connect <url> [--token-file <file>]] [--read-only] [--no-history] [--web [--port <n>]] [options]"
    notes = (
        "With --snapshot, it shows saved dumps instead of a device and does not use adb. With --web, it opens in a browser on"
        " this computer, at a private address that it prints. With --connect, it uses the devices of"
        " a server (clawperator serve) instead of local ones."
    )
    examples = (
        "",
        "--device-id emulator-5554 --read-only",
        "--snapshot before.xml after.xml",
        "--web --port 8080",
        "--connect http://127.0.0.1:3000",
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--snapshot", metavar="<file>", about="open this saved dump; more may follow", file=True)
        parser.word("file", about="more saved dumps after --snapshot <file>", many=True)
        parser.value("--connect", metavar="<url>", about="use the devices of this server (needs the extra 'server')")
        parser.value(
            "--token-file", metavar="<file>", about="read the server's token from this file (with --connect)", file=True
        )
        parser.switch("--read-only", about="observe only: send nothing that can change the device")
        parser.switch("--no-history", about="do not record runs in the history")
        parser.switch("--web", about="open the console in a local browser (needs the extra 'web')")
        parser.value("--port", metavar="<n>", about="listen on this port (with --web) [a free one]")
        add_look_flags(parser)

    def run(self, options: Namespace) -> int:
        port = _port(options)
        if not (options.web or has_terminal()):
            raise EngineError(
                ErrorCode.USAGE,
                "console needs a terminal on stdin, stdout and stderr",
                extra={"example": "clawperator observe snapshot"},
            )
        files = saved_dumps(options)
        _check_connection(files, options)
        if options.web:
            return _serve(files, options, port)
        return _show(files, options) if files else open_console(options)


def saved_dumps(options: Namespace) -> list[str]:
    """The dumps to look at; a file that is not there is refused before anything is drawn."""
    files = [*([options.snapshot] if options.snapshot is not None else []), *(options.file or [])]
    if files and options.snapshot is None:
        raise EngineError(
            ErrorCode.USAGE,
            f"unexpected argument '{files[0]}'",
            hint="Pass saved dumps after --snapshot.",
            extra={"example": f"clawperator console --snapshot {shlex.join(files)}"},
        )
    if files and options.device_id is not None:
        raise EngineError(ErrorCode.USAGE, "use --snapshot OR --device-id, not both")
    for path in files:
        if not os.path.isfile(path):
            reason = "is a folder" if os.path.isdir(path) else "does not exist"
            raise EngineError(ErrorCode.FILE_NOT_READABLE, f"--snapshot: {path} {reason}", details={"file": path})
    return files


def _check_connection(files: list[str], options: Namespace) -> None:
    """What contradicts a server, or makes sense with one only."""
    if options.token_file is not None and options.connect is None:
        raise EngineError(ErrorCode.USAGE, "--token-file requires --connect")
    if options.connect is not None and files:
        raise EngineError(ErrorCode.USAGE, "use --snapshot OR --connect, not both")
    if options.connect is not None and options.no_history:
        raise EngineError(
            ErrorCode.USAGE,
            "--no-history cannot be used with --connect: the server keeps the history",
            hint="Start the server with --no-history.",
        )


def add_look_flags(parser: Parser) -> None:
    """How the console is drawn; unknown themes are refused when it opens."""
    parser.value("--theme", metavar="<name>", about="use this color theme")
    parser.switch("--ascii", about="draw with ASCII characters only")
    parser.value(
        "--pictures",
        metavar="<how>",
        choices=("auto", "kitty", "sixel", "blocks", "off"),  # a test holds them to console.pictures.CHOICES
        about="draw screenshots as: auto, kitty, sixel, blocks, off",
    )


def has_terminal() -> bool:
    """Whether a person sits in front of something that can draw a screen: a terminal, on stderr, or a browser's page."""
    from clawperator.app.console.terminal import refuses

    try:
        people = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except ValueError:  # closed
        people = False
    return not refuses(os.environ, interactive=people)


def _prepare() -> None:
    """Before the first import of Textual."""
    from clawperator.app.console.terminal import prepare, served

    prepare(os.environ)
    if served(os.environ):
        from clawperator.app.console.page import leave_with_server

        leave_with_server()


def open_console(options: Namespace, *, demo: bool = False) -> int:
    """Open the console on this terminal, on the user's devices or on a simulated one; returns the exit code."""
    return _demonstrate(options) if demo else _open(options)


def _show(files: list[str], options: Namespace) -> int:
    _prepare()
    from clawperator.app.console.start import show_files

    return show_files(files, _wishes(options))


def _open(options: Namespace) -> int:
    _prepare()
    from dataclasses import replace

    from clawperator.app.cli.context import settings
    from clawperator.app.console.start import connect, run

    chosen = replace(settings(options), read_only=options.read_only)
    if getattr(options, "connect", None) is not None:  # the bare command has no such flag
        return connect(options.connect, options.token_file or "", chosen, _wishes(options))
    return run(chosen, _wishes(options))


def _wishes(options: Namespace) -> Wishes:
    """The flags over the settings file. Raises ``EngineError`` (SETTINGS_INVALID) for a file, or keys in it, that are wrong."""
    from clawperator.app.console import keymap, preferences, terminal
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import themes_folder
    from clawperator.engine.config.settings_file import load, read, refusal

    path = settings_path()
    file = load(path)
    if wrong := keymap.problems(file.keymap, read(path) or ""):
        raise refusal(path, wrong)
    return preferences.wishes(
        file,
        theme=options.theme,
        ascii_only=options.ascii,
        pictures=options.pictures,
        themes=themes_folder(),
        served=terminal.served(os.environ),
    )


def _demonstrate(options: Namespace) -> int:
    """The console and the device that it shows, in one process."""
    _prepare()
    import asyncio

    from clawperator.app.cli.simulators import one_device
    from clawperator.app.console.start import run_async
    from clawperator.engine import Engine

    async def beside_a_simulation() -> int:
        async with one_device() as chosen, Engine(chosen, face="console") as engine:
            return await run_async(engine, _wishes(options), demo=True)

    return asyncio.run(beside_a_simulation())


# -- in a browser


def _port(options: Namespace) -> int:
    """0 for a free one."""
    from clawperator.app.cli.parsing.values import integer

    if options.port is not None and not options.web:
        raise EngineError(ErrorCode.USAGE, "--port requires --web")
    return integer("--port", options.port, 1, 65_535) or 0


def _serve(files: list[str], options: Namespace, port: int) -> int:
    """Serve pages until Ctrl-C; each page starts this very command again, with a page for its terminal."""
    from clawperator.app.cli.diagnostics import note

    try:
        from clawperator.app.console.web import serve
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("aiohttp", "aiohttp_jinja2", "jinja2", "textual_serve"):
            raise
        from clawperator.app.extras import not_installed

        raise not_installed("web", f"The console in a browser needs the package '{exc.name}'") from exc
    _refuse_early(_wishes(options))
    serve([sys.executable, "-m", "clawperator.app.cli", "console", *_flags(files, options)], port, note)
    return 0


def _refuse_early(chosen: Wishes) -> None:
    """What a page could tell nobody."""
    from pathlib import Path

    from clawperator.app.console.user_themes import exists

    if chosen.theme is not None and not exists(chosen.theme, Path(chosen.themes)):
        raise EngineError(ErrorCode.USAGE, f"Unknown theme: {chosen.theme}")


def _flags(files: list[str], options: Namespace) -> list[str]:
    """The command line of one page: what was given here, but for the server's own flags."""
    values = {
        "--device-id": options.device_id,
        "--receiver-package": options.receiver_package,
        "--connect": options.connect,
        "--token-file": options.token_file,
        "--theme": options.theme,
        "--pictures": options.pictures,
    }
    switches = {"--ascii": options.ascii, "--read-only": options.read_only, "--no-history": options.no_history}
    return [
        *(f"{flag}={value}" for flag, value in values.items() if value is not None),
        *(flag for flag, given in switches.items() if given),
        *(["--snapshot", *files] if files else []),
    ]
