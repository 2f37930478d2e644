"""Fetching the skills with the real git: what arrives, what is refused, and that a checkout never breaks."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clawperator.engine.errors import ErrorCode
from clawperator.engine.files.lock import FileLock
from clawperator.engine.progress import Stage
from clawperator.engine.skills.checkout import StagedCheckout
from clawperator.engine.skills.git import environment, reason
from clawperator.engine.skills.sync import REPOSITORY, checked_ref, repository
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
from tests.support import varied

# -- what arrives


async def test_the_first_time(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    done = await run_sync(sync_env)
    assert (done.commit, done.before, done.offline) == (upstream.head, "", False)
    assert skills_of(local.folder) == ["one", "two"]
    assert local.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert local.git("status", "--porcelain") == ""
    document = done.to_dict()
    assert document.pop("message").startswith("The skills are at main (")
    assert document == {
        "synced": True,
        "skillsDir": str(local.folder),
        "registryPath": str(local.folder / REGISTRY),
        "ref": "main",
        "commit": upstream.head,
    }
    assert beside(local) == CLEAN


async def test_news_arrive(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    before = (await run_sync(sync_env)).commit
    upstream.commit("three", {REGISTRY: registry("three"), "skills/new/SKILL.md": "new\n"})
    upstream.git("rm", "--quiet", "skills/one/run.sh")
    upstream.commit("four")
    done = await run_sync(sync_env)
    assert (done.commit, done.before) == (upstream.head, before)
    assert done.to_dict()["previousCommit"] == before
    assert skills_of(local.folder) == ["three"]
    assert not (local.folder / "skills/one/run.sh").exists()
    assert local.git("status", "--porcelain") == ""
    assert "up to date" in (await run_sync(sync_env)).message
    assert beside(local) == CLEAN


async def test_a_pinned_ref_and_back(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    first = upstream.git("rev-parse", "v1")
    assert (await run_sync(sync_env, "v1")).commit == first
    assert skills_of(local.folder) == ["one"]
    assert local.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert (await run_sync(sync_env, "topic/a")).commit == first
    assert local.git("symbolic-ref", "HEAD") == "refs/heads/topic/a"
    assert (await run_sync(sync_env, first[:10])).commit == first
    assert (await run_sync(sync_env)).commit == upstream.head
    assert skills_of(local.folder) == ["one", "two"]


async def test_a_tag_that_moved_and_a_branch_that_became_a_folder(
    sync_env: dict[str, str], upstream: Repository, local: Repository
) -> None:
    upstream.git("branch", "feature")
    await run_sync(sync_env, "v1")
    upstream.git("tag", "--force", "v1", "main")
    upstream.git("branch", "--delete", "--force", "feature")
    upstream.git("branch", "feature/x")
    assert (await run_sync(sync_env, "v1")).commit == upstream.head
    assert (await run_sync(sync_env, "feature/x")).commit == upstream.head


async def test_a_repository_without_a_main(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    upstream.git("branch", "--move", "main", "trunk")
    assert (await run_sync(sync_env)).commit == upstream.head
    assert local.git("symbolic-ref", "HEAD") == "refs/heads/trunk"


async def test_what_is_ones_own_stays(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    upstream.commit("ignore", {".gitignore": "*.env\n"})
    await run_sync(sync_env)
    local.write("skills/one/SKILL.md", "put away\n")
    local.git("stash")
    local.git("branch", "mine")
    local.write("secret.env", "TOKEN=1\n")
    local.write("skills/draft/SKILL.md", "not yet added\n")
    (local.folder / "link").symlink_to("nowhere")
    upstream.commit("five", {"five": "5"})
    await run_sync(sync_env)
    assert local.git("stash", "list").startswith("stash@{0}")
    assert "mine" in local.git("branch", "--list", "mine")
    assert (local.folder / "secret.env").read_text() == "TOKEN=1\n"
    assert (local.folder / "skills/draft/SKILL.md").read_text() == "not yet added\n"
    assert os.readlink(local.folder / "link") == "nowhere"
    assert (local.folder / "five").read_text() == "5"


async def test_stages_begin_and_end_once(sync_env: dict[str, str], upstream: Repository) -> None:
    reported: list[Stage] = []
    await run_sync(sync_env, on_progress=reported.append)
    names = ["check_git", "fetch", "checkout", "verify", "replace", "done"]
    assert [stage.name for stage in reported if stage.state == "done"] == names
    assert any(stage.fraction == 1.0 for stage in reported)
    reported.clear()
    await run_sync(sync_env, on_progress=reported.append)
    assert [stage.name for stage in reported if stage.state == "done"] == ["check_git", "check_changes", *names[1:]]
    reported.clear()
    await failure(sync_env, "no-such-ref", on_progress=reported.append)
    assert [stage.name for stage in reported if stage.state == "failed"] == ["checkout"]


async def test_a_link_to_the_checkout(sync_env: dict[str, str], local: Repository, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "skills"
    elsewhere.mkdir(parents=True)
    local.folder.parent.mkdir(parents=True)
    local.folder.symlink_to(elsewhere)
    for _ in range(2):
        done = await run_sync(sync_env)
        assert (local.folder.is_symlink(), done.skills_dir) == (True, str(elsewhere))
        assert skills_of(local.folder) == ["one", "two"]


# -- where from


async def test_origin_is_added_where_there_is_none(
    sync_env: dict[str, str], upstream: Repository, local: Repository
) -> None:
    await run_sync(sync_env)
    local.git("remote", "remove", "origin")
    await run_sync(sync_env)
    assert local.git("remote", "get-url", "origin") == upstream.url


async def test_another_repository(
    sync_env: dict[str, str], upstream: Repository, local: Repository, tmp_path: Path
) -> None:
    await run_sync(sync_env)
    fork = Repository(tmp_path / "fork")
    upstream.git("clone", "--quiet", str(upstream.folder), str(fork.folder))
    fork.commit("fork", {REGISTRY: registry("fork")})
    await run_sync({**sync_env, "CLAWPERATOR_SKILLS_REPO": fork.url})
    assert skills_of(local.folder) == ["fork"]
    # what was chosen once stays, as long as nobody chooses anew
    await run_sync({name: value for name, value in sync_env.items() if name != "CLAWPERATOR_SKILLS_REPO"})
    assert local.git("remote", "get-url", "origin") == fork.url


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/skills.git",
        "ssh://git@example.com:22/skills",
        "git@example.com:owner/skills.git",
        "file:///srv/skills",
        "/srv/skills",
    ],
)
def test_urls(url: str) -> None:
    assert repository({"CLAWPERATOR_SKILLS_REPO": url}) == (url, True)
    assert repository({}) == repository({"CLAWPERATOR_SKILLS_REPO": ""}) == (REPOSITORY, False)


@pytest.mark.parametrize(
    "url",
    [
        "--upload-pack=touch /tmp/x",
        "-oProxyCommand=x@host:path",
        "ext::sh -c touch% /tmp/x",
        "fd::3",
        "ftp://example.com/x",
        "https://example.com/a b",
        "https://example.com/\n",
        "skills",
        "../skills",
        "ssh://",
        "git@host",
        "file://\x1b[2J",
    ],
)
async def test_hostile_urls(sync_env: dict[str, str], url: str, local: Repository) -> None:
    error = await failure({**sync_env, "CLAWPERATOR_SKILLS_REPO": url, "PATH": "/nowhere"})
    assert (error.code, error.details) == (ErrorCode.USAGE, {"variable": "CLAWPERATOR_SKILLS_REPO"})
    assert beside(local) == []


@pytest.mark.parametrize(
    "ref", ["", "-f", "--upload-pack=x", "a b", "a\n", "a;b", "main^", "@{u}", "a..b", "$(x)", "é", "a" * 300, "a\0b"]
)
async def test_hostile_refs(sync_env: dict[str, str], ref: str, local: Repository) -> None:
    error = await failure({**sync_env, "PATH": "/nowhere"}, ref)
    assert error.code is ErrorCode.USAGE
    assert beside(local) == []


@pytest.mark.parametrize("ref", ["main", "v1.2.0", "topic/a-b_c", "1a2b3c4", "HEAD"])
def test_refs(ref: str) -> None:
    assert checked_ref(ref) == ref


async def test_a_file_is_no_ref(sync_env: dict[str, str], local: Repository) -> None:
    """``git checkout skills`` alone would put files back and call that a success."""
    await run_sync(sync_env)
    error = await failure(sync_env, "skills")
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert "skills" in error.message


# -- what is refused, and what stays


@pytest.mark.parametrize("staged", [False, True])
async def test_own_changes_are_not_overwritten(
    sync_env: dict[str, str], upstream: Repository, local: Repository, staged: bool
) -> None:
    await run_sync(sync_env)
    changed = local.write("skills/one/SKILL.md", "mine\n")
    if staged:
        local.git("add", "--all")
    upstream.commit("three", {REGISTRY: registry("three")})
    error = await failure(sync_env)
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert error.details["changes"] == ["skills/one/SKILL.md"]
    assert changed.read_text() == "mine\n"
    assert skills_of(local.folder) == ["one", "two"]
    assert beside(local) == CLEAN


async def test_an_untracked_file_in_the_way(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    await run_sync(sync_env)
    mine = local.write("skills/new/SKILL.md", "mine\n")
    upstream.commit("three", {"skills/new/SKILL.md": "theirs\n"})
    error = await failure(sync_env)
    assert "skills/new/SKILL.md" in error.message
    assert mine.read_text() == "mine\n"


async def test_own_commits_that_diverge(sync_env: dict[str, str], upstream: Repository, local: Repository) -> None:
    await run_sync(sync_env)
    mine = local.commit("mine", {"mine": "1"})
    assert (await run_sync(sync_env)).commit == mine  # ahead of the repository: nothing to do
    upstream.commit("three", {REGISTRY: registry("three")})
    error = await failure(sync_env)
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert ".skills-sync" not in error.message
    assert (local.head, skills_of(local.folder)) == (mine, ["one", "two"])


@varied(
    "content",
    [
        "{",
        "[]",
        '{"skills":{}}',
        None,
        "\x00",
        "[" * 100_000,
    ],
    always=2,
)
async def test_a_ref_without_a_usable_registry(
    sync_env: dict[str, str], upstream: Repository, local: Repository, content: str | None
) -> None:
    before = (await run_sync(sync_env)).commit
    if content is None:
        upstream.git("rm", "--quiet", REGISTRY)
        upstream.commit("none")
    else:
        upstream.commit("broken", {REGISTRY: content})
    error = await failure(sync_env)
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert str(local.folder / REGISTRY) in error.message
    assert ".skills-sync" not in error.message
    assert (local.head, skills_of(local.folder)) == (before, ["one", "two"])
    assert beside(local) == CLEAN


async def test_the_first_time_without_a_registry_leaves_nothing(
    sync_env: dict[str, str], upstream: Repository, local: Repository
) -> None:
    upstream.commit("broken", {REGISTRY: "{"})
    assert (await failure(sync_env)).code is ErrorCode.SKILLS_SYNC_FAILED
    assert (await failure(sync_env, "nope")).code is ErrorCode.SKILLS_SYNC_FAILED
    assert beside(local) == [".skills-sync.lock"]
    assert (await run_sync(sync_env, "v1")).ref == "v1"


async def test_bad_entries_are_reported_and_the_others_come(sync_env: dict[str, str], upstream: Repository) -> None:
    document = json.loads(registry("one"))
    document["skills"] += [1, {"id": "x", "path": "../../x"}]
    upstream.commit("bad entries", {REGISTRY: json.dumps(document)})
    warnings = (await run_sync(sync_env)).to_dict()["warnings"]
    assert [warning["path"] for warning in warnings] == ["$.skills[1]", "$.skills[2]"]


async def test_something_else_in_its_place(sync_env: dict[str, str], local: Repository) -> None:
    local.write("note.txt", "mine")
    error = await failure(sync_env)
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert str(local.folder) in error.message
    assert beside(local) == CLEAN
    (local.folder / "note.txt").unlink()
    assert skills_of(Path((await run_sync(sync_env)).skills_dir)) == ["one", "two"]


async def test_without_git(sync_env: dict[str, str], local: Repository) -> None:
    assert (await failure({**sync_env, "PATH": "/nowhere"})).code is ErrorCode.SKILLS_GIT_NOT_FOUND


async def test_a_git_that_does_not_work(sync_env: dict[str, str], tmp_path: Path) -> None:
    broken = wrapped_git(tmp_path / "bin", "echo 'error while loading shared libraries' >&2; exit 127")
    error = await failure({**sync_env, **broken})
    assert error.code is ErrorCode.SKILLS_GIT_NOT_FOUND
    assert "shared libraries" in error.message


async def test_one_at_a_time(sync_env: dict[str, str], local: Repository) -> None:
    await run_sync(sync_env)
    lock = FileLock(str(local.folder.parent / ".skills-sync.lock"))
    try:
        assert lock.try_acquire()
        assert "Another process" in (await failure(sync_env)).message
    finally:
        lock.close()
    await run_sync(sync_env)


# -- without a network


async def test_offline(sync_env: dict[str, str], upstream: Repository, local: Repository, tmp_path: Path) -> None:
    before = (await run_sync(sync_env)).commit
    upstream.folder.rename(tmp_path / "gone")
    pinned = await run_sync(sync_env, "v1")
    assert (pinned.offline, pinned.to_dict()["offline"]) == (True, True)
    assert skills_of(local.folder) == ["one"]
    assert (await run_sync(sync_env, before)).commit == before
    assert (await run_sync(sync_env, before[:12])).offline
    error = await failure(sync_env)  # what main is now cannot be known
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert before[:12] in error.hint
    assert (await failure(sync_env, "v9")).code is ErrorCode.SKILLS_SYNC_FAILED
    assert (local.head, skills_of(local.folder)) == (before, ["one", "two"])


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Takes connections and says nothing, for ever."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield listener


def silent(sync_env: dict[str, str], server: socket.socket) -> dict[str, str]:
    return {**sync_env, "CLAWPERATOR_SKILLS_REPO": f"git://127.0.0.1:{server.getsockname()[1]}/skills"}


async def test_a_server_that_says_nothing(
    sync_env: dict[str, str], local: Repository, silent_server: socket.socket
) -> None:
    before = (await run_sync(sync_env)).commit
    error = await failure(silent(sync_env, silent_server), seconds=0.5)
    assert error.code is ErrorCode.SKILLS_SYNC_FAILED
    assert "did not end within 0.5 s" in error.message
    assert local.head == before
    assert beside(local) == CLEAN


@pytest.mark.parametrize("installed", [False, True])
async def test_cancelled_while_it_waits(
    sync_env: dict[str, str], local: Repository, silent_server: socket.socket, installed: bool
) -> None:
    if installed:
        await run_sync(sync_env)
    task = asyncio.create_task(run_sync(silent(sync_env, silent_server)))
    silent_server.setblocking(False)
    connection, _ = await asyncio.get_running_loop().sock_accept(silent_server)
    with closing(connection):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        connection.settimeout(5)
        while connection.recv(4096):  # git has asked its question; then it is gone
            pass
    assert beside(local) == (CLEAN if installed else [".skills-sync.lock"])
    if installed:
        assert skills_of(local.folder) == ["one", "two"]


async def test_cancelled_when_it_is_done(
    sync_env: dict[str, str], upstream: Repository, local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new checkout is in its place: saying that nothing happened would be wrong."""
    await run_sync(sync_env)
    upstream.commit("three", {REGISTRY: registry("three")})
    loop, replace = asyncio.get_running_loop(), StagedCheckout.replace

    def interrupted(self: StagedCheckout) -> None:
        loop.call_soon_threadsafe(task.cancel)
        replace(self)

    monkeypatch.setattr(StagedCheckout, "replace", interrupted)
    task = asyncio.create_task(run_sync(sync_env))
    assert (await task).commit == upstream.head
    assert skills_of(local.folder) == ["three"]


