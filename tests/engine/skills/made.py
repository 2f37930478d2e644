"""Registries of skills with the scripts that a test needs, and looking for what such scripts have left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from clawperator.engine.skills.registry import Registry, load_registry

PATIENT = 20


def made_registry(root: Path, skills: Mapping[str, Mapping[str, str | bytes]]) -> Registry:
    """A registry below ``root``: per skill its scripts, by file name, with the x-bit set."""
    entries = []
    for skill_id, scripts in skills.items():
        folder = f"skills/{skill_id}"
        (root / folder / "scripts").mkdir(parents=True)
        for name, text in scripts.items():
            path = root / folder / "scripts" / name
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            path.chmod(0o755)
        (root / folder / "SKILL.md").write_text("---\nname: made\ndescription: for a test\n---\n")
        application, _, intent = skill_id.rpartition(".")
        entry = {
            "id": skill_id,
            "applicationId": application,
            "intent": intent,
            "summary": "Made for a test.",
            "path": folder,
            "skillFile": f"{folder}/SKILL.md",
            "scripts": [f"{folder}/scripts/{name}" for name in scripts],
            "artifacts": [],
        }
        (root / folder / "skill.json").write_text(json.dumps(entry))
        entries.append(entry)
    path = root / "skills" / "skills-registry.json"
    registry = {"schemaVersion": "1.0", "generatedAt": "2026-03-01T00:00:00Z", "skills": entries}
    path.write_text(json.dumps(registry))
    return load_registry(str(path))


def declare(made: Registry, skill_id: str, **keys: object) -> Registry:
    """The registry in which the entry of a skill has these keys as well, such as its ``contract``."""
    document = json.loads(Path(made.path).read_text())
    for entry in document["skills"]:
        if entry["id"] == skill_id:
            entry.update(keys)
            (Path(made.root) / entry["path"] / "skill.json").write_text(json.dumps(entry))
    Path(made.path).write_text(json.dumps(document))
    return load_registry(made.path)


def reporting(skill_id: str, *, status: str = "success", text: str = "done") -> str:
    """A script that prints its arguments and reports a result of its own (skills.md#skill-result)."""
    result = {
        "contractVersion": "1.0.0",
        "skillId": skill_id,
        "status": status,
        "result": {"kind": "text", "text": text},
        "checkpoints": [
            {"id": "opened", "status": "ok"},
            {"id": "read", "status": "ok" if status == "success" else "failed"},
        ],
    }
    return f"""#!/bin/sh
printf '[%s]' "$@"
echo
echo '[Androperator-Skill-Result]'
echo '{json.dumps(result)}'
"""


def spoiled_registry(root: Path) -> Registry:
    """One skill ``a.b`` that prints ``ran`` and names an artifact that is missing, and two entries that are none."""
    made = made_registry(root, {"a.b": {"run.sh": "#!/bin/sh\necho ran\n"}})
    document = json.loads(Path(made.path).read_text())
    document["skills"][0]["artifacts"] = ["skills/a.b/artifacts/gone.recipe.json"]
    document["skills"] += [None, {"id": "bad", "path": "../x"}]
    Path(made.path).write_text(json.dumps(document))
    return load_registry(made.path)


def alive(pid: int) -> bool:
    """Whether the process does anything any more; one that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def until(true: Callable[[], object]) -> None:
    """Other processes tell nobody when they have come so far."""
    deadline = time.monotonic() + PATIENT
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


WIDENING = (Path(__file__).parent / "widening.py").read_text()
"""A script that tries to do more than its caller may."""
NARROW = """version = 1
activeProfile = "narrow"
[profiles.narrow.capabilities]
allow = ["observe", "run_skill"]
"""


def check_bound(output: str) -> None:
    """Every way of ``WIDENING`` was refused."""
    codes = json.loads(output)
    unusual = {"broken": "USAGE", "nested run": "SKILL_EXECUTION_FAILED"}
    assert {way: code for way, code in codes.items() if code != unusual.get(way, "CAPABILITY_DENIED")} == {}
