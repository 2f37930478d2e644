"""The flat surface: what its commands make of their arguments, and what they refuse, word for word."""

from __future__ import annotations

import io
import json
import shlex
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.cli.command import Answer, build_parser, load
from clawperator.app.cli.command_table import COMMANDS
from clawperator.app.cli.commands.action import Action
from clawperator.app.cli.flat_profile import flat_error, for_both_profiles, given_once, profile
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import read
from clawperator.app.cli.payload_file import MAX_PAYLOAD_FILE_BYTES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.build import time_around
from clawperator.engine.executions.composition import Composition
from clawperator.engine.executions.opening import open_target
from clawperator.engine.executions.validate import validate
from tests.support import table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli

OK = '{"textEquals":"OK"}'
PLAN = {
    "commandId": "c",
    "taskId": "t",
    "source": "s",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5000,
    "actions": [{"id": "a", "type": "snapshot"}],
}
PACKAGE = "com.android.settings"
FLAT = [words for words, (target, _) in COMMANDS.items() if target.startswith(("flat:", "flat_actions:"))]


def planned(*line: str) -> dict[str, Any]:
    """The normalised payload that a command line of one action sends, with its execution timeout."""
    words, rest, after = find_command(line)
    command = load(words)
    options = read(build_parser(command), words, rest, after)
    assert isinstance(command, Action)
    payload = command.payload(options)
    return validate(payload, timeout_ms=options.timeout_ms, profile=profile(options)).payload


def action(line: str) -> tuple[str, dict[str, Any], int]:
    """Type, parameters and execution timeout."""
    payload = planned(*shlex.split(line))
    (only,) = payload["actions"]
    return only["type"], only.get("params", {}), payload["timeoutMs"]


FIELD = {"resourceId": "x:id/a"}
TYPED = {"matcher": FIELD, "text": "tea", "submit": False, "clear": False}

