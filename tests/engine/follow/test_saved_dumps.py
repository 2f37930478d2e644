from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from clawperator.engine.errors import ErrorCode
from clawperator.engine.follow import saved_dumps
from clawperator.engine.follow.saved_dumps import read_dump
from clawperator.engine.hierarchy import tree as parser
from tests.engine.hierarchy.test_tree_corpus import DOCTYPE, MALFORMED
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
MEGABYTE = 1024 * 1024


@table("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.stem)
def test_a_clean_dump(path: Path) -> None:
    dump = read_dump(str(path))
    assert dump.problem is None
    assert dump.tree is dump.readable()
    assert dump.tree.recovered == ""
    assert dump.path == str(path)
    assert dump.xml.encode() == path.read_bytes().removeprefix(b"\xef\xbb\xbf")


@table("path", sorted((DATA / "malformed").glob("*.xml")), ids=lambda path: path.stem)
def test_a_damaged_dump_opens_labelled_or_says_why_not(path: Path) -> None:
    check_damaged(path)


def test_every_dump_of_the_corpus(corpus: Path) -> None:
    clean = sorted((corpus / "hierarchies").glob("*.xml"))
    damaged = sorted((corpus / "hierarchies" / "malformed").glob("*.xml"))
    assert len(clean) > 50
    assert len(damaged) > 10
    for path in clean:
        if path.name != DOCTYPE:
            assert read_dump(str(path)).readable().recovered == "", path.name
    for path in [*damaged, corpus / "hierarchies" / DOCTYPE]:
        check_damaged(path)


def check_damaged(path: Path) -> None:
    dump = read_dump(str(path))
    label = MALFORMED[path.name][2] if path.name in MALFORMED else ""
    if dump.tree is not None:
        assert dump.problem is None
        assert label in dump.tree.recovered
        assert dump.tree.recovered
        return
    assert dump.problem is not None
    assert dump.problem.code is ErrorCode.HIERARCHY_MALFORMED
    assert dump.problem.details["file"] == str(path)
    assert dump.problem.details["reason"]
    assert label == ""


def test_utf16_is_decoded_for_people_too() -> None:
    dump = read_dump(str(DATA / "malformed" / "derived-utf16le-bom-crlf-powershell-redirect.xml"))
    assert dump.xml.startswith("<?xml")
    assert "\0" not in dump.xml


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'<hierarchy><node text="a"/></hierarchy>')))
    dump = read_dump("-")
    assert [node.text for node in dump.readable().nodes] == ["a"]


def test_a_stdin_that_is_closed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    problem = read_dump("-").problem
    assert problem is not None
    assert problem.message == "Failed to read the saved UI tree on stdin: it is closed"


@pytest.mark.parametrize("missing", ["nothing.xml", "", "a\0b", "folder", "x" * 5000])
def test_what_cannot_be_read_is_named(tmp_path: Path, missing: str) -> None:
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / missing) if missing else ""
    problem = read_dump(path).problem
    assert problem is not None
    assert problem.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert problem.message.startswith(f"Failed to read the saved UI tree {path}: ")
    assert "stdin" in problem.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_of_someone_else(tmp_path: Path) -> None:
    path = tmp_path / "secret.xml"
    path.touch(mode=0o000)
    problem = read_dump(str(path)).problem
    assert problem is not None
    assert "Permission denied" in problem.message


def test_an_endless_file_is_refused_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_BYTES", MEGABYTE)
    monkeypatch.setattr(saved_dumps, "MAX_BYTES", MEGABYTE)
    dump = read_dump("/dev/zero")
    assert dump.problem is not None
    assert dump.problem.code is ErrorCode.HIERARCHY_TOO_LARGE
    assert dump.problem.details["maxBytes"] == MEGABYTE
    assert dump.xml == ""


def answer(*steps: object) -> bytes:
    return json.dumps({"ok": True, "envelope": {"status": "success", "stepResults": list(steps)}}).encode()


def snapshot(text: object) -> dict[str, object]:
    return {"id": "s", "actionType": "snapshot_ui", "success": True, "data": {"text": text}}


class TestSavedAnswers:
    def test_the_last_snapshot_of_an_execution_is_the_dump(self, tmp_path: Path) -> None:
        path = tmp_path / "answer.json"
        read = {"id": "r", "actionType": "read_text", "success": True, "data": {"text": "<hierarchy/>"}}
        xml = '<hierarchy><node text="a 🦾"/></hierarchy>'
        path.write_bytes(answer(snapshot("<hierarchy/>"), snapshot(xml), read))
        dump = read_dump(str(path))
        assert [node.text for node in dump.readable().nodes] == ["a 🦾"]
        assert (dump.xml, dump.readable().recovered) == (xml, "")

    @pytest.mark.parametrize(
        "data",
        [
            b"{",
            b"{}",
            b"[" * 5000,
            b"{" * 5000,
            b'{"a":' * 20_000,
            b'{"envelope":[]}',
            b'{"envelope":{"stepResults":[5]}}',
            b'{"code":"NO_DEVICES","message":"No connected devices","retryable":false}',
            answer(),
            answer(snapshot(5)),
            answer({"id": "s", "actionType": "snapshot_ui", "success": False, "data": {"error": "x"}}),
        ],
    )
    def test_other_json_is_no_dump(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "answer.json"
        path.write_bytes(data)
        problem = read_dump(str(path)).problem
        assert problem is not None
        assert (problem.code, problem.details["reason"]) == (ErrorCode.HIERARCHY_MALFORMED, "no_document")


def large(path: Path, *, nodes: int, size: int) -> Path:
    """A dump of ``nodes`` siblings that takes ``size`` bytes."""
    row = b'<node text="%s" bounds="[0,0][10,10]" />\n'
    text = b"x" * (size // nodes - len(row))
    with path.open("wb") as stream:
        stream.write(b"<hierarchy rotation='0'>\n<node bounds='[0,0][10,10]'>\n")
        stream.writelines([row % text] * nodes)
        stream.write(b"</node></hierarchy>\n")
    return path


@pytest.mark.timeout(40)
@pytest.mark.ci
def test_fifty_megabytes_are_read(tmp_path: Path) -> None:
    path = large(tmp_path / "large.xml", nodes=100_000, size=50 * MEGABYTE)
    assert path.stat().st_size > 49 * MEGABYTE
    assert len(read_dump(str(path)).readable().nodes) == 100_001


@pytest.mark.timeout(40)
@pytest.mark.ci
def test_fifty_megabytes_of_small_nodes_are_refused_in_time(tmp_path: Path) -> None:
    problem = read_dump(str(large(tmp_path / "large.xml", nodes=500_000, size=50 * MEGABYTE))).problem
    assert problem is not None
    assert problem.code is ErrorCode.HIERARCHY_TOO_LARGE
    assert problem.details["maxNodes"] == parser.MAX_NODES


def test_a_box_too_large_to_write_down_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    edge = "9" * 4300  # as many digits as Python reads, so that the sum of two has more than it writes
    path.write_text(f'{{"bounds": {{"x": {edge}, "y": 0, "width": {edge}, "height": 1}}, "text": "a"}}')
    (node,) = read_dump(str(path)).readable().nodes
    assert node.text == "a"
    assert node.bounds.empty
