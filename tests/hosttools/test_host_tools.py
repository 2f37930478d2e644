"""What other people's adb clients see of a simulated device: each in its own environment, installed with pinned versions."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation

pytestmark = [pytest.mark.adb, pytest.mark.ci, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
IME = "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME"
ADBUTILS = {
    "listed": True,
    "shell": "a b",
    "v2": [3, "v1"],
    "model": "Pixel 7",
    "size": [1080, 2340],
    "rotation": 0,
    "screen": True,
    "battery": 87,
    "package": "14",
    "third": True,
    "tree": True,
    "pictures": [[1080, 2340]] * 2,
    "current": "com.android.settings",
    "browser": "com.android.chrome",
    "pushed": 280_000,
    "stat": 280_000,
    "names": True,
    "pulled": 280_000,
    "forward": ["tcp:7912"],
    "reverse": [["tcp:7913", "tcp:7914"]],
    "garbage": True,
    "closed": "closed",
}
PPADB = {
    "version": 41,
    "state": "device",
    "shell": "hi\n",
    "model": "Pixel 7",
    "size": [1080, 2340],
    "battery": 87,
    "cpus": 4,
    "cpu": True,
    "process": "(droid.launcher3)",
    "memory": True,
    "top": "com.android.launcher3",
    "installed": [True, False],
    "picture": b"\x89PNG".hex(),
    "pulled": 100_000,
    "uninstalled": False,
}
ADB_SHELL = {
    "shell": "hi\n",
    "large": "1024000",
    "exec": "out\n",
    "stat": 1_024_000,
    "names": True,
    "same": True,
    "missing": "Command failed: open failed: No such file or directory",
    "after": "on\n",
}
PROMPT = "emu64xa:/ $ "
YA_WEBADB = {
    "shell": "hi\n",
    "v2": {"stdout": "out\n", "stderr": "err\n", "exitCode": 7},
    "model": "Pixel 7",
    "pasted": f"{PROMPT}echo one\r\none\r\n{PROMPT}echo two\r\ntwo\r\n{PROMPT}exit\r\n",
    "files": [1_000_000, 1_000_000, True, True],
    "picture": [1080, 2340, 1080 * 2340 * 4],
    "reversed": [1, True, "tcp:7790", 0],
    "closed": "closed",
}
APPIUM = {
    "listed": True,
    "api": 34,
    "size": ["1080x2340", 440],
    "orientation": 0,
    "locale": ["en-US", True],
    "keyboards": [[IME, "com.android.adbkeyboard/.AdbIME"], [IME], IME],
    "focused": {"appPackage": "com.android.settings", "appActivity": ".Settings"},
    "launchable": "com.android.settings/.Settings",
    "running": [True, False],
    "browser": "com.android.chrome",
    "locked": [True, False],
    "keyboard": {"isKeyboardShown": False, "canCloseKeyboard": False},
    "garbage": True,
    "pushed": [True, 5004],
    "reversed": ["host-19 tcp:8300 tcp:8301"],
    "picture": True,
}


def run(*command: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


async def seen(*command: str, env: dict[str, str] | None = None) -> Any:
    """The JSON document on the last line of what a tool prints."""
    return json.loads((await asyncio.to_thread(run, *command, env=env)).splitlines()[-1])


@pytest.fixture(autouse=True)
def _folder_of_the_scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they make their files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("python-tools")
    binary = str(folder / "bin" / "python")
    env = {
        **os.environ,
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }  # installers leave caches, settings and locks there
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv:  # as in .ci/run: a third of the time
        run(uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder), env=env)
        install = (uv, "pip", "install", "--quiet", "--python", binary)
    else:
        run(sys.executable, "-m", "venv", str(folder))
        install = (binary, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*install, "-r", str(HERE / "requirements.txt"), env=env)
    return binary


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts and what they import."""
    if not shutil.which("npm"):
        pytest.skip("needs npm (Debian: apt install npm)")
    folder = tmp_path_factory.mktemp("node-tools")
    for file in (HERE / "package.json", *HERE.glob("*.mjs")):
        shutil.copy(file, folder)
    run("npm", "install", "--no-audit", "--no-fund", cwd=folder)
    return folder


@pytest.fixture(params=["real adb server", "embedded adb server"])
async def server(request: pytest.FixtureRequest, adb_env: dict[str, str]) -> AsyncIterator[tuple[str, str]]:
    """Port of an adb server, and the serial of the simulated device behind it."""
    embedded = request.param == "embedded adb server"
    async with Simulation([create_device()], mode="server" if embedded else "adbd") as simulation:
        port = simulation.port if embedded else int(adb_env["ANDROID_ADB_SERVER_PORT"])
        if not embedded:
            await simulation.attach(port)
        yield str(port), simulation.serials[0]


async def test_adbutils(python: str, server: tuple[str, str]) -> None:
    assert await seen(python, str(HERE / "with_adbutils.py"), *server) == ADBUTILS


async def test_pure_python_adb(python: str, server: tuple[str, str]) -> None:
    assert await seen(python, str(HERE / "with_ppadb.py"), *server) == PPADB


async def test_adb_shell(python: str) -> None:
    async with Simulation([create_device()], mode="adbd") as simulation:
        assert await seen(python, str(HERE / "with_adb_shell.py"), str(simulation.port)) == ADB_SHELL


async def test_ya_webadb_through_a_server(node: Path, server: tuple[str, str]) -> None:
    assert await seen("node", str(node / "with_ya_webadb.mjs"), "server", *server) == YA_WEBADB


async def test_ya_webadb_without_a_server(node: Path) -> None:
    async with Simulation([create_device()], mode="adbd") as simulation:
        assert await seen("node", str(node / "with_ya_webadb.mjs"), "daemon", str(simulation.port)) == YA_WEBADB


async def test_appium_adb(node: Path, server: tuple[str, str], tmp_path: Path) -> None:
    """It wants an Android SDK around the adb binary."""
    tools = tmp_path / "platform-tools"
    tools.mkdir()
    (tools / "adb").symlink_to(shutil.which("adb") or "adb")
    env = {**os.environ, "ANDROID_HOME": str(tmp_path)}
    assert await seen("node", str(node / "with_appium_adb.mjs"), *server, env=env) == APPIUM
