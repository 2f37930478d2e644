"""Every command against a simulated device, through the product's own ``sim --server``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

import pytest

from clawperator.app.cli.commands.sim import GENERATIONS
from clawperator.app.cli.simulators import simulated_devices
from clawperator.engine.version import __version__
from tests.app.cli.conftest import served
from tests.support import CLI, command_line, patience, running
from tests.view_lines import nodes_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli, ProcessCli

SERIAL = "emulator-5554"
SETTINGS = "com.android.settings"
HOMEPAGE = f"{SETTINGS}:id/homepage_title"
SHAPE = ["ok", "envelope", "deviceId", "terminalSource", "isCanonicalTerminal", "executionId", "mode"]


@contextmanager
def simulation(*arguments: str) -> Iterator[dict[str, str]]:
    """``sim --server`` in a process of its own, as its users run it; yields the environment that it announces."""
    command = [*CLI, "sim", "--server", *arguments]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        announced: dict[str, Any] = json.loads(child.stdout.readline())
        assert announced["ok"] is True
        try:
            yield announced["env"]
        finally:
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=patience(20))
    assert (child.returncode, out, err) == (0, "", ""), "Ctrl-C is its normal end"


Simulate = Callable[..., None]


@pytest.fixture
def simulate(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulate]:
    """``simulate(*flags)`` starts the simulation of ``sim --server`` in this process and points this test's environment at it."""
    with ExitStack() as stack:

        def start(*flags: str) -> None:
            options = command_line("sim", "--server", *flags)
            generation: Any = options.generation or GENERATIONS[0]
            devices = simulated_devices(int(options.devices or 1), options.scenario, generation)
            for name, value in stack.enter_context(served(devices)).items():
                monkeypatch.setenv(name, value)

        yield start


@pytest.fixture
def device(simulate: Simulate) -> None:
    simulate("--generation", "0.3")


def plan(*actions: dict[str, Any], timeout_ms: int = 10_000) -> str:
    payload = {
        "commandId": "cmd-1",
        "taskId": "task-1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": list(actions),
    }
    return json.dumps(payload)


OPEN = {"id": "open", "type": "open_app", "params": {"applicationId": SETTINGS}}
READY = {"id": "ready", "type": "wait_for_node", "params": {"matcher": {"resourceId": HOMEPAGE}}}
LOOK = {"id": "look", "type": "snapshot_ui"}
QUIET = ("--device-id", SERIAL)


