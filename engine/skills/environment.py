"""The environment of a skill's script: the caller's, the variables of both generations of skills (settings.md#environment), and the
command by which it runs Clawperator.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from clawperator.engine.config.active_profile import load_profile, packed
from clawperator.engine.config.environment import CALLER_PROFILE, OUTPUT_VARIABLE, WAIT_VARIABLE
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.skills.registry import BUILTIN, VARIABLE, Registry

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_NAME = "clawperator"
_MODULE = "clawperator.app.cli"


def _of_brands(name: str) -> tuple[str, ...]:
    """The variable as skills of each brand read it."""
    return tuple(f"{brand.upper()}_{name}" for brand in BRANDS)


_COMMAND = (*_of_brands("BIN"), "CLAW_BIN")
_PACKAGE = (*_of_brands("OPERATOR_PACKAGE"), "CLAWPERATOR_RECEIVER_PACKAGE", "RECEIVER_PKG")
_DEVICE = (*_of_brands("DEVICE_ID"), "DEVICE_ID")


def script_environment(
    settings: Settings,
    registry: Registry,
    skill_id: str,
    command: str,
    device_id: str | None,
    *,
    package: str,
    run_id: str,
) -> dict[str, str]:
    """Return the variables of the script of ``skill_id``, which runs Clawperator by ``command``.

    The settings of this call, from flags too, apply to the calls of the script: device, package, policy, logs, registry. The
    policy profile cannot be changed by them, and their output is JSON unless a flag asks for another. Without a device, the caller's
    variables are kept; without a ``package``, each call of the script uses the Operator app that is installed. Raises ``EngineError`` for
    an unusable policy.
    """
    chosen: dict[str, str] = {
        **dict.fromkeys(_COMMAND, command),
        **dict.fromkeys(_of_brands("SKILL_RUN_ID"), run_id),
        "CLAWPERATOR_SKILL_ID": skill_id,
        OUTPUT_VARIABLE: "json",
        CALLER_PROFILE: packed(load_profile(settings)),
        VARIABLE: BUILTIN if registry.source == BUILTIN else registry.path,
    }
    if package:
        chosen |= dict.fromkeys(_PACKAGE, package)
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
        "CLAWPERATOR_BACKEND": settings.backend if settings.backend_chosen else "",
        "CLAWPERATOR_ALLOW_UNBIND": "1" if settings.allow_unbind else "",
        "CLAWPERATOR_COMPRESSED": "1" if settings.compressed else "",
        "CLAWPERATOR_INPUT_METHOD": settings.input_method,
        "CLAWPERATOR_LOG_DIR": settings.log_dir,
        "CLAWPERATOR_LOG_LEVEL": settings.log_level,
        "CLAWPERATOR_SAFE_LOGS": "1" if settings.safe_logs else "",
        "CLAWPERATOR_NO_HISTORY": "" if settings.history_enabled else "1",
        "ADB_PATH": settings.adb_path,
        WAIT_VARIABLE: str(settings.wait_ms or ""),
    }


@contextmanager
def own_command() -> Iterator[str]:
    """Yield the path of this installation's command while the script runs: one without blanks, because scripts split it.

    It is the one next to the interpreter, else a temporary script that calls the interpreter (``python -m``, or a path with
    blanks). PATH is not searched: a command of the same name may be another program.
    """
    installed = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), _NAME)
    if not any(map(str.isspace, installed)) and os.path.isfile(installed) and os.access(installed, os.X_OK):
        yield installed
        return
    with TemporaryDirectory(prefix=f"{_NAME}-") as folder:
        path = os.path.join(folder, _NAME)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as script:
            script.write(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-m", _MODULE])} "$@"\n')
        os.chmod(path, 0o700)
        yield path