# -- git's surroundings


async def test_git_asks_no_one_and_obeys_no_surroundings(
    sync_env: dict[str, str], upstream: Repository, local: Repository, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    script = f'env >> "{seen}"; echo "ARGS $*" >> "{seen}"\nexec "$GIT" "$@"'
    strange = {"GIT_DIR": str(upstream.folder / ".git"), "GIT_WORK_TREE": str(tmp_path), "GIT_INDEX_FILE": "x"}
    surrounded = {**sync_env, **strange, **wrapped_git(tmp_path / "bin", script)}
    await run_sync(surrounded)
    await run_sync(surrounded)
    reported = seen.read_text().splitlines()
    assert "GIT_TERMINAL_PROMPT=0" in reported
    assert not [line for line in reported if line.startswith(tuple(f"{name}=" for name in strange))]
    assert all("core.hooksPath=/dev/null" in line for line in reported if line.startswith("ARGS"))
    assert skills_of(local.folder) == ["one", "two"]


async def test_hooks_do_not_run(
    sync_env: dict[str, str], upstream: Repository, local: Repository, tmp_path: Path
) -> None:
    await run_sync(sync_env)
    for name in ("post-checkout", "post-merge", "reference-transaction"):
        hook = local.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
        hook.chmod(0o755)
    upstream.commit("three", {REGISTRY: registry("three")})
    await run_sync(sync_env)
    assert not (tmp_path / "ran").exists()


def test_words_without_progress_and_credentials() -> None:
    said = (
        "Cloning into '/x'...\nremote: Enumerating objects: 8, done.\nReceiving objects:  50% (1/2)\r"
        "Receiving objects: 100% (2/2), done.\nfatal: unable to access 'https://me:secret@example.com/x/': \x1b[31mno\n"
    )
    assert reason(said) == "fatal: unable to access 'https://example.com/x/': \x1b[31mno"
    assert len(reason("x" * 100_000)) <= 1000


def test_surroundings_stay_for_hooks() -> None:
    assert environment({"GIT_INDEX_FILE": "x"}, inherit=True)["GIT_INDEX_FILE"] == "x"
    assert "GIT_INDEX_FILE" not in environment({"GIT_INDEX_FILE": "x"})
