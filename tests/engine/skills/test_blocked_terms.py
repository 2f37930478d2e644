"""Terms that this user never wants to see in a shared file."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.blocked_terms import BlockedTerms, blocked_path, load_blocked, read_terms


def test_one_literal_term_per_line() -> None:
    blocked = read_terms(["# people", "  Anna  ", "", "\t", "a.b*", "# x"])
    assert blocked.terms == ("anna", "a.b*")
    assert list(blocked.lines("nobody\naxb")) == []
    assert list(blocked.lines("call ANNA\n\nA.B* and anna\n")) == [(1, "anna"), (3, "anna"), (3, "a.b*")]


def test_case_and_accents_as_people_read_them() -> None:
    blocked = read_terms(["STRASSE", "Zo\u00eb"])
    assert list(blocked.found_in("Stra\u00dfe 1")) == ["strasse"]
    assert list(blocked.found_in("zoe\u0308")) == ["zo\u00eb"]


def test_without_a_file_nothing_is_blocked(tmp_path: Path) -> None:
    assert load_blocked({"HOME": str(tmp_path)}) == BlockedTerms()
    assert list(BlockedTerms().lines("anything")) == []


def test_the_file_of_this_user(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    path = Path(blocked_path(env))
    assert path == tmp_path / ".clawperator" / "blocked-terms.txt"
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbfAnna\r\n#Bert\r\nC\xc3\xa9line\r\n")
    assert load_blocked(env).terms == ("anna", "c\u00e9line")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\n" * 600_000, None])
def test_a_blind_guard_says_so(tmp_path: Path, content: bytes | None) -> None:
    path = Path(blocked_path({"HOME": str(tmp_path)}))
    path.parent.mkdir()
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(EngineError) as caught:
        load_blocked({"HOME": str(tmp_path)})
    assert caught.value.code is ErrorCode.FILE_NOT_READABLE
    assert caught.value.details["path"] == str(path)
