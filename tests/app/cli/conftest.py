"""Running command lines: in this process for speed, in one of their own where the process is what is tested."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clawperator.app.cli.main import main
from clawperator.app.warm import NOT_WARM, client
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.support import CLI, patience


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--warm`` only what runs a command line there is repeated."""
    if config.getoption("--warm"):
        repeated = [item for item in items if "warm_runtime" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in repeated])
        items[:] = repeated


class Run(NamedTuple):
    """What a command line left behind."""

    exit_code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout; fails where there is more, less, or no final newline."""
        assert self.out.endswith("\n")
        value: dict[str, Any] = json.loads(self.out)
        return value


Cli = Callable[..., Run]
ProcessCli = Callable[..., Run]


Plug = Callable[..., SimulatedDevice]


@contextmanager
def served(worlds: Sequence[SimulatedDevice]) -> Iterator[dict[str, str]]:
    """The environment of an adb server of these devices, in a thread of its own: command lines have their own event loop."""
    ready, ended = threading.Event(), asyncio.Event()
    found: list[Any] = []

    async def serve() -> None:
        async with Simulation(worlds, mode="server") as simulation:
            found.extend((simulation.env(), asyncio.get_running_loop()))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(patience(20))
    env, loop = found
    try:
        yield env
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(patience(20))


@contextmanager
def simulated(scenario: dict[str, Any]) -> Iterator[tuple[SimulatedDevice, dict[str, str]]]:
    """One device (``speed`` is 0 unless given), and what a program needs to reach it."""
    world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
    with served([world]) as env:
        yield world, env


@pytest.fixture
def lonely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment without devices, without adb and without anybody's settings; the free port answers nobody."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in list(os.environ):
        if name.startswith(("CLAWPERATOR_", "ANDROID_", "ADB_")):
            monkeypatch.delenv(name)
    chosen = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": str(tmp_path),
        "ADB_PATH": str(tmp_path / "no-adb"),
        "ANDROID_ADB_SERVER_PORT": str(port),
        "CLAWPERATOR_WARM": "0",
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    return chosen


@pytest.fixture
def plug(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Plug]:
    """``plug(**scenario)`` connects a device and points this test's environment at it."""
    del lonely
    with ExitStack() as stack:

        def connect(**scenario: Any) -> SimulatedDevice:
            world, env = stack.enter_context(simulated(scenario))
            for name, value in env.items():
                monkeypatch.setenv(name, value)
            return world

        yield connect


@pytest.fixture(scope="session")
def warm_runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The runtime folder of a warm process; empty without ``--warm``."""
    if not request.config.getoption("--warm"):
        yield ""
        return
    folder = tmp_path_factory.mktemp("runtime")
    folder.chmod(0o700)
    env = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "NO_COLOR": "1", "COLUMNS": "100"}
    words = [*CLI, "warm"]
    subprocess.run([*words, "start"], env=env, check=True, stdout=subprocess.DEVNULL)
    yield str(folder)
    status = json.loads(subprocess.run([*words, "status"], env=env, check=True, stdout=subprocess.PIPE).stdout)
    assert status["commands"], "no command ran in the warm process"
    subprocess.run([*words, "stop"], env=env, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture
def cli(
    lonely: Mapping[str, str],
    warm_runtime: str,
    request: pytest.FixtureRequest,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Cli:
    """``cli(*arguments, stdin=b"")`` in this process; with ``--warm``, in the warm process, unless marked ``cold``."""
    warm = warm_runtime and request.node.get_closest_marker("cold") is None

    def run(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        exit_code = run_warm(arguments, stdin) if warm else main(arguments)
        out, err = capfdbinary.readouterr()
        return Run(exit_code, out.decode(), err.decode())

    def run_warm(arguments: Sequence[str], stdin: bytes) -> int:
        (file := Path(warm_runtime, "stdin")).write_bytes(stdin)
        with file.open(encoding="utf-8") as given, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", given)
            patch.setenv("XDG_RUNTIME_DIR", warm_runtime)
            exit_code = client.run(arguments) if arguments and arguments[0] not in NOT_WARM else None
            return main(arguments) if exit_code is None else exit_code

    return run


@pytest.fixture
def process(lonely: Mapping[str, str]) -> ProcessCli:
    """``process(*arguments)`` as ``python -m clawperator.app.cli``."""

    def run(*arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Run:
        done = subprocess.run(
            [*CLI, *arguments],
            input=stdin,
            capture_output=True,
            env={**os.environ, **(env or {})},
            timeout=patience(50),
            check=False,
        )
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
