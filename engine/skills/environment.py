"""The environment of a skill's script (settings.md#environment): the caller's, and what both generations of skills look for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clawperator.engine.config.active_profile import load_profile, packed
from clawperator.engine.config.policy import CALLER_PROFILE
from clawperator.engine.config.settings import WAIT_VARIABLE
from clawperator.engine.skills.registry import BUILTIN, VARIABLE, Registry

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_COMMAND = ("CLAWPERATOR_BIN", "CLAW_BIN")
_PACKAGE = ("CLAWPERATOR_OPERATOR_PACKAGE", "CLAWPERATOR_RECEIVER_PACKAGE", "RECEIVER_PKG")
_DEVICE = ("CLAWPERATOR_DEVICE_ID", "DEVICE_ID")


def script_environment(
    settings: Settings, registry: Registry, skill_id: str, command: str, device_id: str | None
) -> dict[str, str]:
    """The variables of the script of ``skill_id``, which calls back by ``command``.

    What was chosen here, by flags too, holds for the calls that the script makes: device, package, policy, logs, registry. The
    profile of the policy binds them whatever they choose. Raises ``EngineError`` where the policy cannot be used.
    Where no device is chosen, the caller's own variables stay as they are.
    """
    chosen: dict[str, str] = {
        **dict.fromkeys(_COMMAND, command),
        **dict.fromkeys(_PACKAGE, settings.receiver_package),
        "CLAWPERATOR_SKILL_ID": skill_id,
        CALLER_PROFILE: packed(load_profile(settings)),
        VARIABLE: BUILTIN if registry.source == BUILTIN else registry.path,
    }
    if device := device_id or settings.device_id:
        chosen |= dict.fromkeys(_DEVICE, device)
    for variable, value in _limits(settings).items():
        if value:
            chosen[variable] = value
    return {**settings.environment, **chosen}


def _limits(settings: Settings) -> Mapping[str, str]:
    """What may be done and what is written down about it; an empty value is left to the caller's environment."""
    return {
        "CLAWPERATOR_POLICY": settings.policy_path,
        "CLAWPERATOR_POLICY_PROFILE": settings.policy_profile,
        "CLAWPERATOR_LOG_DIR": settings.log_dir,
        "CLAWPERATOR_LOG_LEVEL": settings.log_level,
        "CLAWPERATOR_SAFE_LOGS": "1" if settings.safe_logs else "",
        "CLAWPERATOR_NO_HISTORY": "" if settings.history_enabled else "1",
        "ADB_PATH": settings.adb_path,
        WAIT_VARIABLE: str(settings.wait_ms or ""),
    }
