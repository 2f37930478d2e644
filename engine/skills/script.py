"""The script of a skill, its interpreter and its environment (skills.md#running-a-script); no shell is involved."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from clawperator.engine.config.active_profile import load_profile, packed
from clawperator.engine.config.environment import CALLER_PROFILE, OUTPUT_VARIABLE, WAIT_VARIABLE
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.skills.registry import BUILTIN, VARIABLE, Registry, texts_of

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_FIRST_LINE = 4096
_OWN_NAME = "clawperator"
_MODULE = "clawperator.app.cli"


def _of_brands(name: str) -> tuple[str, ...]:
    """The variable as skills of each brand read it."""
    return tuple(f"{brand.upper()}_{name}" for brand in BRANDS)


_COMMAND = (*_of_brands("BIN"), "CLAW_BIN")
_PACKAGE = (*_of_brands("OPERATOR_PACKAGE"), "CLAWPERATOR_RECEIVER_PACKAGE", "RECEIVER_PKG")
_DEVICE = (*_of_brands("DEVICE_ID"), "DEVICE_ID")


@dataclass(frozen=True, slots=True)
class Script:
    """The real ``path`` of a script, and the ``command`` that starts it."""

    path: str
    command: tuple[str, ...]

    def windows_hint(self) -> str:
        """Return what to do about Windows line ends, which shells read as part of their commands; '' for other scripts."""
        if self.path.lower().endswith((".js", ".py")):
            return ""
        try:
            with open_regular(self.path) as file:
                first = file.readline(_FIRST_LINE)
        except OSError:
            return ""
        return (
            f"Its lines end as on Windows. Remove them: sed -i 's/\\r$//' {shlex.quote(self.path)}"
            if first.endswith(b"\r\n")
            else ""
        )


def choose_script(registry: Registry, skill_id: str, env: Mapping[str, str]) -> Script:
    """Return the preferred script of a skill: ``.js`` if node is installed, ``.py``, ``.sh``, else the first.

    Raises ``EngineError``: SKILL_NOT_FOUND, SKILL_SCRIPT_NOT_FOUND, REGISTRY_READ_FAILED (a path outside of the root),
    SKILL_EXECUTION_FAILED with HOST_DEPENDENCY_MISSING in ``details.cause`` if its interpreter is missing.
    """
    scripts = texts_of(registry.get(skill_id), "scripts")
    if not scripts:
        raise EngineError(
            ErrorCode.SKILL_SCRIPT_NOT_FOUND,
            f"Skill {skill_id} defines no script",
            hint="Add one under `scripts`, or run one of its artifacts with --artifact.",
            extra={"skillId": skill_id},
        )
    chosen = _best(scripts, env)
    path = registry.place(skill_id, chosen)
    if not os.path.isfile(path):
        raise EngineError(
            ErrorCode.SKILL_SCRIPT_NOT_FOUND,
            f"Script of skill {skill_id} not found: {path}",
            details={"path": path},
            extra={"skillId": skill_id},
        )
    return Script(path, (*_interpreter(skill_id, chosen, path, env), path))


def _best(scripts: Sequence[str], env: Mapping[str, str]) -> str:
    for suffix in (".js", ".py", ".sh"):
        found = next((script for script in scripts if script.lower().endswith(suffix)), "")
        if found and (suffix != ".js" or _on_path("node", env)):
            return found
    return scripts[0]


def _interpreter(skill_id: str, script: str, path: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the interpreter by the suffix of the script's name; none for an executable."""
    suffix = os.path.splitext(script)[1].lower()
    if suffix == ".js":
        return (_needed(skill_id, "node", env),)
    if suffix == ".py":
        return (sys.executable, "-u")  # unbuffered: output is reported while it runs
    if suffix == ".sh" and not _is_executable(path):
        return (_needed(skill_id, "bash", env),)
    return ()


def _is_executable(path: str) -> bool:
    """Return whether the x-bit is set and the first line names an interpreter."""
    if not os.access(path, os.X_OK):
        return False
    try:
        with open_regular(path) as file:
            return file.read(2) == b"#!"
    except OSError:  # executable but not readable: the kernel reports the problem
        return True


def _needed(skill_id: str, name: str, env: Mapping[str, str]) -> str:
    found = _on_path(name, env)
    if found is None:
        missing = ErrorCode.HOST_DEPENDENCY_MISSING
        raise EngineError(
            ErrorCode.SKILL_EXECUTION_FAILED,
            f"Skill {skill_id} needs {name}, which is not on PATH",
            hint=f"Install {name}, or put it on PATH.",
            details={"cause": missing.value, "dependency": name},
            extra={"skillId": skill_id, "exitCode": 1},
        )
    return found


def _on_path(name: str, env: Mapping[str, str]) -> str | None:
    return shutil.which(name, path=env.get("PATH", os.defpath))


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
    installed = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), _OWN_NAME)
    if not any(map(str.isspace, installed)) and os.path.isfile(installed) and os.access(installed, os.X_OK):
        yield installed
        return
    with TemporaryDirectory(prefix=f"{_OWN_NAME}-") as folder:
        path = os.path.join(folder, _OWN_NAME)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as script:
            script.write(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-m", _MODULE])} "$@"\n')
        os.chmod(path, 0o700)
        yield path
