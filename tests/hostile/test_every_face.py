"""Every command, tool and route against a device that never stops talking: each ends, and none grows.

The calls are those of the tables of capabilities, which fail for a command, a tool or a route without a row.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.app.cli import test_cli_capabilities as commands
from tests.app.cli.test_cli_recording import SMALL
from tests.app.http import test_http_capabilities as routes
from tests.app.mcp import test_mcp_capabilities as tools
from tests.app.mcp.conftest import talk
from tests.engine.skills.made import made_registry
from tests.hostile.conftest import MOST_MEGABYTES, megabytes
from tests.hostile.daemon import FLOODS, SERIAL, Attack, HostileServer, hostile
from tests.support import CLI, Spawn, patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

Environment = Callable[[HostileServer], dict[str, str]]
SHORT_LINES = Attack("^(shell|exec|sync)(?!.*logcat -b main)", FLOODS["short lines"])
ATTACKS = {"every answer": SHORT_LINES, "the broadcast": Attack("am broadcast", FLOODS["short lines"])}
NEED_NO_DEVICE = {("devices", "pair"), ("skills", "sync"), ("skills", "install"), ("skills", "update")}
"""They wait for a person, or for a git server."""
EACH = """
import contextlib, io, json, signal, sys, time
from clawperator.app.cli.main import main
for words in json.load(sys.stdin):
    out, began = io.TextIOWrapper(io.BytesIO()), time.monotonic()
    signal.alarm(SECONDS)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main(words)
    signal.alarm(0)
    with open("/proc/self/status") as status:
        peak = int(status.read().partition("VmHWM:")[2].split()[0]) // 1024
    print(json.dumps([" ".join(words)[:60], code, peak, round(time.monotonic() - began, 1)]), flush=True)
"""


def every_command(tmp_path: Path) -> list[list[str]]:
    recording, dump, folder = tmp_path / "small.ndjson", tmp_path / "dump.xml", tmp_path / "folder"
    recording.write_bytes(SMALL)
    dump.write_text("<hierarchy/>")
    folder.mkdir()
    registry = made_registry(tmp_path / "made", {"com.example.app.run": {"run.sh": "#!/bin/sh\n"}}).path
    places = {"{recording}": recording, "{dump}": dump, "{folder}": folder, "{registry}": registry}

    def placed(word: str) -> str:
        for name, place in places.items():
            word = word.replace(name, str(place))
        return word

    lines = [[*asked.words.split(), *map(placed, asked.arguments)] for asked in commands.ASKED]
    lines += [[*words.split(), *map(placed, arguments)] for words, arguments in commands.READS.items()]
    return [[*line, "--json"] for line in lines if tuple(line[:2]) not in NEED_NO_DEVICE]


@pytest.mark.ci
@pytest.mark.parametrize("attack", ATTACKS)
def test_every_command(simulator: int, environment: Environment, tmp_path: Path, attack: str) -> None:
    lines = every_command(tmp_path)
    with hostile(simulator, ATTACKS[attack]) as server:
        done = subprocess.run(
            [sys.executable, "-c", EACH.replace("SECONDS", str(int(patience(60))))],
            input=json.dumps(lines),
            env=environment(server),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert server.attacks_begun > 15
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(lines), (rows[-1:], done.stderr)
    assert max(peak for _, _, peak, _ in rows) < MOST_MEGABYTES, rows


async def test_every_tool(simulator: int, environment: Environment, tmp_path: Path) -> None:
    calls = [(asked.tool, asked.arguments) for asked in tools.ASKED]
    calls += [(name, {"query": "settings"} if name == "skills_search" else {}) for name in tools.NEEDS_NOTHING]
    with hostile(simulator, SHORT_LINES) as server:
        async with talk(environment(server), tmp_path / "stderr", "--registry", "builtin") as agent:
            for tool, arguments in calls:
                await agent.client.call_tool(tool, arguments)
            (pid,) = children()
            assert megabytes(pid) < MOST_MEGABYTES
        assert server.attacked.is_set()


def children() -> list[int]:
    """The processes that this one has started: the server."""
    me = Path("/proc/self/task")
    pids = {int(pid) for task in me.iterdir() for pid in (task / "children").read_text().split()}
    return [pid for pid in pids if b"mcp" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_every_route(simulator: int, environment: Environment, spawn: Spawn) -> None:
    words = ["serve", "--port", "auto", "--json", "--grace", "1"]
    with hostile(simulator, SHORT_LINES) as server:
        child = spawn([*CLI, *words], env=environment(server), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert child.stdout is not None
        url = json.loads(child.stdout.readline())["url"]
        with httpx.Client(base_url=url, timeout=patience(60)) as client:
            for asked in routes.ASKED:
                if asked.route != "/events":  # it has no end
                    answer = client.request(asked.method, asked.path(SERIAL), json=asked.body)
                    assert answer.status_code < 400 or answer.json()["error"]["code"], asked
            for route in routes.NEEDS_NOTHING:
                client.get(route.replace("{name}", "execution").replace("{skill_id}", routes.SKILL))
        assert server.attacked.is_set()
        assert megabytes(child.pid) < MOST_MEGABYTES
