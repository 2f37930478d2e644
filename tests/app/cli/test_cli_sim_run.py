"""``sim --run``: a command with simulated devices that live as long as it does; ``sim reset``: they are as at the start."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clawperator.engine.simulator import services
from tests.app.cli.conftest import Cli, Plug
from tests.support import CLI, patience, running, varied

SHELL = ("/bin/sh", "-c")


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [
        ((*SHELL, "exit 7"), 7),
        ((*SHELL, "kill -9 $$"), 137),
        (("no-such-program", "x"), 127),
        (("/etc/passwd",), 126),
        (("/",), 126),
    ],
)
def test_the_exit_code_is_the_commands(cli: Cli, lonely: object, command: tuple[str, ...], exit_code: int) -> None:
    del lonely
    run = cli("sim", "--run", "--", *command)
    assert (run.exit_code, run.out) == (exit_code, "")
    assert ("Cannot run" in run.err) == (exit_code in (126, 127)), run.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--run",), "requires a command after --"),
        (("--run", "--"), "requires a command after --"),
        (("--", "ls"), "requires --run for a command"),
        (("--run", "--emulator-pair", "--", "ls"), "--run and --emulator-pair cannot be combined"),
        (("--run", "ls"), "unexpected argument 'ls'"),
    ],
)
def test_a_doubtful_form_runs_nothing(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    run = cli("sim", *arguments)
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert message in run.document["message"]


def test_every_command_uses_the_device_and_nothing_else(
    cli: Cli, lonely: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the caller's environment says; the command line stands on the PATH, behind everything else."""
    del lonely
    for name, value in (
        ("ADB_SERVER_SOCKET", "tcp:1"),
        ("ANDROID_SERIAL", "R58M"),
        ("CLAWPERATOR_DEVICE_ID", "pixel"),
        ("ANDROID_ADB_SERVER_ADDRESS", "192.0.2.1"),
    ):
        monkeypatch.setenv(name, value)
    lines = "clawperator devices && clawperator open com.example.shop && echo end >&2"
    run = cli("sim", "--run", "--", *SHELL, lines)
    assert run.exit_code == 0, run
    devices, opened = map(json.loads, run.out.splitlines())
    assert [device["serial"] for device in devices["devices"]] == ["emulator-5554"]
    assert (opened["deviceId"], opened["outcome"]["status"]) == ("emulator-5554", "succeeded")
    assert run.err == "end\n"


def test_of_several_devices_none_is_chosen(cli: Cli, lonely: object, monkeypatch: pytest.MonkeyPatch) -> None:
    del lonely
    monkeypatch.setenv("ANDROID_SERIAL", "R58M")
    run = cli("sim", "--run", "--devices", "2", "--", *SHELL, "echo $ANDROID_SERIAL; clawperator click --text x")
    assert run.out.startswith("\n")
    assert json.loads(run.out)["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"


@varied(("number", "code"), [(signal.SIGTERM, 5), (signal.SIGINT, 6), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_command_and_what_it_started(lonely: object, number: signal.Signals, code: int) -> None:
    del lonely
    script = "trap 'exit 5' TERM; trap 'exit 6' INT; /bin/sleep 60 & echo $$ $!; wait"
    with running([*CLI, "sim", "--run", "--", *SHELL, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        pids = child.stdout.readline().split()
        child.send_signal(number)
        assert child.wait(patience(20)) == code
        assert not any(map(_runs, pids))


def _runs(pid: bytes) -> bool:
    """Whether the process exists, and has not merely not been reaped."""
    try:
        return Path("/proc", pid.decode(), "cmdline").read_bytes() != b""
    except OSError:
        return False


def test_what_ignores_a_signal_is_killed(cli: Cli, lonely: object, monkeypatch: pytest.MonkeyPatch) -> None:
    del lonely
    monkeypatch.setattr("clawperator.engine.process.sessions.PATIENCE", 0.1)
    stubborn = f"trap '' TERM; kill -TERM {os.getpid()}; while true; do /bin/sleep 60; done"
    assert cli("sim", "--run", "--", *SHELL, stubborn).exit_code == 137


COUNTS = """
import signal
signal.signal(signal.SIGINT, lambda *_: print("heard", flush=True))
print("ready", flush=True)
for _ in range(4):
    signal.pause()
"""


def test_on_a_terminal_ctrl_c_is_the_commands(lonely: object) -> None:
    """It gets each of them once, and may go on."""
    del lonely
    ours, theirs = pty.openpty()
    command = [*CLI, "sim", "--run", "--", sys.executable, "-c", COUNTS]
    with running(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=_own_terminal):
        os.close(theirs)
        with os.fdopen(ours, "r+b", buffering=0) as terminal:
            assert _until(terminal.fileno(), b"ready").startswith(b"[clawperator] Simulated: emulator-5554")
            for _ in range(4):
                terminal.write(b"\x03")
                _until(terminal.fileno(), b"heard")


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _until(terminal: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 4096)
    return seen


class TestReset:
    def test_everything_is_as_at_the_start(self, cli: Cli, plug: Plug) -> None:
        world = plug()
        before = cli("snapshot").document["envelope"]["stepResults"][0]["data"]["text"]
        for words in (
            ("open", "com.android.settings"),
            ("scroll-and-click", "--text", "Display"),
            ("click", "--text", "Dark theme"),
            ("app", "uninstall", "com.example.shop"),
            ("device", "rotate", "90"),
        ):
            assert cli(*words).exit_code == 0, words
        assert cli("snapshot").document["envelope"]["stepResults"][0]["data"]["text"] != before
        assert cli("sim", "reset").document == {"ok": True, "deviceId": world.serial, "reset": True}
        assert cli("snapshot").document["envelope"]["stepResults"][0]["data"]["text"] == before
        assert "com.example.shop" in cli("packages", "list").document["packages"]

    def test_faults_count_from_one_again(self, cli: Cli, plug: Plug) -> None:
        plug(faults=[{"kind": "broadcast_failure", "stderr": "no", "exit_code": 1, "commands": [2]}])
        for _ in range(2):
            assert [cli("press", "home").exit_code for _ in range(2)] == [0, 1]
            assert cli("sim", "reset").exit_code == 0

    def test_a_device_that_is_not_simulated_is_refused(
        self, cli: Cli, plug: Plug, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plug()
        phone = {name: run for name, run in services.TOOLBOX.items() if name != "clawperator-sim"}
        monkeypatch.setattr("clawperator.engine.simulator.services.TOOLBOX", phone)
        run = cli("sim", "reset")
        assert (run.exit_code, run.document["code"]) == (1, "DEVICE_COMMAND_REFUSED")
        assert "not a simulated device" in run.document["message"]
