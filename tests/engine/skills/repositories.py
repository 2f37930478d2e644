"""Real git repositories to fetch skills from, and a surrounding in which nobody's configuration matters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.sync import SyncResult, sync
from tests.support import patience

NOBODY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.invalid",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.invalid",
}
REGISTRY = "skills/skills-registry.json"
_PATH = os.environ["PATH"]
"""As it was before any test took it away."""


class Repository:
    """A git repository in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def made(cls, folder: Path) -> Repository:
        folder.mkdir(parents=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch=main")
        return made

    @property
    def url(self) -> str:
        return self.folder.as_uri()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            env={"PATH": _PATH, "HOME": str(self.folder), **NOBODY},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(30),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        """Write ``files`` and commit everything; the commit's id."""
        for name, content in (files or {}).items():
            self.write(name, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")


def registry(*ids: str) -> str:
    texts = {"applicationId": "a", "intent": "b", "summary": "c", "path": "skills/d", "skillFile": "skills/d/SKILL.md"}
    return json.dumps({"schemaVersion": "1.0", "skills": [{"id": skill_id, **texts} for skill_id in ids]})


def skills_of(folder: Path) -> list[str]:
    """The ids in the registry of a checkout."""
    document: dict[str, Any] = json.loads((folder / REGISTRY).read_text())
    return [entry["id"] for entry in document["skills"]]


def wrapped_git(folder: Path, script: str) -> dict[str, str]:
    """A PATH on which ``git`` is a shell ``script``; ``$GIT`` in it is the real one."""
    folder.mkdir()
    program = folder / "git"
    program.write_text(f"#!/bin/sh\nGIT='{shutil.which('git')}'\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


# -- synchronising


async def run_sync(env: dict[str, str], ref: str = "main", **rest: Any) -> SyncResult:
    return await sync(Settings(environment=env), ref=ref, **rest)


async def failure(env: dict[str, str], ref: str = "main", **rest: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await run_sync(env, ref, **rest)
    return caught.value


def beside(local: Repository) -> list[str]:
    """What lies in the folder of the checkout."""
    return sorted(os.listdir(local.folder.parent)) if local.folder.parent.exists() else []


CLEAN = [".skills-sync.lock", "skills"]
