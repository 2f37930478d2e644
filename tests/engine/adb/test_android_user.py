"""The user that commands are for, in a real shell with the programs of each Android."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.adb.android_user import am, pm, settings
from clawperator.engine.adb.parse import parse_user_states
from tests.support import table


def programs(folder: Path, **scripts: str) -> dict[str, str]:
    for name, script in scripts.items():
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("sdk", "asked", "user"),
    [
        ("36", "exit 9", "current"),
        ("30", "exit 9", "current"),
        ("29", "echo 10", "10"),
        ("24", "echo 0", "0"),
        ("28", "echo java.lang.SecurityException >&2; exit 255", "0"),
        ("23", "echo 10", "0"),
        ("", "echo 10", "0"),
        ("garbage", "echo 10", "0"),
    ],
)
def test_pm_gets_the_word_the_number_or_zero(tmp_path: Path, sdk: str, asked: str, user: str) -> None:
    env = programs(tmp_path, getprop=f"echo '{sdk}'", am=asked, pm='echo "pm $*"')
    script = f"{pm('list packages', '-U', 'a b$(x)')}; {pm('grant', 'p', 'r')}"
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"pm list packages --user {user} -U a b$(x)", f"pm grant --user {user} p r"]
    assert done.stderr == ""


def test_the_exit_code_is_that_of_pm(tmp_path: Path) -> None:
    env = programs(tmp_path, getprop="echo 34", pm="exit 7")
    assert subprocess.run(["sh", "-c", pm("path", "x")], env=env, check=False).returncode == 7


def test_am_and_settings_know_the_word_on_every_android() -> None:
    assert am("force-stop", "p") == ["am", "force-stop", "--user", "current", "p"]
    assert settings("get", "secure", "n") == ["settings", "get", "--user", "current", "secure", "n"]


NEW = """ACCESSIBILITY MANAGER (dumpsys accessibility)

currentUserId=10
User state[
     attributes:{id=0, touchExplorationEnabled=false}
     Bound services:{}
     Enabled services:{}]
User state[
     attributes:{id=10, touchExplorationEnabled=false}
     Bound services:{Service[label=Clawperator Operator]}
     Enabled services:{{p/p.S}}]
"""
OLD = """User state[attributes:{id=0, currentUser=false}
           services:{}]
User state[attributes:{id=10, currentUser=true}
           services:{Service[label=Clawperator Operator]}]
"""


@pytest.mark.parametrize("dump", [NEW, OLD])
def test_the_accessibility_dump_is_read_for_the_user_in_the_foreground(dump: str) -> None:
    assert len(parse_accessibility(dump).bound) == 1


def test_the_states_of_a_package_by_user() -> None:
    text = (
        "  Package [a] (1):\n    User 0: ceDataInode=1 installed=true stopped=false\n      gids=[3003]\n"
        "    User 10: ceDataInode=0 installed=false stopped=true\n  Package [b] (2):\n    User 0:  installed=false\n"
    )
    states = parse_user_states(text, "a")
    assert {user: "installed=true" in state for user, state in states.items()} == {0: True, 10: False}
    assert "stopped=true" in states[10]
    assert parse_user_states(text, "b").keys() == {0}
    assert parse_user_states("Unable to find package: x", "x") == {}


@table(
    ("text", "pid"),
    [
        ("10\n2101 10123\n2102 1010123\n", 2102),
        ("0\n2101 10123\n2102 1010123\n", 2101),
        ("\n2101 \n", 2101),
        ("150\n2101 10123\n", 2101),
        ("0\n", 0),
        ("", 0),
        ("x\nnull\n", 0),
    ],
)
def test_the_process_of_an_app_is_that_of_the_user_in_the_foreground(text: str, pid: int) -> None:
    from clawperator.engine.device_admin import _pid_of_current_user

    assert _pid_of_current_user(text) == pid
