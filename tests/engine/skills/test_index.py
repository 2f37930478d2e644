"""Indexes: what stands in them, that the same folders give the same bytes, and what is refused before anything is written."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills import index
from clawperator.engine.skills.index import build_index, check_index, chosen_time, write_index
from clawperator.engine.skills.registry import builtin_path, load_registry
from tests.engine.skills.made import made_registry
from tests.support import OWNER

AT = "2026-03-01T00:00:00Z"
IDS = ("com.b.read", "com.a.write", "com.a.read")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made_registry(tmp_path, {skill_id: {"run.sh": "#!/bin/sh\n"} for skill_id in IDS})
    return tmp_path


def generated(root: Path, name: str) -> Any:
    return json.loads((root / "skills" / "generated" / name).read_bytes())


def change(root: Path, skill_id: str, **keys: Any) -> None:
    path = root / "skills" / skill_id / "skill.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


def refusal(root: Path) -> list[dict[str, str]]:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(EngineError) as caught:
        write_index(str(root), guard=OWNER)
    assert caught.value.code is ErrorCode.SKILL_VALIDATION_FAILED
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    problems: list[dict[str, str]] = caught.value.details["problems"]
    assert problems[0]["message"] in caught.value.message
    return problems


def test_every_file_of_the_index(root: Path) -> None:
    written = write_index(str(root), guard=OWNER, generated_at=AT)
    assert written.to_dict()["count"] == 3
    ids = sorted(IDS)
    registry = load_registry(str(root / "skills" / "skills-registry.json"))
    assert [entry["id"] for entry in registry.skills] == ids
    head = {"schemaVersion": "1.0", "generatedAt": AT}
    compact = [
        {key: entry[key] for key in ("id", "applicationId", "intent", "summary", "path")} for entry in registry.skills
    ]
    assert generated(root, "skills-index.min.json") == {**head, "count": 3, "skills": compact}
    lines = (root / "skills" / "generated" / "skills-index.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == compact
    assert generated(root, "by-app/com.a.json") == {**head, "applicationId": "com.a", "count": 2, "skills": compact[:2]}
    prefix = hashlib.sha1(b"com.b.read").hexdigest()[:2]
    assert generated(root, f"by-prefix/{prefix}.json") == {**head, "prefix": prefix, "count": 1, "skills": compact[2:]}
    assert sorted(written.files) == sorted(str(path.relative_to(root)) for path in _index_files(root))


def _index_files(root: Path) -> list[Path]:
    files = [path for path in (root / "skills" / "generated").rglob("*") if path.is_file()]
    return [*files, root / "skills" / "skills-registry.json"]


def test_the_manifest_knows_the_bytes_of_the_others(root: Path) -> None:
    write_index(str(root), guard=OWNER, generated_at=AT)
    manifest = generated(root, "manifest.json")
    assert manifest["totalSkills"] == 3
    facts = [*manifest["artifacts"].values(), *manifest["shards"]["byApp"], *manifest["shards"]["byPrefix"]]
    assert set(manifest["artifacts"]) == {"registry", "minIndex", "jsonlIndex"}
    for fact in facts:
        assert hashlib.sha256((root / fact["file"]).read_bytes()).hexdigest() == fact["sha256"]
    assert {fact["file"] for fact in facts} == {
        str(path.relative_to(root)) for path in _index_files(root) if path.name != "manifest.json"
    }
    assert sum(fact["count"] for fact in manifest["shards"]["byPrefix"]) == 3


def test_the_same_folders_give_the_same_bytes(root: Path) -> None:
    first = write_index(str(root), guard=OWNER, generated_at=AT)
    assert build_index(str(root), generated_at=AT) == first
    assert build_index(str(root)) == first  # nothing changed, so the time stays
    change(root, "com.a.read", summary="Changed.")
    moment = datetime.fromisoformat(build_index(str(root)).generated_at)
    assert moment.tzinfo is not None
    assert moment > datetime.fromisoformat(AT)


def test_the_registrys_own_keys_stay(root: Path) -> None:
    path = root / "skills" / "skills-registry.json"
    path.write_text(json.dumps({"$schema": "./s.json", "skills": [], "owner": "us"}))
    write_index(str(root), guard=OWNER, generated_at=AT)
    document = json.loads(path.read_text())
    assert next(iter(document)) == "$schema"
    assert (document["owner"], document["generatedAt"], len(document["skills"])) == ("us", AT, 3)


def test_a_repository_without_a_registry_gets_one(root: Path) -> None:
    (root / "skills" / "skills-registry.json").unlink()
    write_index(str(root), guard=OWNER)
    assert check_index(str(root)) == ()


def test_utility_skills_lie_deeper_and_generated_files_are_no_skills(root: Path) -> None:
    (root / "skills" / "utils").mkdir()
    (root / "skills" / "com.b.read").rename(root / "skills" / "utils" / "read")
    folder = "skills/utils/read"
    change(root, "utils/read", path=folder, skillFile=f"{folder}/SKILL.md", scripts=[f"{folder}/scripts/run.sh"])
    (root / "skills" / "generated").mkdir()
    (root / "skills" / "generated" / "skill.json").write_text("{}")
    assert build_index(str(root)).count == 3


# -- check


def test_differences(root: Path) -> None:
    assert {difference.kind for difference in check_index(str(root))} == {"missing", "stale"}
    write_index(str(root), guard=OWNER, generated_at=AT)
    assert check_index(str(root)) == ()
    folder = root / "skills" / "generated"
    (folder / "manifest.json").unlink()
    (folder / "skills-index.jsonl").write_text("\n" * 100_000)
    (folder / "by-app" / "com.gone.json").write_text("{}")
    (folder / "notes.txt").write_text("not ours")
    assert [difference._asdict() for difference in check_index(str(root))] == [
        {"file": "skills/generated/by-app/com.gone.json", "kind": "unexpected"},
        {"file": "skills/generated/manifest.json", "kind": "missing"},
        {"file": "skills/generated/skills-index.jsonl", "kind": "stale"},
    ]
    write_index(str(root), guard=OWNER)
    assert check_index(str(root)) == ()
    assert (folder / "notes.txt").exists()


def test_the_shipped_index_is_up_to_date() -> None:
    assert check_index(str(Path(builtin_path()).parents[1])) == ()


# -- what is refused


def test_wrong_entries_are_named_by_file_and_path(root: Path) -> None:
    change(root, "com.a.read", path="skills/com.a.other", intent="No!")
    change(root, "com.a.write", scripts=["skills/com.a.write/scripts/gone.js"])
    (root / "skills" / "com.b.read" / "skill.json").write_text("{]")
    problems = refusal(root)
    assert {(problem["file"].split("/")[1], problem["path"]) for problem in problems} >= {
        ("com.a.read", "$.path"),
        ("com.a.read", "$.intent"),
        ("com.a.write", "$.scripts[0]"),
        ("com.b.read", "$"),
    }


def test_two_skills_of_one_id(root: Path) -> None:
    change(root, "com.b.read", id="com.a.read")
    assert "com.a.read" in refusal(root)[0]["message"]


def test_half_a_surrogate_stays_what_it_is(root: Path) -> None:
    change(root, "com.b.read", note="\ud800")
    write_index(str(root), guard=OWNER)
    assert load_registry(str(root / "skills" / "skills-registry.json")).get("com.b.read")["note"] == "\ud800"
    assert check_index(str(root)) == ()


def test_links_lead_nowhere(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "skill.json").write_text("{}")
    (root / "skills" / "linked").symlink_to(elsewhere)
    assert build_index(str(root)).count == 3
    (root / "skills" / "generated").symlink_to(elsewhere)
    with pytest.raises(EngineError) as caught:
        write_index(str(root), guard=OWNER)
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
    assert [path.name for path in elsewhere.iterdir()] == ["skill.json"]


def test_a_disk_that_takes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, _content: bytes) -> None:
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(index, "write_file", full)
    with pytest.raises(EngineError, match="No space left on device") as caught:
        write_index(str(root), guard=OWNER)
    assert caught.value.details["path"].startswith(str(root))


# -- time


def test_the_chosen_time() -> None:
    assert chosen_time(None, {}) is None
    assert chosen_time(AT, {"SOURCE_DATE_EPOCH": "0"}) == AT
    assert chosen_time(None, {"SOURCE_DATE_EPOCH": "0"}) == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("yesterday", {}),
        ("2026-03-01T00:00:00", {}),
        (None, {"SOURCE_DATE_EPOCH": "now"}),
        (None, {"SOURCE_DATE_EPOCH": "9" * 30}),
    ],
)
def test_no_time(text: str | None, env: dict[str, str]) -> None:
    with pytest.raises(EngineError) as caught:
        chosen_time(text, env)
    assert caught.value.code is ErrorCode.USAGE