PLANS: list[tuple[str, str, dict[str, Any], int]] = [
    ("click --text OK", "click", {"matcher": {"textEquals": "OK"}}, 30_000),
    ("tap --text OK --role button", "click", {"matcher": {"textEquals": "OK", "role": "button"}}, 30_000),
    (f"click --selector '{OK}' --timeout 60000", "click", {"matcher": {"textEquals": "OK"}}, 60_000),
    ("--timeout 2000 click --id x:id/a --long", "click", {"matcher": FIELD, "clickType": "long_click"}, 2_000),
    ("click --id x:id/a --focus", "click", {"matcher": FIELD, "clickType": "focus"}, 30_000),
    ("click --coordinate 5 0 --device emu", "click", {"coordinate": {"x": 5, "y": 0}}, 30_000),
    ("click --text OK --strict --container-id x:id/a", "click",
     {"matcher": {"textEquals": "OK"}, "strict": True, "container": FIELD}, 30_000),
    ("click --text OK --nth 2 --in Anna", "click",
     {"matcher": {"textEquals": "OK"}, "nth": 2, "within": {"textEquals": "Anna"}}, 30_000),
    ("click --text OK --in e12@7f3a1b2c", "click",
     {"matcher": {"textEquals": "OK"}, "within": {"ref": "e12@7f3a1b2c"}}, 30_000),
    ("wait --text OK --strict", "wait_for_node", {"matcher": {"textEquals": "OK"}, "strict": True}, 30_000),
    ("read --text OK --strict", "read_text", {"matcher": {"textEquals": "OK"}, "strict": True}, 30_000),
    ("type tea --id x:id/a --strict --container-role list", "enter_text",
     {**TYPED, "submit": False, "container": {"role": "list"}, "strict": True}, 30_000),
    ("scroll down --strict", "scroll", {"direction": "down", "strict": True}, 30_000),
    ("scroll-until --id x:id/a --strict", "scroll_until",
     {"matcher": FIELD, "direction": "down", "strict": True}, 30_000),
    ("scroll-and-click --id x:id/a --strict", "scroll_and_click",
     {"matcher": FIELD, "direction": "down", "strict": True}, 30_000),
    ("open com.android.settings", "open_app", {"applicationId": PACKAGE}, 15_000),
    ("open --app com.android.settings", "open_app", {"applicationId": PACKAGE}, 15_000),
    ("app start com.android.settings", "open_app", {"applicationId": PACKAGE}, 15_000),
    ("open-uri https://example.org/?q=1", "open_uri", {"uri": "https://example.org/?q=1"}, 15_000),
    ("open-url --app market://details", "open_uri", {"uri": "market://details"}, 15_000),
    ("type tea --id x:id/a", "enter_text", TYPED, 30_000),
    ("fill --text tea --id x:id/a --clear", "enter_text", {**TYPED, "clear": True}, 30_000),
    ("type --id x:id/a snapshot", "enter_text", {**TYPED, "text": "snapshot"}, 30_000),
    ("read --id x:id/a", "read_text", {"matcher": FIELD}, 30_000),
    ("read --desc d --all --json", "read_text", {"matcher": {"contentDescEquals": "d"}, "all": True}, 30_000),
    ("read --role text --all --output json --container-text-contains T", "read_text",
     {"matcher": {"role": "text"}, "all": True, "container": {"textContains": "T"}}, 30_000),
    ("read-value --label L --label-id i:id/j --label-desc d", "read_key_value_pair",
     {"labelMatcher": {"textEquals": "L", "resourceId": "i:id/j", "contentDescEquals": "d"}}, 30_000),
    ("read-kv --label L --all", "read_key_value_pair", {"labelMatcher": {"textEquals": "L"}, "all": True}, 30_000),
    ("wait --text-contains W", "wait_for_node", {"matcher": {"textContains": "W"}}, 30_000),
    ("wait --id x:id/a --timeout 10", "wait_for_node", {"matcher": FIELD, "timeoutMs": 10}, 30_000),
    ("--timeout 25001 wait --id x:id/a", "wait_for_node", {"matcher": FIELD, "timeoutMs": 25_001}, 30_001),
    ("wait --id x:id/a --timeout 118000", "wait_for_node", {"matcher": FIELD, "timeoutMs": 118_000}, 120_000),
    ("wait-for-nav --app a.b --timeout 1", "wait_for_navigation", {"expectedPackage": "a.b", "timeoutMs": 1}, 30_000),
    ("wait-for-navigation --desc-contains d --timeout 30000 --app a.b", "wait_for_navigation",
     {"expectedPackage": "a.b", "expectedNode": {"contentDescContains": "d"}, "timeoutMs": 30_000}, 35_000),
    ("press Home", "press_key", {"key": "home"}, 10_000),
    ("press-key --key recents", "press_key", {"key": "recents"}, 10_000),
    ("back", "press_key", {"key": "back"}, 10_000),
    ("scroll UP", "scroll", {"direction": "up"}, 30_000),
    ("scroll --direction left --container-id x:id/a", "scroll", {"direction": "left", "container": FIELD}, 30_000),
    ("scroll-until --id x:id/a", "scroll_until", {"matcher": FIELD, "direction": "down"}, 30_000),
    ("scroll-until up --id x:id/a --container-role list", "scroll_until",
     {"matcher": FIELD, "direction": "up", "container": {"role": "list"}}, 30_000),
    ("scroll-until --direction up --id x:id/a --click", "scroll_and_click",
     {"matcher": FIELD, "direction": "up", "clickAfter": True}, 30_000),
    ("scroll-and-click --id x:id/a", "scroll_and_click", {"matcher": FIELD, "direction": "down"}, 30_000),
    ("scroll-and-click right --id x:id/a", "scroll_and_click", {"matcher": FIELD, "direction": "right"}, 30_000),
    ("close com.android.settings", "close_app", {"applicationId": PACKAGE}, 15_000),
    ("app stop com.android.settings", "close_app", {"applicationId": PACKAGE}, 15_000),
    ("close-app --app com.android.settings", "close_app", {"applicationId": PACKAGE}, 15_000),
    ("sleep 0", "sleep", {"durationMs": 0}, 30_000),
    ("sleep 25001", "sleep", {"durationMs": 25_001}, 30_001),
    ("sleep 115000", "sleep", {"durationMs": 115_000}, 120_000),
    ("--timeout 500 sleep 10", "sleep", {"durationMs": 10}, 30_000),
    ("sleep 10 --timeout 90000", "sleep", {"durationMs": 10}, 90_000),
]  # fmt: skip


