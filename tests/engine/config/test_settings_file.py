"""What may stand in settings.toml, and that everything wrong with one is told at once, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platformdirs import user_state_dir

from clawperator.engine.config.effective import effective
from clawperator.engine.config.settings import Settings, console_folder, crash_path, state_folder
from clawperator.engine.config.settings_file import (
    ConsoleSettings,
    HistorySettings,
    SettingsFile,
    examine,
    load,
)
from clawperator.engine.config.toml_lines import MAX_BYTES, lines_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.json_schema import json_schema

EVERYTHING = """
device_id = "emulator-5554"
receiver_package = "com.example.operator"
action_agent_command = "an.ACTION"
adb_path = "/opt/adb"

[history]
enabled = false
days = 7
megabytes = 50
path = "~/runs.db"

[console]
theme = "claw-light"
ascii = "always"
pictures = "blocks"
mouse = false
bell = true
settle_ms = 0
stream_lines = 200_000

[keymap]
"app.help" = "f1,question_mark"
tree.fold = "ctrl+t"
"""


def test_everything_that_may_stand_in_it(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(EVERYTHING)
    found = load(str(file))
    assert found.console == ConsoleSettings(
        theme="claw-light",
        ascii="always",
        pictures="blocks",
        mouse=False,
        bell=True,
        settle_ms=0,
        stream_lines=200_000,
    )
    assert found.keymap == {"app.help": "f1,question_mark", "tree.fold": "ctrl+t"}
    settings = Settings.resolve(env={"HOME": "/home/me"}, file=str(file))
    assert (settings.device_id, settings.receiver_package) == ("emulator-5554", "com.example.operator")
    assert (settings.action_agent_command, settings.adb_path) == ("an.ACTION", "/opt/adb")
    assert (settings.history_enabled, settings.history_days, settings.history_megabytes) == (False, 7, 50)
    assert settings.history_path == str(Path.home() / "runs.db")


def test_what_counts_as_supported_can_be_extended(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        "accepted_versions = ['0.4']\n[emulator]\nsupported_abis = ['arm64-v8a', 'x86_64']\nimage_seconds = 60"
    )
    chosen = Settings.resolve(env={"HOME": "/x"}, file=str(file))
    assert chosen.accepted_versions == ("0.4",)
    assert (chosen.emulator_supported_abis, chosen.emulator_image_seconds) == (("arm64-v8a", "x86_64"), 60)


@pytest.mark.parametrize(
    ("flags", "env", "chosen"),
    [
        ({}, {}, False),
        ({"receiver_package": "com.clawperator.operator"}, {}, True),
        ({}, {"CLAWPERATOR_OPERATOR_PACKAGE": "a.b"}, True),
        ({"receiver_package": ""}, {"CLAWPERATOR_OPERATOR_PACKAGE": ""}, False),
    ],
)
def test_a_chosen_package_is_reported_from_the_default(
    flags: dict[str, str], env: dict[str, str], chosen: bool
) -> None:
    assert Settings.resolve(flags, {"HOME": "/x", **env}).package_chosen is chosen


def test_an_empty_file_says_nothing_and_flags_win_over_a_full_one(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("")
    assert Settings.resolve(env={"HOME": "/x"}, file=str(file)) == Settings.resolve(env={"HOME": "/x"})
    file.write_text("[history]\nenabled = true\ndays = 3")
    chosen = Settings.resolve({"history_enabled": False}, {"HOME": "/x"}, file=str(file))
    assert (chosen.history_enabled, chosen.history_days) == (False, 3)


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("device_id = 1", 1, "device_id", "device_id must be a text in quotes, got 1"),
        ("\n\ncolour = 'red'", 3, "colour", "Unknown key colour"),
        ("[console]\n\ntheme = 3", 3, "console.theme", "console.theme must be a text in quotes of up to 64 characters, got 3"),
        ("[console]\nascii = 'maybe'", 2, "console.ascii", "must be one of: auto, always, never, got 'maybe'"),
        ("[console]\nmouse = 1", 2, "console.mouse", "must be true or false, got 1"),
        ("[console]\nbell = 'yes'", 2, "console.bell", "must be true or false, got 'yes'"),
        ("[console]\nsettle_ms = 5001", 2, "console.settle_ms", "must be a whole number from 0 to 5,000, got 5001"),
        ("[console]\nsettle_ms = 1.0", 2, "console.settle_ms", "must be a whole number from 0 to 5,000, got 1.0"),
        ("console.stream_lines = 999", 1, "console.stream_lines", "from 1,000 to 200,000, got 999"),
        ("console = { bell = 3 }", 1, "console.bell", "must be true or false, got 3"),
        ("console = 3", 1, "console", "console must be a table, got 3"),
        ("[history]\ndays = 0", 2, "history.days", "must be a whole number from 1 to 3,650, got 0"),
        ("[history]\npath = 'here'", 2, "history.path", "must be a path that begins with / or ~, got 'here'"),
        ("accepted_versions = '0.4'", 1, "accepted_versions", "must be a list of up to 20 texts, got '0.4'"),
        ("accepted_versions = ['0.4', '0.4.1']", 1, "accepted_versions", "must be a version of the form major.minor, got '0.4.1'"),
        ("[emulator]\nsupported_abis = ['ppc']", 2, "emulator.supported_abis", "must be an ABI of Android, such as x86_64, got 'ppc'"),
        ("[emulator]\nimage_seconds = 9", 2, "emulator.image_seconds", "must be a whole number from 10 to 86,400, got 9"),
        ("receiver_package = '-f'", 1, "receiver_package", "must be an Android package name, got '-f'"),
        ("keymap = 3", 1, "keymap", "keymap must be a table, got 3"),
        ("[keymap]\napp.help = 3", 2, "keymap.app.help", "must be a text in quotes of up to 100 characters, such as"),
        ("[keymap]\n'app.help' = ''", 2, "keymap.app.help", "got ''"),
        ("[[history]]\ndays = 3", 1, "history", "history must be a table"),
        ("a = '''\n\n\n'''\ncolour = 1", 5, "colour", "Unknown key colour"),
        ("device_id = [\n  'x',\n]", 1, "device_id", "device_id must be a text in quotes"),
        ("= =", 1, "", "This is not valid TOML"),
        ("device_id = 'a'\ndevice_id = 'b'", 2, "", "This is not valid TOML: Cannot overwrite a value"),
        ("keymap.a" + ".a" * 5_000 + " = 'x'", 0, "", "It is nested too deeply"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_line(text: str, line: int, key: str, words: str) -> None:
    settings, problems = examine(text)
    assert settings is None
    (found,) = [problem for problem in problems if problem.key == key]
    assert found.line == line
    assert words in found.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("devise_id = 'x'", "Did you mean 'device_id'?"),
        ("[console]\nstreamlines = 5000", "Did you mean 'stream_lines'?"),
        ("theme = 'x'", "theme belongs below [console]."),
        ("[history]\nbell = true", "bell belongs below [console]."),
        (
            "zzz = 1",
            "Known: device_id, receiver_package, action_agent_command, adb_path, policy_path, log_dir, log_level, safe_logs, accepted_versions, devices, execution, history, emulator, warm, output, console, keymap.",
        ),
    ],
)
def test_what_an_unknown_key_was_meant_to_be(text: str, hint: str) -> None:
    _, (problem,) = examine(text)
    assert problem.hint == hint


def test_everything_wrong_is_reported_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[console]\nbell = 1\nmuose = true\n[history]\ndays = 'x'\n")
    with pytest.raises(EngineError) as caught:
        load(str(file))
    assert caught.value.code is ErrorCode.SETTINGS_INVALID
    assert caught.value.message.endswith(
        "line 2: console.bell must be true or false, got 1 (and 2 more: clawperator config check)"
    )
    assert [problem["line"] for problem in caught.value.details["problems"]] == [2, 3, 5]


def test_a_file_may_have_any_line_ends_and_no_more_than_so_many_bytes(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"device_id = 'x'\r\n[console]\r\nbell = 3\r\n")
    with pytest.raises(EngineError, match=r"line 3: console\.bell"):
        load(str(file))
    file.write_text("#" * (MAX_BYTES + 1))
    with pytest.raises(EngineError, match="more than 65,536 bytes"):
        load(str(file))


WORDS = st.sampled_from(["device_id", "console", "history", "keymap", "days", "bell", "a", "b-c", '"q u"', "'.'"])
VALUES = st.recursive(
    st.sampled_from(["1", "true", "'x'", '"""\n[console]\ndays = 1\n"""', "1979-05-27", "[\n1,\n2\n]", "nan"]),
    lambda inner: st.builds(lambda key, value: f"{{ {key} = {value} }}", WORDS, inner),
    max_leaves=3,
)
STATEMENTS = st.one_of(
    st.builds(lambda keys, value: f"{'.'.join(keys)} = {value}", st.lists(WORDS, min_size=1, max_size=3), VALUES),
    st.builds(lambda keys: f"[{'.'.join(keys)}]", st.lists(WORDS, min_size=1, max_size=2)),
    st.just("# days = 1"),
    st.just(""),
    st.text(max_size=12),
)


@given(st.lists(STATEMENTS, max_size=12))
def test_no_text_is_an_internal_fault_and_every_known_place_has_its_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    settings, problems = examine(text)
    assert (settings is None) == bool(problems)
    for problem in problems:
        assert 0 <= problem.line <= text.count("\n") + 1
        if problem.key:
            assert problem.line > 0


@given(
    st.permutations(
        ["device_id = 'x'", "adb_path = '''\ndevice_id = 'y'\n'''", "# adb_path = 1", "receiver_package = 'a.b'"]
    )
)
def test_a_key_begins_where_its_statement_begins(statements: list[str]) -> None:
    text = "\n".join(statements)
    found = lines_of(text)
    for key in ("adb_path", "receiver_package"):
        statement = next(statement for statement in statements if statement.startswith(key))
        assert found[key] == text[: text.index(statement)].count("\n") + 1


def test_the_schema_comes_from_the_models_and_allows_what_they_allow() -> None:
    schema = json_schema("settings")
    assert set(schema["properties"]) == set(SettingsFile.model_fields)
    assert schema["additionalProperties"] is False
    tables = schema["$defs"]
    assert set(tables["ConsoleSettings"]["properties"]) == set(ConsoleSettings.model_fields)
    assert set(tables["HistorySettings"]["properties"]) == set(HistorySettings.model_fields)
    assert tables["ConsoleSettings"]["properties"]["stream_lines"] | {"description": ""} == {
        "type": "integer",
        "default": 100_000,
        "minimum": 1_000,
        "maximum": 200_000,
        "description": "",
    }
    for table in (schema, *tables.values()):
        assert all(entry.get("description") or "$ref" in entry for entry in table["properties"].values())


def test_who_chose_what(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        "device_id = 'x'\nadb_path = '/a'\n[history]\ndays = 9\n[console]\nbell = true\n[keymap]\napp.help = 'f1'\n"
    )
    env = {"HOME": "/home/me", "ANDROID_SERIAL": "serial", "CLAWPERATOR_OPERATOR_PACKAGE": "from.env"}
    rows = {row["key"]: row for row in effective(str(file), {"receiver_package": "from.flag"}, env)}
    chosen = {key: (row["value"], row["source"], row["by"]) for key, row in rows.items()}
    assert chosen["device_id"] == ("serial", "env", "ANDROID_SERIAL")
    assert chosen["receiver_package"] == ("from.flag", "flag", "--receiver-package")
    assert chosen["adb_path"] == ("/a", "file", "line 2")
    assert chosen["history.days"] == (9, "file", "line 4")
    assert chosen["history.enabled"] == (True, "default", "")
    assert chosen["console.bell"] == (True, "file", "line 6")
    assert chosen["console.mouse"] == (True, "default", "")
    assert chosen["keymap.app.help"] == ("f1", "file", "line 8")
    assert not {"lock_dir", "read_only", "environment"} & set(rows)


def test_the_state_folder_is_the_platform_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import os

    assert state_folder(os.environ) == user_state_dir("clawperator")
    for variable in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
        assert state_folder(os.environ) == user_state_dir("clawperator")
    assert state_folder({"HOME": "/other"}).startswith("/other/")


def test_what_the_console_keeps_is_where_it_is_said_to_be() -> None:
    import os

    from clawperator.app.console.execution.draft_file import draft_path

    assert str(draft_path().parent) == console_folder(os.environ) == os.path.dirname(crash_path(os.environ))


def test_devices_have_aliases_and_tags(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[devices.pixel]\nserial = "R58M"\ntags = ["lab"]\n', encoding="utf-8")
    settings = Settings.resolve({"device_id": "pixel"}, {}, file=str(file))
    assert (settings.device_id, settings.serial_of("pixel"), settings.serial_of("other")) == ("R58M", "R58M", "other")
    _, problems = examine('[devices.a]\ntags = ["x y"]\n[devices."b c"]\nserial = 3\ntag = 1\n')
    assert [(problem.line, problem.key, problem.message.partition(",")[0], problem.hint) for problem in problems] == [
        (1, "devices.a.serial", "devices.a.serial is missing", ""),
        (2, "devices.a.tags", "devices.a.tags must be a name of up to 64 letters", ""),
        (3, "devices.b c", "devices.b c must be a name of up to 64 letters", ""),
        (4, "devices.b c.serial", "devices.b c.serial must be a text in quotes of up to 255 characters", ""),
        (5, "devices.b c.tag", "Unknown key devices.b c.tag", "Did you mean 'tags'?"),
    ]
