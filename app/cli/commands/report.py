"""``report``: a bundle for a bug report, without private data."""

from __future__ import annotations

import os
import time
from contextlib import asynccontextmanager

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import Flag
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clawperator.engine import Settings


class Report(Command):
    usage = "[--to <file.zip>] [--lines <n>] [options]"
    notes = (
        "Works without a device or adb, and with invalid settings or a damaged history. Names, home folders, serials,"
        " e-mail addresses, tokens and all texts of devices are removed; the result lists the contents."
    )
    examples = ("", "--to ~/report.zip", "--lines 50 --output pretty")
    flags = (
        Flag("--to", "<file.zip>", "write to this file [a new file in this folder]", file=True),
        Flag("--lines", "<n>", "include n runs and n lines of a crash report", bounds=(0, 100_000), default=200),
    )

    def run(self, options: Options) -> Answer:
        path = _target(options.to)
        from clawperator.app.cli.diagnostics import note
        from clawperator.app.cli.session import run
        from clawperator.engine.bundles import report

        bundle, size = run(
            options,
            lambda engine: report.make(engine, path, lines=options.lines, on_part=lambda part: note(f"report: {part}")),
            settings_source=lambda: _settings(options),
        )
        return Answer({"ok": True, "path": path, "bytes": size, **bundle.to_dict()}, view="settings.bundle")


def _target(given: str | None) -> str:
    """The absolute path of the new file, checked before a device is used."""
    path = os.path.abspath(os.path.expanduser(given or time.strftime("clawperator-report-%Y%m%d-%H%M%S.zip")))
    if os.path.lexists(path):
        raise EngineError(ErrorCode.FILE_EXISTS, f"--to {path} exists already", details={"file": path})
    if not os.path.isdir(os.path.dirname(path)):
        message = f"--to {path} cannot be written: {os.path.dirname(path)} is not a folder"
        raise EngineError(ErrorCode.FILE_NOT_WRITABLE, message, details={"file": path})
    return path


@asynccontextmanager
async def _settings(options: Options) -> AsyncIterator[Settings]:
    """The user's settings; without the file if it is invalid, which the report then contains."""
    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine import Settings

    try:
        chosen = resolve_settings(options)
    except EngineError:
        chosen = Settings.resolve({"device_id": options.device_id, "receiver_package": options.receiver_package})
    yield chosen
