"""The warm process: the same answers as a process of one's own, nothing shared between commands, and no way to be harmed by it."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from clawperator.app.cli.commands.warm import _require_folder
from clawperator.app.warm import client, protocol
from clawperator.engine.config.active_profile import packed
from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.errors import EngineError, ErrorCode
from tests.support import patience, running, varied

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the socket's peer and processes are looked at in Linux ways"
)

# As the console script, but for the patience with a busy machine: 5 ms are for users.
MAIN = "import sys; from clawperator.app.warm import client; client.PATIENCE = 60.0; from clawperator.app.cli.main import main; sys.exit(main())"
COLD = [sys.executable, "-m", "clawperator.app.cli"]
WARM = [sys.executable, "-c", MAIN]
PLAN = {
    "commandId": "nap-1", "taskId": "t", "source": "test", "expectedFormat": "android-ui-automator", "timeoutMs": 30_000,
    "actions": [{"id": "nap", "type": "sleep", "params": {"durationMs": 20_000}}],
}  # fmt: skip


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of a simulated adb server, without a history or settings of anybody."""
    folder = tmp_path_factory.mktemp("warm")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("CLAWPERATOR_", "ANDROID_", "ADB_"))
    }
    env = {
        **kept,
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder / "runtime"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "COLUMNS": "100",
    }
    (folder / "runtime").mkdir(mode=0o700)
    with running([*COLD, "sim", "--server"], env=env, stdout=subprocess.PIPE) as sim:
        assert sim.stdout is not None
        env |= json.loads(sim.stdout.readline())["env"]
        yield env


