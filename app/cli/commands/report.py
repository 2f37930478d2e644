"""``report``: a bundle for a bug report, without what belongs to the user."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine import Settings

_LINES = 200


class Report(Command):
    usage = "[--to <file.zip>] [--lines <n>] [options]"
    notes = (
        "Works without a device or adb, and with invalid settings or a damaged history. Names, home folders, serials,"
        " e-mail addresses, tokens and all texts of devices are removed; the result lists the contents."
    )
    examples = ("", "--to ~/report.zip", "--lines 50 --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.value("--to", metavar="<file.zip>", about="write to this file [a new file in this folder]", file=True)
        parser.value("--lines", metavar="<n>", about=f"include n runs and n lines of a crash report [{_LINES}]")

    def run(self, options: Namespace) -> Answer:
        lines = integer("--lines", options.lines, 0, 100_000)
        path = _target(options.to)
        from clawperator.app.cli.diagnostics import note
        from clawperator.app.cli.session import run
        from clawperator.engine.bundles import report

        def tell(part: str) -> None:
            note(f"report: {part}")

        bundle, size = run(
            options,
            lambda engine: report.make(engine, path, lines=_LINES if lines is None else lines, tell=tell),
            surroundings=lambda: _surroundings(options),
        )
        return Answer({"ok": True, "path": path, "bytes": size, **bundle.to_dict()}, view="bundle")


def _target(wanted: str | None) -> str:
    """The absolute path of the file to make: refused before anything is asked of a device."""
    path = os.path.abspath(os.path.expanduser(wanted or time.strftime("clawperator-report-%Y%m%d-%H%M%S.zip")))
    if os.path.lexists(path):
        raise EngineError(ErrorCode.FILE_EXISTS, f"--to {path} exists already", details={"file": path})
    if not os.path.isdir(os.path.dirname(path)):
        message = f"--to {path} cannot be written: {os.path.dirname(path)} is not a folder"
        raise EngineError(ErrorCode.FILE_NOT_WRITABLE, message, details={"file": path})
    return path


@asynccontextmanager
async def _surroundings(options: Namespace) -> AsyncIterator[Settings]:
    """The user's own settings; a file that cannot be used is no reason to have no report, and stands in it."""
    from clawperator.app.cli.context import settings
    from clawperator.engine import Settings

    try:
        chosen = settings(options)
    except EngineError:
        chosen = Settings.resolve({"device_id": options.device_id, "receiver_package": options.receiver_package})
    yield chosen
