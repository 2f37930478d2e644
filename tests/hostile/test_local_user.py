"""Another user of this computer, or a program that was careless, has put something else where the product keeps its files.

A planted link, FIFO, device or folder is a typed error or is done without; nothing waits for it, and nothing is read or written
through it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clawperator.app.serve.tokens import open_tokens
from clawperator.engine.diagnostics.log_file import LogFile, today_path
from clawperator.engine.errors import EngineError, ErrorCode, NotPrivateError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks
from clawperator.engine.history import write_ahead
from clawperator.engine.history.connection import connect
from clawperator.engine.history.store import History
from clawperator.engine.skills.blocked_terms import load_blocked
from clawperator.engine.skills.salt import FILE, installation_salt
from tests.app.cli.conftest import Cli
from tests.support import free_port, patience, varied

Plant = Callable[[Path, Path], object]
SECRET = "somebody else's"
COMMAND = Command("c", "t", "test", 1_000, "{}", ("s", "sleep"))

PLANTS: dict[str, Plant] = {
    "FIFO": lambda path, _: os.mkfifo(path),
    "sparse file": lambda path, _: os.truncate(_touched(path), 1 << 30),
    "folder": lambda path, _: path.mkdir(),
    "link to a device": lambda path, _: path.symlink_to("/dev/zero"),
    "link to nothing": lambda path, _: path.symlink_to("nowhere"),
    "link to another file": lambda path, other: path.symlink_to(other),
    "link to itself": lambda path, _: path.symlink_to(path),
}
COMMANDS = {
    "config/clawperator/settings.toml": ("config", "show"),
    "config/clawperator/policy.toml": ("policy", "show"),
    "state/clawperator/history.db": ("history", "list"),
    ".clawperator/locks/x.lock": ("lock", "status", "--device-id", "x"),
    ".clawperator/locks": ("lock", "status"),
    "state/clawperator": ("history", "list"),
    "config": ("config", "show"),
}


_DOCUMENTED = {
    "SETTINGS_INVALID", "POLICY_INVALID", "FILE_NOT_READABLE", "HISTORY_UNAVAILABLE", "LOCKS_UNAVAILABLE", "ADB_NOT_FOUND", "ADB_SERVER_FAILED",
}  # fmt: skip


def _touched(path: Path) -> Path:
    path.touch()
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A file that is none of the product's business."""
    path = tmp_path / "precious"
    path.write_text(SECRET)
    path.chmod(0o644)
    return path


