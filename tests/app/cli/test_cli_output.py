"""Bytes on stdout: compact, complete, harmless to terminals."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.cli import dispatch
from clawperator.app.cli.output import encode, stated_format, visible
from clawperator.app.cli.pretty import draw
from tests.support import table

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HOSTILE = "\x1b[31mred\x1b[0m \x9b31m bell\a rtl\u202eevil\u2066 del\x7f [bold]markup[/] \ud800"


@given(st.dictionaries(st.text(st.characters()), JSON))
def test_json_comes_back_as_it_went(document: dict[str, object]) -> None:
    assert json.loads(encode(document)) == document


@given(st.text(st.characters()))
def test_json_steers_no_terminal(text: str) -> None:
    shown = encode({"text": text}).decode()
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in shown)
    assert not any(
        unicodedata.bidirectional(character) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
        for character in shown
    )


def test_json_is_compact_utf8() -> None:
    assert encode({"a": ["ü", 1], "b": {}}) == '{"a":["ü",1],"b":{}}'.encode()
    assert encode({"a": 1}, indent=2) == b'{\n  "a": 1\n}'


@given(st.text(st.characters()))
def test_visible_text_is_harmless(text: str) -> None:
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in visible(text))
    assert not any(
        unicodedata.category(character) == "Cc" and character not in "\n\t" for character in visible(text, lines=True)
    )


def test_visible_spells_out_what_it_hides() -> None:
    assert visible("a\x1b[0m\u202e\n") == "a\\x1b[0m\\u202e\\x0a"
    assert visible("a\nb\tc\r", lines=True) == "a\nb\tc\\x0d"


EXECUTION = {
    "ok": True,
    "deviceId": f"emulator-{HOSTILE}",
    "executionId": "x",
    "outcome": {
        "status": HOSTILE,
        "steps": [{"id": HOSTILE, "type": HOSTILE, "status": HOSTILE, "durationMs": 1, "code": HOSTILE}],
        "error": {"code": HOSTILE, "message": HOSTILE, "hint": HOSTILE, "retryable": False},
    },
    "envelope": {
        "commandId": HOSTILE,
        "status": "failed",
        "error": HOSTILE,
        "stepResults": [
            {"id": HOSTILE, "actionType": HOSTILE, "success": False, "data": {HOSTILE: HOSTILE}},
            {
                "id": "s",
                "actionType": "snapshot_ui",
                "success": True,
                "data": {"text": f"<node text='{HOSTILE}'/>\n" * 3},
            },
        ],
    },
}


@pytest.mark.parametrize(
    ("view", "data"),
    [
        ("", {HOSTILE: HOSTILE}),
        ("executions.error", {"code": HOSTILE, "message": HOSTILE, "hint": HOSTILE, "details": {HOSTILE: HOSTILE}}),
        ("devices.packages", {"packages": [HOSTILE]}),
        ("executions.execution", EXECUTION),
        ("devices.locks", {"locks": [{"deviceId": HOSTILE, "state": HOSTILE, "commandId": HOSTILE}]}),
        ("logs.event", {"event": "gap", "at": 0.0, "reason": HOSTILE}),
    ],
)
def test_pretty_output_steers_no_terminal(
    view: str,
    data: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = draw(view, data).decode()
    assert "[bold]markup[/]" in shown
    assert "\\x1b[31mred" in shown or "\\u001b[31mred" in shown
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") and character != "\n" for character in shown)


def test_the_nodes_of_an_ambiguous_selector_are_shown_and_nothing_is_said_to_be_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    nodes = [{"text": HOSTILE, "bounds": [0, 0, 1, 1]}, {"text": "two", "selector": {"textEquals": HOSTILE}}]
    error = {"code": "NODE_AMBIGUOUS", "message": "m", "hint": "h", "details": {"candidates": nodes}}
    envelope = {"stepResults": [{"id": "s", "data": {"candidates": "x" * 500}}]}
    step = {"id": "s", "type": "click", "status": "failed", "durationMs": 1}
    outcome = {"status": "failed", "steps": [step], "error": error}
    document = {"deviceId": "d", "executionId": "e", "envelope": envelope, "outcome": outcome}
    shown = draw("executions.execution", document).decode()
    assert '{"textEquals": ' in shown
    assert "[0, 0, 1, 1]" in shown
    assert "(500 characters)" in shown
    assert "below" not in shown
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") and character != "\n" for character in shown)


def test_every_view_of_the_commands_is_a_drawing_and_every_drawing_is_a_view() -> None:
    folder = Path(dispatch.__file__).parent
    quoted = r'(?:\bview ?= ?|\belse |draw\(|_line\([\w.()]+, )"(\w+\.\w+)"'
    named = {view for path in folder.rglob("*.py") for view in re.findall(quoted, path.read_text())}
    drawings = {
        f"{path.stem}.{name}"
        for path in (folder / "pretty").glob("*.py")
        for name in re.findall(r"^def ([a-z]\w*)\(.*\) -> Drawing:", path.read_text(), re.MULTILINE)
    }
    parts = {"toolbox.warnings", "trees.draw_view", "trees.blind_line", "executions.draw_then"}
    parts |= {"trees.draw_dump", "executions.draw_long_texts", "executions.skill_result"}
    assert named == drawings - parts


@table(
    ("line", "expected"),
    [
        ("devices", "json"),
        ("devices --output pretty", "pretty"),
        ("--format=pretty devices", "pretty"),
        ("devices --output json", "json"),
        ("devices pretty", "json"),
        ("devices -- --output pretty", "json"),
        ("devices --text=--output=pretty", "json"),
    ],
)
def test_the_format_of_errors_is_the_stated_one(line: str, expected: str) -> None:
    assert stated_format(line.split()) == expected


class TestDefaultFormat:
    """Flag, then CLAWPERATOR_OUTPUT, then the settings, then JSON."""

    @pytest.mark.parametrize(
        ("file", "variable", "flags", "pretty"),
        [
            ("", "", (), False),
            ('output = "pretty"', "", (), True),
            ('output = "json"', "", (), False),
            ('[output]\nformat = "pretty"', "", (), True),
            ('[output]\nformat = "pretty"\nterminal = "json"', "", (), True),
            ('[output]\nterminal = "pretty"', "", (), False),
            ("", "pretty", (), True),
            ('output = "pretty"', "json", (), False),
            ('output = "json"', "pretty", (), True),
            ('output = "pretty"', "pretty", ("--json",), False),
            ("", "json", ("--output", "pretty"), True),
            ("", "nope", ("--format=pretty",), True),
        ],
    )
    def test_who_wins(
        self,
        cli: Cli,
        lonely: dict[str, str],
        monkeypatch: pytest.MonkeyPatch,
        file: str,
        variable: str,
        flags: tuple[str, ...],
        pretty: bool,
    ) -> None:
        folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text(f"{file}\n")
        monkeypatch.setenv("CLAWPERATOR_OUTPUT", variable)
        assert cli("version", *flags).out.startswith("clawperator " if pretty else "{")
        assert cli("bogus", *flags).out.startswith("UNKNOWN_COMMAND  " if pretty else "{"), "errors as well"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("CLAWPERATOR_OUTPUT", "nope"),
            ("CLAWPERATOR_LOG_LEVEL", "nope"),
            ("CLAWPERATOR_LOG_LEVEL", "INFO "),
            ("CLAWPERATOR_BACKEND", "stok"),
            ("CLAWPERATOR_WARM", "yes"),
            ("CLAWPERATOR_WAIT_MS", "-1"),
            ("CLAWPERATOR_WAIT_MS", "10m"),
            ("CLAWPERATOR_NO_HISTORY", "maybe"),
            ("CLAWPERATOR_SAFE_LOGS", "2"),
            ("CLAWPERATOR_ALLOW_UNBIND", "nope"),
        ],
    )
    def test_a_variable_that_means_nothing_is_refused_by_every_command(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str
    ) -> None:
        monkeypatch.setenv(name, value)
        for words in (("version",), ("config", "show"), ("snapshot",)):
            run = cli(*words)
            assert (run.exit_code, run.document["details"]) == (1, {"path": name})
            assert run.document["message"].startswith(f"{name} must be ")
        assert cli("config", "--help").exit_code == 0

    def test_switches_are_switched_off_too(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        for value, on in (("1", True), ("no", False), ("off", False), ("", False)):
            monkeypatch.setenv("CLAWPERATOR_ALLOW_UNBIND", value)
            rows = {row["key"]: row["value"] for row in cli("config", "show").document["settings"]}
            assert rows["allow_unbind"] is on

    def test_what_the_settings_choose_is_shown_and_checked(self, cli: Cli, lonely: dict[str, str]) -> None:
        folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text('# mine\noutput = "pretty"\n')
        assert "output                    pretty" in cli("config", "show").out
        (folder / "settings.toml").write_text('# mine\noutput = "yaml"\n')
        (problem,) = cli("config", "check").document["problems"]
        assert (problem["line"], problem["key"]) == (2, "output")
        assert problem["message"] == "output must be one of: json, pretty, got 'yaml'"
