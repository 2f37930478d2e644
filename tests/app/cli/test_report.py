"""``report``: a bundle that can be sent to a stranger, made when something is broken."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.bundles import report
from tests.app.cli.test_cli_end_to_end import LOOK, OPEN, READY, SERIAL, plan, simulation
from tests.support import CLI, OWNER, Spawn, patience

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

TYPED = "my bank balance"
WORDS = {"id": "type", "type": "enter_text", "params": {"matcher": {"textEquals": "nothing"}, "text": TYPED}}


def contents(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name.removeprefix("clawperator-report/"): archive.read(name).decode() for name in archive.namelist()}


def left_out(document: dict[str, Any]) -> dict[str, str]:
    return {entry["what"]: entry["why"] for entry in document["leftOut"]}


def state_folder() -> Path:
    return Path(os.environ["XDG_STATE_HOME"]) / "clawperator"


def test_without_device_and_adb_there_is_a_report_all_the_same(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "r.zip"
    run = cli("report", "--to", str(target))
    assert run.exit_code == 0
    assert [line.rpartition(" ")[2] for line in run.err.splitlines()] == [
        "versions", "settings", "locks", "crash", "runs", "doctor",
    ]  # fmt: skip
    document = run.document
    assert (document["ok"], document["path"], document["bytes"]) == (True, str(target), target.stat().st_size)
    assert target.stat().st_mode & 0o777 == 0o600
    files = contents(target)
    listed = {file["name"]: file["bytes"] for file in document["files"]}
    assert listed == {name: len(text.encode()) for name, text in files.items()}
    assert list(files) == ["about.txt", "versions.json", "settings.json", "locks.json", "doctor.json"]
    assert json.loads(files["versions.json"])["adb"] == "adb was not found"
    assert json.loads(files["versions.json"])["libraries"]["textual"] == version("textual")
    assert json.loads(files["doctor.json"])["criticalOk"] is False
    assert left_out(document)["crash"] == "the console has not failed yet"
    assert left_out(document)["runs"] == "nothing was recorded yet"
    for entry in document["leftOut"]:
        assert entry["what"] in files["about.txt"]


def test_nothing_of_the_user_is_in_it(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "jane.doe"
    home.mkdir(parents=True)
    secrets = {
        "HOME": str(home), "LOGNAME": "jane.doe", "USER": "jane.doe", "ANDROID_SERIAL": "R5CT20ABCDE",
        "MY_TOKEN": "do-not-tell", "TMUX": "/tmp/tmux-1000/default,1234", "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }  # fmt: skip
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    (home / ".config" / "clawperator").mkdir(parents=True)
    (home / ".config" / "clawperator" / "settings.toml").write_text('action_agent_command = "a.b.jane@example.org"\n')
    (state_folder() / "console").mkdir(parents=True)
    story = f'Traceback (most recent call last):\n  File "{home}/x.py", line 1, in f\nValueError: {TYPED}\n'
    (state_folder() / "console" / "console-crash.txt").write_text(story)
    target = tmp_path / "r.zip"
    run = cli("report", "--to", str(target))
    everything = "\n".join(contents(target).values())
    for secret in ("jane", str(home), "R5CT20ABCDE", "do-not-tell", "tmux-1000", TYPED, socket.gethostname()):
        assert secret not in everything, secret
    assert '"TMUX": "set"' in everything
    assert '  File "~/x.py", line 1, in f\nValueError: (message left out)\n' in everything
    counted = {entry["what"]: entry["count"] for entry in run.document["redacted"]}
    assert counted["device serial"] >= 1
    assert counted["e-mail address"] == 1
    assert counted["home folder"] >= 2


@pytest.mark.parametrize("damage", ["settings", "history", "crash", "locks"])
def test_what_is_broken_is_named_and_the_rest_is_there(
    cli: Cli, tmp_path: Path, damage: str, lonely: dict[str, str]
) -> None:
    state = state_folder()
    match damage:
        case "settings":
            folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
            folder.mkdir(parents=True)
            (folder / "settings.toml").write_text("[console]\nbell = 3\n")
        case "history":
            state.mkdir(parents=True)
            (state / "history.db").write_bytes(b"SQLite format 3\0" + os.urandom(5_000))
        case "crash":
            (state / "console" / "console-crash.txt").mkdir(parents=True)
        case "locks":
            (tmp_path / ".clawperator").mkdir()
            (tmp_path / ".clawperator" / "locks").write_text("no folder")
    target = tmp_path / "r.zip"
    run = cli("report", "--to", str(target))
    assert run.exit_code == 0
    files = contents(target)
    assert {"about.txt", "versions.json", "settings.json", "doctor.json"} <= set(files)
    match damage:
        case "settings":
            assert "line 2: console.bell must be true or false" in files["settings.json"]
        case "history":
            assert "damaged" in left_out(run.document)["runs"]
        case "crash":
            assert left_out(run.document)["crash"].startswith("IsADirectoryError")


def test_sources_codes_and_unexpected_answers_are_masked() -> None:
    sources = report._Sources()
    run = dict.fromkeys(report._RUN_FIELDS, "") | {"source": "jane's bank", "code": "Jane is not at home"}
    lock = {"deviceId": "d", "commandId": "jane", "taskId": "jane", "source": "jane's bank", "pid": 7}
    assert (found := report._run(run, sources))["source"] == "<source-1>"
    assert report._lock(lock, sources) == {"deviceId": "d", "source": "<source-1>", "pid": 7}
    assert report._run({**run, "source": "other", "code": "NODE_NOT_FOUND"}, sources)["source"] == "<source-2>"
    assert report._run({**run, "source": ""}, sources)["source"] == ""
    check = {"id": "x", "evidence": {"output": "jane", "data": {"jane's": ["jane"]}, "version": "1.2", "count": 3}}
    masked = report._check(check)["evidence"]
    assert masked == {"output": "****", "data": {"jane's": ["****"]}, "version": "1.2", "count": 3}
    assert "jane" not in json.dumps(found).casefold()


def test_with_a_device_and_a_history(
    cli: Cli, lonely: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulation() as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert cli("execute", "--execution", plan(OPEN, READY, LOOK, WORDS)).exit_code in (0, 1)
        target = tmp_path / "r.zip"
        run = cli("report", "--to", str(target), "--lines", "5")
    assert run.exit_code == 0
    files = contents(target)
    doctor = json.loads(files["doctor.json"])
    assert "readiness.handshake" in {check["id"] for check in doctor["checks"]}
    (past,) = json.loads(files["runs.json"])
    assert past["actionCount"] == 4
    assert past["source"] == "<source-1>"
    assert past["deviceId"] == doctor["deviceId"] == "<emulator-1>"
    everything = "\n".join(files.values())
    for private in (SERIAL, TYPED, "cmd-1", "task-1", "<node", "android:id", "homepage_title"):
        assert private not in everything, private


def test_no_runs_where_none_are_wanted_or_kept(
    cli: Cli, lonely: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with simulation() as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        cli("observe", "snapshot")
        cli("report", "--to", str(tmp_path / "none.zip"), "--lines", "0")
        monkeypatch.setenv("CLAWPERATOR_NO_HISTORY", "1")
        off = cli("report", "--to", str(tmp_path / "off.zip"))
    assert json.loads(contents(tmp_path / "none.zip")["runs.json"]) == []
    assert left_out(off.document)["runs"] == "the history is switched off"


@pytest.mark.cold
def test_a_doctor_that_hangs_does_not_keep_the_rest(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "DOCTOR_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(silent.getsockname()[1]))
        run = cli("report", "--to", str(tmp_path / "r.zip"))
    assert run.exit_code == 0
    doctor = json.loads(contents(tmp_path / "r.zip")["doctor.json"])
    assert doctor["unfinished"].startswith("The checks took more than")
    assert doctor["checks"][0]["id"] == "host.python.version"


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "r.zip"
    target.write_text("mine")
    run = cli("report", "--to", str(target))
    assert run.exit_code == 1
    assert run.document["message"] == f"--to {target} exists already"
    assert run.err == ""
    assert target.read_text() == "mine"


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    from clawperator.engine.errors import EngineError

    target = tmp_path / "r.zip"
    target.write_text("mine")
    with pytest.raises(EngineError, match="cannot be written: it exists already"):
        report.write(report.Bundle(), str(target), OWNER)
    assert target.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "/nowhere/at/all/r.zip"), "/nowhere/at/all is not a folder"),
        (("--lines", "-1"), "--lines"),
        (("--lines", "many"), "--lines must be an integer in [0, 100000]"),
        (("here.zip",), "unexpected argument 'here.zip'"),
    ],
)
def test_wrong_words(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    run = cli("report", *arguments)
    assert run.exit_code == 1
    assert words in run.document["message"]


def test_without_a_name_it_gets_one_here(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = cli("report", "--output", "pretty")
    (made,) = tmp_path.glob("clawperator-report-*.zip")
    assert run.out.startswith(f"written  {made}, ")
    assert "Left out:\n  texts of screens, UI trees and pictures: " in run.out


@pytest.mark.usefixtures("lonely")
def test_an_interrupt_leaves_no_file(tmp_path: Path, spawn: Spawn) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        child = spawn(
            [*CLI, "report", "--to", str(tmp_path / "r.zip")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "ANDROID_ADB_SERVER_PORT": str(silent.getsockname()[1])},
        )  # fmt: skip
        silent.settimeout(patience(30))
        asking, _ = silent.accept()
        with asking:
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=patience(20))
    assert child.returncode == 130
    assert json.loads(out)["code"] == "INTERRUPTED"
    assert not list(tmp_path.glob("*.zip"))
