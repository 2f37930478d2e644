"""The settings that a command line chooses, and the policy guard for work without an engine. Light: no engine is loaded."""

from __future__ import annotations

import os
from contextlib import suppress

from clawperator.app.cli import after_output
from clawperator.app.warm import WARM_VARIABLE
from clawperator.engine.config.environment import settings_path
from clawperator.engine.config.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options
    from clawperator.engine.guard import Guard

FACE = "cli"
"""The name of the command line in the history."""


def resolve_settings(options: Options) -> Settings:
    """Return the settings from the global flags, the environment and the settings file."""
    flags = {
        "device_id": options.device_id,
        "receiver_package": options.receiver_package,
        "backend": options.backend,
        "allow_unbind": options.allow_unbind or None,
        "compressed": options.compressed or None,
        "history_enabled": False if getattr(options, "no_history", False) else None,
        "policy_path": getattr(options, "policy", None),
        "safe_logs": getattr(options, "safe_logs", False) or None,
        "log_level": options.log_level,
        "wait_ms": options.wait,
    }
    chosen = Settings.resolve(flags, file=settings_path())
    if (os.environ.get(WARM_VARIABLE) or str(int(chosen.warm_auto))) == "1" and not options.no_warm:
        after_output.schedule(_start_warm)
    return chosen


def _start_warm(leaving: bool) -> None:
    """Start a warm process for later commands, unless there is one or this process goes on."""
    if leaving:
        from clawperator.app.warm.start import is_running, start

        with suppress(OSError):  # the next command starts cold, as this one
            if not is_running():
                start()


def start_warm_beside() -> None:
    """Start a warm process for other commands, as long as this process runs, unless there is one or none is wanted."""
    if os.environ.get(WARM_VARIABLE) != "0":
        from clawperator.app.warm.start import start_beside

        with suppress(OSError):
            start_beside()


def policy_guard(options: Options) -> Guard:
    """Return the policy guard for what a command does without an engine."""
    return guard_of(resolve_settings(options))


def guard_of(settings: Settings) -> Guard:
    """Return the policy guard of ``settings``."""
    from clawperator.engine.guard import Guard

    return Guard(settings, FACE)
