"""Settings: flags > environment > settings file > default."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.config.environment import (
    DEVICE_VARIABLES,
    HISTORY_DAYS,
    HISTORY_MEGABYTES,
    IMAGE_SECONDS,
    LOG_LEVEL_VARIABLE,
    OUTPUT_VARIABLE,
    POLICY_VARIABLES,
    WAIT_VARIABLE,
    can_write,
    check_variables,
    config_folder,
    is_on,
    runtime_folder,
    user_home,
    wait_limit,
)
from clawperator.engine.contracts.limits import BACKENDS, PACKAGE
from clawperator.engine.contracts.operator_identity import AGENT_ACTION, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "device_id": DEVICE_VARIABLES,
    "receiver_package": ("CLAWPERATOR_OPERATOR_PACKAGE", "CLAWPERATOR_RECEIVER_PACKAGE"),
    "backend": ("CLAWPERATOR_BACKEND",),
    "input_method": ("CLAWPERATOR_INPUT_METHOD",),
    "action_agent_command": ("CLAWPERATOR_AGENT_ACTION",),
    "adb_path": ("ADB_PATH",),
    "policy_path": POLICY_VARIABLES[:1],
    "policy_profile": POLICY_VARIABLES[1:],
    "log_dir": ("CLAWPERATOR_LOG_DIR",),
    "log_level": (LOG_LEVEL_VARIABLE,),
    "wait_ms": (WAIT_VARIABLE,),
    "output": (OUTPUT_VARIABLE,),
}
_SWITCHES = {
    "history_enabled": ("CLAWPERATOR_NO_HISTORY", False),
    "safe_logs": ("CLAWPERATOR_SAFE_LOGS", True),
    "allow_unbind": ("CLAWPERATOR_ALLOW_UNBIND", True),
    "compressed": ("CLAWPERATOR_COMPRESSED", True),
}
"""Variables that are switches, and the value that they set when they are on."""


class Chosen(NamedTuple):
    """A value and its source (``flag``, ``env``, ``file`` or ``default``), with the name of an environment variable."""

    value: Any
    source: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an ``Engine``.

    ``device_id`` and ``adb_path`` are empty if not chosen. ``backend`` is one of ``BACKENDS``; ``allow_unbind``: the stock backend may
    unbind the Operator's accessibility service while it reads a screen, ``compressed``: it leaves out decoration; ``input_method`` types there what keys cannot. ``lock_dir`` does not depend on XDG variables where the home
    can be written: all processes of this user must share it.
    The history is kept for ``history_days`` and up to ``history_megabytes``. ``read_only``: executions that act on a device are
    refused. ``policy_path`` is empty for the optional file in the config folder; ``policy_profile`` is empty for the file's
    active one. ``safe_logs``: no texts of screens in the log, the history and exports. ``skills_registry`` is the registry
    file of a flag, or ``builtin``; if empty, the environment is read. ``package_chosen``: ``receiver_package`` was set, so no
    other variant may replace it; ``backend_chosen``: by a flag or the environment, so no device's profile replaces ``backend``. ``wait_ms`` is the default wait for a locked device. ``accepted_versions`` are additional
    compatible ``major.minor`` of Operator apps. ``warm_auto``: the command line starts a warm process if there
    is none. ``devices`` are the known devices by alias. ``environment`` gives the adb server's address.
    """

    device_id: str = ""
    receiver_package: str = RELEASE_PACKAGE
    backend: str = BACKENDS[0]
    allow_unbind: bool = False
    compressed: bool = False
    input_method: str = ""
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
    output: str = "json"
    safe_logs: bool = False
    skills_registry: str = ""
    package_chosen: bool = False
    backend_chosen: bool = False
    wait_ms: int = 0
    accepted_versions: tuple[str, ...] = ()
    emulator_supported_abis: tuple[str, ...] = ()
    emulator_image_seconds: int = IMAGE_SECONDS
    warm_auto: bool = False
    devices: Mapping[str, DeviceProfile] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def trees_folder(self) -> str:
        """The folder of the recent trees, to which references refer; empty where no screen's text may be stored."""
        stored = self.history_enabled and self.history_path and not self.safe_logs
        return os.path.join(os.path.dirname(self.history_path), "trees") if stored else ""

    def serial_of(self, name: str) -> str:
        """Return the serial of the device with this alias; any other ``name`` is a serial already."""
        return self.devices[name].serial if name in self.devices else name

    def backend_of(self, serial: str) -> str:
        """Return the backend for a device: the chosen one, that of the device's profile, or that of all devices."""
        if self.backend_chosen:
            return self.backend
        profiles = (profile.backend for profile in self.devices.values() if profile.serial == serial)
        return next(filter(None, profiles), self.backend)

    def placed(self) -> Self:
        """Return these settings with this process's environment and its folder of locks, unless ``resolve`` made them."""
        if self.lock_dir:
            return self
        env = self.environment or dict(os.environ)
        return replace(self, environment=env, lock_dir=_lock_folder(env))

    def with_options(self, **options: Any) -> Self:
        """Return these settings with the ``options`` of a call: ``wait_ms``, ``backend``, ``allow_unbind``."""
        return replace(self, **options, backend_chosen=self.backend_chosen or "backend" in options)

    @classmethod
    def resolve(
        cls,
        flags: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        file: str | None = None,
    ) -> Self:
        """Return settings from ``flags`` (``None`` and empty texts are absent), ``env`` (default: the process's) and ``file``.

        ``file`` is the path of a settings.toml; ``None`` reads none, and a missing file is an empty one.

        Raises ``EngineError``: FILE_NOT_READABLE, SETTINGS_INVALID for a file with unknown or wrong keys, or that of
        ``check_variables``.
        """
        environment = os.environ if env is None else env
        check_variables(environment, [name for name, value in (flags or {}).items() if _given(value)])
        found = choices(flags or {}, environment, read_settings_file(file) if file else {})
        values = {name: choice.value for name, choice in found.items()}
        values["wait_ms"] = wait_limit(values["wait_ms"], found["wait_ms"].variable or "waitMs")
        values["backend"] = backend_name(values["backend"])
        values["backend_chosen"] = found["backend"].source in ("flag", "env")
        values["package_chosen"] = found["receiver_package"].source != "default"
        chosen = cls(**values, environment=dict(environment))
        return replace(chosen, device_id=chosen.serial_of(chosen.device_id))


