"""Environment variables, folders and defaults. Commands that start in milliseconds import this module."""

from __future__ import annotations

import os
import sys

DEVICE_VARIABLES = ("CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL")
POLICY_VARIABLES = ("CLAWPERATOR_POLICY", "CLAWPERATOR_POLICY_PROFILE")
LOG_LEVEL_VARIABLE = "CLAWPERATOR_LOG_LEVEL"
HISTORY_DAYS = 30
HISTORY_MEGABYTES = 500
IMAGE_SECONDS = 1800
"""Time limit for the download of a system image."""
SETTLE_MS = 300
"""Delay of the console between an action and the next snapshot."""
STREAM_LINES = 100_000
"""Number of log lines kept by the console's stream."""


def config_folder() -> str:
    """Return the platform's config folder: settings, policy, themes."""
    if sys.platform == "linux":  # as platformdirs, whose import is slow
        chosen = os.environ.get("XDG_CONFIG_HOME", "")
        return os.path.join(chosen if os.path.isabs(chosen) else os.path.expanduser("~/.config"), "clawperator")
    from platformdirs import user_config_dir

    return user_config_dir("clawperator")


def settings_path() -> str:
    """Return the path of settings.toml."""
    return os.path.join(config_folder(), "settings.toml")


def policy_path() -> str:
    """Return the default path of policy.toml."""
    return os.path.join(config_folder(), "policy.toml")
