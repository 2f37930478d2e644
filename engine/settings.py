"""Settings, resolved once: flags > environment > settings file > default.

Resolving reads the environment (and the settings file, when asked to) at the call; importing reads nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.identity import AGENT_ACTION, RELEASE_PACKAGE

_ENVIRONMENT = {
    "device_id": ("CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL"),
    "receiver_package": ("CLAWPERATOR_OPERATOR_PACKAGE", "CLAWPERATOR_RECEIVER_PACKAGE"),
    "action_agent_command": ("CLAWPERATOR_AGENT_ACTION",),
    "adb_path": ("ADB_PATH",),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What an ``Engine`` needs to know about its surroundings.

    ``device_id`` and ``adb_path`` are empty where nothing chose one. ``lock_dir`` is the one folder that every process of
    this user shares, whatever its XDG variables say: moving it would let two processes drive one device.
    ``environment`` is what the adb bridge resolves its server address from.
    """

    device_id: str = ""
    receiver_package: str = RELEASE_PACKAGE
    action_agent_command: str = AGENT_ACTION
    adb_path: str = ""
    lock_dir: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def resolve(
        cls,
        flags: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        file: str | None = None,
    ) -> Self:
        """Settings from ``flags`` (``None`` and empty values count as absent), ``env`` (default: the process's own) and ``file``.

        ``file`` is the path of a settings.toml; ``None`` reads none, and a missing file is an empty one.

        Raises ``EngineError`` (USAGE) for a file that cannot be read or has unknown or wrong keys.
        """
        environment = os.environ if env is None else env
        chosen: dict[str, Any] = read_settings_file(file) if file else {}
        for name, variables in _ENVIRONMENT.items():
            value = next((environment[variable] for variable in variables if environment.get(variable)), "")
            if value:
                chosen[name] = value
        known = {item.name for item in fields(cls)}
        chosen.update({name: value for name, value in (flags or {}).items() if name in known and value})
        chosen.setdefault("lock_dir", os.path.join(home_folder(environment), "locks"))
        return cls(**{**chosen, "environment": dict(environment)})


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


def home_folder(env: Mapping[str, str]) -> str:
    """``~/.clawperator``: what the contract names there (locks, skills, downloads, logs) stays there on every system."""
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), ".clawperator")


def settings_path() -> str:
    """Where settings.toml is looked for: the platform's config folder."""
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("clawperator"), "settings.toml")


def read_settings_file(path: str) -> dict[str, Any]:
    """The settings of one file by field name; ``{}`` where there is no file."""
    try:
        with open(path, "rb") as stream:
            import tomllib

            values = tomllib.load(stream)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, RecursionError) as exc:  # ValueError: no TOML, or no UTF-8
        raise EngineError(ErrorCode.USAGE, f"Settings file {path} cannot be read: {exc}") from exc
    unknown = sorted(set(values) - set(_ENVIRONMENT))
    if unknown:
        raise EngineError(
            ErrorCode.USAGE,
            f"Settings file {path} has unknown keys: {', '.join(unknown)}",
            hint=f"Known keys: {', '.join(sorted(_ENVIRONMENT))}",
            details={"path": path, "invalidKeys": unknown},
        )
    for name, value in values.items():
        if not isinstance(value, str):
            raise EngineError(ErrorCode.USAGE, f"Settings file {path}: {name} must be a string", details={"path": name})
    return values
