"""Settings, resolved once: flags > environment > settings file > default.

Resolving reads the environment (and the settings file, when asked to) at the call; importing reads nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, NamedTuple, Self

from clawperator.engine.config.environment import (
    DEVICE_VARIABLES,
    HISTORY_DAYS,
    HISTORY_MEGABYTES,
    IMAGE_SECONDS,
    LOG_LEVEL_VARIABLE,
    POLICY_VARIABLES,
    config_folder,
)
from clawperator.engine.contracts.limits import MAX_WAIT_MS, PACKAGE
from clawperator.engine.contracts.operator_identity import AGENT_ACTION, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode

WAIT_VARIABLE = "CLAWPERATOR_WAIT_MS"

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "device_id": DEVICE_VARIABLES,
    "receiver_package": ("CLAWPERATOR_OPERATOR_PACKAGE", "CLAWPERATOR_RECEIVER_PACKAGE"),
    "action_agent_command": ("CLAWPERATOR_AGENT_ACTION",),
    "adb_path": ("ADB_PATH",),
    "policy_path": POLICY_VARIABLES[:1],
    "policy_profile": POLICY_VARIABLES[1:],
    "log_dir": ("CLAWPERATOR_LOG_DIR",),
    "log_level": (LOG_LEVEL_VARIABLE,),
    "wait_ms": (WAIT_VARIABLE,),
}
_SWITCHES = {"history_enabled": ("CLAWPERATOR_NO_HISTORY", False), "safe_logs": ("CLAWPERATOR_SAFE_LOGS", True)}
"""Variables that switch something by being there, whatever they say, and to what."""


class Chosen(NamedTuple):
    """A value and who chose it: ``source`` is ``flag``, ``env``, ``file`` or ``default``, ``variable`` the environment's name."""

    value: Any
    source: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an ``Engine`` needs to know about its surroundings.

    ``device_id`` and ``adb_path`` are empty where nothing chose one. ``lock_dir`` is the one folder that every process of
    this user shares, whatever its XDG variables say: moving it would let two processes drive one device.
    ``history_path`` is the file of the history, which is kept for ``history_days`` and up to ``history_megabytes`` unless
    ``history_enabled`` is false. ``read_only``: executions that would act on a device are refused.
    ``policy_path`` is the policy file that somebody chose; empty for the one in the config folder, which may be absent.
    ``policy_profile`` is the profile of it to hold; empty for the one that the file calls active.
    ``log_dir`` is the folder of the log files, which get what is at least of ``log_level``. ``safe_logs``: neither the log
    nor the history nor an export gets texts of screens. ``skills_registry`` is the registry file that a flag named, or
    ``builtin``; the environment is asked where there is none.
    ``package_chosen``: somebody named ``receiver_package``, so no other installed variant may stand in for it.
    ``wait_ms`` is how long an execution waits for a device that is taken, where its caller does not say.
    ``accepted_versions`` are further ``major.minor`` of Operator apps to take for compatible. ``emulator_supported_abis``
    and ``emulator_image_seconds`` are what virtual devices may be made of, and how long the download of an image may take.
    ``warm_auto``: the command line starts a warm process where there is none.
    ``environment`` is what the adb bridge resolves its server address from.
    """

    device_id: str = ""
    receiver_package: str = RELEASE_PACKAGE
    action_agent_command: str = AGENT_ACTION
    adb_path: str = ""
    lock_dir: str = ""
    history_enabled: bool = True
    history_days: int = HISTORY_DAYS
    history_megabytes: int = HISTORY_MEGABYTES
    history_path: str = ""
    read_only: bool = False
    policy_path: str = ""
    policy_profile: str = ""
    log_dir: str = ""
    log_level: str = "info"
    safe_logs: bool = False
    skills_registry: str = ""
    package_chosen: bool = False
    wait_ms: int = 0
    accepted_versions: tuple[str, ...] = ()
    emulator_supported_abis: tuple[str, ...] = ()
    emulator_image_seconds: int = IMAGE_SECONDS
    warm_auto: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def resolve(
        cls,
        flags: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        file: str | None = None,
    ) -> Self:
        """Settings from ``flags`` (``None`` and empty texts count as absent), ``env`` (default: the process's own) and ``file``.

        ``file`` is the path of a settings.toml; ``None`` reads none, and a missing file is an empty one.

        Raises ``EngineError``: FILE_NOT_READABLE, or SETTINGS_INVALID for a file with unknown or wrong keys.
        """
        environment = os.environ if env is None else env
        found = choices(flags or {}, environment, read_settings_file(file) if file else {})
        values = {name: choice.value for name, choice in found.items()}
        values["wait_ms"] = wait_limit(values["wait_ms"], found["wait_ms"].variable or "waitMs")
        values["package_chosen"] = found["receiver_package"].source != "default"
        return cls(**values, environment=dict(environment))


def choices(flags: Mapping[str, Any], env: Mapping[str, str], file: Mapping[str, Any]) -> dict[str, Chosen]:
    """Every setting by the name of its field, with who chose it. ``file`` is what ``read_settings_file`` answers."""
    places = {
        "lock_dir": os.path.join(home_folder(env), "locks"),
        "history_path": os.path.join(state_folder(env), "history.db"),
        "log_dir": os.path.join(home_folder(env), "logs"),
    }
    found: dict[str, Chosen] = {}
    for item in fields(Settings):
        name = item.name
        variable = next((variable for variable in VARIABLES.get(name, ()) if env.get(variable)), "")
        if _given(flags.get(name)):
            found[name] = Chosen(flags[name], "flag")
        elif variable:
            found[name] = Chosen(env[variable], "env", variable)
        elif name in _SWITCHES and env.get(_SWITCHES[name][0]):
            found[name] = Chosen(_SWITCHES[name][1], "env", _SWITCHES[name][0])
        elif _given(file.get(name)):
            found[name] = Chosen(file[name], "file")
        elif item.default is not MISSING:
            found[name] = Chosen(places.get(name, item.default), "default")
    return found


def _given(value: object) -> bool:
    return value is not None and value != ""


def package_name(text: str) -> str:
    """``text`` if it can name an Operator app; what starts with a dash, say, would be an option to the device's own tools.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED).
    """
    if len(text) <= 255 and re.fullmatch(PACKAGE, text, re.ASCII):
        return text
    message = "receiverPackage must be an Android package name"
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        message,
        hint=f"Name an installed Operator app, such as {RELEASE_PACKAGE}.",
        details={"path": "receiverPackage", "reason": f"{message}, got {text[:255]!r}"},
    )


def wait_limit(value: object, name: str = "waitMs") -> int:
    """``value`` (a number, or the decimal text of an environment variable) if it can be the milliseconds of a wait.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED).
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_WAIT_MS:
        return value
    message = f"{name} must be an integer in [0, {MAX_WAIT_MS}]"
    hint = f"Give whole milliseconds, 0 to {MAX_WAIT_MS}."
    raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={"path": name})


