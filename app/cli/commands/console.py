"""``console``, and the bare command on a terminal: the way to the screens. The one door from the command line to Textual."""

from __future__ import annotations

import os
import sys

from clawperator.app.cli.command import Command
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser


class Console(Command):
    long_lived = True
    usage = "[--theme <name>] [--ascii] [options]"
    examples = ("", "--device-id emulator-5554", "--ascii")

    def configure(self, parser: Parser) -> None:
        add_look_flags(parser)

    def run(self, options: Namespace) -> int:
        if not has_terminal():
            raise EngineError(
                ErrorCode.USAGE,
                "console needs a terminal on stdin, stdout and stderr",
                extra={"example": "clawperator observe snapshot"},
            )
        return open_console(options)


def add_look_flags(parser: Parser) -> None:
    """How the console is drawn; unknown themes are refused when it opens."""
    parser.value("--theme", metavar="<name>", about="colours of the console")
    parser.switch("--ascii", about="draw with ASCII characters only")


def has_terminal() -> bool:
    """Whether a person sits in front of something that can draw a screen, which is drawn on stderr."""
    try:
        people = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    except ValueError:  # closed
        return False
    return people and os.environ.get("TERM") != "dumb"


def open_console(options: Namespace, *, demo: bool = False) -> int:
    """Open the console on this terminal, on the user's devices or on a simulated one; returns the exit code."""
    return _demonstrate(options) if demo else _open(options)


def _open(options: Namespace) -> int:
    from clawperator.app.cli.session import settings
    from clawperator.app.console.app import run

    return run(settings(options), theme=options.theme, ascii=options.ascii or None)


def _demonstrate(options: Namespace) -> int:
    """The console and the device that it shows, in one process."""
    import asyncio

    from clawperator.app.cli.simulated import one_device
    from clawperator.app.console.app import run_async
    from clawperator.engine import Engine

    async def beside_a_simulation() -> int:
        async with one_device() as chosen, Engine(chosen) as engine:
            return await run_async(engine, demo=True, theme=options.theme, ascii=options.ascii or None)

    return asyncio.run(beside_a_simulation())
