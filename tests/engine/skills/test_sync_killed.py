"""Whoever brings the skills up to date may be killed at any moment: the skills that were there stay usable."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clawperator.engine.errors import ErrorCode
from clawperator.engine.skills import checkout
from tests.engine.skills.repositories import (
    CLEAN,
    REGISTRY,
    Repository,
    beside,
    failure,
    registry,
    run_sync,
    skills_of,
    wrapped_git,
)
from tests.support import patience

STEPS = [(step, True) for step in ("status", "fetch", "checkout", "merge")] + [("checkout", False), ("merge", False)]


@pytest.mark.parametrize(("step", "before"), STEPS)
@pytest.mark.ci
def test_killed_at_any_step(
    sync_env: dict[str, str], upstream: Repository, local: Repository, tmp_path: Path, step: str, before: bool
) -> None:
    """Whoever is killed leaves the old skills usable, and the next one does not trip over what lies around."""
    first = asyncio.run(run_sync(sync_env)).commit
    upstream.commit("three", {REGISTRY: registry("three")})
    hit = f'case " $* " in *" {step} "*)'
    kill = "kill -KILL $PPID; exit 1;;\nesac"
    script = f'{hit} {kill}\nexec "$GIT" "$@"' if before else f'"$GIT" "$@"; code=$?\n{hit} {kill}\nexit $code'
    killer = {**sync_env, **wrapped_git(tmp_path / "bin", script)}
    code = (
        "import asyncio, os; from clawperator.engine.config.settings import Settings\n"
        "from clawperator.engine.skills.sync import sync\n"
        "asyncio.run(sync(Settings(environment=dict(os.environ)), ref='main'))"
    )
    died = subprocess.run(
        [sys.executable, "-c", code], env=killer, check=False, timeout=patience(30), capture_output=True
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (local.head, skills_of(local.folder)) == (first, ["one", "two"])
    assert local.git("status", "--porcelain") == ""
    assert asyncio.run(run_sync(sync_env)).commit == upstream.head
    assert skills_of(local.folder) == ["three"]
    assert beside(local) == CLEAN


async def test_killed_between_two_renames(sync_env: dict[str, str], local: Repository) -> None:
    """Where names cannot be exchanged in one step, there is a moment without a checkout; the next run ends it."""
    await run_sync(sync_env)
    place = local.folder.parent / ".skills-sync"
    place.mkdir()
    local.folder.rename(place / "old")
    assert not (await run_sync(sync_env, "v1")).offline
    assert skills_of(local.folder) == ["one"]
    assert beside(local) == CLEAN


async def test_systems_that_cannot_exchange(
    sync_env: dict[str, str], upstream: Repository, local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_sync(sync_env)
    upstream.commit("three", {REGISTRY: registry("three")})
    monkeypatch.setattr(checkout, "_exchange", lambda *_: False)
    rename = os.rename
    moves: list[str] = []

    def failing(source: str, target: str) -> None:
        moves.append(target)
        if len(moves) == 2:
            raise PermissionError(13, "no", target)
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        assert (await failure(sync_env)).code is ErrorCode.SKILLS_SYNC_FAILED
    assert (len(moves), skills_of(local.folder)) == (3, ["one", "two"])
    await run_sync(sync_env)
    assert skills_of(local.folder) == ["three"]
    assert beside(local) == CLEAN


def test_exchanging_is_one_step(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    assert checkout._exchange(str(one), str(other)) is sys.platform.startswith(("linux", "darwin"))
    assert ((one / "name").read_text(), (other / "name").read_text()) == ("other", "one")
    with pytest.raises(OSError, match="No such file"):
        checkout._exchange(str(one), str(tmp_path / "missing"))
