"""Whatever stands on the command line: one JSON document or help, a known exit code, and never a traceback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawperator.app.cli import dispatch
from clawperator.app.cli.command import Answer, Command, build_parser, load
from clawperator.app.cli.command_table import COMMANDS
from tests.support import examples

if TYPE_CHECKING:
    from types import SimpleNamespace

    from tests.app.cli.conftest import Cli

WORDS = sorted({word for words in COMMANDS for word in words.split()})
FLAGS = sorted({name for words in COMMANDS for name in build_parser(load(words)).flags})
VALUES = ["json", "pretty", "5", "-1", "{}", "-", "--", "", "x y", "--text=1", "execution", "bash"]
TOKENS = st.sampled_from(WORDS + FLAGS + VALUES) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=8
)
TOKENS |= st.builds("{}={}".format, st.sampled_from(FLAGS), st.sampled_from(VALUES))


class Harmless(Command):
    """Any command's flags, and nothing behind them."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.flags = load(words).flags

    def run(self, options: SimpleNamespace) -> Answer:
        return Answer({"ran": self.words, "options": sorted(vars(options))})


@settings(
    max_examples=examples(400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(TOKENS, max_size=7))
@pytest.mark.cold
def test_every_line_has_one_answer(cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "load", Harmless)
        run = cli(*arguments)
    assert run.err == ""
    assert run.exit_code in (0, 1)
    if run.exit_code:
        assert "Traceback" not in run.out
    if run.out[:1] == "{" and "pretty" not in " ".join(arguments):
        document = json.loads(run.out)
        assert ("code" in document) is (run.exit_code == 1)
        assert document.get("code") in (None, "USAGE", "UNKNOWN_COMMAND", "EXECUTION_VALIDATION_FAILED")


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(sorted(COMMANDS)), st.sampled_from([flag for flag in FLAGS if len(flag) > 2]), st.data())
@pytest.mark.cold
def test_a_misspelt_flag_never_reaches_a_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: str, flag: str, data: st.DataObject
) -> None:
    position = data.draw(st.integers(2, len(flag) - 1))
    misspelt = flag[:position] + data.draw(st.sampled_from("abcxyz-")) + flag[position + 1 :]
    if misspelt in build_parser(load(words)).flags or misspelt == "--":
        return
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "load", Harmless)
        run = cli(*words.split(), misspelt)
    assert run.exit_code == 1
    assert run.document["message"].startswith(f"unrecognized flag '{misspelt}'")