@pytest.fixture(scope="module")
def warm(device: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The same environment with a warm process."""
    assert run(COLD, "warm", "start", env=device)["started"] is True
    yield device
    assert run(COLD, "warm", "stop", env=device)["stopped"] is True


def run(program: list[str], *arguments: str, env: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run([*program, *arguments], env=env, capture_output=True, timeout=patience(60), check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def count(env: Mapping[str, str]) -> int:
    return int(run(COLD, "warm", "status", env=env)["commands"])


def children(env: Mapping[str, str]) -> set[int]:
    """The processes that were forked for commands and got one."""
    status = run(COLD, "warm", "status", env=env)
    found = Path(f"/proc/{status['pid']}/task/{status['pid']}/children").read_text().split()
    return {int(child) for child in found} - {status["spare"]}


@varied(
    "arguments",
    [
        ("version",),
        ("--version",),
        ("help",),
        ("help", "errors", "NODE_NOT_FOUND"),
        ("schema", "execution"),
        ("devices", "--output", "pretty"),
        ("packages", "list"),
        ("config", "show"),
        ("no-such-command",),
        ("action", "click"),
        ("execute", "--execution", "-"),
        ("execute", "--execution", "no-such-file"),
        ("skills", "list", "--registry", "builtin"),
        ("match", "--snapshot", "/nowhere", "--text", "x"),
    ],
    ids=" ".join,
    always=4,
)
def test_the_same_bytes_and_exit_code(warm: Mapping[str, str], arguments: tuple[str, ...]) -> None:
    before = count(warm)
    cold, hot = (
        subprocess.run(
            [*program, *arguments], env=warm, input=b'{"a":', capture_output=True, timeout=patience(60), check=False
        )
        for program in ([*COLD, "--no-warm"], WARM)
    )
    assert (hot.returncode, hot.stdout, hot.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert count(warm) == before + 1, "it ran there"


def test_in_the_c_locale(device: Mapping[str, str], tmp_path: Path) -> None:
    """There, Python's first process has other flags than those that it starts."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "LC_ALL": "C"}
    assert run(COLD, "warm", "start", env=env)["started"] is True
    words = ("match", "--snapshot", "nowhere-\udcff\u00e9", "--text", "x")
    cold, hot = (
        subprocess.run([*program, *words], env=env, capture_output=True, timeout=patience(60), check=False)
        for program in ([*COLD, "--no-warm"], WARM)
    )
    assert (hot.returncode, hot.stdout, hot.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert count(env) == 1
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


def test_an_execution_and_its_history(warm: Mapping[str, str]) -> None:
    answer = run(WARM, "action", "press-key", "--key", "home", env=warm)
    assert answer["envelope"]["status"] == "success"
    assert run(WARM, "history", "show", answer["envelope"]["commandId"], env=warm)["execution"]["status"] == "success"


def test_nothing_of_one_command_reaches_another(warm: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        'version = 1\nactiveProfile = "none"\n[profiles.none.capabilities]\nallow = []\n'
    )
    denied = run(WARM, "observe", "snapshot", env={**warm, "CLAWPERATOR_POLICY": str(tmp_path / "policy.toml")})
    assert denied["code"] == "CAPABILITY_DENIED"
    assert run(WARM, "observe", "snapshot", env=warm)["ok"] is True
    shown = {
        each["key"]: each
        for each in run(WARM, "config", "show", env={**warm, "CLAWPERATOR_LOG_LEVEL": "debug"})["settings"]
    }
    assert shown["log_level"]["value"] == "debug"
    shown = {each["key"]: each for each in run(WARM, "config", "show", env=warm)["settings"]}
    assert shown["log_level"]["value"] == "info"


def test_a_script_that_clears_its_environment_is_still_bound(warm: Mapping[str, str]) -> None:
    """The profile of a script's caller holds in the session that the script leads, and the warm process is in another one."""
    bound = {**warm, "CLAWPERATOR_CALLER_PROFILE": packed(DEFAULT._replace(name="bound", read_only=True))}
    script = f"env -u CLAWPERATOR_CALLER_PROFILE {shlex.join([*WARM, 'press', 'home'])}; exit 0"
    before = count(warm)
    done = subprocess.run(
        ["sh", "-c", script], env=bound, start_new_session=True, capture_output=True, timeout=patience(60), check=True
    )
    assert json.loads(done.stdout)["code"] == "READ_ONLY"
    assert count(warm) == before + 1, "it ran there"
    assert run(WARM, "press", "home", env=warm)["ok"] is True


def test_folder_mask_and_limits_are_the_callers(warm: Mapping[str, str], tmp_path: Path) -> None:
    words = [*WARM, "observe", "screenshot", "--path", "picture.png"]
    done = subprocess.run(words, cwd=tmp_path, env=warm, capture_output=True, timeout=patience(60), check=True)
    assert json.loads(done.stdout)["ok"] is True
    assert (tmp_path / "picture.png").stat().st_size

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    words[-1] = "other.png"
    done = subprocess.run(
        words, cwd=tmp_path, env=warm, capture_output=True, timeout=patience(60), check=False, preexec_fn=narrow
    )
    assert not (tmp_path / "other.png").exists()


def test_the_callers_niceness(warm: Mapping[str, str], tmp_path: Path) -> None:
    others = children(warm)
    with napping(warm, tmp_path, before=["nice", "-n", "7"]) as command:
        (child,) = children(warm) - others
        assert os.getpriority(os.PRIO_PROCESS, child) == os.getpriority(os.PRIO_PROCESS, 0) + 7
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=patience(60))
    settle(warm)


def test_a_descriptor_by_its_path(warm: Mapping[str, str], tmp_path: Path) -> None:
    """A shell's ``<(…)`` is a descriptor of the caller, which is not handed over."""
    script = f"{shlex.join([*WARM, 'execute', '--validate-only', '--execution'])} /dev/fd/3 3<plan.json"
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=warm, capture_output=True, timeout=patience(60), check=False
    )
    assert json.loads(done.stdout)["validated"] is True


@pytest.mark.skipif(os.getuid() != 0, reason="makes namespaces")
def test_a_container_with_the_same_home_is_another_place(warm: Mapping[str, str]) -> None:
    """There, the address of the adb server is another one, or nobody's."""
    if subprocess.run(["unshare", "--net", "true"], check=False).returncode:
        pytest.skip("not allowed here")
    for words, code in (
        (["unshare", "--net"], "ADB_SERVER_FAILED"),
        (["setpriv", "--clear-groups", "--regid=65534"], ""),
    ):
        before = count(warm)
        answer = run([*words, *WARM], "devices", env=warm)
        assert answer.get("code", "") == code
        assert count(warm) == before


