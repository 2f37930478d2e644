"""``skills install|update|sync`` as command lines, with a real repository."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.engine.skills.repositories import NOBODY, REGISTRY, Repository, registry, skills_of
from tests.support import CLI, Spawn, patience

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

GIT_PATH = os.environ["PATH"]
INTERRUPTED = 130


@pytest.fixture
def upstream(tmp_path: Path, lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository.made(tmp_path / "upstream")
    made.commit("one", {REGISTRY: registry("one")})
    made.git("tag", "v1")
    made.commit("two", {REGISTRY: registry("two")})
    for name, value in {**NOBODY, "PATH": GIT_PATH, "CLAWPERATOR_SKILLS_REPO": made.url}.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return tmp_path / ".clawperator" / "skills"


def test_install(cli: Cli, upstream: Repository, local: Path) -> None:
    run = cli("skills", "install")
    assert run.exit_code == 0
    document = run.document
    assert document.pop("message").startswith("The skills are at main (")
    assert document == {
        "synced": True,
        "skillsDir": str(local),
        "registryPath": str(local / REGISTRY),
        "ref": "main",
        "commit": upstream.head,
        "envInstruction": f'export CLAWPERATOR_SKILLS_REGISTRY="{local / REGISTRY}"',
    }
    assert "fetch: ok" in run.err
    assert [skill["id"] for skill in cli("skills", "list").document["skills"]] == ["two"]


def test_the_line_for_the_shell_survives_any_path(
    cli: Cli, upstream: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = upstream.folder.parent / 'a "b" $(touch x) `c` \\d'
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    document = cli("skills", "install").document
    script = f'{document["envInstruction"]}; printf %s "$CLAWPERATOR_SKILLS_REGISTRY"'
    said = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout == document["registryPath"]


def test_update_and_sync(cli: Cli, upstream: Repository, local: Path) -> None:
    assert cli("skills", "update").document["commit"] == upstream.head
    pinned = cli("skills", "sync", "--ref", "v1").document
    assert (pinned["ref"], pinned["previousCommit"], skills_of(local)) == ("v1", upstream.head, ["one"])
    assert cli("skills", "update", "--ref", "main").exit_code == 0
    assert skills_of(local) == ["two"]


@pytest.mark.usefixtures("upstream")
def test_sync_needs_a_ref(cli: Cli, local: Path) -> None:
    run = cli("skills", "sync")
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert run.document["example"] == "clawperator skills sync --ref main"
    for words in (["--ref"], ["--ref", "-x"], ["--ref=-x"], ["--ref="], ["--ref", "a b"]):
        run = cli("skills", "sync", *words)
        assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert not local.parent.exists()


def test_failures(cli: Cli, upstream: Repository, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = cli("skills", "sync", "--ref", "v9")
    assert (run.exit_code, run.document["code"]) == (1, "SKILLS_SYNC_FAILED")
    assert "v9" in run.document["message"]
    assert cli("skills", "install").exit_code == 0
    (local / REGISTRY).write_text("{}")
    run = cli("skills", "update")
    assert (run.document["code"], run.document["details"]["changes"]) == ("SKILLS_SYNC_FAILED", [REGISTRY])
    monkeypatch.setenv("PATH", "/nowhere")
    assert cli("skills", "update").document["code"] == "SKILLS_GIT_NOT_FOUND"


@pytest.mark.usefixtures("upstream")
def test_progress(cli: Cli) -> None:
    run = cli("skills", "install", "--json-progress")
    stages = [json.loads(line) for line in run.err.splitlines()]
    assert {stage["job"] for stage in stages} == {"skills-sync"}
    assert [stage["stage"] for stage in stages if stage["state"] == "done"][-1] == "done"
    assert run.document["synced"] is True


def test_pretty(cli: Cli, upstream: Repository, local: Path) -> None:
    run = cli("skills", "install", "--output", "pretty")
    assert run.out.startswith(f"in sync  The skills are at main ({upstream.head[:12]})\n  {local / REGISTRY}\n")
    upstream.folder.rename(upstream.folder.parent / "gone")
    assert cli("skills", "sync", "--ref", "v1", "--output", "pretty").out.startswith("offline  The skills are at v1")


@pytest.mark.usefixtures("upstream")
def test_interrupted(cli: Cli, local: Path, spawn: Spawn) -> None:
    """A server that says nothing, and somebody who has waited enough."""
    assert cli("skills", "install").exit_code == 0
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(patience(20))
        url = f"git://127.0.0.1:{server.getsockname()[1]}/x"
        command = [*CLI, "skills", "update"]
        running = spawn(
            command,
            env={**os.environ, "CLAWPERATOR_SKILLS_REPO": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        connection, _ = server.accept()
        with closing(connection):
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=patience(20))
            assert b"Traceback" not in err
            connection.settimeout(patience(20))
            while connection.recv(4096):  # what git asked; then it is gone
                pass
    assert running.returncode == INTERRUPTED
    assert json.loads(out)["code"] == "INTERRUPTED"
    assert skills_of(local) == ["two"]
    assert sorted(path.name for path in local.parent.iterdir() if path.name.startswith(".skills")) == [
        ".skills-sync.lock"
    ]
