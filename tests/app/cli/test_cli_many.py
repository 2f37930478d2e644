"""``--devices``: a line per device, a summary, and the exit code of the worst."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from clawperator.app.cli import output
from clawperator.app.cli.execution import on_devices
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.scenario import Scenario
from tests.app.cli.conftest import served
from tests.support import CLI, command_line, patience

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.app.cli.conftest import Cli, Run

PLAN = json.dumps(
    {
        "commandId": "many",
        "taskId": "t",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 20_000,
        "actions": [
            {"id": "a", "type": "sleep", "params": {"durationMs": 1}},
            {"id": "b", "type": "sleep", "params": {"durationMs": 1}},
        ],
    }
)
SETTINGS = """\
[devices.one]
serial = "emulator-5554"
tags = ["lab", "good"]
[devices.two]
serial = "emulator-5556"
tags = ["lab"]
[devices.away]
serial = "R58M"
tags = ["field"]
"""


@pytest.fixture
def devices(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three devices, of which the last one leaves in the middle of its first execution; two have aliases."""
    folder = Path(lonely["XDG_CONFIG_HOME"], "clawperator")
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    leaves = {"faults": [{"kind": "disconnect", "step": 1, "commands": [1]}]}
    worlds = [
        create_device(Scenario.model_validate({"speed": 0, "device": {"serial": serial}, **more}))
        for serial, more in (("emulator-5554", {}), ("emulator-5556", {}), ("emulator-5558", leaves))
    ]
    with served(worlds) as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield


def lines(run: Run) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The rows by device, and the summary."""
    *rows, total = map(json.loads, run.out.splitlines())
    by_device = {row["deviceId"]: row for row in rows}
    assert len(by_device) == len(rows)
    return by_device, total


@pytest.mark.usefixtures("devices")
def test_every_device_has_one_row_and_the_worst_decides(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "many.xml"
    run = cli("execute", PLAN, "--devices", "all,away", "--junit", str(file))
    rows, total = lines(run)
    states = {serial: (row["status"], row.get("alias", "")) for serial, row in rows.items()}
    assert states == {
        "emulator-5554": ("succeeded", "one"),
        "emulator-5556": ("succeeded", "two"),
        "emulator-5558": ("unknown", ""),
        "R58M": ("failed", "away"),
    }
    assert rows["emulator-5554"]["envelope"]["commandId"] == "many"
    assert rows["emulator-5554"]["isCanonicalTerminal"] is True
    assert rows["emulator-5558"]["error"]["broadcastDispatchStatus"] == "sent"
    assert rows["R58M"]["error"]["code"] == "DEVICE_NOT_FOUND"
    assert (run.exit_code, total["ok"]) == (1, False)
    names = {case.get("name"): [child.tag for child in case] for case in ET.parse(file).iter("testcase")}
    assert names == {"one": ["system-out"], "two": ["system-out"], "emulator-5558": ["failure"], "away": ["failure"]}

    run = cli("execute", PLAN, "--devices", "tag:lab", "--jobs", "1", "--brief")
    assert [json.loads(line).get("alias") for line in run.out.splitlines()] == ["one", "two", None]
    assert (run.exit_code, lines(run)[1]["ok"]) == (0, True)
    pretty = cli("execute", PLAN, "--devices", "away,one", "--jobs", "1", "--fail-fast", "--output", "pretty").out
    assert pretty.splitlines()[-1].startswith("2 devices: 1 failed, 1 not run in ")
    assert "not run   one" in pretty


@pytest.mark.usefixtures("devices")
def test_an_alias_stands_for_a_serial_everywhere(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("execute", PLAN, "--device", "two").document["deviceId"] == "emulator-5556"
    assert cli("lock", "status", "--device", "two").document["locks"][0]["deviceId"] == "emulator-5556"
    assert len(cli("history", "list", "--device", "two").document["executions"]) == 1
    monkeypatch.setenv("ANDROID_SERIAL", "one")
    assert cli("observe", "snapshot", "--brief").document["ok"] is True
    refused = cli("observe", "snapshot", "--device", "twoo").document
    assert (refused["code"], refused["hint"]) == ("DEVICE_NOT_FOUND", "Did you mean 'two'?")


@pytest.mark.usefixtures("devices")
def test_a_skill_runs_on_each_device(cli: Cli) -> None:
    run = cli("skills", "run", "com.android.settings.overview", "--registry", "builtin", "--artifact", "overview", "--devices", "tag:lab")  # fmt: skip
    rows, total = lines(run)
    assert {row["skillId"] for row in rows.values()} == {"com.android.settings.overview"}
    assert (len(rows), total["summary"]["devices"]) == (2, 2)


@pytest.mark.usefixtures("lonely")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--jobs", "2"), "--jobs requires --devices"),
        (("--fail-fast",), "--fail-fast requires --devices"),
        (("--junit", "x", "--dry-run"), "--junit reports a run: it needs one without --dry-run or --validate-only"),
        (("--devices", "a", "--device", "b"), "--device and --devices cannot be combined"),
    ],
)
def test_flags_that_have_no_effect_are_refused(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    run = cli("execute", PLAN, *arguments)
    assert (run.exit_code, run.document["code"], run.document["message"]) == (1, "USAGE", message)


def test_an_interrupt_leaves_a_row_for_every_device_and_a_whole_junit_file(
    lonely: dict[str, str], tmp_path: Path
) -> None:
    plan = json.loads(PLAN)
    plan["actions"][0]["params"]["durationMs"] = 15_000
    worlds = [create_device(Scenario.model_validate({"speed": 1}), index=index) for index in range(3)]
    report = tmp_path / "report.xml"
    words = ("execute", json.dumps(plan), "--devices", "all", "--jobs", "2", "--junit", str(report), "--no-warm")
    with served(worlds) as env:
        child = subprocess.Popen(
            (*CLI, *words),
            env={**os.environ, **lonely, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        deadline = time.monotonic() + patience(30)
        while sum(world.commands for world in worlds) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=patience(30))
    *rows, total = [json.loads(line) for line in out.splitlines()]
    assert (child.returncode, errors) == (130, b"")
    assert Counter(row["status"] for row in rows) == {"unknown": 2, "not_run": 1}
    assert {row["deviceId"] for row in rows} == {world.serial for world in worlds}
    assert total["summary"]["interrupted"] is True
    assert len(ET.parse(report).findall(".//testcase")) == 3


@pytest.mark.usefixtures("devices")
def test_an_interrupt_while_a_row_is_written_loses_no_row(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    """As a second Ctrl-C, or one while stdout is blocked."""

    async def cut(_: bytes) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(output, "write", cut)
    report = tmp_path / "report.xml"
    options = command_line("execute", PLAN, "--devices", "all,away", "--jobs", "1", "--junit", str(report))
    assert on_devices(json.loads(PLAN), options) == 130
    *rows, total = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [row["status"] for row in rows].count("not_run") >= 2
    assert total["summary"]["devices"] == len(rows) == len(ET.parse(report).findall(".//testcase")) == 4


@pytest.mark.usefixtures("devices")
def test_an_artifact_that_is_none_is_refused_before_any_device_is_used(cli: Cli) -> None:
    for words in (
        ("execute", '{"executions":[]}', "--devices", "all"),
        (
            "skills",
            "run",
            "com.android.settings.overview",
            "--registry",
            "builtin",
            "--artifact",
            "none",
            "--devices",
            "all",
        ),
    ):
        run = cli(*words)
        assert (run.exit_code, len(run.out.splitlines())) == (1, 1)
        assert run.document["code"] in ("EXECUTION_VALIDATION_FAILED", "ARTIFACT_NOT_FOUND")