def test_a_closed_stdout_and_a_reader_that_left(warm: Mapping[str, str]) -> None:
    for program in (COLD, WARM):
        words = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *program, "version"]
        assert subprocess.run(words, env=warm, timeout=patience(60), check=False).returncode == 141


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.ci),
        pytest.param(signal.SIGHUP, marks=pytest.mark.ci),
    ],
)
def test_signals_reach_the_command(warm: Mapping[str, str], number: signal.Signals, tmp_path: Path) -> None:
    with napping(warm, tmp_path) as command:
        command.send_signal(number)
        out, _ = command.communicate(timeout=patience(60))
    assert command.returncode == 130
    error = json.loads(out)
    assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "sent")
    settle(warm)


HANG = """
import asyncio, os, sys, threading
from clawperator.app.cli.main import main
from clawperator.engine.facade import Engine
async def execute(*_, **__):
    print("hangs", file=sys.stderr, flush=True)
    if os.environ["HANGS"] == "loop":
        threading.Event().wait()
    if os.environ["HANGS"] == "thread":
        await asyncio.to_thread(threading.Event().wait)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("goes on", file=sys.stderr, flush=True)
Engine.execute = execute
sys.argv[1:] = ["action", "press-key", "--key", "home", "--no-warm"]
sys.exit(main())
"""
"""A command that hangs in one of three ways."""


def wait_for_state(pid: int, state: str) -> None:
    """Return when all threads of a process have this state: a signal takes effect after ``kill`` has returned."""
    deadline = time.monotonic() + patience(30)
    while {task.read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").glob("*/stat")} != {
        state
    }:
        assert time.monotonic() < deadline, f"it is never in {state}"


@contextmanager
def on_terminal(
    command: list[str], env: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], Callable[[], int]]]:
    """Run ``command`` on a terminal of its own, with its output in pipes; the call is a Ctrl-C there."""
    ours, theirs = os.openpty()

    def take() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        with running(command, env=env, stdin=theirs, start_new_session=True, preexec_fn=take, **pipes) as child:
            os.close(theirs)
            yield child, lambda: os.write(ours, b"\x03")
    finally:
        os.close(ours)


def test_a_second_ctrl_c_leaves_a_command_that_hangs_in_the_warm_process(
    warm: Mapping[str, str], tmp_path: Path
) -> None:
    others = children(warm)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    words = [*WARM, "execute", "--execution", str(tmp_path / "plan.json"), "--verbose"]
    with on_terminal(words, warm) as (command, ctrl_c):
        assert command.stderr is not None
        next(line for line in command.stderr if b"stage-start" in line)
        (child,) = children(warm) - others
        os.kill(child, signal.SIGSTOP)
        wait_for_state(child, "T")
        ctrl_c()
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(timeout=0.3)
        ctrl_c()
        assert command.wait(timeout=patience(20)) == 130
        os.kill(child, signal.SIGCONT)
        assert command.stdout is not None
        error = json.loads(command.stdout.read())
    assert (error["code"], error["broadcastDispatchStatus"]) == ("INTERRUPTED", "unknown")
    settle(warm)


@varied(
    ("does", "code"),
    [
        ("signal.signal(signal.SIGINT, lambda *_: print('heard')); warm_server._hear(ours, b'')", 130),
        ("warm_server._mute_if_left(ours); print('an outcome')", 0),
    ],
)
def test_a_command_that_was_left_while_it_was_stopped_prints_nothing(does: str, code: int) -> None:
    """The client has printed an outcome."""
    script = (
        "import signal, socket; from clawperator.app import warm_server;"
        f"ours, theirs = socket.socketpair(); theirs.send(bytes((signal.SIGINT,) * 2)); theirs.close(); {does}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=patience(50)
    )
    assert (done.stdout, done.returncode) == ("", code), done.stderr


@varied("kind", ["task", "thread", "loop"])
def test_a_second_ctrl_c_leaves_a_command_that_hangs(device: Mapping[str, str], kind: str) -> None:
    with on_terminal([sys.executable, "-c", HANG], {**device, "HANGS": kind}) as (command, ctrl_c):
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stderr.readline() == b"hangs\n"
        ctrl_c()
        if kind == "task":
            assert command.stderr.readline() == b"goes on\n"
        else:
            with pytest.raises(subprocess.TimeoutExpired):
                command.wait(timeout=0.3)
        ctrl_c()
        assert command.wait(timeout=patience(20)) == 130
        assert json.loads(command.stdout.read())["code"] == "INTERRUPTED"


