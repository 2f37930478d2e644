"""Whole processes: what they import, how they end when a reader leaves or somebody presses Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clawperator.app import interrupts
from tests.support import CLI, Spawn, patience, varied

if TYPE_CHECKING:
    from tests.app.cli.conftest import ProcessCli

LIST = b"emulator-5554          device product:sdk model:Pixel device:emu transport_id:1\n0123456789\tunauthorized\n"
PLAN = json.dumps(
    {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "OK"}}}],
    }
)
CALENDAR = str(Path(__file__).parents[2] / "data" / "hierarchies" / "simple-calendar-month.xml")


@pytest.fixture
def device_list(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Something on the adb server's port that can say one thing: who is connected."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        thread = threading.Thread(target=_answer_lists, args=(listener,), daemon=True)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _answer_lists(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            if connection.recv(4096).endswith(b"host:devices-l"):
                connection.sendall(b"OKAY%04x" % len(LIST) + LIST)


@pytest.fixture
def silent_adb(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """An adb server that takes connections and says nothing, for ever."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        yield listener


@pytest.mark.usefixtures("device_list")
def test_devices(process: ProcessCli) -> None:
    listed = (
        '{"devices":[{"serial":"emulator-5554","state":"device","model":"Pixel","product":"sdk","device":"emu","transportId":1},'
        '{"serial":"0123456789","state":"unauthorized"}]}\n'
    )
    assert process("devices", "--json") == (0, listed, "")
    table = process("devices", "--output", "pretty")
    assert (table.exit_code, table.err) == (0, "")
    assert "emulator-5554   device         Pixel" in table.out
    assert "\x1b" not in table.out


def test_no_adb(process: ProcessCli) -> None:
    run = process("devices")
    assert (run.exit_code, run.err) == (1, "")
    assert run.document["code"] == "ADB_NOT_FOUND"


