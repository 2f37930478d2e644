"""``console``, and the bare command on a terminal: the only commands that import Textual."""

from __future__ import annotations

import os
import shlex
import sys

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.console.preferences import Preferences
    from clawperator.engine.config.settings_file import SettingsFile

DRAWING_FLAGS = (
    Flag("--theme", "<name>", "use this color theme [from the settings]"),
    switch("--ascii", "draw with ASCII characters only"),
    Flag(
        "--pictures",
        "<how>",
        "draw screenshots as: auto, kitty, sixel, blocks, off [auto]",
        choices=("auto", "kitty", "sixel", "blocks", "off"),  # a test compares them with console.pictures.CHOICES
    ),
)
"""How the console is drawn; unknown themes are refused when it opens."""


class Console(Command):
    long_lived = True
    keeps_warm = True
    usage = "[--snapshot <file> [<file> …]] [--connect <url> [--token-file <file>] | --fleet <nats://host:port>] [--read-only] [--no-history] [--web [--port <n>]] [options]"
    notes = (
        "With --snapshot, it shows saved dumps instead of a device and does not use adb. With --web, it opens in a browser on"
        " this computer, at a private address that it prints. With --connect, it uses the devices of"
        " a server (clawperator serve) instead of local ones, with --fleet those of all hosts of a fleet."
    )
    examples = (
        "",
        "--device-id emulator-5554 --read-only",
        "--snapshot before.xml after.xml",
        "--web --port 8080",
        "--connect http://127.0.0.1:3000",
        "--fleet nats://127.0.0.1:4222",
    )
    flags = (
        Flag("--snapshot", "<file>", "open this saved dump; more may follow", file=True),
        Word("file", "more saved dumps after --snapshot <file>", many=True),
        Flag("--connect", "<url>", "use the devices of this server (needs the extra 'server')"),
        Flag("--token-file", "<file>", "read the server's token from this file (with --connect)", file=True),
        Flag("--fleet", "<nats://host:port>", "use the devices of this fleet (needs the extras 'fleet' and 'server')"),
        switch("--read-only", "send nothing that can change the device"),
        HISTORY_FLAG,
        switch("--web", "open the console in a local browser (needs the extra 'web')"),
        Flag("--port", "<n>", "listen on this port (with --web) [a free one]", bounds=(1, 65_535)),
        *DRAWING_FLAGS,
    )

    def run(self, options: Options) -> int:
        if options.port is not None and not options.web:
            raise EngineError(ErrorCode.USAGE, "--port requires --web")
        if not (options.web or has_terminal()):
            where = "that can move the cursor: TERM is dumb" if _on_terminal() else "on stdin, stdout and stderr"
            raise EngineError(
                ErrorCode.USAGE,
                f"console needs a terminal {where}",
                extra={"example": "clawperator observe snapshot"},
            )
        files = saved_dumps(options)
        _check_connection(files, options)
        if options.web:
            return _serve(files, options, options.port or 0)
        return _show(files, options) if files else open_console(options)


def saved_dumps(options: Options) -> list[str]:
    """Return the saved dumps of the command line; a missing file is refused before anything is drawn."""
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


def _check_connection(files: list[str], options: Options) -> None:
    """Refuse flags that exclude a server, or that need one."""
    if options.token_file is not None and options.connect is None:
        raise EngineError(ErrorCode.USAGE, "--token-file requires --connect")
    given = [flag for flag, value in (("--connect", options.connect), ("--fleet", options.fleet)) if value is not None]
    if len(given) + bool(files) > 1:
        first, second, *_ = (*(["--snapshot"] if files else []), *given)
        raise EngineError(ErrorCode.USAGE, f"use {first} OR {second}, not both")
    if given and options.no_history:
        raise EngineError(
            ErrorCode.USAGE,
            f"--no-history cannot be used with {given[0]}: the computer of the devices keeps the history",
            hint="Use --no-history there.",
        )


