"""A console whose event loop hangs: the second SIGINT ends it and gives the terminal back."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.support import free_port, patience, running

HANG = """
import sys, threading
from clawperator.app.cli.main import main
from clawperator.app.console import start
start._leave = lambda *_: threading.Event().wait()
sys.argv[1:] = ["console"]
sys.exit(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_second_sigint_ends_a_hung_console(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    before = termios.tcgetattr(theirs)
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm-256color"}
    env |= {"ANDROID_ADB_SERVER_PORT": str(free_port()), "ADB_PATH": "/nowhere/adb"}
    out = b""

    def read_until(words: bytes) -> None:
        nonlocal out
        limit = time.monotonic() + patience(30)
        while words not in out and time.monotonic() < limit:
            if select.select([ours], [], [], 0.1)[0]:
                out += os.read(ours, 65_536)
        assert words in out

    with running([sys.executable, "-c", HANG], env=env, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        read_until(b"\x1b[?1049h")
        for _ in range(2):
            child.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(timeout=0.2)
        read_until(b"\x1b[?1049l")
        assert child.wait(timeout=patience(20)) == 130
    assert termios.tcgetattr(theirs)[3] == before[3]
    os.close(ours)
    os.close(theirs)