LIGHT = (
    "asyncio",
    "pydantic",
    "textual",
    "rich",
    "dataclasses",
    "inspect",
    "subprocess",
    "pathlib",
    "logging",
    "tempfile",
)
HEAVY = (
    "argparse",
    "rich",
    "textual",
    "httpx",
    "fastapi",
    "PIL",
    "yaml",
    "watchfiles",
    "rich_argparse",
    "clawperator.widgets",
)
IMPORT_RULES = {
    ("--version",): (*LIGHT, "argparse", "json", "socket", "clawperator.engine.errors"),
    ("-V",): (*LIGHT, "argparse", "json", "socket", "clawperator.engine.errors", "importlib.metadata"),
    ("devices",): (*LIGHT, "argparse", "platformdirs", "tomllib"),
    ("version",): (*LIGHT, "socket"),
    ("help",): LIGHT,
    ("devices", "--help"): LIGHT,
    ("doctor", "--help"): LIGHT,
    ("no-such-command",): LIGHT,
    ("execute", "--execution", PLAN, "--dry-run"): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("execute", "--execution", PLAN): (*HEAVY, "clawperator.engine.config.policy_file"),
    ("observe", "snapshot"): (*HEAVY, "clawperator.engine.config.policy_file", "clawperator.engine.events.types"),
    ("history", "audit"): (*HEAVY, "asyncio", "pydantic"),
    ("policy", "show"): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("skills", "list", "--registry", "builtin"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("serve", "--help"): LIGHT,
    ("match", "--text", "x", "--snapshot", CALENDAR): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("suggest", "--at", "1,1", "--snapshot", CALENDAR): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("diff", CALENDAR, CALENDAR): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("inspect", "ui", "--view", "compact", "--snapshot", CALENDAR): (*HEAVY, "asyncio", "pydantic"),
    ("exec", PLAN, "--dry-run"): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("exec", PLAN): HEAVY,
    ("click", "--text", "x"): HEAVY,
    ("sleep", "soon"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("snapshot",): HEAVY,
    ("packages", "list"): HEAVY,
    ("doctor",): HEAVY,
    ("lock", "status"): HEAVY,
    ("watch", "--count", "1"): HEAVY,
    ("schema", "execution"): HEAVY,
    ("history", "list"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("history", "show", "1"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("history", "prune"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("config", "path"): (*HEAVY, "asyncio", "pydantic", "clawperator.engine.adb"),
    ("config", "show"): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("config", "check"): (*HEAVY, "asyncio", "clawperator.engine.adb"),
    ("console",): ("textual", "rich"),
    (): ("textual", "rich"),
}


@pytest.mark.usefixtures("device_list")
@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    IMPORT_RULES.items(),
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
@pytest.mark.ci
def test_a_command_imports_only_what_it_needs(arguments: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    """Startup is a feature; see the table for who may import what."""
    script = (
        "import sys; before = set(sys.modules); from clawperator.app.cli.main import main;"
        "main(sys.argv[1:]); print('\\n' + ' '.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-X", "frozen_modules=on", "-c", script, *arguments],
        capture_output=True, text=True, timeout=patience(50), check=True,
    )  # fmt: skip
    imported = (
        done.stdout.rpartition("\n\n")[2].split() if "\n\n" in done.stdout else done.stdout.split("\n")[-2].split()
    )
    assert "clawperator.app.cli.main" in imported
    guilty = [name for name in imported if any(name == root or name.startswith(f"{root}.") for root in forbidden)]
    assert guilty == []


@pytest.mark.usefixtures("device_list")
def test_the_process_of_an_execution_imports_no_more() -> None:
    """pydantic looks for no plugins, for which it would import two dozen modules; adb's program is not looked for."""
    names = {"email", "tempfile", "shutil", "zipfile", "clawperator.engine.adb.binary"}
    script = (
        f"import sys; from clawperator.app.cli.main import run; run(sys.argv[1:]); print({names} & {{*sys.modules}})"
    )
    words = [sys.executable, "-c", script, "execute", "--execution", PLAN]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patience(50), check=True)
    assert done.stdout.splitlines()[-1] == "set()"


class TestReadersThatLeave:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("help",),
            ("devices",),
            ("schema", "execution"),
            ("devices", "--output", "pretty"),
            ("--version",),
            ("nonsense",),
        ],
    )
    def test_a_closed_pipe_is_no_ones_error(self, lonely: dict[str, str], arguments: tuple[str, ...]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run(
                [*CLI, *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=patience(50), check=False
            )
        finally:
            os.close(writer)
        assert done.stderr == b""
        assert done.returncode == 141

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_is_reported(self, lonely: dict[str, str]) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*CLI, "help"], stdout=full, stderr=subprocess.PIPE, timeout=patience(50), check=False
            )
        assert done.returncode == 1
        assert b"stdout cannot be written" in done.stderr
        assert b"Traceback" not in done.stderr

    def test_no_stdout_at_all(self, lonely: dict[str, str]) -> None:
        done = subprocess.run(
            [*CLI, "version"],
            stderr=subprocess.PIPE,
            timeout=patience(50),
            check=False,
            preexec_fn=lambda: os.close(1),
        )
        assert (done.returncode, done.stderr) == (141, b"")

    def test_no_stderr_at_all(self, lonely: dict[str, str]) -> None:
        done = subprocess.run(
            [*CLI, "devices", "--verbose"],
            stdout=subprocess.PIPE,
            timeout=patience(50),
            check=False,
            preexec_fn=lambda: os.close(2),
        )
        assert done.returncode == 1
        assert json.loads(done.stdout)["code"] == "ADB_NOT_FOUND"


INTERRUPTED_WHILE_IMPORTING = """
import os, sys

module, number, *sys.argv[1:] = sys.argv[1:]

class Moment:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), int(number))

sys.meta_path.insert(0, Moment())
from clawperator.app.cli.main import main
sys.exit(main())
"""
LOST_IN_A_CALLBACK = """
import os, signal, sys, weakref
import clawperator.app.cli.dispatch
from clawperator.app import interrupts
from clawperator.app.cli.main import main

interrupts._AGAIN_SECONDS = float(sys.argv.pop(1))

class Thing:
    pass

def dispatch(arguments, *, leaving):
    thing = Thing()
    kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), int(number)))
    del thing
    signal.pause()

clawperator.app.cli.dispatch.dispatch = dispatch
number = sys.argv.pop(1)
sys.exit(main())
"""
ONCE_IT_IS_READ = """
import fcntl, os, sys
from clawperator.app.cli.main import main

reader, number = int(sys.argv.pop(1)), int(sys.argv.pop(1))
fcntl.fcntl(reader, fcntl.F_SETOWN, os.getpid())
fcntl.fcntl(reader, fcntl.F_SETSIG, number)  # the kernel sends it in the middle of the write
fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
sys.exit(main())
"""
ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


class TestInterrupts:
    @pytest.mark.usefixtures("lonely")
    @varied(
        ("module", "number"),
        [
            ("clawperator.app.cli.dispatch", signal.SIGTERM),
            ("clawperator.app.cli.output", signal.SIGHUP),
            ("json", signal.SIGTERM),
            ("asyncio", signal.SIGINT),
            ("datetime", signal.SIGINT),
            ("datetime", signal.SIGTERM),
            ("clawperator.engine.facade", signal.SIGHUP),
            ("clawperator.engine.history.worker", signal.SIGTERM),
        ],
        always=2,
    )
    def test_while_modules_are_imported(self, module: str, number: signal.Signals) -> None:
        words = [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING, module, str(int(number))]
        done = subprocess.run(
            [*words, "execute", "--execution", PLAN, "--json"],
            capture_output=True,
            timeout=patience(50),
            check=False,
        )
        assert (done.returncode, done.stderr) == (130, b"")
        error = json.loads(done.stdout)
        assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "not_sent")

    @pytest.mark.usefixtures("lonely")
    @pytest.mark.parametrize("number", ENDING)
    @pytest.mark.parametrize("again", [interrupts._AGAIN_SECONDS, 1e-6], ids=["usual", "at once"])
    def test_where_the_interpreter_loses_the_exception(self, again: float, number: signal.Signals) -> None:
        """On a busy machine the alarm that raises it again comes before the hook that sets it has returned."""
        words = [sys.executable, "-c", LOST_IN_A_CALLBACK, str(again), str(int(number))]
        done = subprocess.run([*words, "devices"], capture_output=True, timeout=patience(50), check=False)
        assert (done.returncode, done.stderr) == (130, b"")
        assert json.loads(done.stdout)["code"] == "INTERRUPTED"

    @pytest.mark.skipif(sys.platform != "linux", reason="the kernel is to send the signal: F_SETSIG")
    @pytest.mark.usefixtures("lonely")
    @varied("number", ENDING, always=2)
    @pytest.mark.parametrize(
        ("words", "code"), [("config show", 0), ("config show --output pretty", 0), ("no-such-command", 1)]
    )
    def test_when_the_answer_is_out(self, words: str, code: int, number: signal.Signals) -> None:
        reader, writer = os.pipe()
        with open(reader, "rb") as answer:
            command = [sys.executable, "-c", ONCE_IT_IS_READ, str(reader), str(int(number)), *words.split()]
            done = subprocess.run(command, stdout=writer, pass_fds=[reader], timeout=patience(50), check=False)
            os.close(writer)
            assert answer.read().endswith(b"\n")
        assert done.returncode == code

    @pytest.mark.usefixtures("lonely")
    def test_what_is_ignored_stays_ignored(self, silent_adb: socket.socket, spawn: Spawn) -> None:
        words = ["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *CLI, "devices"]
        child = spawn(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        connection, _ = silent_adb.accept()
        with closing(connection):
            child.send_signal(signal.SIGHUP)
            child.send_signal(signal.SIGTERM)
            out, err = child.communicate(timeout=patience(50))
            assert (child.returncode, err) == (130, b"")
        assert json.loads(out)["code"] == "INTERRUPTED"

    @varied(
        ("arguments", "number"),
        [
            (("devices",), signal.SIGINT),
            (("devices",), signal.SIGHUP),
            (("packages", "list"), signal.SIGINT),
            (("execute", "--execution", PLAN), signal.SIGINT),
            (("execute", "--execution", PLAN), signal.SIGTERM),  # whoever holds a device lets go of it
            (("execute", "--execution", PLAN), signal.SIGHUP),
        ],
        always=2,
    )
    def test_before_anything_was_sent(
        self, silent_adb: socket.socket, spawn: Spawn, arguments: tuple[str, ...], number: signal.Signals
    ) -> None:
        child = spawn([*CLI, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        connection, _ = silent_adb.accept()  # the command is under way now, and waits for an answer
        with closing(connection):
            child.send_signal(number)
            out, err = child.communicate(timeout=patience(50))
        assert (child.returncode, err) == (130, b"")
        error = json.loads(out)
        assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "not_sent")
        assert error["message"] == "Interrupted before the command was sent to the device"
