"""What the whole suite relies on: children hear signals, and those that are left behind are found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import left_running, patience

ROOT = Path(__file__).parents[2]
IN_THE_BACKGROUND = """
import signal, subprocess
from tests.support import end, hear_signals
hear_signals()
child = subprocess.Popen(["sleep", "1000"])
child.send_signal(signal.SIGINT)
print(child.wait(20))
"""


def test_children_hear_sigint_though_the_run_was_started_with_it_ignored() -> None:
    done = subprocess.run(
        ["sh", "-c", 'trap \'\' INT HUP; exec "$0" -c "$1"', sys.executable, IN_THE_BACKGROUND],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patience(30),
        check=False,
    )
    assert (done.stdout, done.stderr) == ("-2\n", "")


def test_a_process_that_outlives_its_test_is_found_and_ended(tmp_path: Path) -> None:
    shell = ["sh", "-c", "sleep 1000 >/dev/null & echo $!"]  # nobody's child any more when the shell is gone
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    pid = int(subprocess.run(shell, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert left_running(tmp_path, seconds=0) == {pid: "sleep 1000 "}
    assert left_running(tmp_path, seconds=0) == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.support import free_port, no_survivors, start_adb_server
folder = Path(sys.argv[1])
with no_survivors(folder.parent):
    start_adb_server(folder, free_port())
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.adb
def test_nothing_survives_a_run_that_is_killed(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    killed = subprocess.run([sys.executable, "-c", KILLED, home], cwd=ROOT, timeout=patience(30), check=False)
    assert killed.returncode == -signal.SIGKILL
    assert left_running(tmp_path, seconds=10) == {}