def test_the_warm_process_is_killed_under_a_command(device: Mapping[str, str], tmp_path: Path) -> None:
    env = with_runtime(device, tmp_path)
    started = run(COLD, "warm", "start", env=env)
    spare = run(COLD, "warm", "status", env=env)["spare"]
    assert spare in map(int, Path(f"/proc/{started['pid']}/task/{started['pid']}/children").read_text().split())
    plan = {**PLAN, "actions": [{"id": "nap", "type": "sleep", "params": {"durationMs": 1_000}}]}
    with napping(env, tmp_path, plan) as command:
        os.kill(started["pid"], signal.SIGKILL)
        out, _ = command.communicate(timeout=patience(60))
    done = json.loads(out)
    assert done["envelope"]["status"] == "success"
    settle(env)
    row = run(COLD, "history", "show", done["envelope"]["commandId"], env=env)["execution"]
    assert (row["status"], row["executionId"]) == ("success", done["executionId"])
    assert run(WARM, "version", env=env)["cliVersion"], "a socket that nobody listens on is passed by"
    assert run(COLD, "warm", "start", env=env)["started"] is True
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


def test_the_process_of_a_command_is_killed(warm: Mapping[str, str], tmp_path: Path) -> None:
    others = children(warm)  # of commands that have answered
    with napping(warm, tmp_path) as command:
        (child,) = children(warm) - others
        os.kill(child, signal.SIGKILL)
        out, _ = command.communicate(timeout=patience(60))
    error = json.loads(out)
    assert (command.returncode, error["code"], error["broadcastDispatchStatus"]) == (130, "INTERRUPTED", "unknown")
    settle(warm)
    runs = run(WARM, "history", "list", env=warm)["executions"]
    assert next(each for each in runs if each["commandId"].startswith("nap-"))["status"] == "interrupted"


@pytest.mark.ci
def test_a_killed_client_ends_its_command(warm: Mapping[str, str], tmp_path: Path) -> None:
    with napping(warm, tmp_path) as command:
        command.kill()
        command.wait(timeout=patience(60))
    deadline = time.monotonic() + patience(30)
    while children(warm) and time.monotonic() < deadline:
        pass
    assert not children(warm)
    settle(warm)


@pytest.mark.ci
def test_fifty_clients_at_once(warm: Mapping[str, str]) -> None:
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: run(WARM, "version", env=warm), range(50)))
    assert {answer["cliVersion"] for answer in answers} == {answers[0]["cliVersion"]}


def test_the_spare_is_killed(warm: Mapping[str, str]) -> None:
    """The process that was forked in advance: the next command gets a fork of its own, and after it there is a spare again."""
    status = run(COLD, "warm", "status", env=warm)
    os.kill(status["spare"], signal.SIGKILL)
    assert run(WARM, "version", env=warm)["cliVersion"]
    deadline = time.monotonic() + patience(30)
    while (now := run(COLD, "warm", "status", env=warm))["spare"] in (None, status["spare"]):
        assert time.monotonic() < deadline
    assert now["commands"] == status["commands"] + 1


def test_a_spare_that_is_stopped_is_not_waited_for_and_runs_nothing_later(warm: Mapping[str, str]) -> None:
    runs = len(run(COLD, "history", "list", env=warm)["executions"])
    spare = run(COLD, "warm", "status", env=warm)["spare"]
    os.kill(spare, signal.SIGSTOP)
    try:
        assert run(WARM, "action", "press-key", "--key", "home", env=warm)["ok"] is True
    finally:
        os.kill(spare, signal.SIGCONT)
    deadline = time.monotonic() + patience(30)
    while spare in children(warm):
        assert time.monotonic() < deadline
    assert len(run(COLD, "history", "list", env=warm)["executions"]) == runs + 1


def test_commands_that_stay_run_in_the_callers_process(warm: Mapping[str, str]) -> None:
    before = count(warm)
    with running([*WARM, "sim"], env=warm, stdout=subprocess.PIPE) as sim:
        assert sim.stdout is not None
        assert json.loads(sim.stdout.readline())["ok"] is True
    assert count(warm) == before


