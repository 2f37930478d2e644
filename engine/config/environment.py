"""Environment variables, folders and defaults. Commands that start in milliseconds import this module."""

from __future__ import annotations

import os
import sys

from clawperator.engine.contracts.limits import BACKENDS, MAX_WAIT_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from clawperator.engine.errors import EngineError

DEVICE_VARIABLES = ("CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL")
CALLER_PROFILE = "CLAWPERATOR_CALLER_PROFILE"
"""The variable with the profile of the caller of a skill's script (``active_profile.py``)."""
POLICY_VARIABLES = ("CLAWPERATOR_POLICY", "CLAWPERATOR_POLICY_PROFILE")
LOG_LEVEL_VARIABLE = "CLAWPERATOR_LOG_LEVEL"
OUTPUT_VARIABLE = "CLAWPERATOR_OUTPUT"
WAIT_VARIABLE = "CLAWPERATOR_WAIT_MS"
FORMATS = ("json", "pretty")
LEVELS = ("debug", "info", "warn", "error")
_SWITCHED_ON, _SWITCHED_OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_CLOSED = {
    "output": (OUTPUT_VARIABLE, FORMATS),
    "log_level": (LOG_LEVEL_VARIABLE, LEVELS),
    "backend": ("CLAWPERATOR_BACKEND", BACKENDS),
    "warm": ("CLAWPERATOR_WARM", ("0", "1")),
    "no_history": ("CLAWPERATOR_NO_HISTORY", (*_SWITCHED_ON, *_SWITCHED_OFF)),
    "safe_logs": ("CLAWPERATOR_SAFE_LOGS", (*_SWITCHED_ON, *_SWITCHED_OFF)),
    "allow_unbind": ("CLAWPERATOR_ALLOW_UNBIND", (*_SWITCHED_ON, *_SWITCHED_OFF)),
}
"""Option → its variable and the values that it may have; an empty variable is absent."""
HISTORY_DAYS = 30
HISTORY_MEGABYTES = 500
IMAGE_SECONDS = 1800
"""Time limit for the download of a system image."""
SETTLE_MS = 300
"""Delay of the console between an action and the next snapshot."""
STREAM_LINES = 100_000
"""Number of log lines kept by the console's stream."""
_MOST_BYTES = 4 * 1024 * 1024


def check_variables(env: Mapping[str, str], given: Collection[str] = ()) -> None:
    """Refuse variables of this product with values that they cannot have, but those of options that were ``given``.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) that names the variable.
    """
    for option, (variable, allowed) in _CLOSED.items():
        value = env.get(variable, "")
        if value and option not in given and value not in allowed:
            raise _refused(variable, f"one of: {', '.join(allowed)}", value)
    if "wait_ms" not in given and (value := env.get(WAIT_VARIABLE, "")):
        wait_limit(value, WAIT_VARIABLE)


def is_on(env: Mapping[str, str], variable: str) -> bool:
    """Return whether a variable that is a switch is on."""
    return env.get(variable, "") not in ("", *_SWITCHED_OFF)


def wait_limit(value: object, name: str = "waitMs") -> int:
    """Return ``value`` (a number, or decimal text of an environment variable) as milliseconds of a wait.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED).
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_WAIT_MS:
        return value
    raise _refused(name, f"an integer in [0, {MAX_WAIT_MS}]", hint=f"Give whole milliseconds, 0 to {MAX_WAIT_MS}.")


def _refused(name: str, allowed: str, value: str = "", *, hint: str = "") -> EngineError:
    from clawperator.engine.errors import EngineError, ErrorCode

    got = f", got {value[:64]!r}" if value else ""
    return EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        f"{name} must be {allowed}{got}",
        hint=hint or f"Correct {name}, or unset it.",
        details={"path": name},
    )


def config_folder() -> str:
    """Return the platform's config folder: settings, policy, themes."""
    if sys.platform == "linux":  # as platformdirs, whose import is slow
        chosen = os.environ.get("XDG_CONFIG_HOME", "")
        return os.path.join(chosen if os.path.isabs(chosen) else os.path.expanduser("~/.config"), "clawperator")
    from platformdirs import user_config_dir

    return user_config_dir("clawperator")


def user_home(env: Mapping[str, str]) -> str:
    """Return the user's home; ``/nonexistent`` where neither the environment nor the system names one."""
    home = env.get("HOME") or os.path.expanduser("~")
    return "/nonexistent" if home == "~" else home


def can_write(folder: str) -> bool:
    """Return whether this user may write into ``folder``, or create it."""
    if not os.path.isabs(folder):
        return False
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def runtime_folder(env: Mapping[str, str]) -> str:
    """Return the user's folder for sockets and, where the home cannot be written, locks.

    It is below ``XDG_RUNTIME_DIR``; without one ``~/.clawperator/run``, and where the home cannot be written either, one of this
    user in the folder of temporary files. Any of them may be hostile: ``files.regular.private_folder`` checks its owner and mode.
    """
    base = env.get("XDG_RUNTIME_DIR", "")
    if can_write(base):
        return os.path.join(base, "clawperator")
    usual = os.path.join(user_home(env), ".clawperator", "run")
    if can_write(usual) or not hasattr(os, "getuid"):  # Windows
        return usual
    temporary = env.get("TMPDIR", "")
    return os.path.join(temporary if can_write(temporary) else "/tmp", f"clawperator-{os.getuid()}")  # noqa: S108 -- checked before use


def settings_path() -> str:
    """Return the path of settings.toml."""
    return os.path.join(config_folder(), "settings.toml")


def policy_path() -> str:
    """Return the default path of policy.toml."""
    return os.path.join(config_folder(), "policy.toml")


def policy_applies() -> bool:
    """Return whether there are settings, a policy, or a script's caller, so that ``active_profile`` has to decide."""
    return (
        any(map(os.environ.get, (*POLICY_VARIABLES, CALLER_PROFILE)))
        or any(map(os.path.lexists, (settings_path(), policy_path())))
        or bool(session_profile())
    )


_leader = 0


def act_for(pid: int) -> None:
    """Bind this process to the session of another one, whose command it runs. Raises ``OSError`` if that has ended."""
    global _leader  # noqa: PLW0603 -- once, in the process of one command
    _leader = os.getsid(pid)


def session_profile() -> str:
    """Return ``CALLER_PROFILE`` in the environment with which this process's session began; empty without ``/proc``."""
    leader = _leader or os.getsid(0)
    if leader not in _profiles:
        _profiles.clear()
        _profiles[leader] = _profile_of_leader(leader)
    return _profiles[leader]


_profiles: dict[int, str] = {}
"""The profile of the last leader. A dictionary, because ``functools`` takes a fifth of the start of a warm command."""


def _profile_of_leader(leader: int) -> str:
    try:
        with open(f"/proc/{leader}/environ", "rb") as stream:
            entries = stream.read(_MOST_BYTES).split(b"\0")
    except OSError:
        return ""
    mark = f"{CALLER_PROFILE}=".encode()
    return next((entry[len(mark) :].decode(errors="replace") for entry in entries if entry.startswith(mark)), "")
