"""A repository of skills to fetch, and where its checkout will be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.skills.repositories import NOBODY, REGISTRY, Repository, registry


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    """Two commits on main, the first of them tagged, and a branch."""
    made = Repository.made(tmp_path / "upstream")
    made.commit("one", {REGISTRY: registry("one"), "skills/one/SKILL.md": "one\n", "skills/one/run.sh": "exit 0\n"})
    made.git("tag", "v1")
    made.git("branch", "topic/a")
    made.commit("two", {REGISTRY: registry("one", "two"), "skills/one/SKILL.md": "two\n"})
    return made


@pytest.fixture
def sync_env(tmp_path: Path, upstream: Repository) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "CLAWPERATOR_SKILLS_REPO": upstream.url,
        **NOBODY,
    }


@pytest.fixture
def local(tmp_path: Path) -> Repository:
    """The checkout, once there is one."""
    return Repository(tmp_path / "home" / ".clawperator" / "skills")
