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

    from clawperator.app.cli.arguments import Parser
    from clawperator.app.console.app import Wishes


class Console(Command):
    long_lived = True
    usage = "[--snapshot <file> [<file> …]] [--theme <name>] [--ascii] [options]"
    notes = "With --snapshot it shows saved dumps instead of a device: nothing is asked of adb."
    examples = ("", "--device-id emulator-5554", "--snapshot before.xml after.xml", "--ascii")

    def configure(self, parser: Parser) -> None:
        parser.value("--snapshot", metavar="<file>", about="a saved dump to look at; more may follow", file=True)
        parser.word("file", about="more saved dumps, after --snapshot <file>", many=True)
        add_look_flags(parser)

    def run(self, options: Namespace) -> int:
        if not has_terminal():
            raise EngineError(
                ErrorCode.USAGE,
                "console needs a terminal on stdin, stdout and stderr",
                extra={"example": "clawperator observe snapshot"},
            )
        files = saved_dumps(options)
        return _show(files, options) if files else open_console(options)


def saved_dumps(options: Namespace) -> list[str]:
    """The dumps to look at; a file that is not there is refused before anything is drawn."""
    files = [*([options.snapshot] if options.snapshot is not None else []), *(options.file or [])]
    if files and options.snapshot is None:
        raise EngineError(
            ErrorCode.USAGE,
            f"unexpected argument '{files[0]}'",
            hint="Saved dumps come after --snapshot.",
            extra={"example": f"clawperator console --snapshot {shlex.join(files)}"},
        )
    if files and options.device_id is not None:
        raise EngineError(ErrorCode.USAGE, "use --snapshot OR --device-id, not both")
    for path in files:
        if not os.path.isfile(path):
            reason = "is a folder" if os.path.isdir(path) else "does not exist"
            raise EngineError(ErrorCode.USAGE, f"--snapshot: {path} {reason}")
    return files


def add_look_flags(parser: Parser) -> None:
    """How the console is drawn; unknown themes are refused when it opens."""
    parser.value("--theme", metavar="<name>", about="colours of the console")
    parser.switch("--ascii", about="draw with ASCII characters only")
    parser.value(
        "--pictures",
        metavar="<how>",
        choices=("auto", "kitty", "sixel", "blocks", "off"),  # a test holds them to console.pictures.CHOICES
        about="how the picture of the screen is drawn: auto, kitty, sixel, blocks, off",
    )


def has_terminal() -> bool:
    """Whether a person sits in front of something that can draw a screen, which is drawn on stderr."""
    try:
        people = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except ValueError:  # closed
        return False
    return people and os.environ.get("TERM") != "dumb"


def _prepare() -> None:
    """Before the first import of Textual."""
    from clawperator.app.console.terminal import prepare

    prepare(os.environ)


def open_console(options: Namespace, *, demo: bool = False) -> int:
    """Open the console on this terminal, on the user's devices or on a simulated one; returns the exit code."""
    return _demonstrate(options) if demo else _open(options)


def _show(files: list[str], options: Namespace) -> int:
    _prepare()
    from clawperator.app.console.app import show_files

    return show_files(files, _wishes(options))


def _open(options: Namespace) -> int:
    _prepare()
    from clawperator.app.cli.session import settings
    from clawperator.app.console.app import run

    return run(settings(options), _wishes(options))


def _wishes(options: Namespace) -> Wishes:
    from clawperator.app.console.app import Wishes

    return Wishes(options.theme, options.ascii or None, options.pictures or "auto")


def _demonstrate(options: Namespace) -> int:
    """The console and the device that it shows, in one process."""
    _prepare()
    import asyncio

    from clawperator.app.cli.simulated import one_device
    from clawperator.app.console.app import run_async
    from clawperator.engine import Engine

    async def beside_a_simulation() -> int:
        async with one_device() as chosen, Engine(chosen) as engine:
            return await run_async(engine, _wishes(options), demo=True)

    return asyncio.run(beside_a_simulation())
