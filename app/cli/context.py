"""What a command line chooses: the settings, and the guard of what it does without an engine. Light: no engine is loaded."""

from __future__ import annotations

from clawperator.engine.config.environment import settings_path
from clawperator.engine.config.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.engine.guard import Guard

FACE = "cli"
"""How the history calls us."""


def settings(options: Namespace) -> Settings:
    """Settings from the global flags, the environment and the settings file."""
    flags = {
        "device_id": options.device_id,
        "receiver_package": options.receiver_package,
        "history_enabled": False if getattr(options, "no_history", False) else None,
        "policy_path": getattr(options, "policy", None),
        "safe_logs": getattr(options, "safe_logs", False) or None,
        "log_level": options.log_level,
        "wait_ms": options.wait,
    }
    return Settings.resolve(flags, file=settings_path())


def guard(options: Namespace) -> Guard:
    """The policy for what a command does without an engine."""
    from clawperator.engine.guard import Guard

    return Guard(settings(options), FACE)
