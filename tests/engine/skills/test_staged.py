"""What a commit would add, asked of the real git, and the hook that pre-commit runs."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import yaml

from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.blocked_terms import BlockedTerms, read_terms
from clawperator.engine.skills.lint import LintRules, lint_history, lint_staged
from clawperator.engine.skills.staged import StagedFile, committed_lines, staged_files
from tests.engine.skills.repositories import NOBODY, Repository
from tests.support import patience

RULES = LintRules(date(2026, 3, 1), DEFAULT, BlockedTerms())


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.made(tmp_path / "repository")
    made.commit("one", {"old.sh": "# emulator-5554\necho 1\n", "gone": "emulator-5554\n"})
    return made


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **NOBODY}


async def staged(repository: Repository, env: dict[str, str]) -> dict[str, StagedFile]:
    return {file.name: file for file in await staged_files(env, str(repository.folder))}


async def test_nothing_is_staged(repository: Repository, env: dict[str, str]) -> None:
    repository.write("old.sh", "changed, not staged\n")
    repository.write("new", "not known to git\n")
    assert await staged(repository, env) == {}


async def test_only_what_is_added(repository: Repository, env: dict[str, str]) -> None:
    repository.write("old.sh", "# emulator-5554\necho 2\n\necho 3")
    repository.write("gone", "")
    repository.git("add", "--all")
    repository.write("old.sh", "# later, not staged\n")
    files = await staged(repository, env)
    assert files == {"old.sh": StagedFile("old.sh", b"# emulator-5554\necho 2\n\necho 3", frozenset({2, 3, 4}))}
    assert lint_staged(files.values(), RULES) == []


async def test_literals_of_new_lines_alone(repository: Repository, env: dict[str, str]) -> None:
    repository.write("old.sh", "# emulator-5554\necho 1\n# emulator-5556\n")
    repository.write("new.md", "a\njane@example.com\n")
    repository.git("add", "--all")
    findings = lint_staged((await staged(repository, env)).values(), RULES)
    assert [(finding.file, finding.line, finding.code) for finding in findings] == [
        ("new.md", 2, "L-LITERAL-EMAIL"),
        ("old.sh", 3, "L-LITERAL-SERIAL"),
    ]


async def test_a_recipe_that_no_longer_compiles(repository: Repository, env: dict[str, str]) -> None:
    """By a line that goes: nothing is added where it hurts."""
    repository.commit(
        "recipe", {"a.recipe.md": "---\nrecipe_id: a\n---\n## Step\n```yaml\nid: a\n```\nemulator-5554\n"}
    )
    repository.write("a.recipe.md", "recipe_id: a\n---\n## Step\n```yaml\nid: a\n```\nemulator-5554\nmore\n")
    repository.git("add", "--all")
    findings = lint_staged((await staged(repository, env)).values(), RULES)
    assert [finding.code for finding in findings] == ["RECIPE_PARSE_FAILED"]


NAMES = [
    'quo"te',
    "tab\there",
    "new\nline",
    "uml\u00e4ut",
    " blank ",
    "-dash",
    ":colon",
    "diff --git a b",
    "\U0001f600",
]


async def test_strange_names_and_contents(repository: Repository, env: dict[str, str]) -> None:
    content = "@@ -1 +1 @@\ndiff --git a/x b/x\n+++ b/y\n\\ No newline at end of file\n\n--- a/z"
    for name in NAMES:
        repository.write(name, content)
    (repository.folder / "binary").write_bytes(b"\0emulator-5554\n")
    (repository.folder / "bytes").write_bytes(b"\xff\xfe\r\n\x1b[31m\r\nx")
    repository.git("add", "--all")
    files = await staged(repository, env)
    assert set(files) == {*NAMES, "bytes"}
    assert all(files[name].content == content.encode() for name in NAMES)
    assert files["bytes"].content == b"\xff\xfe\r\n\x1b[31m\r\nx"
    assert all(file.added == frozenset(range(1, file.content.count(b"\n") + 2)) for file in files.values())


async def test_kinds_of_changes(repository: Repository, env: dict[str, str]) -> None:
    repository.commit("two", {"mode": "x\n", "renamed": "1\n2\n3\nemulator-5554\n", "becomes": "file\n"})
    (repository.folder / "mode").chmod(0o755)
    repository.git("mv", "renamed", "elsewhere")
    (repository.folder / "becomes").unlink()
    (repository.folder / "becomes").symlink_to("/home/jane/x")
    repository.git("rm", "--quiet", "gone")
    inner = Repository.made(repository.folder / "inner")
    inner.commit("inner")
    repository.git("add", "--all")
    files = await staged(repository, env)
    assert set(files) == {"elsewhere", "becomes"}  # moved is new to whoever reads that place
    assert files["becomes"] == StagedFile("becomes", b"/home/jane/x", frozenset({1}))


async def test_before_the_first_commit(tmp_path: Path, env: dict[str, str]) -> None:
    empty = Repository.made(tmp_path / "empty")
    empty.write("a", "1\n")
    empty.git("add", "a")
    assert (await staged(empty, env))["a"].added == {1}


async def test_no_ones_configuration_matters(repository: Repository, env: dict[str, str]) -> None:
    for name, value in (
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("color.diff", "always"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.renames", "copies"),
        ("diff.context", "0"),
        ("diff.submodule", "log"),
        ("core.quotePath", "false"),
        ("diff.x.textconv", "false"),
        ("diff.mnemonicPrefix", "true"),
    ):
        repository.git("config", name, value)
    repository.commit("two", {".gitattributes": "*.sh diff=x\n", "long.sh": "1\n\n3\n\n5\n"})
    repository.write("long.sh", "1\n\n3\n\nfive\n")
    repository.git("add", "--all")
    assert (await staged(repository, env))["long.sh"] == StagedFile("long.sh", b"1\n\n3\n\nfive", frozenset({5}))


async def test_outside_of_any_repository(tmp_path: Path, env: dict[str, str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    fenced = {**env, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    with pytest.raises(EngineError) as caught:
        await staged_files(fenced, str(outside))
    assert caught.value.code is ErrorCode.USAGE


async def test_the_history_is_looked_through(repository: Repository, env: dict[str, str]) -> None:
    repository.commit("for Anna", {"sub/ä b.md": "one\nask ANNA\n++ b/anna\n", "gone": "x\n"})
    first = repository.head[:12]
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit("three", {"sub/ä b.md": "one\n"})
    lines, cut = await committed_lines(env, str(repository.folder))
    found = lint_history(lines, read_terms(["Anna", "never"]))
    assert not cut
    assert [(finding.file, finding.line, finding.code) for finding in found] == [
        (f"{first}:commit message", 1, "L-LITERAL-BLOCKED"),
        (f"{first}:sub/ä b.md", 2, "L-LITERAL-BLOCKED"),
        (f"{first}:sub/ä b.md", 3, "L-LITERAL-BLOCKED"),
    ]


def _entry(hook: str) -> str:
    """The command of a hook that the repository offers to pre-commit."""
    hooks = yaml.safe_load((Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text())
    (entry,) = (each["entry"] for each in hooks if each["id"] == hook)
    assert isinstance(entry, str)
    return entry


async def test_a_commit_is_refused(repository: Repository, env: dict[str, str], tmp_path: Path) -> None:
    """The real thing: git runs the hook, the hook runs us, and the commit does not come about."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    own = binaries / "clawperator"
    own.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clawperator.app.cli "$@"\n')
    own.chmod(0o755)
    blocked = tmp_path / ".clawperator" / "blocked-terms.txt"
    blocked.parent.mkdir()
    blocked.write_text("Anna\n")
    surrounded = {**env, "PATH": f"{binaries}{os.pathsep}{env['PATH']}"}
    hook = repository.write(".git/hooks/pre-commit", f"#!/bin/sh\nexec {_entry('clawperator-skills-lint')}\n")
    hook.chmod(0o755)

    def commit(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(repository.folder), "commit", "--message", "x", *arguments]
        return subprocess.run(
            command, env=surrounded, capture_output=True, text=True, check=False, timeout=patience(30)
        )

    before = repository.head
    repository.write("new.md", "for ANNA\n")
    repository.write("other.md", "fine\n")
    repository.git("add", "--all")
    refused = commit()
    assert refused.returncode == 1
    said = refused.stdout + refused.stderr
    assert "new.md:1: L-LITERAL-BLOCKED this text contains the blocked term anna" in said
    assert repository.head == before
    only = commit("--only", "other.md")  # git makes an index of its own for this: the other file is not in it
    assert only.returncode == 0, only.stdout + only.stderr
    assert repository.head != before
