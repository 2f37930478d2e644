"""New skills: they pass the checks as they are, run in every language, and leave nothing half-made behind."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills import scaffold
from clawperator.engine.skills.index import write_file
from clawperator.engine.skills.registry import Registry, load_registry, open_registry, read_document
from clawperator.engine.skills.scaffold import new_skill, open_or_make
from clawperator.engine.skills.validation import validate_all
from tests.engine.skills.made import made_registry
from tests.support import OWNER, patience

ID = "com.example.app.read-status"
NODES = "<?xml version='1.0'?><hierarchy><node text='a'><node text='b'/></node></hierarchy>"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    made = made_registry(tmp_path, {"com.z.last": {"run.sh": ""}, "com.a.first": {"run.sh": ""}})
    document = {**json.loads(Path(made.path).read_text()), "owner": "us"}
    Path(made.path).write_text(json.dumps(document))
    return made


def error(registry: Registry, skill_id: str) -> EngineError:
    before = sorted(Path(registry.root).rglob("*"))
    with pytest.raises(EngineError) as caught:
        new_skill(registry, skill_id, guard=OWNER)
    assert sorted(Path(registry.root).rglob("*")) == before
    return caught.value


@pytest.mark.parametrize("lang", ["js", "py", "sh"])
def test_a_new_skill(registry: Registry, lang: str) -> None:
    answer = new_skill(registry, ID, guard=OWNER, summary="Read the status line.", lang=lang)
    folder = Path(registry.root) / "skills" / ID
    assert (answer["created"], answer["skillId"], answer["registryPath"]) == (True, ID, registry.path)
    assert answer["skillPath"] == str(folder)
    assert answer["files"] == [str(path) for path in map(Path, answer["files"]) if path.is_file()]
    assert {path.name for path in folder.rglob("*.*") if path.is_file()} == {
        "SKILL.md",
        "skill.json",
        f"run.{lang}",
        "run.sh",
    }
    for script in (folder / "scripts").iterdir():
        assert stat.S_IMODE(script.stat().st_mode) == 0o755
    known = load_registry(registry.path)
    assert [entry["id"] for entry in known.skills] == ["com.a.first", ID, "com.z.last"]
    assert json.loads(Path(registry.path).read_text())["owner"] == "us"
    assert validate_all(known, dry_run=True)["valid"]
    assert ID in answer["next"]


def test_the_default_summary(registry: Registry) -> None:
    new_skill(registry, ID, guard=OWNER)
    assert load_registry(registry.path).get(ID)["summary"] == f"TODO: describe {ID}"


@given(st.text(max_size=60))
def test_any_summary_is_good_yaml(summary: str) -> None:
    entry = scaffold._entry(ID, scaffold._one_line(summary) or "x", "sh")
    _, front, _ = scaffold._files(entry, "sh")["SKILL.md"].decode().split("---\n", 2)
    assert yaml.safe_load(front) == {"name": ID, "description": entry["summary"]}


@pytest.mark.parametrize(
    "skill_id",
    ["", "nodot", ".read", "com.example.", "com..app.read", "com.example.Read", "com/example.read", "../x.read",
     "com.exa mple.read", "com.\u00e9.read", "com.\ud800.read", "com." + "a" * 200 + ".read", "com.example.re_ad", "a\0.b"],
)  # fmt: skip
def test_ids_that_are_none(registry: Registry, skill_id: str) -> None:
    refused = error(registry, skill_id)
    assert refused.code is ErrorCode.SKILL_ID_INVALID
    assert refused.details["reason"]
    json.dumps(refused.to_dict(), ensure_ascii=False).encode()


def test_what_exists_is_not_made_again(registry: Registry) -> None:
    assert error(registry, "com.a.first").code is ErrorCode.SKILL_ALREADY_EXISTS
    folder = Path(registry.root) / "skills" / ID
    folder.mkdir()
    assert error(registry, ID).code is ErrorCode.SKILL_ALREADY_EXISTS
    folder.rmdir()
    folder.symlink_to("/nowhere")
    assert error(registry, ID).code is ErrorCode.SKILL_ALREADY_EXISTS


def test_two_at_once_are_both_registered(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reads the registry when the other one is about to write it."""
    both = Barrier(2)

    def read_together(path: str) -> dict[str, Any]:
        document = read_document(path)
        with suppress(BrokenBarrierError):
            both.wait(0.5)
        return document

    monkeypatch.setattr("clawperator.engine.skills.scaffold.read_document", read_together)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: new_skill(registry, f"com.m.{name}", guard=OWNER), ("one", "two")))
    ids = [skill["id"] for skill in load_registry(registry.path).skills]
    assert ids == ["com.a.first", "com.m.one", "com.m.two", "com.z.last"]


