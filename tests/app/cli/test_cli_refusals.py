"""A doubtful command line is refused: one JSON object on stdout, nothing on stderr, exit 1, and nothing is dispatched."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.command_table import COMMANDS, GROUPS
from clawperator.app.cli.parsing import suggest
from clawperator.engine.errors import ErrorCode
from tests.support import varied

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli, ProcessCli

OK = '{"textEquals":"OK"}'
PLAN = (
    '{"commandId":"c","taskId":"t","source":"s","expectedFormat":"android-ui-automator","timeoutMs":5000,'
    '"actions":[{"id":"a","type":"snapshot_ui"}]}'
)
ACTIONS = "action open-app|open-uri|click|read|wait|type|press-key|scroll|scroll-until|scroll-and-click [options]"

REFUSALS: list[tuple[tuple[str, ...], str, str]] = [
    # words
    (("help", "nonsense"), "UNKNOWN_COMMAND", "Unknown command: nonsense."),
    (("help", "devcies"), "UNKNOWN_COMMAND", "Unknown command: devcies. Did you mean 'devices'?"),
    (("help", "action", "clik"), "USAGE", f"Unknown action subcommand 'clik'. Valid: {ACTIONS}"),
    (("help", "execute", "spare"), "USAGE", "unexpected argument 'spare'"),
    (("help", "options", "spare"), "USAGE", "unexpected argument 'spare'"),
    (("help", "errors", "USAGE", "spare"), "USAGE", "unexpected argument 'spare'"),
    (("nope", "--help"), "UNKNOWN_COMMAND", "Unknown command: nope."),
    (("--help", "exekute"), "UNKNOWN_COMMAND", "Unknown command: exekute. Did you mean 'execute'?"),
    (("observe", "snapshto", "--help"), "USAGE", "observe snapshot|screenshot [options]"),
    (("devcies",), "UNKNOWN_COMMAND", "Unknown command: devcies. Did you mean 'devices'?"),
    (("zzzzzzzzzzzz",), "UNKNOWN_COMMAND", "Unknown command: zzzzzzzzzzzz."),
    (("--json", "exekute"), "UNKNOWN_COMMAND", "Unknown command: exekute. Did you mean 'execute'?"),
    (("--device-id", "devices", "devicess"), "UNKNOWN_COMMAND", "Unknown command: devicess. Did you mean 'devices'?"),
    (("",), "UNKNOWN_COMMAND", "Unknown command: ."),
    (("-",), "UNKNOWN_COMMAND", "Unknown command: -."),
    (("action", "clik"), "USAGE", f"Unknown action subcommand 'clik'. Valid: {ACTIONS}"),
    (("observe", "video"), "USAGE", "observe snapshot|screenshot [options]"),
    (("inspect", "tree"), "USAGE", "inspect ui [options]"),
    (("lock", "steal"), "USAGE", "Unknown lock subcommand 'steal'. Valid: lock status [--device-id <serial>]"),
    # words that mean nothing
    (("devices", "please"), "USAGE", "unexpected argument 'please'"),
    (("execute", PLAN, "twice"), "USAGE", "unexpected argument 'twice'"),
    (("action", "press-key", "back"), "USAGE", "unexpected argument 'back'"),
    (("version", "--", "x"), "USAGE", "clawperator version takes no arguments after '--'"),
    (("schema", "execution", "action"), "USAGE", "unexpected argument 'action'"),
    # flags that do not exist
    (("execute", "--execution", PLAN, "--validate-onyl"), "USAGE", "unrecognized flag '--validate-onyl'. Did you mean '--validate-only'?"),
    (("execute", "--exec", PLAN), "USAGE", "unrecognized flag '--exec'"),
    (("devices", "--devcie-id", "x"), "USAGE", "unrecognized flag '--devcie-id'. Did you mean '--device-id'?"),
    (("--validate-only", "devices"), "USAGE", "unrecognized flag '--validate-only'"),
    (("devices", "--third-party"), "USAGE", "unrecognized flag '--third-party'"),
    (("doctor", "--fux"), "USAGE", "unrecognized flag '--fux'. Did you mean '--fix'?"),
    (("devices", "-x"), "USAGE", "unrecognized flag '-x'"),
    (("action", "type", "--selector", OK, "--txet=--json"), "USAGE", "unrecognized flag '--txet'. Did you mean '--text'?"),
    # flags and their values
    (("execute", "--timeout-ms"), "USAGE", "--timeout-ms requires a value"),
    (("--timeout", "--json", "devices"), "USAGE", "--timeout requires a value"),
    (("devices", "--device-id"), "USAGE", "--device-id requires a value"),
    (("devices", "--device-id", ""), "USAGE", "--device-id value must not be blank"),
    (("devices", "--operator-package= "), "USAGE", "--operator-package value must not be blank"),
    (("devices", "--device", "a", "--device-id", "a"), "USAGE", "--device-id must not appear more than once"),
    (("devices", "--json=yes"), "USAGE", "--json takes no value"),
    (("devices", "--output", "yaml"), "USAGE", "--output must be one of: json, pretty"),
    (("devices", "--format=JSON"), "USAGE", "--format must be one of: json, pretty"),
    (("action", "click", "--coordinate", "5"), "USAGE", "--coordinate requires 2 values"),
    (("action", "click", "--coordinate=5"), "USAGE", "--coordinate requires 2 values"),
    (("execute", "--execution"), "USAGE", "--execution requires a value"),
    (("execute", "--execution", "--dry-run"), "USAGE", "--execution requires a value"),
    (("execute", "--execution", "--help"), "USAGE", "--execution requires a value"),
    (("execute", "--timeout-ms", "soon"), "EXECUTION_VALIDATION_FAILED", "timeoutMs must be a finite number"),
    (("execute", "--timeout-ms", "NaN"), "EXECUTION_VALIDATION_FAILED", "timeoutMs must be a finite number"),
    (("execute", "--timeout-ms", "1e999"), "EXECUTION_VALIDATION_FAILED", "timeoutMs must be a finite number"),
    (("execute", "--timeout-ms", "1_000"), "EXECUTION_VALIDATION_FAILED", "timeoutMs must be a finite number"),
    (("devices", "--timeout-ms", "x"), "EXECUTION_VALIDATION_FAILED", "timeoutMs must be a finite number"),
    (("execute", "--execution", PLAN, "--dry-run", "--timeout-ms", "999"), "EXECUTION_VALIDATION_FAILED", "--timeout-ms must be between 1000 and 120000"),
    (("execute", "--execution", PLAN, "--dry-run", "--timeout-ms=-5"), "EXECUTION_VALIDATION_FAILED", "--timeout-ms must be between 1000 and 120000"),
    (("execute", "--execution", PLAN, "--max-snapshot-bytes", "0"), "EXECUTION_VALIDATION_FAILED", "--max-snapshot-bytes must be an integer in [1, 2147483648]"),
    # what a command needs
    (("execute",), "USAGE", "execute requires --execution <json-or-file>"),
    (("execute", "best-effort"), "NOT_IMPLEMENTED", "execute best-effort is not implemented; send a plan with execute --execution"),
    (("execute", "best-effort", "--goal", "win"), "NOT_IMPLEMENTED", "execute best-effort is not implemented; send a plan with execute --execution"),
    (("action", "open-app"), "USAGE", "action open-app requires --app <packageId>"),
    (("action", "open-uri"), "USAGE", "action open-uri requires --uri <value>"),
    (("action", "click"), "USAGE", "action click requires --selector <json> or --coordinate <x> <y>"),
    (("action", "read"), "USAGE", "action read requires --selector <json>"),
    (("action", "wait"), "USAGE", "action wait requires --selector <json>"),
    (("action", "type"), "USAGE", "action type requires --selector <json> and --text <value>"),
    (("action", "type", "--text", "x"), "USAGE", "action type requires --selector <json> and --text <value>"),
    (("action", "type", "--selector", OK), "USAGE", "action type requires --selector <json> and --text <value>"),
    (("action", "press-key"), "USAGE", "action press-key requires --key <back|home|recents>"),
    (("action", "scroll-until", "--click"), "USAGE", "action scroll-until requires a selector with --click"),
    (("action", "scroll-and-click"), "USAGE", "action scroll-and-click requires --selector <json>"),
    (("schema",), "USAGE", "schema requires <name>."),
    (("schema", "car"), "USAGE", "Unknown schema: car."),
    (("completion",), "USAGE", "completion requires one of: bash, zsh, fish"),
    (("completion", "tcsh"), "USAGE", "completion requires one of: bash, zsh, fish"),
    (("help", "errors", "NODE_NOT_FUOND"), "USAGE", "Unknown error code: NODE_NOT_FUOND"),
    (("console",), "USAGE", "console needs a terminal on stdin, stdout and stderr"),
    (("version", "--strict-version"), "USAGE", "--strict-version requires --check-compat"),
    (("sim", "--server", "--emulator-pair"), "USAGE", "--server and --emulator-pair cannot be combined"),
    (("sim", "--emulator-pair", "--port", "5601"), "USAGE", "--port 5601 is odd: an emulator's console port is even"),
    (("sim", "--port", "65535", "--devices", "2"), "USAGE", "--port 65535 is too high for 2 ports"),
    (("sim", "--port", "65534", "--emulator-pair", "--devices", "2"), "USAGE", "--port 65534 is too high for 4 ports"),
    (("sim", "--generation", "0.4"), "USAGE", "--generation must be one of: 0.3, 0.5"),
    (("sim", "--port", "70000"), "EXECUTION_VALIDATION_FAILED", "--port must be an integer in [1, 65535]"),
    (("watch", "--count", "0"), "EXECUTION_VALIDATION_FAILED", "--count must be an integer in [1, 2147483648]"),
    # selectors
    (("action", "click", "--selector", "OK"), "EXECUTION_VALIDATION_FAILED", "--selector must be valid JSON"),
    (("action", "click", "--selector", "[]"), "EXECUTION_VALIDATION_FAILED", "--selector must be a JSON object"),
    (("action", "click", "--selector", OK, "--text", "OK"), "EXECUTION_VALIDATION_FAILED", "use --selector OR --text, not both"),
    (("action", "click", "--text", "OK", "--text", "OK"), "EXECUTION_VALIDATION_FAILED", "--text must not appear more than once"),
    (("action", "click", "--text"), "EXECUTION_VALIDATION_FAILED", "--text requires a value"),
    (("action", "click", "--text", " "), "EXECUTION_VALIDATION_FAILED", "--text value must not be blank"),
    (("action", "click", "--text", "OK", "--coordinate", "1", "2"), "EXECUTION_VALIDATION_FAILED", "use --text OR --coordinate, not both"),
    (("action", "click", "--coordinate", "1", "2.5"), "EXECUTION_VALIDATION_FAILED", "--coordinate must be an integer in [0, 2147483647]"),
    (("action", "scroll", "--container", OK, "--container-id", "x"), "EXECUTION_VALIDATION_FAILED", "use --container OR --container-id, not both"),
    (("action", "scroll", "--container", OK, "--container-selector", OK), "EXECUTION_VALIDATION_FAILED", "--container-selector must not appear more than once"),
    (("action", "scroll", "--distance-ratio", "half"), "EXECUTION_VALIDATION_FAILED", "--distance-ratio must be a finite number"),
    (("action", "scroll-until", "--max-scrolls", "201"), "EXECUTION_VALIDATION_FAILED", "--max-scrolls must be an integer in [1, 200]"),
]  # fmt: skip


NEXT_STEPS: list[tuple[tuple[str, ...], str]] = [
    # the habits of adb and of other tools
    (("-s", "emulator-5554", "snapshot"), "Did you mean '--device-id'?"),
    (("snapshot", "--serial", "emulator-5554"), "Did you mean '--device-id'?"),
    (("click", "--resource-id", "x"), "Did you mean '--id'?"),
    (("click", "--text-equals", "x"), "Did you mean '--text'?"),
    (("action", "open-app", "--package", "x"), "Did you mean '--app'?"),
    (("snapshot", "--package", "x"), "Did you mean '--receiver-package'?"),
    (("execute", "-f", "plan.json"), "Did you mean '--execution'?"),
    (("logcat",), "Did you mean 'device logs'?"),
    (("pair", "192.168.1.5:37313"), "Did you mean 'devices pair'?"),
    (("ui",), "Did you mean 'snapshot'?"),
    (("status",), "Did you mean 'doctor'?"),
    (("DEVICES",), "Did you mean 'devices'?"),
    (("shell", "ls"), "Run: adb shell"),
    (("install", "shop.apk"), "`clawperator app install` installs other apps"),
    (("device", "list"), "Did you mean `clawperator devices`?"),
    (("action", "tap", "--text", "OK"), "Did you mean `clawperator action click`?"),
    (("action", "press", "home"), "Did you mean `clawperator action press-key`?"),
    (("action", "swipe"), "Did you mean `clawperator input swipe`?"),
    (("observe", "tree"), "Did you mean `clawperator snapshot`?"),
    (("app", "list"), "Did you mean `clawperator apps`?"),
    (("device", "reboot"), "Unknown device subcommand 'reboot'. Valid: device info|size|"),
    (("wake",), "Did you mean 'device wake'?"),
    (("app", "current", "--brief"), "Leave it out: --brief is about the result of an execution."),
    (("match", "--text", "OK", "--then", "diff"), "Leave it out: --then is about"),
    (("clear", "com.example.shop"), "Did you mean 'app clear'?"),
    (("home",), "Did you mean 'press'?"),
    (("click", "--at", "5,5"), "Did you mean '--coordinate'?"),
    (("input", "tap", "--coordinate", "5", "5"), "Did you mean '--at'?"),
    (("app", "permissions", "list", "com.example.shop"), "app permissions requires grant or revoke"),
    (("app", "install", __file__), "Pass the path of an APK file."),
    (("history", "get", "1"), "Did you mean `clawperator history show`?"),
    (("skill", "get"), "Run `clawperator help skills get`."),
    # arguments without their flag, and values of another form
    (("click", "Network & internet"), "Choose a node with --text 'Network & internet'."),
    (("set", "Wi-Fi", "--checked", "true"), "Choose a node with --id 'Wi-Fi'."),
    (("click", "100", "200"), "Pass a point with --coordinate 100 200."),
    (("input", "tap", "100", "200"), "Pass a point with --at 100,200."),
    (("type", "hello", "world", "--id", "x"), "Quote an argument that contains spaces."),
    (("click", "--coordinate", "100,200"), "Pass --coordinate <x> <y>."),
    (("click", "--text", "a", "--text", "b"), "Run `clawperator help click`."),
    (("click", "--text", ""), "leave out --text"),
    (("click", "--selector", "OK"), """--selector '{"textEquals":"OK"}', or use simple flags such as --id."""),
    (("scroll", "down", "--container", "list"), "use simple flags such as --container-id."),
    (("click", "--selector", '{"text":"OK"}'), "Known keys: resourceId, role, textEquals,"),
    (("devices", "--wait", "5s"), "Pass --wait <ms>: wait up to this long"),
    (("devices", "--timeout-ms"), "Pass --timeout-ms <ms>."),
    (("wait-for-nav", "--timeout", "5"), "requires --app <package> or a selector"),
    (("skills", "get", "qq", "--registry", "builtin"), "Run `clawperator skills list`."),
    (("serve", "--host", ""), "--host value must not be blank"),
    (("press", "enter"), "The verb `input key` presses any other key"),
    (("wait", "--text", "x", "--timeout", "soon"), "in milliseconds, such as 30000"),
    (("execute", ""), "file: '': No such file"),
    (("execute", "/dev/null"), "it is empty"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"), NEXT_STEPS, ids=lambda value: " ".join(value)[:70] if isinstance(value, tuple) else ""
)
def test_the_error_says_the_next_step(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    run = cli(*arguments)
    assert (run.exit_code, run.err) == (1, "")
    assert words in f"{run.document['message']} {run.document['hint']}"


def test_bytes_in_a_settings_file_are_named_by_their_place(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b'device_id = "\xff"')
    assert cli("config", "check", str(file)).document["message"].endswith("it is not UTF-8 at byte 13")
    file.write_text('\ufeffdevice_id = "x"', encoding="utf-8")
    assert cli("config", "check", str(file)).exit_code == 0


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0,
    reason="needs /proc, to which Linux lets root alone write but where nothing can be created: others get a temporary folder",
)
def test_a_warm_process_that_cannot_create_its_folder_says_so(process: ProcessCli) -> None:
    document = process("warm", "start", env={"HOME": "/proc", "XDG_RUNTIME_DIR": ""}).document
    assert (document["code"], document["details"]) == ("FILE_NOT_WRITABLE", {"file": "/proc/.clawperator/run"})


@pytest.mark.cold
def test_help_on_a_terminal_is_wrapped_between_words(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.app.cli.help.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    text = re.sub(r"\x1b\[[\d;]*m", "", cli("help", "sim").out)
    prose = text.partition("Prints one JSON line")[2].partition("Options:")[0]
    assert max(map(len, prose.splitlines())) < 80
    assert "on the ports that adb scans" in text


def test_suggested_commands_and_flags_exist(cli: Cli) -> None:
    for word in suggest.MEANT:
        assert cli(*word.split()).document["suggestion"] in COMMANDS
    flags = {name for words in COMMANDS for name in build_parser(load(words)).flags}
    assert {flag for known in suggest.MEANT_FLAGS.values() for flag in known} <= flags


def test_commands_in_hints_run_as_they_stand(cli: Cli) -> None:
    """They may fail here, where nothing is installed, but not as command lines."""
    lines = {line for code in ErrorCode for line in re.findall(r"`clawperator ([^`<]+)`", code.hint)}
    assert len(lines) > 10
    for line in lines:
        run = cli(*line.split())
        assert not run.out.startswith(('{"code":"USAGE"', '{"code":"UNKNOWN_COMMAND"', '{"code":"MISSING_')), line


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    REFUSALS,
    ids=lambda value: " ".join(value)[:70] if isinstance(value, tuple) else "",
)
def test_a_doubtful_line_is_refused(cli: Cli, arguments: tuple[str, ...], code: str, message: str) -> None:
    run = cli(*arguments)
    assert (run.exit_code, run.err) == (1, "")
    assert run.out.count("\n") == 1
    assert run.document["code"] == code
    assert run.document["message"].startswith(message)
    assert run.document["retryable"] is False
    assert run.document["hint"]
    assert "<command>" not in run.document["hint"]


def test_every_command_refuses_an_unknown_flag_and_a_spare_word(cli: Cli) -> None:
    for words in COMMANDS:
        refused = "USAGE" if words != "execute best-effort" else "NOT_IMPLEMENTED"  # whatever its flags
        assert cli(*words.split(), "--no-such-flag-anywhere").document["code"] == refused
        if words != "help":  # there they are a topic
            assert cli(*words.split(), "spare", "spare", "spare").document["code"] == refused, words


def test_a_bare_group_prints_its_help_or_refuses_json(cli: Cli) -> None:
    for group, usage in GROUPS.items():
        assert cli(group) == (0, cli(group, "--help").out, "")
        assert cli("--output", "pretty", group) == cli(group)
        for asked in ("--json", "--output=json"):
            run = cli(group, asked)
            assert (run.exit_code, run.document["code"], run.document["message"]) == (1, "USAGE", usage)


def test_suggestions_are_machine_readable(cli: Cli) -> None:
    assert cli("devcies").document["suggestion"] == "devices"
    assert cli("observe", "snapshto").document["suggestion"] == "observe snapshot"
    assert cli("devices", "--jsno").document["suggestion"] == "--json"


def test_json_and_pretty_contradict_each_other(cli: Cli) -> None:
    run = cli("devices", "--json", "--output", "pretty")
    assert run.exit_code == 1
    assert "--json and --output pretty cannot be combined" in run.out


def test_best_effort_repeats_the_goal(cli: Cli) -> None:
    assert cli("execute", "best-effort", "--goal", "buy milk").document["goal"] == "buy milk"


def test_selector_errors_name_their_place(cli: Cli) -> None:
    assert cli("action", "click", "--selector", "{").document["details"]["path"] == "selector"
    assert cli("action", "scroll", "--container", "{").document["details"]["path"] == "container-selector"


def _sized(size: int) -> str:
    """A plan of exactly so many bytes, full of quotes that JSON escapes."""

    def text(pattern: str) -> str:
        params = {"matcher": {"textEquals": "a"}, "validator": "regex", "validatorPattern": pattern}
        actions = [{"id": "a", "type": "read_text", "params": params}]
        return json.dumps({**json.loads(PLAN), "actions": actions}, separators=(",", ":"))

    quotes, spare = divmod(size - len(text("")), 2)
    return text('"' * quotes + "x" * spare)


class TestPayloads:
    def test_inline(self, cli: Cli) -> None:
        run = cli("execute", "--execution", '{"commandId":')
        assert run.exit_code == 1
        assert (run.document["code"], run.document["message"]) == (
            "EXECUTION_VALIDATION_FAILED",
            "Invalid JSON for --execution",
        )
        assert "line 1" in run.document["details"]["reason"]

    def test_a_number_that_is_too_large_names_its_path(self, cli: Cli, tmp_path: Path) -> None:
        text = '{"commandId":"c","timeoutMs":1e400}'
        inline = cli("execute", "--execution", text).document
        (tmp_path / "plan.json").write_text(text, encoding="utf-8")
        file = cli("execute", str(tmp_path / "plan.json")).document
        for document in (inline, file):
            assert document["details"]["path"] == "timeoutMs"
            assert "1e400" in document["hint"]

    def test_a_byte_order_mark_is_read_over_wherever_it_stands(self, cli: Cli, tmp_path: Path) -> None:
        text = f"\ufeff{_sized(400)}"
        (tmp_path / "plan.json").write_text(text, encoding="utf-8")
        for command in ("execute", "exec"):
            for source in (text, str(tmp_path / "plan.json"), "-"):
                assert cli(command, source, "--validate-only", stdin=text.encode()).exit_code == 0
                twice = cli(
                    command, source.replace("\ufeff", "\ufeff\ufeff"), "--validate-only", stdin=b"\xef\xbb\xbf" * 2
                )
                assert twice.exit_code == (0 if source.endswith(".json") else 1)

    @pytest.mark.parametrize("command", ["execute", "exec"])
    @pytest.mark.parametrize(("size", "code"), [(63_999, None), (64_000, None), (64_001, "PAYLOAD_TOO_LARGE")])
    def test_the_size_limit_with_escaped_quotes(self, cli: Cli, command: str, size: int, code: str | None) -> None:
        text = _sized(size)
        assert '\\"' in text
        run = cli(command, text, "--validate-only")
        assert (run.exit_code, run.document.get("code")) == (int(code is not None), code)

    def test_what_is_wrong_with_a_file_begins_with_its_name(self, cli: Cli, tmp_path: Path) -> None:
        file = tmp_path / "plan.json"
        file.write_text("{}", encoding="utf-8")
        for command in ("execute", "exec"):
            document = cli(command, str(file), "--validate-only").document
            assert document["message"] == f"{file}: `commandId` is missing"
            assert document["details"]["file"] == str(file)
        assert cli("execute", "-", stdin=b"{}").document["message"] == "stdin: `commandId` is missing"
        assert cli("execute", "{}").document["message"] == "`commandId` is missing"
        for command in ("execute", "exec"):
            alone = cli(command, '{"type":"click","params":{}}', "--validate-only").document
            assert alone["message"] == "The payload is one action, and a plan has a list of them"
            assert alone["hint"] == 'Put it into a list: {"actions": [<the action>]}'
            assert alone["details"]["path"] == "actions"
        file.write_text(_sized(64_001), encoding="utf-8")
        assert cli("execute", str(file)).document["message"].startswith(f"{file}: Payload exceeds 64000 bytes")
        assert "file" not in cli("execute", str(file), "--max-snapshot-bytes", "x").document["details"]

    @pytest.mark.parametrize("content", [b"", b"nope", b"\xff\xfe{}", b'{"a":NaN}'])
    def test_file(self, cli: Cli, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "plan.json").write_bytes(content)
        run = cli("execute", "--execution", str(tmp_path / "plan.json"))
        assert (run.exit_code, run.err) == (1, "")
        assert run.document["code"] == "EXECUTION_VALIDATION_FAILED"
        assert run.document["message"].startswith(f"Failed to read or parse execution file: {tmp_path}/plan.json: ")

    @pytest.mark.parametrize("name", ["missing.json", "", "\udcff", "a\0b", "."])
    def test_unreadable_file(self, cli: Cli, name: str) -> None:
        run = cli("execute", f"--execution={name}")
        assert run.exit_code == 1
        assert run.document["code"] == "EXECUTION_VALIDATION_FAILED"
        assert run.document["message"].startswith("Failed to read or parse execution file: ")

    def test_a_file_beyond_reason(self, cli: Cli) -> None:
        assert "more than 4194304 bytes" in cli("execute", "--execution", "/dev/zero").document["message"]

    @varied("command", ["execute", "exec", "match --text a --snapshot", "diff x.xml"], always=2)
    @pytest.mark.parametrize(
        ("redirection", "reason"), [("<&-", "closed"), ("</dev/null", "empty"), ("0>out", "Bad file")]
    )
    def test_a_stdin_that_cannot_be_read_says_so(
        self, tmp_path: Path, command: str, redirection: str, reason: str
    ) -> None:
        (tmp_path / "x.xml").write_text("<hierarchy/>", encoding="utf-8")
        line = f"{shlex.quote(sys.executable)} -m clawperator.app.cli {command} - {redirection}"
        run = subprocess.run(["sh", "-c", line], capture_output=True, cwd=tmp_path, check=False)
        document = json.loads(run.stdout)
        assert (run.returncode, run.stderr, document["code"]) == (1, b"", "EXECUTION_VALIDATION_FAILED")
        assert "stdin" in document["message"]
        assert reason in document["message"]

    def test_stdin(self, cli: Cli) -> None:
        assert "Failed to read or parse" in cli("execute", "--execution", "-", stdin=b"{").document["message"]

    def test_the_contract_is_checked_before_adb(self, cli: Cli) -> None:
        """There is no adb in this environment: any other order would answer ADB_NOT_FOUND."""
        run = cli("execute", "--execution", '{"commandId":"c"}')
        assert run.document["code"] == "EXECUTION_VALIDATION_FAILED"
        assert run.document["details"]["path"] == "taskId"
