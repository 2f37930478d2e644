"""Checks of this computer, from what its programs say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine import EngineError
from clawperator.engine.doctor import host
from clawperator.engine.doctor.adb_servers import ServerProcess, running_servers, server_of
from clawperator.engine.doctor.check import Check
from clawperator.engine.errors import ErrorCode
from clawperator.engine.skills.registry import load_registry, open_registry
from tests.engine.skills.made import spoiled_registry
from tests.support import table

DEBIAN = (
    "Android Debug Bridge version 1.0.41\nVersion 29.0.6-debian\nInstalled as /usr/lib/android-sdk/platform-tools/adb\n"
)


def outcome(check: Check) -> tuple[str, ErrorCode | None]:
    return check.status, check.code


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ((3, 11, 0), ("pass", None)),
        ((3, 14, 1), ("pass", None)),
        ((4, 0, 0), ("pass", None)),
        ((3, 10, 14), ("fail", ErrorCode.RUNTIME_TOO_OLD)),
    ],
)
def test_python(running: tuple[int, ...], expected: tuple[str, ErrorCode | None]) -> None:
    check = host.python_version(running)
    assert outcome(check) == expected
    assert check.critical


@table(
    ("said", "expected"),
    [
        ("v22.0.0\n", ("pass", None)),
        ("v30.1.2", ("pass", None)),
        ("v21.9.9\n", ("warn", ErrorCode.NODE_TOO_OLD)),
        ("v4.2.6", ("warn", ErrorCode.NODE_TOO_OLD)),
        (None, ("warn", ErrorCode.HOST_DEPENDENCY_MISSING)),
        ("something else", ("pass", None)),
        ("", ("pass", None)),
        ("v" + "9" * 5000, ("pass", None)),
    ],
)
def test_node(said: str | None, expected: tuple[str, ErrorCode | None]) -> None:
    check = host.node_version(said)
    assert outcome(check) == expected
    assert not check.critical
    assert all(step.kind == "manual" for step in check.fix)  # nvm is never run for anybody


def test_git() -> None:
    assert host.git_presence("git version 2.45.0\n").summary == "git 2.45.0"
    assert outcome(host.git_presence(None)) == ("warn", ErrorCode.HOST_DEPENDENCY_MISSING)


def test_skills_registry(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        open_registry({"HOME": str(tmp_path)})
    assert outcome(host.skills_registry(caught.value)) == ("pass", None)
    spoiled = host.skills_registry(spoiled_registry(tmp_path / "root"))
    assert outcome(spoiled) == ("warn", ErrorCode.REGISTRY_READ_FAILED)
    assert spoiled.summary == "2 entries of the skills registry are ignored"
    assert "The registry entry 2 (bad) is ignored" in spoiled.detail
    assert not spoiled.stops
    broken = host.skills_registry(EngineError(ErrorCode.REGISTRY_READ_FAILED, "no JSON"))
    assert outcome(broken) == ("warn", ErrorCode.REGISTRY_READ_FAILED)
    whole = host.skills_registry(load_registry("builtin"))
    assert (outcome(whole), whole.summary) == (("pass", None), "5 skills in the registry")


def test_adb() -> None:
    found = host.adb_presence("/usr/bin/adb", DEBIAN)
    assert outcome(found) == ("pass", None)
    assert found.evidence == {"version": "29.0.6", "path": "/usr/bin/adb"}
    missing = host.adb_presence("", None)
    assert outcome(missing) == ("fail", ErrorCode.ADB_NOT_FOUND)
    assert missing.stops
    assert {step.kind for step in missing.fix} == {"manual"}
    named = host.adb_presence("", None, chosen="/nope/adb")
    assert "/nope/adb, which is not a program" in named.detail
    assert named.fix_title == "Correct the path"
    assert outcome(host.adb_presence("/opt/adb", None)) == ("fail", ErrorCode.ADB_NOT_FOUND)
    assert outcome(host.adb_presence("", None, server_at="tcp:127.0.0.1:5037")) == ("warn", ErrorCode.ADB_NOT_FOUND)


def test_adb_server() -> None:
    assert host.adb_server("tcp:127.0.0.1:5037", 41).evidence == {"address": "tcp:127.0.0.1:5037", "protocol": 41}
    failed = host.adb_server("a", EngineError(ErrorCode.ADB_SERVER_FAILED, "the port is taken"))
    assert outcome(failed) == ("fail", ErrorCode.ADB_SERVER_FAILED)
    assert failed.detail == "the port is taken"
    assert [(step.kind, step.value) for step in failed.fix] == [
        ("shell", "adb kill-server"),
        ("shell", "adb start-server"),
    ]
    far = host.adb_server("a", EngineError(ErrorCode.ADB_SERVER_FAILED, "refused"), local=False)
    assert {step.kind for step in (*far.fix, *host.adb_version(DEBIAN, 40, local=False).fix)} == {"manual"}


@pytest.mark.parametrize(
    ("said", "protocol", "status"),
    [(DEBIAN, 41, "pass"), (DEBIAN, 40, "warn"), (DEBIAN, 31, "warn"), ("", 41, "pass"), ("null", 41, "pass")],
)
def test_adb_and_its_server_speak_one_version(said: str, protocol: int, status: str) -> None:
    check = host.adb_version(said, protocol)
    assert check.status == status
    assert not check.critical
    if status == "warn":
        assert check.evidence == {"program": 41, "server": protocol}


OURS, OTHER, SOCKET = (
    ServerProcess(10, 5037, "tcp:5037"),
    ServerProcess(11, 5038, "tcp:5038"),
    ServerProcess(12, 0, "localfilesystem:/run/adb"),
)


def test_other_adb_servers_are_named_with_pid_and_port() -> None:
    assert host.adb_servers(None, 5037).status == "pass"
    assert host.adb_servers((), 5037).status == "pass"
    assert host.adb_servers((OURS,), 5037).status == "pass"
    check = host.adb_servers((OURS, OTHER, SOCKET), 5037)
    assert outcome(check) == ("warn", None)
    assert check.detail.startswith("pid 11 on port 5038, pid 12 on localfilesystem:/run/adb.")
    assert check.fix == (), "what belongs to other programs is not ours to stop"
    twice = host.adb_servers((OURS, OURS._replace(pid=13)), 5037)
    assert twice.evidence == {"servers": [{"pid": 13, "port": 5037}], "port": 5037}


@table(
    ("command", "expected"),
    [
        ("adb -L tcp:5037 fork-server server --reply-fd 4", 5037),
        ("/usr/bin/adb -P 5999 fork-server server --reply-fd 9", 5999),
        ("adb -L tcp:localhost:5041 fork-server server", 5041),
        ("adb -a nodaemon server", 5037),
        ("adb server nodaemon", 5037),
        ("adb -L localfilesystem:/run/adb fork-server server", 0),
        ("adb -L tcp:not-a-port server", 0),
    ],
)
def test_an_adb_server_is_known_by_its_command_line(command: str, expected: int) -> None:
    server = server_of(7, command.split())
    assert server is not None
    assert (server.pid, server.port) == (7, expected)


@table(
    "command",
    ["adb", "adb devices", "adb -s emulator-5554 shell echo server", "adb kill-server", "sh -c server", "", "adb -P"],
)
def test_other_programs_are_none(command: str) -> None:
    assert server_of(7, command.split()) is None


@given(st.lists(st.text(max_size=20), max_size=8))
def test_no_command_line_is_too_odd(words: list[str]) -> None:
    found = server_of(7, ["adb", *words])
    assert found is None or 0 <= found.port <= 99_999


def test_servers_are_found_in_proc(tmp_path: Path) -> None:
    commands = {
        "1": b"/sbin/init\0",
        "70": b"adb\0-L\0tcp:5037\0fork-server\0server\0--reply-fd\0004\0",
        "9": b"adb\0-P\0005038\0fork-server\0server\0",
        "80": b"\xff\xfe\0" * 40,
        "90": b"",
    }
    for pid, command in commands.items():
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "cmdline").write_bytes(command)
    (tmp_path / "100").mkdir()  # it ended meanwhile
    (tmp_path / "self").mkdir()
    assert running_servers(str(tmp_path)) == (ServerProcess(9, 5038, "tcp:5038"), ServerProcess(70, 5037, "tcp:5037"))
    assert running_servers(str(tmp_path / "nowhere")) is None
    (tmp_path / "empty").mkdir()
    assert running_servers(str(tmp_path / "empty")) is None


@table(
    ("said", "status"),
    [
        ('openjdk version "17.0.9" 2023-10-17\n', "pass"),
        ('java version "21.0.1" 2023-10-17 LTS', "pass"),
        ("OpenJDK 21.0.2", "pass"),
        ('openjdk version "11.0.20"', "fail"),
        ("", "fail"),
        (None, "fail"),
    ],
)
def test_java(said: str | None, status: str) -> None:
    check = host.java_version(said)
    assert check.status == status
    assert (check.code is ErrorCode.HOST_DEPENDENCY_MISSING) == (status == "fail")