def test_clients_that_ask_for_nothing(device: Mapping[str, str], tmp_path: Path) -> None:
    """They occupy no more than the backlog, and no core."""
    env = with_runtime(device, tmp_path)
    pid = run(COLD, "warm", "start", env=env)["pid"]
    with ExitStack() as kept:
        for _ in range(200):
            silent = kept.enter_context(socket.socket(socket.AF_UNIX))
            silent.settimeout(patience(30))
            silent.connect(str(tmp_path / "clawperator" / "warm.sock"))
            assert silent.recv(protocol.GREETING_BYTES)
        assert run(WARM, "version", env=env)["cliVersion"]
        assert count(env) == 1
        held = [name for name in os.listdir(f"/proc/{pid}/fd") if is_socket(f"/proc/{pid}/fd/{name}")]
        assert len(held) < 150
        wait_for_state(pid, "S")
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


def is_socket(path: str) -> bool:
    with suppress(OSError):
        return os.readlink(path).startswith("socket:")
    return False


def test_one_of_another_build(device: Mapping[str, str], tmp_path: Path) -> None:
    """Another locale stands for another version: commands do not use it, ``status`` shows it, ``start`` replaces it."""
    env = with_runtime(device, tmp_path)
    other = {**env, "LANG": "xx_XX.UTF-8"}
    first = run(COLD, "warm", "start", env=other)
    facts = {name: value for name, value in first.items() if name != "started"}
    assert run(COLD, "warm", "status", env=env) == {"running": False, "other": {**facts, "spare": ANY}}
    assert run(WARM, "version", env=env)["cliVersion"]
    assert count(other) == 0
    second = run(COLD, "warm", "start", env=env)
    assert second["started"] is True
    assert second["pid"] != first["pid"]
    assert run(COLD, "warm", "stop", env=other) == {"stopped": True, "pid": second["pid"]}
    assert run(COLD, "warm", "status", env=env) == {"running": False}


def test_several_that_start_it_at_once(device: Mapping[str, str], tmp_path: Path) -> None:
    env = with_runtime(device, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: run(COLD, "warm", "start", env=env), range(4)))
    assert len({answer["pid"] for answer in answers}) == 1
    assert sum(answer["started"] for answer in answers) >= 1
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


def test_one_that_is_starting_is_stopped(device: Mapping[str, str], tmp_path: Path) -> None:
    env = with_runtime(device, tmp_path)
    lock = tmp_path / "clawperator" / "warm.lock"
    with running([sys.executable, "-m", "clawperator.app.warm_server", "--idle", "60", "0"], env=env) as warm:
        deadline = time.monotonic() + patience(30)
        while str(lock) not in open_files(warm.pid):
            assert time.monotonic() < deadline
        assert run(COLD, "warm", "stop", env=env) == {"stopped": True, "pid": warm.pid}


def open_files(pid: int) -> set[str]:
    found = set()
    for name in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(name))
    return found


def test_it_starts_by_itself_where_one_was_killed(device: Mapping[str, str], tmp_path: Path) -> None:
    """The socket of the killed one is still there."""
    env = {**with_runtime(device, tmp_path), "CLAWPERATOR_WARM": "1"}
    os.kill(run(COLD, "warm", "start", env=env)["pid"], signal.SIGKILL)
    assert run(WARM, "press", "home", env=env)["ok"] is True
    deadline = time.monotonic() + patience(30)
    while not run(COLD, "warm", "status", env=env)["running"]:
        assert time.monotonic() < deadline
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


@pytest.mark.ci
def test_it_leaves_when_its_files_change(device: Mapping[str, str], tmp_path: Path, installed_copy: Path) -> None:
    env = {**with_runtime(device, tmp_path), "PYTHONPATH": str(installed_copy)}
    assert run(COLD, "warm", "start", env=env)["started"] is True
    assert run(COLD, "warm", "status", env=env)["running"] is True
    os.utime(installed_copy / "clawperator" / "engine" / "facade.py", (1, 1))
    deadline = time.monotonic() + patience(30)
    while run(WARM, "warm", "status", env=env)["running"] and time.monotonic() < deadline:
        pass
    assert run(COLD, "warm", "status", env=env)["running"] is False
    assert run(COLD, "warm", "start", "--idle", "1", env=env)["idleSeconds"] == 60
    assert run(COLD, "warm", "stop", env=env)["stopped"] is True