@pytest.mark.usefixtures("device")
class TestLooking:
    def test_devices(self, cli: Cli) -> None:
        run = cli("devices")
        (device,) = run.document["devices"]
        assert (run.exit_code, run.err, device["serial"], device["state"]) == (0, "", SERIAL, "device")

    def test_packages(self, cli: Cli) -> None:
        everything = cli("packages", "list").document["packages"]
        third_party = cli("packages", "list", "--third-party").document["packages"]
        assert SETTINGS in everything
        assert set(third_party) < set(everything)
        assert SETTINGS not in third_party
        assert SETTINGS in cli("packages", "list", "--output", "pretty").out.splitlines()

    @pytest.mark.cold
    def test_packages_need_no_engine_where_nothing_is_configured(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        run = subprocess.run(
            [sys.executable, "-X", "importtime", *CLI[1:], "packages", "list"], capture_output=True, check=True
        )
        loaded = {line.rpartition(b"|")[2].strip() for line in run.stderr.splitlines()}
        assert loaded.isdisjoint({b"asyncio", b"pydantic", b"platformdirs", b"tomllib", b"clawperator.engine.facade"})
        monkeypatch.setattr("clawperator.app.cli.session.run", lambda *_: ["from.the.engine"])
        light, heavy = {"packages": json.loads(run.stdout)["packages"]}, {"packages": ["from.the.engine"]}
        assert cli("packages", "list", *QUIET).document == light
        assert cli("packages", "list", "--verbose").document == heavy
        assert cli("packages", "list", "--device-id", "nobody").document == heavy
        monkeypatch.setenv("CLAWPERATOR_POLICY", str(tmp_path / "policy.toml"))
        assert cli("packages", "list").document == heavy

    @pytest.mark.parametrize("words", [("observe", "snapshot"), ("inspect", "ui")])
    def test_snapshot(self, cli: Cli, words: tuple[str, str]) -> None:
        run = cli(*words)
        assert (run.exit_code, run.err) == (0, "")
        assert list(run.document)[:7] == SHAPE
        assert (run.document["ok"], run.document["isCanonicalTerminal"], run.document["mode"]) == (True, True, "direct")
        (step,) = run.document["envelope"]["stepResults"]
        assert (step["id"], step["actionType"], step["success"]) == ("snap", "snapshot_ui", True)
        assert "<hierarchy" in step["data"]["text"]

    def test_a_snapshot_cut_short(self, cli: Cli) -> None:
        data = cli("observe", "snapshot", "--max-snapshot-bytes", "200").document["envelope"]["stepResults"][0]["data"]
        assert data["truncated"] == "true"
        assert len(data["text"].encode()) <= 200

    def test_a_snapshot_for_eyes(self, cli: Cli) -> None:
        run = cli("observe", "snapshot", "--output", "pretty")
        assert (run.exit_code, run.err) == (0, "")
        assert run.out.startswith("succeeded  snapshot-")
        assert "  compact of tree " in run.out
        assert "<hierarchy" not in run.out

    def test_people_get_views_and_no_xml(self, cli: Cli) -> None:
        """Of every document in which a dump can be."""
        looked = plan(LOOK, {**LOOK, "id": "second"})
        cli("exec", looked)
        row = str(cli("history", "list", "--limit", "1").document["executions"][0]["number"])
        for words, views in (
            (("exec", looked), 2),
            (("snapshot", "--max-snapshot-bytes", "900"), 1),
            (("skills", "run", "com.android.settings.overview", "--artifact", "overview", "--registry", "builtin"), 1),
            (("history", "show", row, "--tree", "look"), 1),
            (("history", "show", row), 0),
        ):
            run = cli(*words, "--output", "pretty")
            assert run.out.count(" of tree ") == views, (words, run.out)
            assert "<node" not in run.out, words
            assert "<hierarchy" not in run.out, words

    def test_screenshot(self, cli: Cli, tmp_path: Path) -> None:
        picture = tmp_path / "screen.png"
        first = cli("observe", "screenshot", "--path", str(picture))
        assert first.document["envelope"]["stepResults"][0]["data"]["path"] == str(picture)
        assert picture.read_bytes().startswith(b"\x89PNG\r\n")
        picture.write_bytes(b"mine")
        second = cli("observe", "screenshot", "--path", str(picture))
        assert (second.exit_code, second.document["code"]) == (1, "FILE_EXISTS")
        assert "--overwrite" in second.document["hint"]
        assert picture.read_bytes() == b"mine"
        cli("observe", "screenshot", "--path", str(picture), "--overwrite")
        assert picture.read_bytes().startswith(b"\x89PNG\r\n")

    def test_an_annotated_screenshot(self, cli: Cli, tmp_path: Path) -> None:
        plain, picture = tmp_path / "plain.png", tmp_path / "screen.png"
        cli("observe", "screenshot", "--path", str(plain))
        run = cli("observe", "screenshot", "--annotate", "--path", str(picture))
        then, data = run.document["then"], run.document["envelope"]["stepResults"][0]["data"]
        assert (then["view"], then["changed"], "text" in then) == ("interactive", False, False)
        assert data["annotated"] == sum(bool(node["can"]) for node in nodes_of(then))
        assert (run.exit_code, run.document.get("warnings")) == (0, None)
        assert picture.read_bytes() != plain.read_bytes()
        shown = cli("observe", "screenshot", "--annotate", "--path", str(picture), "--overwrite", "--output", "pretty")
        assert f"interactive of tree {then['tree']}" in shown.out

    def test_lock_status(self, cli: Cli) -> None:
        assert cli("lock", "status").document == {"locks": []}
        assert cli("lock", "status", *QUIET).document == {"locks": [{"deviceId": SERIAL, "state": "free"}]}
        assert cli("lock", "status", "--output", "pretty").out == "No device is locked.\n"

    def test_compatibility(self, cli: Cli) -> None:
        fits = cli("version", "--check-compat")
        assert (fits.exit_code, fits.document["compatible"], fits.document["cliVersion"]) == (0, True, __version__)
        absent = cli("version", "--check-compat", "--operator-package", "com.example.nobody")
        assert (absent.exit_code, absent.document["compatible"]) == (1, False)
        assert absent.document["error"]["code"] == "OPERATOR_NOT_INSTALLED"
        classic = cli("version", "--check-compat", "--receiver-package", "com.example.nobody")
        assert classic.document["error"]["code"] == "RECEIVER_NOT_INSTALLED"
        assert (
            "not compatible" in cli("version", "--check-compat", "--operator-package", "a.b", "--output", "pretty").out
        )

    def test_doctor(self, cli: Cli) -> None:
        run = cli("doctor", "--check-only")
        assert run.exit_code == 0
        assert run.out.startswith('{\n  "ok": ')
        ids = [check["id"] for check in run.document["checks"]]
        assert ids[0] == "host.python.version"
        shown = cli("doctor", "--output", "pretty", "--check-only").out
        assert shown.startswith("Clawperator doctor\nDevice: ")
        assert "Critical checks\n  [OK] Python" in shown

    def test_no_one_is_chosen_silently(self, cli: Cli) -> None:
        for words in (("observe", "snapshot"), ("packages", "list"), ("version", "--check-compat"), ("watch",)):
            run = cli(*words, "--device-id", "nobody")
            assert (run.exit_code, run.document["code"]) == (1, "DEVICE_NOT_FOUND"), words
            assert run.document["details"]["connected"] == [SERIAL]


@pytest.mark.usefixtures("device")
class TestExecuting:
    def test_a_plan(self, cli: Cli, tmp_path: Path) -> None:
        (tmp_path / "plan.json").write_text(plan(OPEN, READY, LOOK), encoding="utf-8")
        run = cli("execute", "--execution", str(tmp_path / "plan.json"))
        assert (run.exit_code, run.err) == (0, "")
        assert list(run.document)[:7] == SHAPE
        envelope = run.document["envelope"]
        assert (envelope["commandId"], envelope["status"]) == ("cmd-1", "success")
        assert [step["id"] for step in envelope["stepResults"]] == ["open", "ready", "look"]
        assert HOMEPAGE in envelope["stepResults"][2]["data"]["text"]

    @pytest.mark.parametrize("command", ["execute", "exec"])
    def test_a_plan_of_actions_only(self, cli: Cli, tmp_path: Path, command: str) -> None:
        actions = json.dumps([{"type": "open_app", "params": {"applicationId": SETTINGS}}, {"type": "snapshot_ui"}])
        (tmp_path / "plan.json").write_text(f'{{"actions": {actions}, "timeoutMs": 9000}}', encoding="utf-8")
        for run in (
            cli(command, f" {actions}"),
            cli(command, "-", stdin=actions.encode()),
            cli(command, str(tmp_path / "plan.json")),
        ):
            assert [step["id"] for step in run.document["envelope"]["stepResults"]] == ["s1", "s2"]
            assert run.exit_code == 0
        whole = cli(command, str(tmp_path / "plan.json"), "--validate-only").document["execution"]
        assert (whole["timeoutMs"], whole["taskId"]) == (9_000, whole["commandId"])

    def test_inline_and_from_stdin(self, cli: Cli) -> None:
        text = plan(LOOK)
        assert cli("execute", "--execution", f"  {text}\n").exit_code == 0
        assert cli("execute", "--execution", "-", stdin=text.encode()).exit_code == 0

    def test_a_failed_plan_is_a_result_and_exit_1(self, cli: Cli) -> None:
        missing = {
            "id": "c",
            "type": "click",
            "params": {"matcher": {"textEquals": "no such thing"}, "retry": {"maxAttempts": 1}},
        }
        run = cli("execute", "--execution", plan(missing))
        assert (run.exit_code, run.document["ok"]) == (1, True)
        assert run.document["envelope"]["status"] == "failed"
        assert run.document["envelope"]["errorCode"] == "NODE_NOT_FOUND"
        raw = cli("execute", "--execution", plan(missing), "--raw-envelope")
        assert raw.exit_code == 1
        assert "errorCode" not in raw.document["envelope"]
        assert cli("execute", "--execution", plan(missing), "--output", "pretty").out.startswith("failed  cmd-1")

    def test_warnings(self, cli: Cli) -> None:
        odd = {"id": "o", "type": "open_app", "params": {"applicationId": SETTINGS, "uri": "x:y"}}
        quiet = cli("execute", "--execution", plan(odd))
        assert quiet.err == ""
        assert [warning["code"] for warning in quiet.document["warnings"]] == ["PARAM_UNUSED"]
        spoken = cli("execute", "--execution", plan(odd), "--output", "pretty")
        assert spoken.err.startswith("[clawperator] WARN: open_app does not use params.uri")

    def test_the_story(self, cli: Cli) -> None:
        run = cli("execute", "--execution", plan(LOOK), "--verbose")
        assert run.document["ok"] is True
        lines = run.err.splitlines()
        assert lines[0] == f"[clawperator] cmd-1: 1 actions within 10000 ms on {SERIAL}"
        assert "[clawperator] cmd-1: dispatched" in lines
        assert lines[-2].startswith("[clawperator] cmd-1: finished after ")
        assert lines[-1].startswith("[clawperator] phases: ")

    def test_the_operator_app_is_missing(self, cli: Cli) -> None:
        run = cli("execute", "--execution", plan(LOOK), "--receiver-package", "com.example.nobody")
        assert (run.exit_code, run.document["code"]) == (1, "RECEIVER_NOT_INSTALLED")

    def test_environment_chooses_where_no_flag_does(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ANDROID_SERIAL", "nobody")
        assert cli("observe", "snapshot").document["code"] == "DEVICE_NOT_FOUND"
        assert cli("observe", "snapshot", *QUIET).exit_code == 0
        monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", SERIAL)
        assert cli("observe", "snapshot").exit_code == 0
        monkeypatch.setenv("CLAWPERATOR_RECEIVER_PACKAGE", "com.example.nobody")
        assert cli("observe", "snapshot").document["code"] == "RECEIVER_NOT_INSTALLED"
        monkeypatch.setenv("CLAWPERATOR_OPERATOR_PACKAGE", "com.clawperator.operator")
        assert cli("observe", "snapshot").exit_code == 0

    def test_the_settings_file_is_read(self, cli: Cli, tmp_path: Path) -> None:
        folder = tmp_path / "config" / "clawperator"
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text('device_id = "nobody"\n', encoding="utf-8")
        assert cli("observe", "snapshot").document["code"] == "DEVICE_NOT_FOUND"
        assert cli("devices").exit_code == 0
        (folder / "settings.toml").write_text("colour = 1\n", encoding="utf-8")
        assert cli("observe", "snapshot").document["code"] == "SETTINGS_INVALID"
        assert cli("devices").document["code"] == "SETTINGS_INVALID"


ACTIONS: list[tuple[tuple[str, ...], str]] = [
    (("open-app", "--app", SETTINGS), "open_app"),
    (("wait", "--id", HOMEPAGE), "wait_for_node"),
    (("read", "--selector", json.dumps({"resourceId": HOMEPAGE})), "read_text"),
    (("scroll", "--direction", "down", "--container-id", f"{SETTINGS}:id/recycler_view"), "scroll"),
    (("scroll-until", "--max-scrolls", "2", "--direction", "up"), "scroll_until"),
    (("click", "--text", "Network & internet"), "click"),
    (("press-key", "--key", " Back "), "press_key"),
    (("scroll-and-click", "--text", "Display"), "scroll_and_click"),
    (("open-uri", "--uri", "https://example.org/"), "open_uri"),
]


@pytest.mark.usefixtures("device")
def test_a_tour_by_actions(cli: Cli) -> None:
    """One device, one action after another, each by the flags of its command."""
    for arguments, action_type in ACTIONS:
        run = cli("action", *arguments)
        assert run.err == ""
        assert list(run.document)[:7] == SHAPE, arguments
        if action_type == "open_uri":
            continue  # whether anything handles the address is the device's business
        (step,) = run.document["envelope"]["stepResults"]
        assert (run.exit_code, step["actionType"], step["success"]) == (0, action_type, True), (arguments, step)


@pytest.mark.usefixtures("device")
def test_the_log_has_what_went_to_adb_but_no_payload(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    assert cli("action", "click", "--text", "Settings", "--log-level", "debug").exit_code == 0
    (log,) = (tmp_path / "logs").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    sent = [line["message"] for line in lines if line["event"] == "adb.command"]
    assert len([line for line in lines if line["event"] == "adb.complete"]) == len(sent)
    assert [line for line in sent if "--es payload '[REDACTED]' --receiver-foreground" in line]
    assert "textEquals" not in log.read_text()
    assert [line["ts"] for line in lines] == sorted(line["ts"] for line in lines)
    log.unlink()
    assert cli("action", "click", "--text", "Settings").exit_code in (0, 1)
    assert "adb." not in log.read_text()


def test_the_newer_generation_clicks_points_and_searches(cli: Cli, simulate: Simulate) -> None:
    simulate("--generation", "0.5")
    assert cli("action", "open-app", "--app", SETTINGS).exit_code == 0
    assert cli("action", "wait", "--id", HOMEPAGE).exit_code == 0
    found = cli("action", "scroll-until", "--text", "System", "--click", "--max-duration-ms", "20000")
    assert found.document["envelope"]["stepResults"][0]["data"]["termination_reason"] == "TARGET_FOUND"
    assert cli("action", "click", "--coordinate", "540", "1200").exit_code == 0


@pytest.mark.usefixtures("device")
def test_the_older_generation_is_not_sent_what_it_does_not_know(cli: Cli) -> None:
    run = cli("action", "click", "--coordinate", "540", "1200")
    assert (run.exit_code, run.document["code"]) == (1, "EXECUTION_ACTION_UNSUPPORTED")
    assert run.document["details"]["requiresApk"] == "0.5"


@pytest.mark.usefixtures("lonely")
def test_several_devices(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with simulation("--devices", "2") as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert [device["serial"] for device in cli("devices").document["devices"]] == [SERIAL, "emulator-5556"]
        run = cli("observe", "snapshot")
        assert run.document["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
        assert cli("observe", "snapshot", "--device", "emulator-5556").document["deviceId"] == "emulator-5556"


def test_a_scenario_that_cannot_be_read(process: ProcessCli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("devise: {}\n", encoding="utf-8")
    run = process("sim", "--scenario", str(tmp_path / "bad.yaml"))
    assert (run.exit_code, run.document["code"]) == (1, "SCENARIO_INVALID")
    assert "bad.yaml" in run.document["message"]


def test_the_wrong_build_of_the_app_is_refused_before_anything_is_sent(
    cli: Cli, simulate: Simulate, tmp_path: Path
) -> None:
    (tmp_path / "debug.yaml").write_text("operator: {package: com.clawperator.operator.dev}\n", encoding="utf-8")
    simulate("--scenario", str(tmp_path / "debug.yaml"))
    run = cli("observe", "snapshot")
    assert (run.exit_code, run.document["code"]) == (1, "RECEIVER_NOT_INSTALLED")
    assert run.document["broadcastDispatchStatus"] == "not_sent"
    assert run.document["details"]["installed"] == ["com.clawperator.operator.dev"]
    assert "--receiver-package com.clawperator.operator.dev" in run.document["hint"]


@pytest.mark.usefixtures("impatient")
def test_a_device_that_settles_says_so_and_can_be_waited_for(cli: Cli, simulate: Simulate, tmp_path: Path) -> None:
    (tmp_path / "silent.yaml").write_text("faults:\n- {kind: silence, commands: [1]}\n", encoding="utf-8")
    simulate("--scenario", str(tmp_path / "silent.yaml"))
    assert cli("observe", "snapshot", "--timeout-ms", "1000").document["code"] == "RESULT_ENVELOPE_TIMEOUT"
    details = cli("observe", "snapshot").document["details"]
    assert 0 < details["retryAfterMs"] <= 2_000
    assert "pid" not in details
    assert cli("observe", "snapshot", "--wait", "30000").document["ok"] is True
    refused = cli("observe", "snapshot", "--wait", "600001").document
    assert (refused["code"], refused["details"]["path"]) == ("EXECUTION_VALIDATION_FAILED", "--wait")


SILENT = "faults:\n- kind: silence\n"


class TestInterrupts:
    def test_after_the_command_was_sent(self, cli: Cli, simulate: Simulate, tmp_path: Path) -> None:
        (tmp_path / "silent.yaml").write_text(SILENT, encoding="utf-8")
        simulate("--scenario", str(tmp_path / "silent.yaml"))
        with _running("execute", "--execution", plan(LOOK), "--verbose") as (child, story):
            for line in story:
                if line.endswith("dispatched\n"):
                    break
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=patience(30))
        assert child.returncode == 130
        error = json.loads(out)
        assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "sent")
        assert (error["deviceId"], len(error["executionId"])) == (SERIAL, 36)
        status = cli("lock", "status", *QUIET).document["locks"][0]["state"]
        assert status in ("free", "settling")
        if status == "settling":
            assert cli("execute", "--execution", plan(LOOK)).document["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"

    @pytest.mark.usefixtures("device")
    def test_of_watch(self) -> None:
        with _running("watch", "--verbose") as (child, _):
            assert child.stdout is not None
            subprocess.run([*CLI, "observe", "snapshot"], stdout=subprocess.DEVNULL, timeout=patience(50), check=True)
            child.stdout.readline()
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=patience(30))
        assert child.returncode == 130
        assert "INTERRUPTED" not in out, "Ctrl-C is its normal end"


@contextmanager
def _running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    with running([*CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        yield child, child.stderr


@pytest.mark.usefixtures("device")
def test_watch_shows_what_others_do() -> None:
    with _running("watch") as (child, _):
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["event"] == "attached"
        subprocess.run([*CLI, "observe", "snapshot"], stdout=subprocess.DEVNULL, timeout=patience(50), check=True)
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["event"] != "envelope":
            seen.append(json.loads(child.stdout.readline()))
    assert {line["event"] for line in seen} == {"progress", "snapshot", "envelope"}
    tree = next(line for line in seen if line["event"] == "snapshot")
    assert (tree["deviceId"], tree["complete"]) == (SERIAL, True)
    assert "<hierarchy" in tree["text"]


class TestDemo:
    def test_without_a_terminal(self, process: ProcessCli) -> None:
        """No adb, no phone, no configuration: one document that a person can read."""
        run = process("demo")
        assert (run.exit_code, run.err) == (0, "")
        assert len(run.out) < 4096
        assert list(run.document) == ["ok", "outcome"]
        steps = run.document["outcome"]["steps"]
        assert [step["status"] for step in steps] == ["done"] * 6
        assert "Display" in steps[2]["data"]["view"]["lines"]

    def test_the_whole_result_is_there_for_who_asks(self, process: ProcessCli) -> None:
        assert list(process("demo", "--raw-envelope").document)[:7] == SHAPE

    def test_for_eyes(self, process: ProcessCli) -> None:
        run = process("demo", "--output", "pretty")
        assert run.exit_code == 0
        assert run.out.startswith("succeeded  demo-")
        assert len(run.out) < 4096
        assert run.out.count("  compact of tree ") == 2
        assert "<node" not in run.out

    def test_it_leaves_no_ones_device_alone(self, process: ProcessCli, tmp_path: Path) -> None:
        """Neither the user's choice of a device nor the locks of this machine matter to it, and it leaves no file."""
        run = process(
            "demo", "--json", env={"ANDROID_SERIAL": "nobody", "CLAWPERATOR_RECEIVER_PACKAGE": "com.example.nobody"}
        )
        assert run.exit_code == 0
        assert not (tmp_path / ".clawperator").exists()