def planted(path: Path, plant: str, other: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    PLANTS[plant](path, other)
    return path


def untouched(other: Path) -> bool:
    return other.read_text() == SECRET and other.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("place", COMMANDS)
def test_a_command_answers_whatever_stands_in_the_place_of_its_files(
    place: str, plant: str, cli: Cli, tmp_path: Path, other: Path
) -> None:
    planted(tmp_path / place, plant, other)
    done = cli(*COMMANDS[place], "--json")
    assert isinstance(done.document, dict)
    assert done.exit_code == 0 or done.document["code"] in _DOCUMENTED
    assert SECRET not in done.out + done.err
    assert "Traceback" not in done.err
    assert untouched(other)


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("name", ["x.lock", "x.queue"])
async def test_a_device_is_taken_or_it_is_said_why_not(name: str, plant: str, tmp_path: Path, other: Path) -> None:
    planted(tmp_path / name, plant, other)
    code = None
    try:
        async with DeviceLocks(str(tmp_path)).hold("x", COMMAND):
            pass
    except EngineError as exc:
        code = exc.code
    assert code in (None, ErrorCode.LOCKS_UNAVAILABLE)
    assert untouched(other)


@pytest.mark.parametrize("name", ["9" * 250, "0" * 250 + "-1-1", "²-1", "-"])
async def test_a_ticket_that_no_one_drew_is_passed_over(name: str, tmp_path: Path) -> None:
    queue = tmp_path / "x.queue"
    queue.mkdir()
    (queue / name).touch()
    async with DeviceLocks(str(tmp_path)).hold("x", COMMAND):
        pass


@pytest.mark.parametrize("number", ["1e999", "NaN", "1" + "0" * 400, "-1e308", "null", '"1"'])
def test_a_lock_file_of_another_program_is_no_holder(number: str, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / ".clawperator" / "locks"
    folder.mkdir(parents=True)
    holder = {"device_id": "x", "pid": 1, "command_id": "\x1b[2Jc", "task_id": "t", "source": "s", "timeout_ms": 1}
    text = json.dumps(holder | {"since": "SINCE", "not_before": time.time() + 5}).replace('"SINCE"', number)
    (folder / "x.lock").write_text(text)
    for words in (("lock", "status", "--json"), ("lock", "status", "--output", "pretty")):
        done = cli(*words)
        assert done.exit_code == 0
        assert not re.search("\x1b|Infinity|NaN", done.out)


@pytest.mark.parametrize("plant", [name for name in PLANTS if name != "link to nothing"])
def test_other_files_that_are_only_read(plant: str, tmp_path: Path, other: Path) -> None:
    path = planted(tmp_path / "file", plant, other)
    with suppress(EngineError):
        load_blocked({}, str(path))
    with pytest.raises(EngineError) as caught:
        open_tokens(str(path))
    assert caught.value.code in (ErrorCode.FILE_NOT_READABLE, ErrorCode.TOKEN_FILE_INVALID)
    state = tmp_path / "state"
    planted(state / "clawperator" / FILE, plant, other)
    salt, remark = installation_salt({"XDG_STATE_HOME": str(state)})
    assert len(salt) >= 16
    assert remark
    assert untouched(other)


@pytest.mark.parametrize("plant", PLANTS)
def test_the_log_is_written_to_a_file_of_its_own_or_not_at_all(plant: str, tmp_path: Path, other: Path) -> None:
    path = planted(Path(today_path(str(tmp_path))), plant, other)
    warnings: list[str] = []
    LogFile(str(tmp_path), warn=warnings.append).write("error", "test", "words")
    assert warnings
    assert path.is_symlink() or path.is_fifo() or path.is_dir() or path.stat().st_size >= 1 << 30
    assert untouched(other)


def test_a_log_pipe_with_a_reader_gets_nothing(tmp_path: Path) -> None:
    path = today_path(str(tmp_path))
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    LogFile(str(tmp_path)).write("error", "test", "words")
    assert os.read(reader, 100) == b""
    os.close(reader)


@pytest.mark.parametrize("name", ["history.db", "history.db-wal", "history.db-shm"])
def test_the_mode_of_a_file_behind_a_link_stays(name: str, tmp_path: Path, other: Path) -> None:
    (tmp_path / name).symlink_to(other)
    with pytest.raises(EngineError) as caught:
        connect(str(tmp_path / "history.db"))
    assert caught.value.code is ErrorCode.HISTORY_UNAVAILABLE
    assert untouched(other)


def test_notes_behind_a_link_are_not_removed(tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "letter-999999999").touch()
    (tmp_path / "history.db.begun").symlink_to(others)
    History.open(str(tmp_path / "history.db")).close()
    assert os.listdir(others) == ["letter-999999999"]


@pytest.mark.parametrize("plant", ["link", "writable by others"])
def test_no_note_is_written_into_a_folder_of_others(
    plant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, notes = tmp_path / "others", tmp_path / "history.db.begun"
    others.mkdir()
    if plant == "link":
        notes.symlink_to(others)
    else:
        notes.mkdir()
        notes.chmod(0o777)
    monkeypatch.setattr(write_ahead, "_note", lambda *_, **__: {})
    attempt: Any = SimpleNamespace(execution_id="e")
    with pytest.raises(NotPrivateError):
        write_ahead.write(str(tmp_path / "history.db"), attempt, "tests", safe=False)
    assert os.listdir(others) == os.listdir(notes) == []


def given_away(folder: Path, owner: int | None) -> None:
    if owner is None:
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, owner, -1)
    else:
        pytest.skip("only root can give a folder away")


@pytest.mark.parametrize("owner", [None, 12_345])
def test_a_history_among_others_files_is_refused(owner: int | None, cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "clawperator"
    History.open(str(folder / "history.db")).close()
    given_away(folder, owner)
    done = cli("history", "list", "--json")
    assert (done.exit_code, done.document["code"]) == (1, "FOLDER_NOT_PRIVATE")
    assert "chmod go-w" in done.document["hint"]


@pytest.mark.parametrize("owner", [None, 12_345])
async def test_a_lock_among_others_files_is_refused(owner: int | None, tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    given_away(folder, owner)
    with pytest.raises(EngineError) as caught:
        async with DeviceLocks(str(folder)).hold("x", COMMAND):
            pass
    assert caught.value.code is ErrorCode.FOLDER_NOT_PRIVATE
    assert os.listdir(folder) == []


# -- another user


AS_NOBODY = """
import os, sys
from clawperator.app.cli.main import main
home, *words = sys.argv[1:]
streams = os.dup(1), os.dup(2)
for number in (1, 2):
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
main(words)  # imports all that the second one needs: others may have no right to read this Python's files
for number, stream in enumerate(streams, 1):
    os.dup2(stream, number)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.environ["HOME"] = home
sys.exit(main(words))
"""


TWO_LOCKS = """
import asyncio, os, sys
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
os.environ["HOME"] = sys.argv[1]
async def hold(inner):
    try:
        async with DeviceLocks(Settings.resolve().lock_dir).hold("x", Command("c", "t", "test", 1_000, "{}", ("s", "sleep"))):
            await inner()
    except EngineError as exc:
        print(exc.code)
async def free():
    print("free")
async def again():
    await hold(free)
asyncio.run(hold(again))
asyncio.run(hold(free))
"""
"""Hold a lock while another one is tried, as two programs would: then again, when it is free."""


def as_nobody(
    home: Path, scratch: Path, *words: str, code: str = AS_NOBODY, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command line at ``home`` as a user who may write nowhere but where all may; only root has to become one."""
    env = {"PATH": "", "HOME": str(scratch), "ADB_PATH": "/nowhere/adb", "ANDROID_ADB_SERVER_PORT": str(free_port())}
    return subprocess.run(
        [sys.executable, "-c", code, str(home), *words],
        env=env | more,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=patience(20),
    )


def locked(tmp_path: Path) -> Path:
    """A home that its user may only look into, with a lock file that they may not open."""
    locks = tmp_path / "locks"
    locks.mkdir()
    (locks / "x.lock").write_text("{}")
    (locks / "x.lock").chmod(0)
    home = tmp_path / "home"
    (home / ".clawperator").mkdir(parents=True)
    (home / ".clawperator" / "locks").symlink_to(locks)
    for folder in (home / ".clawperator", home):
        folder.chmod(0o555)
    return home


def missing(_: Path) -> Path:
    return Path("/nowhere/home")


def file_instead(tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    return tmp_path / "file"


@varied("words", [("history", "list"), ("lock", "status", "--device-id", "x"), ("devices",)], always=2)
@pytest.mark.parametrize("home", [locked, missing, file_instead])
def test_a_home_that_cannot_be_used(home: Callable[[Path], Path], words: tuple[str, ...], tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's folders are for one user
        folder = Path(name)
        folder.chmod(0o755)
        done = as_nobody(home(folder), tmp_path, *words, "--json")
        for path in folder.rglob("*"):
            path.chmod(0o755)
    document = json.loads(done.stdout)
    assert done.returncode == 0 or document["code"] in _DOCUMENTED, done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's home can be made by root only")
@pytest.mark.parametrize("runtime", ["", "runtime", "gone"])
@varied("home", [locked, missing, file_instead, lambda _: Path("/"), lambda _: Path()], always=2)
def test_where_the_home_cannot_be_written_two_programs_still_exclude_each_other(
    home: Callable[[Path], Path], runtime: str, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o1777)
        (folder / "runtime").mkdir()
        os.chown(folder / "runtime", 65534, 65534)
        chosen = {"": "", "runtime": f"{name}/runtime", "gone": "/nowhere/runtime"}[runtime]
        places = {"TMPDIR": name, "XDG_RUNTIME_DIR": chosen}
        done = as_nobody(home(folder), tmp_path, code=TWO_LOCKS, **places)
        below = "runtime/clawperator" if runtime == "runtime" else "clawperator-65534"
        assert (folder / below / "locks" / "x.lock").stat().st_mode & 0o777 == 0o600
        assert (folder / below).stat().st_mode & 0o777 == 0o700
    assert done.stdout.split() == ["EXECUTION_CONFLICT_IN_FLIGHT", "free"], done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="files of other users can be made by root only")
@pytest.mark.parametrize("plant", ["open folder", "folder of another user", "link of another user"])
def test_a_runtime_folder_that_another_user_made_is_refused(plant: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o1777)
        (folder / "mine").mkdir()
        os.chown(folder / "mine", 65534, 65534)
        path = folder / "clawperator-65534"
        if plant == "link of another user":
            path.symlink_to(folder / "mine")
        else:
            path.mkdir()
        os.chown(path, 65534 if plant == "open folder" else 12345, -1, follow_symlinks=False)
        if plant == "open folder":
            path.chmod(0o777)
        done = as_nobody(Path("/nowhere/home"), tmp_path, code=TWO_LOCKS, TMPDIR=name)
        assert not [*path.iterdir()]
    assert done.stdout.split() == ["FOLDER_NOT_PRIVATE", "FOLDER_NOT_PRIVATE"], done.stderr


def test_a_user_without_a_home_leaves_no_folder_named_after_one(tmp_path: Path) -> None:
    script = """
import os
from clawperator.engine.config.settings import Settings
os.setuid(54321)
os.environ.pop("HOME")
found = Settings.resolve()
print(found.history_path, found.log_dir)
"""
    if os.geteuid() != 0:
        pytest.skip("only root can become a user that the system does not know")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, env={"HOME": "x"}
    )
    assert all(path.startswith("/nonexistent/") for path in done.stdout.split())
