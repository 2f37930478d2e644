"""The environment of a skill's script: the caller's, and the variables of both generations of skills (settings.md#environment)."""

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
    """Return the variables of the script of ``skill_id``, which runs Clawperator by ``command``.

    The settings of this call, from flags too, apply to the calls of the script: device, package, policy, logs, registry. The
    policy profile cannot be changed by them. Without a device, the caller's variables are kept. Raises ``EngineError`` for
    an unusable policy.
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
    """Return policy and log settings; an empty value keeps the caller's variable."""
    return {
        "CLAWPERATOR_POLICY": settings.policy_path,
        "CLAWPERATOR_POLICY_PROFILE": settings.policy_profile,
        "CLAWPERATOR_BACKEND": settings.backend,
        "CLAWPERATOR_ALLOW_UNBIND": "1" if settings.allow_unbind else "",
        "CLAWPERATOR_LOG_DIR": settings.log_dir,
        "CLAWPERATOR_LOG_LEVEL": settings.log_level,
        "CLAWPERATOR_SAFE_LOGS": "1" if settings.safe_logs else "",
        "CLAWPERATOR_NO_HISTORY": "" if settings.history_enabled else "1",
        "ADB_PATH": settings.adb_path,
        WAIT_VARIABLE: str(settings.wait_ms or ""),
    }
