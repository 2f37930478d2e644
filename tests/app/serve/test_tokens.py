"""The token file: made for its user alone, and refused where others can read it or a line means nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.serve.tokens import Tokens, open_tokens
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.errors import EngineError, ErrorCode
from tests.support import table

TOKEN = "0123456789abcdef"


def written(folder: Path, text: str, mode: int = 0o600) -> str:
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_one_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "below" / "tokens"
    tokens, made = open_tokens(str(path))
    assert made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token, owner = path.read_text().split()
    assert owner == "owner"
    assert len(token) >= 40
    assert tokens.caller(f"Bearer {token}") == Caller("owner")
    assert open_tokens(str(path))[1] is False
    assert path.read_text().split()[0] == token


def test_names_and_profiles(tmp_path: Path) -> None:
    tokens, _ = open_tokens(written(tmp_path, f"\n# who\n{TOKEN}\n{TOKEN}1 anna\n{TOKEN}2 bot watching\n"))
    assert tokens.caller(f"Bearer {TOKEN}") == Caller()
    assert tokens.caller(f"bearer  {TOKEN}1 ") == Caller("anna")
    assert tokens.caller(f"Bearer {TOKEN}2") == Caller("bot", "watching")
    assert tokens.profiles() == {"watching"}


@table("header", ["", TOKEN, f"Basic {TOKEN}", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer{TOKEN}", "Bearer é"])
def test_no_one(header: str) -> None:
    assert Tokens({TOKEN: Caller("a")}).caller(header) is None


@given(st.text(max_size=80))
def test_only_the_token_itself_opens(text: str) -> None:
    tokens = Tokens({TOKEN: Caller("a")})
    assert (tokens.caller(f"Bearer {text}") is not None) == (text.strip() == TOKEN)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(EngineError, match="read by others") as refused:
        open_tokens(written(tmp_path, f"{TOKEN}\n", mode))
    assert refused.value.code is ErrorCode.TOKEN_FILE_INVALID
    assert "chmod 600" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no token"),
        ("# nothing\n", "has no token"),
        ("short\n", ":1: a token has at least"),
        (f"{TOKEN}\nsecrets with spaces in\n", ":2:"),
        (f"{TOKEN} name profile more\n", ":1: only a name and a profile may follow"),
        (f"{TOKEN} na/me\n", ":1: only a name and a profile may follow"),
        (f"{TOKEN} a\n{TOKEN} b\n", ":2: this token appears twice"),
        ("x" * 70_000, "longer than"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(EngineError) as refused:
        open_tokens(written(tmp_path, text))
    assert words in refused.value.message
    assert TOKEN not in refused.value.message


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be read"):
        open_tokens(str(tmp_path))
