"""A console that gets a signal, or whose terminal goes away: it leaves in its own way, and settles what it had sent."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support import CLI, left_running, patience, varied

from .victim import CATCHABLE

LEFT_ALTERNATE_SCREEN = b"\x1b[?1049l"
SIZE = struct.pack("HHHH", 40, 120, 0, 0)


class Screen:
    """The other end of a console's terminal."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.seen = b""

    def reads_until(self, words: bytes) -> None:
        deadline = time.monotonic() + patience(30)
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen[-2_000:]
            if select.select([self.descriptor], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.descriptor, 65_536)
                except OSError:  # the console has left
                    assert words in self.seen, self.seen[-2_000:]


@contextmanager
def console(folder: Path, *words: str, **environment: str) -> Iterator[tuple[subprocess.Popen[bytes], Screen]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, SIZE)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm-256color", "LANG": "C.UTF-8"} | environment

    def own_terminal() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        [*CLI, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
        preexec_fn=own_terminal,  # noqa: PLW1509 -- one ioctl, which setsid needs to come before
    )
    os.close(theirs)
    try:
        yield process, Screen(ours)
    finally:
        with suppress(OSError):
            os.close(ours)
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [pytest.param(one, marks=pytest.mark.ci) for one in CATCHABLE[:2]] + [signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(tmp_path: Path, number: signal.Signals) -> None:
    with console(tmp_path, "demo") as (process, screen):
        screen.reads_until(b"emulator-5554")
        process.send_signal(number)
        screen.reads_until(LEFT_ALTERNATE_SCREEN)
        assert process.wait(patience(20)) == 130
    assert left_running(tmp_path) == {}


@varied("disposition", [signal.SIG_DFL, signal.SIG_IGN], ids=["hung up", "as of nohup"])
def test_a_terminal_that_goes_away_is_no_crash(tmp_path: Path, disposition: signal.Handlers) -> None:
    former = signal.signal(signal.SIGHUP, disposition)  # which the console inherits
    try:
        with console(tmp_path, "demo") as (process, screen):
            screen.reads_until(b"emulator-5554")
            os.close(screen.descriptor)
            assert process.wait(patience(20)) == 130
    finally:
        signal.signal(signal.SIGHUP, former)
    assert left_running(tmp_path) == {}
    assert not list(tmp_path.rglob("crash*")), "nothing to report"