def test_a_registry_that_another_process_has_just_made_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def too_early(env: dict[str, str], explicit: str | None) -> Registry:
        try:
            return open_registry(env, explicit)
        finally:
            made_registry(tmp_path, {"com.a.first": {"run.sh": ""}})

    monkeypatch.setattr("clawperator.engine.skills.scaffold.open_registry", too_early)
    found, made = open_or_make({"HOME": str(tmp_path)}, None, guard=OWNER)
    assert (len(found.skills), made) == (1, False)


def test_the_skills_that_come_along_stay_as_they_are() -> None:
    known = load_registry("builtin")
    for registry in (known, load_registry(known.path)):
        assert error(registry, ID).code is ErrorCode.SKILLS_SCAFFOLD_FAILED


def test_a_registry_that_cannot_be_written_leaves_no_folder(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, content: bytes) -> None:
        if path == registry.path:
            raise OSError(28, "No space left on device", path)
        write_file(path, content)

    monkeypatch.setattr(scaffold, "write_file", full)
    refused = error(registry, ID)
    assert refused.code is ErrorCode.SKILLS_SCAFFOLD_FAILED
    assert "No space left" in refused.message


def test_a_registry_that_is_broken_meanwhile_leaves_no_folder(registry: Registry) -> None:
    Path(registry.path).write_text("{")
    assert error(registry, ID).code is ErrorCode.REGISTRY_READ_FAILED


def test_a_skills_folder_that_leads_elsewhere_gets_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "skills").symlink_to(outside)
    (outside / "skills-registry.json").write_text('{"skills": []}')
    known = load_registry(str(tmp_path / "root" / "skills" / "skills-registry.json"))
    assert error(known, ID).code is ErrorCode.REGISTRY_READ_FAILED


# -- the scripts, run by what they are written for


STUB = f"""\
#!{sys.executable}
import json, os, sys
text = sys.stdin.read() if "-" in sys.argv else ""
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps({{"argv": sys.argv[1:], "payload": json.loads(text) if text else None}}) + "\\n")
actions = json.loads(text)["actions"] if text else [{{"id": "one", "type": sys.argv[1]}}]
steps = [{{"id": a["id"], "actionType": a["type"], "success": os.environ.get("FAIL") != a["id"],
          "data": {{"text": {NODES!r}, "error": "BROKEN"}}}} for a in actions]
print(json.dumps({{"envelope": {{"status": "success", "stepResults": steps, "error": None}}}}))
"""


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """Says what it was asked, and that everything came true."""
    path = tmp_path / "clawperator stub"
    path.write_text(STUB)
    path.chmod(0o755)
    return path


def ran(registry: Registry, lang: str, stub: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    new_skill(registry, ID, guard=OWNER, lang=lang)
    script = Path(registry.root) / "skills" / ID / "scripts" / "run.sh"
    return subprocess.run(
        [str(script), *arguments],
        env={"PATH": os.environ["PATH"], "CLAWPERATOR_BIN": stub, "CALLS": f"{registry.root}/calls", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(30),
    )


@pytest.mark.parametrize("lang", ["js", "py"])
@pytest.mark.parametrize("device", [(), ("emulator-5554",)])
def test_new_scripts_run_as_one_execution(registry: Registry, stub: Path, lang: str, device: tuple[str, ...]) -> None:
    done = ran(registry, lang, str(stub), *device)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["RESULT|app=com.example.app|nodes=2", "✅ The screen was read."]
    (call,) = map(json.loads, (Path(registry.root) / "calls").read_text().splitlines())
    assert call["argv"] == ["exec", "-", *(["--device", *device] if device else [])]
    assert [action["type"] for action in call["payload"]["actions"]] == [
        "close_app",
        "sleep",
        "open_app",
        "sleep",
        "snapshot_ui",
    ]
    assert call["payload"]["expectedFormat"] == "android-ui-automator"


@pytest.mark.parametrize("lang", ["js", "py"])
def test_new_scripts_take_a_quoted_command_line(registry: Registry, stub: Path, lang: str) -> None:
    done = ran(registry, lang, f"{sys.executable} '{stub}'")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("lang", ["js", "py"])
def test_new_scripts_fail_when_a_step_does(registry: Registry, stub: Path, lang: str) -> None:
    done = ran(registry, lang, str(stub), FAIL="open")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "step open failed: BROKEN" in done.stderr


def test_a_new_shell_script_goes_by_single_commands(registry: Registry, stub: Path, tmp_path: Path) -> None:
    impatient = tmp_path / "sleep"
    impatient.write_text("#!/bin/sh\n")
    impatient.chmod(0o755)
    done = ran(registry, "sh", str(stub), "emulator-5554", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert (done.returncode, done.stderr) == (0, "")
    calls = [json.loads(line)["argv"] for line in (Path(registry.root) / "calls").read_text().splitlines()]
    app, device = "com.example.app", ["--device", "emulator-5554"]
    assert calls == [["close", app, *device], ["open", app, *device], ["snapshot", *device]]
    assert done.stdout.endswith("✅ The screen was read.\n")
