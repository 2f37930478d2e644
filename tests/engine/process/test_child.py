"""A skill's program and its whole session: heard while it runs, and nothing of it lives afterwards. Looked for in /proc."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from clawperator.engine.process.child import CannotStartError, Ended, run_child
from clawperator.engine.process.sessions import members
from tests.engine.skills.made import alive, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

ENV = {"PATH": os.environ["PATH"]}
LONG = 50.0

FAMILY = """
import os, signal, subprocess, sys, time
def note(pid): print(pid, flush=True)
note(os.getpid())
note(subprocess.Popen(["sleep", "1000"]).pid)
# a shell with job control and `timeout` put what they start into groups of their own
shell = subprocess.Popen(["bash", "-c", "set -m; sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
note(shell.pid), note(int(shell.stdout.readline()))
note(subprocess.Popen(["timeout", "1000", "sleep", "1000"]).pid)
if os.fork() == 0:  # an orphan that wants to stay
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note(os.getpid()), print("complete", flush=True)
        time.sleep(1000)
    os._exit(0)
if sys.argv[1] == "stay":
    time.sleep(1000)
sys.stdin.read()
"""


class Heard:
    """What the program writes, and waiting for some of it."""

    def __init__(self) -> None:
        self.text = ""
        self._came = asyncio.Event()

    def take(self, stream: str, data: bytes) -> None:
        self.text += data.decode()
        self._came.set()

    async def until(self, words: str) -> None:
        while words not in self.text:
            self._came.clear()
            await self._came.wait()

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.text.split() if line.isdigit()]


async def family(heard: Heard, how: str, seconds: float = LONG, patience: float = 0.05) -> Ended:
    command = [sys.executable, "-c", FAMILY, how]
    return await run_child(command, ENV, heard.take, seconds=seconds, patience=patience)


def all_gone(heard: Heard) -> None:
    """SIGKILL has been sent to all of them; orphans may take a moment to be gone."""
    assert len(heard.pids) == 6
    until(lambda: not any(map(alive, heard.pids)))


async def test_the_whole_family_dies_at_the_limit() -> None:
    heard = Heard()
    running = asyncio.create_task(family(heard, "stay", seconds=3))
    await heard.until("complete")
    assert all(map(alive, heard.pids))
    assert len(members(heard.pids[0])) >= 6
    ended = await running
    assert ended.timed_out
    assert ended.exit_code == -signal.SIGTERM
    all_gone(heard)


async def test_the_whole_family_dies_when_no_one_waits_any_more() -> None:
    heard = Heard()
    running = asyncio.create_task(family(heard, "stay"))
    await heard.until("complete")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not alive(heard.pids[0])  # it was waited for
    all_gone(heard)


async def test_what_a_finished_program_leaves_behind_dies() -> None:
    heard = Heard()
    assert await family(heard, "end") == (0, False)  # its orphans hold the output open, and are not waited for
    await heard.until("complete")
    all_gone(heard)


async def test_who_makes_a_session_of_its_own_stays() -> None:
    """As the adb server and an emulator do: they are everybody's."""
    heard = Heard()
    daemon_of = "setsid bash -c 'echo $$; exec sleep 1000 >&- 2>&-'"
    script = f"exec 3< <({daemon_of}); read daemon <&3; echo $daemon"
    await run_child(["bash", "-c", script], ENV, heard.take, seconds=LONG)
    (daemon,) = heard.pids
    assert alive(daemon)
    os.kill(daemon, signal.SIGKILL)
    until(lambda: not alive(daemon))


async def test_one_that_ignores_sigterm_is_killed_after_some_patience() -> None:
    heard = Heard()
    script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.05; done"
    running = asyncio.create_task(run_child(["bash", "-c", script], ENV, heard.take, seconds=1, patience=0.5))
    ended = await running
    assert ended == (-signal.SIGKILL, True)
    assert heard.text.count("asked") == 1  # SIGTERM came first, and once
    assert not alive(heard.pids[0])


async def test_one_that_ends_in_time_is_distinguished_by_its_own_exit_code() -> None:
    heard = Heard()
    script = "trap 'echo bye; exit 7' TERM; echo $$; while :; do sleep 0.05; done"
    ended = await run_child(["bash", "-c", script], ENV, heard.take, seconds=1, patience=LONG)
    assert ended == (7, True)
    assert heard.text.count("bye") == 1  # its last words are heard


async def test_being_reported_twice_does_not_wait() -> None:
    heard = Heard()
    script = "trap '' TERM; echo $$; echo ready; while :; do sleep 0.05; done"
    running = asyncio.create_task(run_child(["bash", "-c", script], ENV, heard.take, seconds=LONG, patience=LONG))
    await heard.until("ready")
    running.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it waits for the program now, which does not listen
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    until(lambda: not alive(heard.pids[0]))


async def test_who_cannot_take_the_output_any_more_ends_it() -> None:
    class CannotTakeError(Exception):
        pass

    pids = []

    def take(stream: str, data: bytes) -> None:
        pids.append(int(data.split()[0]))
        raise CannotTakeError

    with pytest.raises(CannotTakeError):
        await run_child(["bash", "-c", "echo $$; sleep 1000"], ENV, take, seconds=LONG)
    assert len(pids) == 1
    assert not alive(pids[0])


async def test_cancelled_before_it_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    running = asyncio.create_task(
        run_child(["bash", "-c", f"sleep 0.5; touch {mark}"], ENV, lambda *_: None, seconds=LONG)
    )
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not mark.exists()


async def test_stdin_is_at_its_end_and_both_streams_are_distinguished() -> None:
    streams: dict[str, bytes] = {}

    def take(stream: str, data: bytes) -> None:
        streams[stream] = streams.get(stream, b"") + data

    script = "import sys; print(repr(sys.stdin.read())); print('!', file=sys.stderr); sys.exit(3)"
    ended = await run_child([sys.executable, "-c", script], ENV, take, seconds=LONG)
    assert ended == (3, False)
    assert streams == {"stdout": b"''\n", "stderr": b"!\n"}


@pytest.mark.parametrize(
    ("command", "reason"),
    [(["/no/such/program"], FileNotFoundError), (["/etc/passwd"], PermissionError), (["true", "a\0b"], ValueError)],
)
async def test_what_cannot_start(command: list[str], reason: type[Exception]) -> None:
    with pytest.raises(CannotStartError) as caught:
        await run_child(command, ENV, lambda *_: None, seconds=LONG)
    assert isinstance(caught.value.reason, reason)