def has_terminal() -> bool:
    """Whether the console can be drawn: on a terminal, or in a browser's page."""
    from clawperator.app.console.terminal import refuses

    return not refuses(os.environ, interactive=_on_terminal())


def _on_terminal() -> bool:
    try:
        return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except ValueError:  # closed
        return False


def _prepare() -> None:
    """Prepare the process before the first import of Textual."""
    from clawperator.app.console.terminal import prepare, served

    prepare(os.environ)
    if served(os.environ):
        from clawperator.app.console.web_page import leave_with_server

        leave_with_server()


def open_console(options: Options, *, demo: bool = False) -> int:
    """Open the console on this terminal, on the user's devices or on a simulated one; returns the exit code."""
    return _open_demo(options) if demo else _open(options)


def _show(files: list[str], options: Options) -> int:
    _prepare()
    from clawperator.app.console.start import show_files

    return show_files(files, _preferences(options))


def _open(options: Options) -> int:
    _prepare()
    from dataclasses import replace

    from clawperator.app.cli.settings import resolve_settings
    from clawperator.app.console.start import connect, join_fleet, run

    chosen = replace(resolve_settings(options), read_only=options.read_only)
    if getattr(options, "fleet", None) is not None:
        return join_fleet(options.fleet, chosen, _preferences(options))
    if getattr(options, "connect", None) is not None:  # the bare command has no such flag
        return connect(options.connect, options.token_file or "", chosen, _preferences(options))
    return run(chosen, _preferences(options))


def _preferences(options: Options) -> Preferences:
    """The flags over the settings file. Raises ``EngineError`` (SETTINGS_INVALID) for a file, or keys in it, that are wrong."""
    from clawperator.app.console import preferences, terminal
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import themes_folder

    path = settings_path()
    return preferences.resolve(
        _settings_file(path) if os.path.lexists(path) else None,  # the import for reading one is slow
        theme=options.theme,
        ascii_only=options.ascii,
        pictures=options.pictures,
        themes=themes_folder(),
        served=terminal.served(os.environ),
    )


def _settings_file(path: str) -> SettingsFile:
    from clawperator.app.console import keymap
    from clawperator.engine.config.settings_file import load, read, refusal

    file = load(path)
    if wrong := keymap.problems(file.keymap, read(path) or ""):
        raise refusal(path, wrong)
    return file


def _open_demo(options: Options) -> int:
    """Run the console and its simulated device in one process."""
    _prepare()
    import asyncio

    from clawperator.app.cli.simulators import one_device
    from clawperator.app.console.start import run_async
    from clawperator.engine import Engine

    async def with_simulation() -> int:
        async with one_device() as chosen, Engine(chosen, face="console") as engine:
            return await run_async(engine, _preferences(options), demo=True)

    return asyncio.run(with_simulation())


def _serve(files: list[str], options: Options, port: int) -> int:
    """Serve pages until Ctrl-C; each page runs this command in a terminal of its own."""
    from clawperator.app.cli.diagnostics import note

    try:
        from clawperator.app.console.web import serve
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("aiohttp", "aiohttp_jinja2", "jinja2", "textual_serve"):
            raise
        from clawperator.app.extras import not_installed

        raise not_installed("web", f"The console in a browser needs the package '{exc.name}'") from exc
    _refuse_early(_preferences(options))
    page = [sys.executable, "-m", "clawperator.app.cli", "console", "--no-warm", *_flags(files, options)]
    serve(page, port, note)
    return 0


def _refuse_early(chosen: Preferences) -> None:
    """Refuse what would only fail in a page."""
    from pathlib import Path

    from clawperator.app.console.user_themes import theme_exists

    if chosen.theme is not None and not theme_exists(chosen.theme, Path(chosen.themes)):
        raise EngineError(ErrorCode.USAGE, f"Unknown theme: {chosen.theme}")


def _flags(files: list[str], options: Options) -> list[str]:
    """The command line of one page: this one without the flags of the server."""
    values = {
        "--device-id": options.device_id,
        "--receiver-package": options.receiver_package,
        "--connect": options.connect,
        "--fleet": options.fleet,
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
