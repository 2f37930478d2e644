"""What every test can use: an adb server of its own, the installed wheel, and the corpus of captures where it is there."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from clawperator.engine.executions.command import Command
from tests.support import (
    CLI,
    Spawn,
    adb_environment,
    end,
    forget_devices,
    free_port,
    hear_signals,
    left_running,
    no_survivors,
    patience,
    running,
    start_adb_server,
    temporary_files,
)

# How fast examples come says something about the machine, not about us: the first run on a new one builds Unicode tables.
# Every run tries the same examples, so that it says something about the change; `--hypothesis-profile explore` looks for others.
FEW, MANY = 25, 100
settings.register_profile("explore", max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "repeatable",
    settings.get_profile("explore"),
    max_examples=MANY if os.environ.get("CI") else FEW,
    derandomize=True,
)
settings.load_profile("repeatable")

ROOT = Path(__file__).parent.parent
SOAK = "--soak"
LONGEST_NAME = 200
TEST_SECONDS = 60
"""So long one test may take, on an idle machine."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(SOAK, action="store_true", help="run the soak tests for their full time")
    parser.addoption("--warm", action="store_true", help="run the command lines of tests/app/cli in a warm process")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need the real adb binary say so by their marker; where it is missing they are skipped with that reason."""
    if shutil.which("adb"):
        return
    for item in items:
        if item.get_closest_marker("adb"):
            item.add_marker(pytest.mark.skip(reason="needs the adb binary (Debian: apt install adb)"))


def pytest_configure() -> None:
    hear_signals()
    # The tests start hundreds of programs, and each would compile everything again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_make_parametrize_id(val: object) -> str | None:
    """What is long has a short name: each of the processes that share the tests is told every name many times."""
    return f"{val[:60]!a} of {len(val)}" if isinstance(val, str | bytes) and len(val) > LONGEST_NAME else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: to look for garbage among it takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)  # before pytest-timeout's own wrapper, which reads the marker
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that hangs is ended; how long it may take depends on the machine."""
    if not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(patience(TEST_SECONDS)))
    return (yield)


_OF_OTHER_TOOLS = (".cache", ".npm", ".rustup")
"""What pip, npm and rustup (which pip asks for its version) keep in the home folder of whoever starts them."""
_TEMPORARY_FOR_OTHERS = (f"clawperator-{os.getuid()}", "org.chromium.")
"""A picture whose caller has named no file is the caller's; a browser that is killed leaves a folder."""


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user who runs the tests has nothing of them: no process, no temporary file, and no file in the home folder.

    History, drafts, reports, settings, policy and log go to folders of this run, and the home folder is an empty one.
    """
    home, temporary = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("tmp")
    os.environ["HOME"] = str(home)
    os.environ["CLAWPERATOR_WARM"] = "0"  # tests of the warm process start their own
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    os.environ["CLAWPERATOR_LOG_DIR"] = str(tmp_path_factory.mktemp("logs"))
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))
    with no_survivors(tmp_path_factory.getbasetemp()):
        with temporary_files(temporary):
            yield
        left = left_running(tmp_path_factory.getbasetemp())
    assert not left, f"still running after the tests, and ended now: {left}"
    files = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]
    ours = [path for path in files if path.split("/")[0] not in _OF_OTHER_TOOLS]
    assert not ours, f"left in the home folder: {ours}"
    names = [path.name for path in temporary.iterdir() if not path.name.startswith(_TEMPORARY_FOR_OTHERS)]
    assert not names, f"left among the temporary files: {names}"


@pytest.fixture(scope="session", autouse=True)
def _frozen_once() -> Iterator[None]:
    """What was imported and collected stays: no garbage collection of a test looks at it.

    The consoles of this process freeze nothing: what one of them keeps is garbage for the next.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(
        5_000, 10, 20
    )  # a console is garbage of some megabytes: full collections are worth it after several
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "freeze", lambda: None)
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """``spawn(command, **more)`` is ``Popen``; what it started has ended after the test."""
    with ExitStack() as stack:
        yield lambda command, **more: stack.enter_context(running(command, **more))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits one second longer than the device's own budget, not five: for tests of what comes after the wait."""
    monkeypatch.setattr(Command, "wait_seconds", property(lambda command: command.timeout_ms / 1000 + 1))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real captures; most of its files may not be redistributed, so it is not part of this repository."""
    folder = os.environ.get("CLAWPERATOR_CORPUS")
    if not folder:
        pytest.skip("CLAWPERATOR_CORPUS names no folder of captures")
    return Path(folder)


@pytest.fixture(scope="session")
def _adb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    home, port = tmp_path_factory.mktemp("adb-home"), free_port()
    server = start_adb_server(home, port)
    yield adb_environment(home, port)
    end(server)


@pytest.fixture
def adb_env(_adb_server: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a running adb server of our own, which knows no device before a test and none after it."""
    yield dict(_adb_server)
    forget_devices(int(_adb_server["ANDROID_ADB_SERVER_PORT"]))


@pytest.fixture(scope="session")
def warm_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What command lines need besides to run in a warm process: a quarter of the time, where what they do is tested."""
    (folder := tmp_path_factory.mktemp("runtime")).chmod(0o700)
    env = {"XDG_RUNTIME_DIR": str(folder), "CLAWPERATOR_WARM": ""}
    plain = {**adb_environment(tmp_path_factory.mktemp("home-of-warm"), 0), **env}  # its commands have no locale either

    def warm(word: str) -> None:
        subprocess.run([*CLI, "warm", word], env=plain, check=True, stdout=subprocess.DEVNULL)

    warm("start")
    yield env
    warm("stop")


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source distribution and of the wheel built from it; ``CLAWPERATOR_DIST`` is one made already."""
    if made := os.environ.get("CLAWPERATOR_DIST"):
        return Path(made)
    folder = tmp_path_factory.mktemp("dist")
    home = tmp_path_factory.mktemp("home-of-build")
    _quietly(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT), home=home)
    return folder


@pytest.fixture(scope="session")
def installed_wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of a fresh environment that holds the built wheel and what it depends on, nothing else.

    Making one takes half a minute; ``CLAWPERATOR_WHEEL`` is one that was made already.
    """
    if made := os.environ.get("CLAWPERATOR_WHEEL"):
        return Path(made)
    (wheel,) = request.getfixturevalue("distributions").glob("*.whl")
    folder = tmp_path_factory.mktemp("wheel")
    home = tmp_path_factory.mktemp("home-of-pip")
    _quietly(sys.executable, "-m", "venv", str(folder), home=home)
    pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _quietly(*pip, str(wheel), home=home)
    return folder / "bin"


def _quietly(*command: str, home: Path) -> None:
    """Run ``command`` in a home folder of its own: pip asks rustc for its version, and rustup makes settings there."""
    done = subprocess.run(
        command,
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=patience(600),
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