@table(("line", "kind", "params", "timeout_ms"), PLANS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_line_builds(line: str, kind: str, params: dict[str, Any], timeout_ms: int) -> None:
    assert action(line) == (kind, params, timeout_ms)


def test_every_flat_command_is_tried_above() -> None:
    tried = {find_command(shlex.split(line))[0] for line, *_ in PLANS}
    assert tried | {"exec", "snapshot", "screenshot"} == set(FLAT)


VALIDATION = "EXECUTION_VALIDATION_FAILED"
REFUSALS: list[tuple[str, str, str]] = [
    # selector flags
    ("click --selector '{}' --text x".replace("{}", OK), VALIDATION, "use --selector OR --text, not both"),
    (f"scroll down --container-selector '{OK}' --container-text x", VALIDATION,
     "use --container-selector OR --container-text, not both"),
    ("click --text a --text a", VALIDATION, "--text must not appear more than once"),
    ("click --coordinate 1 2 --strict", VALIDATION, "--coordinate does not support strict=true"),
    ("click --coordinate 1 2 --container-id a", VALIDATION, "--coordinate does not support --container-id"),
    ("click --coordinate 1 2 --nth 0", VALIDATION, "--coordinate does not support --nth"),
    ("click --coordinate 1 2 --in Anna", VALIDATION, "--coordinate does not support --in"),
    ("click --text a --nth=-1", VALIDATION, "--nth must be an integer in [0, 1000000]"),
    ("click --text a --in ' '", VALIDATION, "--in"),
    ("click --text a --in '{'", VALIDATION, "--in must be valid JSON"),
    ("click --text a --in '{\"x\":1}'", VALIDATION, "--in has an unknown key: 'x'"),
    ("wait --id a --gone --strict", VALIDATION, "use --gone OR --strict, not both"),
    ("wait --app a.b --container-id a", VALIDATION, "use --app OR --container-id, not both"),
    ("read --rows a --fields b=c --strict", VALIDATION, "use --rows and --fields OR --strict, not both"),
    ("type x --submit --ref e1@7f3a1b2c --container-ref e2@7f3a1b2c", VALIDATION, "--container-ref: A text that is submitted takes one reference"),
    ("wait --inside a", "USAGE", "unrecognized flag '--inside'"),
    ("read --id a --container-id b --container-id b", VALIDATION, "--container-id must not appear more than once"),
    ("click --id", VALIDATION, "--id requires a value"),
    ("click --id --role button", VALIDATION, "--id requires a value"),
    ("click --desc ' '", VALIDATION, "--desc value must not be blank"),
    ("click --desc=", VALIDATION, "--desc value must not be blank"),
    ("read-value --label ' '", VALIDATION, "--label value must not be blank"),
    ("read-value --label-id", VALIDATION, "--label-id requires a value"),
    ("click --selector OK", VALIDATION, "--selector must be valid JSON"),
    ("click --selector []", VALIDATION, "--selector must be a JSON object"),
    ("scroll down --container-selector nope", VALIDATION, "--container-selector must be valid JSON"),
    ("click --selector {}", VALIDATION, "--selector must have at least one field"),
    # selectors and arguments that are missing
    *((f"{words}", "MISSING_SELECTOR", f"{words.split()[0]} requires a selector") for words in (
        "click", "click --long", "read", "read --container-id x", "type x", "wait", "wait --timeout 5",
        "scroll-until", "scroll-until up --click", "scroll-and-click")),
    ("read-value", "MISSING_SELECTOR", "read-value requires --label, --label-id or --label-desc"),
    ("wait-for-nav --timeout 500", "MISSING_SELECTOR", "wait-for-nav requires --app <package> or a selector"),
    ("open", "MISSING_ARGUMENT", "open requires the target"),
    ("close", "MISSING_ARGUMENT", "close requires the package"),
    ("press", "MISSING_ARGUMENT", "press requires the key"),
    ("scroll", "MISSING_ARGUMENT", "scroll requires the direction"),
    ("sleep", "MISSING_ARGUMENT", "sleep requires <ms>"),
    ("type --id x", "MISSING_ARGUMENT", "type requires the text"),
    ("wait-for-nav --app a.b", "MISSING_ARGUMENT", "wait-for-nav requires --timeout <ms>"),
    ("exec", "MISSING_ARGUMENT", "exec requires <json-or-file>"),
    # the same thing twice
    ("open a.b --app a.b", VALIDATION, "open: pass the target as a positional argument or via --app, not both."),
    ("close a.b --app a.b", VALIDATION, "close: pass the package as a positional argument or via --app, not both."),
    ("press back --key back", VALIDATION, "press: pass the key as a positional argument or via --key, not both."),
    ("scroll up --direction up", VALIDATION, "scroll: pass the direction as a positional argument or via --direction, not both."),
    ("scroll-until up --direction up --id a", VALIDATION,
     "scroll-until: pass the direction as a positional argument or via --direction, not both."),
    ("type a --text a --id a", VALIDATION, "type: pass the text as a positional argument or via --text, not both."),
    ("exec {} --payload {}", VALIDATION, "exec: pass the payload as a positional argument or via --payload, not both."),
    ("exec --payload {} --execution {}", VALIDATION, "exec: pass the payload via --execution or via --payload, not both."),
    ("execute {} --execution {}", VALIDATION, "execute: pass the payload as a positional argument or via --execution, not both."),
    # clicks
    ("click --coordinate 5", VALIDATION, "--coordinate requires 2 values"),
    ("click --coordinate 5 -6", VALIDATION, "--coordinate requires 2 values"),
    ("click --coordinate 5 6.5", VALIDATION, "--coordinate must be an integer in [0, 2147483647]"),
    ("click --coordinate 5 x", VALIDATION, "--coordinate must be an integer in [0, 2147483647]"),
    ("click --coordinate 5 6 --coordinate 5 6", VALIDATION, "--coordinate must not appear more than once"),
    ("click --coordinate 5 6 --text a", VALIDATION, "use --text OR --coordinate, not both"),
    ("click --coordinate 5 6 --focus", VALIDATION, "click params.coordinate does not support clickType='focus'"),
    ("click --text a --long --focus", VALIDATION, "use --long OR --focus, not both"),
    ("click 540 1200", "USAGE", "unexpected argument '540'"),
    # reading
    ("read --id a --all", VALIDATION, "read --all requires --json (or --output json)"),
    # times
    ("wait --id a --timeout 0", VALIDATION, "--timeout must be an integer in [1, 120000]"),
    ("wait --id a --timeout=-1", VALIDATION, "--timeout must be an integer in [1, 120000]"),
    ("wait --id a --timeout 120001", VALIDATION, "--timeout must be an integer in [1, 120000]"),
    ("wait --id a --timeout 2.5", VALIDATION, "--timeout must be an integer in [1, 120000]"),
    ("wait --id a --timeout soon", VALIDATION, "timeoutMs must be a finite number"),
    ("wait-for-nav --app a.b --timeout 0", VALIDATION, "wait-for-nav requires --timeout > 0"),
    ("wait-for-nav --app a.b --timeout 30001", VALIDATION, "--timeout must not exceed 30000"),
    ("wait-for-nav --app a.b --timeout 1e300", VALIDATION, "--timeout must not exceed 30000"),
    ("wait-for-nav --app ' ' --timeout 5", VALIDATION, "--app value must not be blank"),
    ("sleep 120001", VALIDATION, "sleep <ms> must be an integer in [0, 120000]"),
    ("sleep soon", VALIDATION, "sleep <ms> must be an integer in [0, 120000]"),
    ("sleep 115001", VALIDATION, "sleep 115001 exceeds the execution limit of 120000 ms. Sleep at most 115000 ms"),
    ("sleep 5 --timeout 120001", VALIDATION, "--timeout must be between 1000 and 120000"),
    ("back --timeout 999", VALIDATION, "--timeout must be between 1000 and 120000"),
    # values that the contract refuses, in the flat profile's words
    ("press menu", VALIDATION, "<key> must be one of: back, home, recents"),
    ("scroll sideways", VALIDATION, "<direction> must be one of: down, up, left, right"),
    ("open ''", VALIDATION, "open requires <target>"),
    ("close ''", VALIDATION, "close requires <package>"),
    ("type '' --id a", VALIDATION, "type requires non-empty <text>"),
    ("screenshot --path ' '", VALIDATION, "--path value must not be blank"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "message"), REFUSALS, ids=lambda value: value[:60])
def test_what_is_refused(cli: Cli, line: str, code: str, message: str) -> None:
    """There is no adb here: whatever passed would answer ADB_NOT_FOUND."""
    run = cli(*shlex.split(line))
    assert (run.exit_code, run.err) == (1, "")
    assert (run.document["code"], run.document["retryable"]) == (code, False)
    assert run.document["message"].startswith(message)


@pytest.mark.parametrize(
    "line", ["type - --id x:id/a", "fill --text - --id x:id/a", "action type --text=- --id x:id/a"]
)
@pytest.mark.parametrize(
    ("stdin", "text"),
    [
        (b"tea", "tea"),
        (b"tea\n", "tea"),
        (b"tea\r\n", "tea"),
        (b"tea\n\n", "tea\n"),
        (b" tea \r", " tea \r"),
        (b"-\n", "-"),
        ("größer".encode(), "größer"),
    ],
)
def test_a_text_from_stdin(line: str, stdin: bytes, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    assert action(line) == ("enter_text", {**TYPED, "text": text}, 30_000)


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [
        (b"", "it is empty"),
        (b"secret\xff", "it is not valid UTF-8"),
        (b"x" * (MAX_PAYLOAD_FILE_BYTES + 1), f"more than {MAX_PAYLOAD_FILE_BYTES} bytes"),
    ],
    ids=["empty", "latin-1", "large"],
)
def test_a_text_from_stdin_that_cannot_be_read(cli: Cli, stdin: bytes, reason: str) -> None:
    run = cli("action", "type", "--id", "a", "--text", "-", stdin=stdin)
    assert (run.exit_code, run.err, run.document["code"]) == (1, "", VALIDATION)
    assert run.document["message"] == f"--text -: stdin cannot be read: {reason}"
    assert run.document["details"]["path"] == "--text"
    assert "secret" not in run.out


def test_a_closed_stdin_gives_no_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    line = "action type --id a --text -"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(EngineError, match="it is closed"):
        action(line)


def test_a_list_of_texts_is_for_programs_only(cli: Cli) -> None:
    run = cli("read", "--id", "a", "--all", "--output", "pretty")
    assert (run.exit_code, "read --all requires --json" in run.out) == (1, True)


def test_what_is_missing_comes_with_an_example_that_works(cli: Cli) -> None:
    for words in ("click", "type", "wait-for-nav", "exec", "sleep", "read-value"):
        program, *line = shlex.split(cli(*words.split()).document["example"])
        assert program == "clawperator"
        found, rest, _ = find_command(line)
        assert found == words
        read(build_parser(load(words)), words, rest)


class TestExec:
    def test_all_the_ways_to_say_it(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        text = json.dumps(PLAN)
        file = tmp_path / "plan.json"
        file.write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        ways = [
            (text,),
            (f"  {text}",),
            (str(file),),
            ("plan.json",),
            ("--payload", text),
            ("--execution", str(file)),
            ("-",),
        ]
        for way in ways:
            run = cli("exec", *way, "--validate-only", stdin=text.encode())
            assert (run.exit_code, run.err) == (0, ""), way
            assert run.document["execution"]["actions"] == [{"id": "a", "type": "snapshot_ui"}]

    def test_a_bracket_is_a_file_only_if_there_is_one(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        array = cli("exec", "[1]", "--dry-run").document
        assert (array["code"], array["message"]) == (VALIDATION, "`actions.0` must be an object, not a number")
        assert cli("exec", "[]", "--dry-run").document["message"] == "`actions` must not be empty"
        (tmp_path / "[1]").write_text(json.dumps(PLAN), encoding="utf-8")
        assert cli("exec", "[1]", "--dry-run").document["plan"]["commandId"] == "c"
        assert cli("exec", "[2", "--dry-run").document["message"] == "Invalid JSON content"

    @pytest.mark.parametrize("content", [b"", b"nope", b"\xff\xfe{}", b'{"a":NaN}', b'{"a":1,"a":2}'])
    def test_what_is_no_json(self, cli: Cli, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "plan.json"
        file.write_bytes(content)
        document = cli("exec", str(file)).document
        assert document["code"] == VALIDATION
        assert document["message"].startswith(f"Invalid JSON content in execution file: {file}")
        assert document["details"]["reason"]
        assert cli("exec", "{nope").document["message"] == "Invalid JSON content"

    @pytest.mark.parametrize("name", ["missing.json", "", "\udcff", "a\0b", ".", "/dev/zero"])
    def test_what_cannot_be_read(self, cli: Cli, name: str) -> None:
        document = cli("exec", name).document
        assert document["code"] == VALIDATION
        assert document["message"].startswith("Failed to read execution file: ")

    def test_the_flat_profile_s_own_words(self, cli: Cli) -> None:
        """Only the newer contract knows that a point would do."""
        plan = json.dumps({**PLAN, "actions": [{"id": "a", "type": "click", "params": {}}]})
        assert cli("exec", plan).document["message"] == "click requires params.matcher or params.coordinate"
        assert cli("execute", plan).document["message"] == "click requires params.matcher"

    def test_one_name_of_a_target_in_each_profile(self, cli: Cli) -> None:
        matcher = {"textEquals": "OK"}
        plan = json.dumps({**PLAN, "actions": [{"id": "a", "type": "scroll_and_click", "params": {"target": matcher}}]})
        for command, name in (("exec", "matcher"), ("execute", "target")):
            (step,) = cli(command, plan, "--dry-run").document["plan"]["actions"]
            assert step["params"] == {name: matcher}

    def test_execute_takes_the_same_arguments_and_stays_classic(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(PLAN), encoding="utf-8")
        for way in ((str(file),), ("--payload", str(file)), ("--execution", str(file))):
            assert cli("execute", *way, "--dry-run").document["plan"]["commandId"] == "c"
        assert cli("execute", "nowhere").document["message"].startswith("Failed to read or parse execution file")


@pytest.mark.parametrize(
    "line", ["exec -", "read-value --label x", "wait-for-nav --app a.b --timeout 50", "read-kv --label-desc d"]
)
def test_checks_touch_no_device(cli: Cli, line: str) -> None:
    stdin = json.dumps(PLAN).encode()
    checked = cli(*shlex.split(line), "--validate-only", stdin=stdin)
    assert (checked.exit_code, list(checked.document)) == (0, ["ok", "validated", "execution"])
    planned_ = cli(*shlex.split(line), "--dry-run", "--validate-only", stdin=stdin)
    assert (planned_.exit_code, planned_.document["plan"]["actionCount"]) == (0, 1)


@table("words", FLAT)
def test_every_flat_command_answers_flat(words: str) -> None:
    command = load(words)
    example = shlex.split(command.examples[0].partition(" <")[0])
    assert profile(read(build_parser(command), words, example)) == "flat"
    assert profile(read(build_parser(load("execute")), "execute", [])) == "classic"


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda text: text.strip() != ""
)
FLAGS = {
    "text": "textEquals",
    "text-contains": "textContains",
    "id": "resourceId",
    "desc": "contentDescEquals",
    "desc-contains": "contentDescContains",
    "role": "role",
}


@given(st.dictionaries(st.sampled_from(sorted(FLAGS)), texts, min_size=1), st.booleans(), st.data())
def test_selector_flags_say_exactly_what_the_matcher_says(
    given_: dict[str, str], inline: bool, data: st.DataObject
) -> None:
    """Both surfaces, both spellings of a value, any order."""
    flags = data.draw(st.permutations(list(given_.items())))
    line = [word for name, value in flags for word in _spelled(name, value, inline=inline)]
    wanted = {FLAGS[name]: value for name, value in given_.items()}
    flat, classic = _matcher("click", line), _matcher("action click", line)
    assert flat == classic == wanted
    as_json = _matcher("click", ["--selector", json.dumps(wanted)])
    assert as_json == wanted


def _spelled(name: str, value: str, *, inline: bool) -> list[str]:
    return [f"--{name}={value}"] if inline or value.startswith("-") else [f"--{name}", value]


def _matcher(words: str, line: list[str]) -> Any:
    command = load(words)
    assert isinstance(command, Action)
    payload = command.payload(read(build_parser(command), words, line))
    assert isinstance(payload, dict)
    return payload["actions"][0]["params"]["matcher"]


@given(st.none() | texts, st.dictionaries(st.sampled_from(["one", "two_words"]), st.none() | texts))
def test_a_value_is_given_once_or_refused(positional: str | None, flags: dict[str, str | None]) -> None:
    given_ = [value for value in (positional, *flags.values()) if value is not None]
    if len(given_) > 1:
        with pytest.raises(EngineError, match="not both"):
            given_once("cmd", "it", positional, flags)
    else:
        assert given_once("cmd", "it", positional, flags) == (given_[0] if given_ else None)


@given(st.integers(1, 120_000))
def test_an_execution_outlasts_what_it_waits_for(wait_ms: int) -> None:
    around = time_around(wait_ms)
    assert around == min(max(wait_ms + 5_000, 30_000), 120_000)
    assert around >= wait_ms


@table(
    ("target", "kind"),
    [
        ("com.example.app", "open_app"),
        ("https://example.org", "open_uri"),
        (" geo+x.y-z://1,2", "open_uri"),
        ("://nothing", "open_app"),
        ("not a scheme://x", "open_app"),
        ("mailto:me@example.org", "open_app"),
        ("", "open_app"),
    ],
)
def test_what_has_a_scheme_is_a_uri(target: str, kind: str) -> None:
    made = open_target(target)
    assert (made.actions[0].type if isinstance(made, Composition) else made["actions"][0]["type"]) == kind


def test_errors_are_named_flat_on_their_way_out() -> None:
    warning = {"code": ErrorCode.RECEIVER_VARIANT_MISMATCH, "path": "x", "message": "m"}
    classic = EngineError(
        ErrorCode.RECEIVER_NOT_INSTALLED, "not there", extra={"receiverPackage": "a.b", "warnings": [warning]}
    )
    reported = flat_error(classic).to_dict()
    assert reported["code"] == "OPERATOR_NOT_INSTALLED"
    assert reported["hint"] == ErrorCode.OPERATOR_NOT_INSTALLED.hint
    assert reported["operatorPackage"] == "a.b"
    assert reported["warnings"] == [{"code": "OPERATOR_VARIANT_MISMATCH", "path": "x", "message": "m"}]
    assert "RECEIVER" not in json.dumps(reported)
    assert "receiverPackage" not in reported
    own = flat_error(EngineError(ErrorCode.RECEIVER_VARIANT_MISMATCH, "m", hint="Do this.")).to_dict()
    assert (own["code"], own["hint"]) == ("OPERATOR_VARIANT_MISMATCH", "Do this.")


class TestWordsOfBothSurfaces:
    """``operator``, ``doctor``, ``version``: the same words, so the package stands there under both of its names."""

    @staticmethod
    def check(_command: object, options: SimpleNamespace) -> Answer:
        if options.fails:
            raise EngineError(ErrorCode.RECEIVER_NOT_INSTALLED, "no", extra={"receiverPackage": "a.b"})
        return Answer({"receiverPackage": "a.b", "error": {"code": "RECEIVER_VARIANT_MISMATCH"}}, view="x", failed=True)

    def test_by_default(self) -> None:
        run = for_both_profiles(self.check)
        answer = run(None, SimpleNamespace(fails=False))
        assert answer.document["receiverPackage"] == answer.document["operatorPackage"] == "a.b"
        assert answer.document["error"]["code"] == "RECEIVER_VARIANT_MISMATCH"
        with pytest.raises(EngineError) as caught:
            run(None, SimpleNamespace(fails=True))
        assert caught.value.code is ErrorCode.RECEIVER_NOT_INSTALLED
        assert caught.value.extra == {"receiverPackage": "a.b", "operatorPackage": "a.b"}

    def test_for_who_speaks_flat(self) -> None:
        run = for_both_profiles(self.check)
        answer = run(None, SimpleNamespace(fails=False, speaks_flat=True))
        assert answer.document == {"operatorPackage": "a.b", "error": {"code": "OPERATOR_VARIANT_MISMATCH"}}
        assert answer.data["receiverPackage"] == "a.b"  # type: ignore[index]  # what is drawn for people stays as it is
        assert (answer.view, answer.failed) == ("x", True)
        with pytest.raises(EngineError) as caught:
            run(None, SimpleNamespace(fails=True, speaks_flat=True))
        assert caught.value.code is ErrorCode.OPERATOR_NOT_INSTALLED
        assert caught.value.extra == {"operatorPackage": "a.b"}
