"""What every test can use: an adb server of its own, the installed wheel, and the corpus of captures where it is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import adb_environment, free_port, start_adb_server

# How fast examples come says something about the machine, not about us: the first run on a new one builds Unicode tables.
# CI tries the same examples every time, so that it says something about the change; people's machines explore.
settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("house")

ROOT = Path(__file__).parent.parent
SOAK = "--soak"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(SOAK, action="store_true", help="run the soak tests for their full time")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need the real adb binary say so by their marker; where it is missing they are skipped with that reason."""
    if shutil.which("adb"):
        return
    for item in items:
        if item.get_closest_marker("adb"):
            item.add_marker(pytest.mark.skip(reason="needs the adb binary (Debian: apt install adb)"))


@pytest.fixture(scope="session", autouse=True)
def _nobodys_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """History, drafts, reports, settings, policy and log of whoever runs the tests are not read, and get nothing of what they do."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ["CLAWPERATOR_LOG_DIR"] = str(tmp_path_factory.mktemp("logs"))
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real captures; most of its files may not be redistributed, so it is not part of this repository."""
    folder = os.environ.get("CLAWPERATOR_CORPUS")
    if not folder:
        pytest.skip("CLAWPERATOR_CORPUS names no folder of captures")
    return Path(folder)


@pytest.fixture(scope="session")
def adb_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a running adb server of our own."""
    home, port = tmp_path_factory.mktemp("adb-home"), free_port()
    server = start_adb_server(home, port)
    yield adb_environment(home, port)
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def installed_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of a fresh environment that holds the built wheel and what it depends on, nothing else.

    Making one takes half a minute; ``CLAWPERATOR_WHEEL`` is one that was made already.
    """
    if made := os.environ.get("CLAWPERATOR_WHEEL"):
        return Path(made)
    folder = tmp_path_factory.mktemp("wheel")
    _quietly(sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(ROOT))
    _quietly(sys.executable, "-m", "venv", str(folder / "venv"))
    binaries = folder / "venv" / "bin"
    (wheel,) = (folder / "dist").glob("*.whl")
    _quietly(str(binaries / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    return binaries


def _quietly(*command: str) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