@pytest.fixture
def installed_copy(tmp_path: Path) -> Path:
    """A folder with the product in it, as an upgrade would replace it."""
    import clawperator.engine

    package = Path(str(clawperator.engine.__file__)).parent.parent
    copy = tmp_path / "site" / "clawperator"
    copy.mkdir(parents=True)
    for part in ("engine", "app", "widgets", "themes"):
        subprocess.run(["/bin/cp", "-rL", str(package / part), str(copy / part)], check=True)
    for module in ("__init__.py", "__main__.py"):
        subprocess.run(["/bin/cp", str(package / module), str(copy / module)], check=True)
    return copy.parent


# -- a hostile socket


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr(client, "PATIENCE", patience(0.5))
    folder = tmp_path / "clawperator"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize(
    "greeting",
    [
        b"",
        b"\n",
        b"garbage\n",
        b"[]\n",
        b'{"build":1}\n',
        b"x" * 10_000,
        b'{"build":',
        b"\t\n",
        b"None\t{}\n",
    ],
)
def test_greetings_that_are_none(runtime: Path, greeting: bytes) -> None:
    with listening(runtime, greeting):
        assert client.connect() is None


def test_one_that_says_nothing_costs_its_patience(runtime: Path) -> None:
    with listening(runtime, None):
        begin = time.monotonic()
        assert client.connect() is None
        assert time.monotonic() - begin < patience(5)


