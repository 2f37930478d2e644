"""The bundle of one run: what is in it, what ``safe`` leaves out, and that it takes nobody's place."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.bundles import run_bundle
from clawperator.engine.diagnostics import safe_logs
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.history.records import LineRecord
from clawperator.engine.history.store import History
from tests.engine.history.support import a_run, a_tree
from tests.support import OWNER

SECRET = "my bank says 1234"


def a_kept_run(folder: Path, **changes: Any) -> dict[str, Any]:
    """A run as the history hands it out."""
    with History.open(str(folder / "history.db")) as history:
        history.put(a_run(**changes))
        (run,) = history.export()
        return run


def three_trees() -> tuple[Any, ...]:
    return a_tree("a", "<one>ü</one>"), a_tree("b", f"<two>{SECRET}</two>"), a_tree("c", "<one>ü</one>")


def read(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_everything_of_a_run_has_its_file(tmp_path: Path) -> None:
    run = a_kept_run(tmp_path, trees=three_trees())
    target = tmp_path / "run.zip"
    done = run_bundle.write(str(target), run, guard=OWNER)
    found = read(target)
    assert list(found) == [
        "README.txt", "run.json", "payload.json", "envelope.json", "lines.txt", "trees/001.xml", "trees/002.xml",
        "versions.json",
    ]  # fmt: skip
    assert done == (len(found), target.stat().st_size)
    assert json.loads(found["payload.json"]) == run["payload"]
    assert json.loads(found["envelope.json"]) == run["envelope"]
    assert found["trees/001.xml"] == "<one>ü</one>", "equal trees stand there once"
    kept = json.loads(found["run.json"])
    assert [tree["file"] for tree in kept["trees"]] == ["trees/001.xml", "trees/002.xml", "trees/001.xml"]
    assert kept["raw"] == ['{"status":"success"}']
    assert "step_start id=a" in found["lines.txt"]
    assert set(json.loads(found["versions.json"])) == {"clawperator", "python", "system"}
    assert run_bundle.WHOLE in found["README.txt"]
    assert all(name in found["README.txt"] for name in found if name != "README.txt")


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        run_bundle.write(str(tmp_path / "run.zip"), a_kept_run(tmp_path), guard=OWNER)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run.zip").stat().st_mode) == 0o600


def test_safe_leaves_no_text_of_a_screen(tmp_path: Path) -> None:
    payload = {"commandId": "cmd", "actions": [{"id": "a", "type": "enter_text", "params": {"text": SECRET}}]}
    line = LineRecord(1.0, "stage-retry", f"[x] stage_retry id={SECRET}", {"id": SECRET, "attempt": "2/5"})
    run = a_kept_run(tmp_path, trees=three_trees(), payload=payload, raw=(SECRET,), message=SECRET, lines=(line,))
    target = tmp_path / "run.zip"
    run_bundle.write(str(target), run, safe=True, guard=OWNER)
    found = read(target)
    assert [name for name, text in found.items() if SECRET in text] == []
    assert not any(name.startswith("trees/") for name in found)
    assert json.loads(found["payload.json"])["actions"][0]["type"] == "enter_text"
    assert "stage-retry" in found["lines.txt"]
    assert run_bundle.SAFE in found["README.txt"]
    assert run_bundle.WHOLE not in found["README.txt"]


def test_what_is_not_kept_has_no_file(tmp_path: Path) -> None:
    names = [file.name for file in run_bundle.files(a_kept_run(tmp_path, payload=None, envelope=None))]
    assert names == ["README.txt", "run.json", "lines.txt", "versions.json"]


def test_nothing_is_overwritten_or_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_kept_run(tmp_path)
    there = tmp_path / "there.zip"
    there.write_text("mine")
    link = tmp_path / "link.zip"
    link.symlink_to(tmp_path / "nowhere")
    for path in (there, link, tmp_path, tmp_path / "no" / "folder.zip", tmp_path / "nul\0.zip"):
        with pytest.raises(EngineError) as caught:
            run_bundle.write(str(path), run, guard=OWNER)
        expected = ErrorCode.FILE_EXISTS if path in (there, link) else ErrorCode.FILE_NOT_WRITABLE
        assert caught.value.code is expected
    assert there.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EngineError, match="No space left"):
        run_bundle.write(str(tmp_path / "full.zip"), run, guard=OWNER)
    assert not (tmp_path / "full.zip").exists()


ODD = st.text(st.characters(), max_size=30).filter(lambda text: text not in safe_logs.NAMES)
"""Any text, lone surrogates too, but the keys whose texts a safe bundle keeps."""


@given(words=ODD, kind=ODD, xml=ODD, digest=ODD, at=st.none() | st.floats(allow_nan=False))
def test_no_text_of_a_device_names_a_file_or_makes_a_row(
    words: str, kind: str, xml: str, digest: str, at: float | None
) -> None:
    run = {
        "commandId": words,
        "payload": {words: words},
        "envelope": {"stepResults": [words]},
        "raw": [words],
        "lines": [{"at": at, "kind": kind, "text": words, "fields": {words: words}}],
        "trees": [{"stepId": words, "at": at, "digest": digest, "text": xml}],
    }
    for safe in (False, True):
        found = {file.name: file.text for file in run_bundle.files(run, safe=safe)}
        trees = [] if safe else ["trees/001.xml"]
        assert sorted(found) == sorted(
            ["README.txt", "run.json", "payload.json", "envelope.json", "lines.txt", "versions.json", *trees]
        )
        assert found["lines.txt"].endswith("\n")
        assert found["lines.txt"][:-1].isprintable()
        assert json.loads(found["payload.json"]) == (
            {words: f"[{len(words)} characters]" if words else ""} if safe else {words: words}
        )