def choices(flags: Mapping[str, Any], env: Mapping[str, str], file: Mapping[str, Any]) -> dict[str, Chosen]:
    """Return every setting with its source. ``file`` comes from ``read_settings_file``."""
    places = {
        "lock_dir": _lock_folder(env),
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
        elif name in _SWITCHES and is_on(env, _SWITCHES[name][0]):
            found[name] = Chosen(_SWITCHES[name][1], "env", _SWITCHES[name][0])
        elif _given(file.get(name)):
            found[name] = Chosen(file[name], "file")
        elif item.default is not MISSING:
            found[name] = Chosen(places.get(name, item.default), "default")
    return found


def _given(value: object) -> bool:
    return value is not None and value != ""


def package_name(text: str) -> str:
    """Return ``text`` if it is a package name: a leading dash, for example, would be an option for the device's tools.

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


def backend_name(value: object) -> str:
    """Return ``value`` if it is one of ``BACKENDS``. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    if isinstance(value, str) and value in BACKENDS:
        return value
    message = f"backend must be {' or '.join(BACKENDS)}"
    hint = "The stock backend needs no app on the device."
    raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={"path": "backend"})


# -- folders


def home_folder(env: Mapping[str, str]) -> str:
    """Return ``~/.clawperator``, which the contract names for locks, skills, downloads and logs."""
    return os.path.join(user_home(env), ".clawperator")


def usual_lock_folder(env: Mapping[str, str]) -> str:
    """Return ``~/.clawperator/locks``, whether or not it can be written."""
    return os.path.join(home_folder(env), "locks")


def _lock_folder(env: Mapping[str, str]) -> str:
    """Return the usual folder of locks, or one in the runtime folder where the home cannot be written.

    What stands in the way in a home that can be written, such as files of another user, is an error of its own: two programs
    that lock different files would not exclude each other.
    """
    usual = usual_lock_folder(env)
    return usual if can_write(usual) or can_write(user_home(env)) else os.path.join(runtime_folder(env), "locks")


def state_folder(env: Mapping[str, str]) -> str:
    """Return the platform's state folder in environment ``env``: history, drafts, crash reports.

    It equals ``platformdirs.user_state_dir``, which supports only the process's own environment.
    """
    if sys.platform == "darwin":
        return os.path.join(user_home(env), "Library", "Application Support", "clawperator")
    return os.path.join(
        env.get("XDG_STATE_HOME", "").strip() or os.path.join(user_home(env), ".local", "state"), "clawperator"
    )


def console_folder(env: Mapping[str, str]) -> str:
    """Return the folder of the console's drafts."""
    return os.path.join(state_folder(env), "console")


def crash_path(env: Mapping[str, str]) -> str:
    """Return the path of the console's last crash report."""
    return os.path.join(console_folder(env), "console-crash.txt")


def themes_folder() -> str:
    """Return the folder of the user's themes for the console."""
    return os.path.join(config_folder(), "themes")


def read_settings_file(path: str) -> dict[str, Any]:
    """Return the values of a settings file by the names of ``Settings``' fields; ``{}`` without a file.

    Raises ``EngineError``: FILE_NOT_READABLE, or SETTINGS_INVALID for a file with unknown or wrong keys.
    """
    if not os.path.lexists(path):  # the import for reading one is slow
        return {}
    from clawperator.engine.config.settings_file import load

    return load(path).choices()