# -- places


def home_folder(env: Mapping[str, str]) -> str:
    """``~/.clawperator``: what the contract names there (locks, skills, downloads, logs) stays there on every system."""
    return os.path.join(_home(env), ".clawperator")


def state_folder(env: Mapping[str, str]) -> str:
    """The platform's state folder in the surroundings that ``env`` describes: history, drafts, reports of crashes.

    What ``platformdirs.user_state_dir`` says for the process's own environment; it can be asked for no other one.
    """
    if sys.platform == "darwin":
        return os.path.join(_home(env), "Library", "Application Support", "clawperator")
    return os.path.join(
        env.get("XDG_STATE_HOME", "").strip() or os.path.join(_home(env), ".local", "state"), "clawperator"
    )


def console_folder(env: Mapping[str, str]) -> str:
    """Where the console keeps what it must not lose: drafts."""
    return os.path.join(state_folder(env), "console")


def crash_path(env: Mapping[str, str]) -> str:
    """Where the console writes why it failed, the last time that it did."""
    return os.path.join(console_folder(env), "console-crash.txt")


def _home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def themes_folder() -> str:
    """Where the user's own themes for the console are looked for."""
    return os.path.join(config_folder(), "themes")


def read_settings_file(path: str) -> dict[str, Any]:
    """What a settings file chooses, by the names of ``Settings``' fields; ``{}`` where there is no file.

    Raises ``EngineError``: FILE_NOT_READABLE, or SETTINGS_INVALID for a file with unknown or wrong keys.
    """
    if not os.path.lexists(path):  # most people have none, and reading one costs an import
        return {}
    from clawperator.engine.config.settings_file import load

    return load(path).choices()
