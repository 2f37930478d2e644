"""Which of a skill's scripts runs, and by what (skills.md#running-a-script). There is never a shell in between."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.writing import open_regular
from clawperator.engine.skills.registry import Registry


@dataclass(frozen=True, slots=True)
class Script:
    """``path`` is the real file of the script, ``command`` what starts it; arguments go behind."""

    path: str
    command: tuple[str, ...]


def choose_script(registry: Registry, skill_id: str, env: Mapping[str, str]) -> Script:
    """The script of a skill that this computer can run best: ``.js`` where there is node, ``.py``, ``.sh``, else the first.

    Raises ``EngineError``: SKILL_NOT_FOUND, SKILL_SCRIPT_NOT_FOUND, REGISTRY_READ_FAILED (a path that leaves the root),
    SKILL_EXECUTION_FAILED with HOST_DEPENDENCY_MISSING in ``details.cause`` where its interpreter is missing.
    """
    listed = registry.get(skill_id).get("scripts")
    scripts = [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
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
    """What reads the script; nothing where it starts by itself. Its name says what it is, wherever a link leads."""
    suffix = os.path.splitext(script)[1].lower()
    if suffix == ".js":
        return (_needed(skill_id, "node", env),)
    if suffix == ".py":
        return (sys.executable, "-u")  # unbuffered: its output is watched while it runs
    if suffix == ".sh" and not _starts_by_itself(path):
        return (_needed(skill_id, "bash", env),)
    return ()


def _starts_by_itself(path: str) -> bool:
    """Whether the x-bit is set and its first line names an interpreter, without which only a shell would run it."""
    if not os.access(path, os.X_OK):
        return False
    try:
        with open_regular(path) as file:
            return file.read(2) == b"#!"
    except OSError:  # may be run, but not be read: then the kernel says what is wrong
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
