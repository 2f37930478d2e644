"""Choose the script of a skill and its interpreter (skills.md#running-a-script); no shell is involved."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.skills.registry import Registry, texts_of

_FIRST_LINE = 4096


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
            f"Its lines end as on Windows. Remove them: sed -i 's/\\r$//' {quote(self.path)}"
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
