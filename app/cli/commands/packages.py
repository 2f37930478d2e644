"""``packages list``: over one blocking socket, as ``devices``; with settings, a policy or an old device, by the engine."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import switch
from clawperator.engine.adb import blocking
from clawperator.engine.adb.android_user import pm
from clawperator.engine.adb.failures import AdbTimeoutError, OversizedError
from clawperator.engine.config.environment import (
    DEVICE_VARIABLES,
    LOG_LEVEL_VARIABLE,
    policy_applies,
)
from clawperator.engine.errors import EngineError


class ListPackages(Command):
    usage = "[--third-party] [options]"
    examples = ("--third-party", "--device-id emulator-5554")
    flags = (switch("--third-party", "list only third-party packages"),)

    def run(self, options: Options) -> Answer:
        packages = None if _needs_engine(options) else _read(options)
        if packages is None:
            from clawperator.app.cli.session import run

            packages = run(options, lambda engine: engine.packages(third_party=options.third_party))
        return Answer({"packages": packages}, view="devices.packages")


def _needs_engine(options: Options) -> bool:
    """Whether settings, a policy or a log may apply."""
    return (
        options.verbose or options.log_level is not None or bool(os.environ.get(LOG_LEVEL_VARIABLE)) or policy_applies()
    )


def _read(options: Options) -> list[str] | None:
    """The names as the device lists them; ``None`` where the engine has to explain an error, or to ask an old device."""
    named = filter(None, (options.device_id, *map(os.environ.get, DEVICE_VARIABLES)))
    usable = [entry.serial for entry in blocking.devices(os.environ) if entry.usable]
    serial = next(named, usable[0] if len(usable) == 1 else "")
    if serial not in usable:
        return None
    command = pm("list packages", *(["-3"] if options.third_party else []))
    try:
        output, _, exit_code = blocking.shell(serial, command)
    except (AdbTimeoutError, OversizedError):  # the engine would fail the same way, after the same time
        raise
    except EngineError:
        return None
    if exit_code != 0:
        return None
    from clawperator.engine.adb.parse import parse_packages

    return parse_packages(output.decode(errors="replace"))
