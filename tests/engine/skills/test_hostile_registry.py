"""Whatever stands in a registry and in a ``skill.json``: every face of it answers, or refuses with a code of its own."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.app.cli.output import encode
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.artifact import describe_inputs, find_artifact
from clawperator.engine.skills.index import check_index
from clawperator.engine.skills.registry import load_registry, search
from clawperator.engine.skills.script import choose_script
from clawperator.engine.skills.validation import run_warnings, validate_all

KEYS = (
    "id",
    "applicationId",
    "intent",
    "summary",
    "path",
    "skillFile",
    "scripts",
    "artifacts",
    "keywords",
    "agent",
    "contract",
)
PATHS = st.sampled_from(
    ["skills/a.b", "skills/a.b/SKILL.md", "skills/a.b/scripts/run.sh", "skills/a.b/artifacts/x.recipe.json",
     "skills/a.b/artifacts/x.recipe.md", "../x", "/etc/passwd", "skills/a.b/../../..", "\0", "\ud800", "a" * 5_000, "", "."]
)  # fmt: skip
TEXTS = st.text(st.characters(), max_size=8) | PATHS
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | TEXTS, inner, max_size=3),
    max_leaves=6,
)
GOOD: dict[str, Any] = {
    "id": "a.b",
    "applicationId": "a",
    "intent": "b",
    "summary": "A skill.",
    "path": "skills/a.b",
    "skillFile": "skills/a.b/SKILL.md",
    "scripts": ["skills/a.b/scripts/run.sh"],
    "artifacts": ["skills/a.b/artifacts/x.recipe.json", "skills/a.b/artifacts/x.recipe.md"],
}
CHANGES = st.dictionaries(st.sampled_from(KEYS), VALUES | st.lists(PATHS, max_size=3), max_size=3)
ENTRIES = VALUES | CHANGES.map(lambda changes: {**GOOD, **changes})


@given(
    st.lists(ENTRIES, max_size=3),
    st.dictionaries(st.sampled_from(["generatedAt", "schemaVersion"]), VALUES),
    ENTRIES,
    TEXTS,
)
@example([{**GOOD, "artifacts": 5, "scripts": 5, "keywords": 5}], {}, None, "")
def test_any_registry(skills: list[Any], head: dict[str, Any], own: Any, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("SKILL.md", "scripts/run.sh", "artifacts/x.recipe.json", "artifacts/x.recipe.md"):
            path = root / "skills" / "a.b" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
        (root / "skills" / "a.b" / "skill.json").write_text(json.dumps(own))
        registry = root / "skills" / "skills-registry.json"
        registry.write_text(json.dumps({**head, "skills": skills}))
        with suppress(EngineError):
            check_index(folder)
        try:
            loaded = load_registry(str(registry))
        except EngineError as exc:
            encode(exc.to_dict())
            return
        encode({"skills": loaded.skills})
        search(loaded, keyword="a", app=None)
        for entry in loaded.skills:
            for read in (find_artifact, describe_inputs):
                with suppress(EngineError):
                    read(loaded, entry["id"], "x")
            with suppress(EngineError):
                choose_script(loaded, entry["id"], {})
            run_warnings(loaded, entry["id"])
        try:
            encode(validate_all(loaded, dry_run=True))
            encode(loaded.get(text))
        except EngineError as exc:
            encode(exc.to_dict())