def test_half_a_greeting_is_none_at_once(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest could come byte by byte, each within the patience."""
    monkeypatch.setattr(client, "PATIENCE", patience(10))
    with socket.socket(socket.AF_UNIX) as server, ThreadPoolExecutor() as thread:
        server.bind(str(runtime / "warm.sock"))
        server.listen()

        def greet() -> bytes:
            with server.accept()[0] as connection:
                connection.sendall(b"None")
                return connection.recv(1)

        gone = thread.submit(greet)
        begin = time.monotonic()
        assert client.connect() is None
        assert time.monotonic() - begin < patience(5)
        assert gone.result(patience(10)) == b""


def test_folders_that_are_not_ours(runtime: Path, tmp_path: Path) -> None:
    greeting = protocol.build().encode() + b"\t{}\n"
    with listening(runtime, greeting):
        connected = client.connect()
        assert connected is not None
        connected[0].close()
        runtime.chmod(0o750)
        assert client.connect() is None, "others may enter it"
        with pytest.raises(EngineError, match="others can enter it") as caught:
            _require_folder()
        assert (caught.value.code, caught.value.details) == (ErrorCode.FOLDER_NOT_PRIVATE, {"path": str(runtime)})
        runtime.chmod(0o700)
        runtime.rename(tmp_path / "elsewhere")
        runtime.symlink_to(tmp_path / "elsewhere")
        assert client.connect() is None, "a link"
        runtime.unlink()
        (tmp_path / "elsewhere").rename(runtime)
        if os.getuid() == 0:
            os.chown(runtime, 65_534, -1)
            assert client.connect() is None, "another user's"


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_another_user_neither_uses_it_nor_is_served(device: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PATIENCE", patience(1.0))
    with tempfile.TemporaryDirectory(
        prefix="clawperator-test-", dir="/tmp"
    ) as name:  # pytest's folders are for one user
        Path(name).chmod(0o711)
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        env = with_runtime(device, Path(name))
        assert run(COLD, "warm", "start", env=env)["started"] is True
        assert as_nobody(lambda: client.connect() is None), "the folder is another user's"
        folder = Path(name) / "clawperator"
        folder.chmod(0o711)
        (folder / "warm.sock").chmod(0o666)
        with socket.socket(socket.AF_UNIX) as connection:
            assert as_nobody(lambda: reads_nothing(connection, folder / "warm.sock")), "not even a greeting"
        folder.chmod(0o700)
        assert run(COLD, "warm", "status", env=env)["commands"] == 0
        assert run(COLD, "warm", "stop", env=env)["stopped"] is True


def as_nobody(check: Callable[[], bool]) -> bool:
    """Whether ``check`` holds in a process of another user."""
    pid = os.fork()
    if not pid:
        held = False
        with suppress(Exception):
            os.setgroups([])
            os.setgid(65_534)
            os.setuid(65_534)
            held = check()
        os._exit(0 if held else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def reads_nothing(connection: socket.socket, path: Path) -> bool:
    connection.settimeout(patience(10))
    connection.connect(str(path))
    return connection.recv(100) == b""


@pytest.mark.parametrize("word", [b"", protocol.REFUSED, b"?"])
def test_a_process_that_leaves_before_the_command_began(
    runtime: Path, word: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    greeting = protocol.build().encode() + b"\t{}\n"
    with listening(runtime, greeting, word):
        assert client.run(["version"]) is None
    with listening(runtime, greeting, protocol.READY, b""), pytest.raises(client.BrokenOffError):
        client.run(["version"])
    with listening(runtime, greeting, protocol.READY, protocol.ANSWERED + b"\x05"):
        assert client.run(["version"]) == 5
    assert capfd.readouterr() == ("", "")


def test_a_process_that_greets_and_is_silent_then(runtime: Path) -> None:
    with listening(runtime, protocol.build().encode() + b"\t{}\n", None):
        begin = time.monotonic()
        assert client.run(["version"]) is None
        assert time.monotonic() - begin < patience(5)


@pytest.mark.ci
def test_a_server_keeps_one_while_it_runs(device: Mapping[str, str], tmp_path: Path) -> None:
    env = with_runtime(device, tmp_path)
    with running([*COLD, "mcp"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        deadline = time.monotonic() + patience(30)
        while not (status := run(COLD, "warm", "status", env=env))["running"]:
            assert time.monotonic() < deadline, "no warm process beside the server"
        assert status["idleSeconds"] is None
        assert run(WARM, "config", "show", env=env)["settings"]
        assert count(env) == 1
        other = subprocess.run([*COLD, "mcp"], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert other.returncode == 0
        assert run(COLD, "warm", "status", env=env)["pid"] == status["pid"], "of the first server"
        server.stdin.close()
        assert server.wait(patience(20)) == 0
    while run(COLD, "warm", "status", env=env)["running"]:
        assert time.monotonic() < deadline + patience(30), "it outlived the server"


@pytest.mark.ci
def test_no_server_keeps_one_unasked(device: Mapping[str, str], tmp_path: Path) -> None:
    for words, variable in ((("mcp", "--no-warm"), ""), (("mcp",), "0")):
        env = {**with_runtime(device, tmp_path), "CLAWPERATOR_WARM": variable}
        with running([*COLD, *words], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin is not None
            server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            server.stdin.flush()
            assert server.stdout is not None
            assert server.stdout.readline()
            assert not Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()


# -- helpers


def with_runtime(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    return {**env, "XDG_RUNTIME_DIR": str(folder)}


@contextmanager
def napping(
    env: Mapping[str, str], folder: Path, plan: Mapping[str, Any] = PLAN, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that sleeps on the device: it has been dispatched when the block begins."""
    file = folder / "plan.json"
    file.write_text(json.dumps({**plan, "commandId": f"nap-{os.urandom(4).hex()}"}))
    words = [*before, *WARM, "execute", "--execution", str(file), "--verbose"]
    with running(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stderr is not None
        next(line for line in command.stderr if b"stage-start" in line)  # nobody reads the rest: it is little
        yield command


def settle(env: Mapping[str, str]) -> None:
    """Return when the device takes the next command."""
    assert run(COLD, "action", "press-key", "--key", "home", "--wait", "30000", "--no-warm", env=env)["ok"] is True


class listening:  # noqa: N801 -- used as a function
    """A socket in the runtime folder that answers each client with ``greeting``, a request with ``word``, ``GO`` with ``answer``."""

    def __init__(
        self, folder: Path, greeting: bytes | None, word: bytes | None = b"", answer: bytes | None = None
    ) -> None:
        self._path, self._greeting, self._word, self._answer = folder / "warm.sock", greeting, word, answer
        self._socket = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> None:
        self._socket.bind(str(self._path))
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self._path.exists():
            self._path.unlink()

    def _serve(self) -> None:
        with ExitStack() as kept, suppress(OSError):
            while True:
                connection = kept.enter_context(self._socket.accept()[0])
                if self._greeting is None:
                    continue
                with suppress(OSError):
                    connection.sendall(self._greeting)
                    if self._greeting.endswith(b"\n") and len(self._greeting) > 100:
                        size = int.from_bytes(connection.recv(8), "big")
                        while size > 0:
                            size -= len(connection.recv(65_536)) or size
                        if self._word is None:
                            continue
                        connection.sendall(self._word)
                        if self._answer is not None:
                            assert connection.recv(1) == protocol.GO
                            connection.sendall(self._answer)
                connection.close()
