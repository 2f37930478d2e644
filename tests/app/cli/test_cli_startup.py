"""How long whole processes take, as multiples of what Python itself needs in the same run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(180)]

CLI = ("-m", "clawperator.app.cli")
PLAN = json.dumps(
    {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "Notifications"}}}],
    }
)


@pytest.fixture
def environment(lonely: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """As installed: modules are compiled already, whatever the surroundings of the tests say."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    return {**kept, "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}


@pytest.fixture
def device_list(environment: dict[str, str]) -> Iterator[None]:
    listing = b"emulator-5554\tdevice\n"

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                connection.sendall(b"OKAY%04x" % len(listing) + listing)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        environment["ANDROID_ADB_SERVER_PORT"] = str(listener.getsockname()[1])
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def seconds(arguments: Sequence[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    return time.perf_counter() - began


def ratio(ours: Sequence[str], floor: Sequence[str], env: dict[str, str], *, enough: float) -> float:
    """The best of ours over the best of the floor, taken in turns; more turns while the machine is too busy to tell."""
    subprocess.run([sys.executable, *ours], env=env, capture_output=True, check=False)  # compiles
    own, base = [], []
    for turn in range(60):
        own.append(seconds(ours, env))
        base.append(seconds(floor, env))
        if turn >= 8 and min(own) / min(base) <= enough:
            break
    return min(own) / min(base)


def test_version(environment: dict[str, str]) -> None:
    assert ratio((*CLI, "--version"), ("-c", "pass"), environment, enough=2.2) <= 2.2


@pytest.mark.usefixtures("device_list")
def test_devices(environment: dict[str, str]) -> None:
    floor = ("-c", "import argparse, json, socket")
    assert ratio((*CLI, "devices", "--json"), floor, environment, enough=2.0) <= 2.0


def test_execute(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, *CLI, "sim", "--server"], env=environment, stdout=subprocess.PIPE
    ) as simulation:
        assert simulation.stdout is not None
        environment |= json.loads(simulation.stdout.readline())["env"]
        try:
            opened = ("action", "open-app", "--app", "com.android.settings")
            subprocess.run([sys.executable, *CLI, *opened], env=environment, stdout=subprocess.DEVNULL, check=True)
            floor = ("-c", "import asyncio; from pydantic import BaseModel, TypeAdapter")
            assert ratio((*CLI, "execute", "--execution", PLAN), floor, environment, enough=2.0) <= 2.0
        finally:
            simulation.terminate()
