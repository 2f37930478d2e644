"""A signal at every line of Python that a command line runs before and after its session: one document, and never a false one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import patience

from .victim import CATCHABLE, victim

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks where it is traced")

NUMBERS = [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.ci) for one in CATCHABLE if one != signal.SIGTERM)]

SIGNAL_AT_EVERY_LINE = """
import asyncio, json, os, sys
moment, number, step, *sys.argv[1:] = sys.argv[1:]
number, step = int(number), int(step)
results = []

def signal_after(lines):
    def trace(frame, event, _):
        nonlocal lines
        if event == "line":
            lines -= 1
            if lines == 0:
                sys.settrace(None)
                os.kill(os.getpid(), number)
        return trace
    frame = sys._getframe(2)
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    sys.settrace(trace)

def fork_for_every_line():
    '''Return in children, each of which gets the signal ``step`` lines later (0: ever more), until it changes nothing any more.'''
    lines = 1
    while True:
        reader, writer = os.pipe()
        if not (pid := os.fork()):
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            signal_after(lines)
            return
        os.close(writer)
        with open(reader) as stream:
            text = stream.read()
        status = os.waitpid(pid, 0)[1]
        results.append([lines, os.waitstatus_to_exitcode(status), text])
        if len(results) > 1 and not results[-1][1] and results[-1][1:] == results[-2][1:]:
            break
        lines += step or lines // 3 + 1
    print(json.dumps(results), flush=True)
    os._exit(0)

if moment == "end":
    close = asyncio.Runner.close
    def closed(self):
        close(self)
        asyncio.Runner.close = close
        fork_for_every_line()
    asyncio.Runner.close = closed
    from clawperator.app.cli.main import main
else:
    from clawperator.app import interrupts
    from clawperator.app.cli.main import main
    begin = interrupts.begin
    def begun():
        begin()
        fork_for_every_line()
    interrupts.begin = begun
sys.exit(main())
"""


@pytest.mark.parametrize("number", NUMBERS)
async def test_from_the_end_of_a_session(tmp_path: Path, number: signal.Signals) -> None:
    async with victim(tmp_path) as cut:
        words = (sys.executable, "-c", SIGNAL_AT_EVERY_LINE, "end", str(int(number)), "7")
        process = await cut.start(*words, "action", "press-key", "--key", "home", "--no-history", "--json")
        out, err = await process.communicate()
        assert err == b""
        for line, exit_code, text in json.loads(out):
            assert text, (line, exit_code)
            answer = json.loads(text)
            if exit_code == 130:
                assert (answer["code"], answer["broadcastDispatchStatus"]) == ("INTERRUPTED", "sent"), line
            else:
                assert (exit_code, answer["ok"]) == (0, True), line
        assert cut.world.commands == 1


@pytest.mark.usefixtures("lonely")
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.ci
def test_from_the_first_line_of_a_command(number: signal.Signals) -> None:
    words = [sys.executable, "-c", SIGNAL_AT_EVERY_LINE, "start", str(int(number)), "0", "lock", "status", "--json"]
    done = subprocess.run(words, capture_output=True, timeout=patience(120), check=False)
    assert done.stderr == b""
    results = json.loads(done.stdout)
    assert len(results) > 15
    for line, exit_code, text in results:
        assert text, (line, exit_code)
        answer = json.loads(text)
        if exit_code == 130:
            assert (answer["code"], answer["broadcastDispatchStatus"]) == ("INTERRUPTED", "not_sent"), line
        else:
            assert exit_code == 0
