"""``sim --emulator-pair`` in a process of its own, beside a real adb server that runs already."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import CLI, free_port

pytestmark = pytest.mark.adb
SIM = (*CLI, "sim", "--emulator-pair", "--port")


def even_port() -> int:
    """The first of a pair of free ports, beyond those where other adb servers look."""
    for port in range(21_000 + 2 * (os.getpid() % 4_000), 30_000, 2):
        with socket.socket() as console, socket.socket() as adb, contextlib.suppress(OSError):
            console.bind(("127.0.0.1", port))
            adb.bind(("127.0.0.1", port + 1))
            return port
    raise AssertionError("no free pair of ports")


@contextlib.contextmanager
def sim(env: dict[str, str], port: int) -> Any:
    running = subprocess.Popen([*SIM, str(port)], env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())
    finally:
        running.terminate()
        running.communicate(timeout=20)


def test_the_serial_that_is_announced_is_the_one_that_adb_lists(adb_env: dict[str, str]) -> None:
    port = even_port()
    with sim(adb_env, port) as announced:
        assert announced["adbServer"] == f"127.0.0.1:{adb_env['ANDROID_ADB_SERVER_PORT']}"
        assert announced["serials"] == [f"emulator-{port}"]
        adb: Callable[..., str] = lambda *words: subprocess.check_output(["adb", *words], env=adb_env, text=True)  # noqa: E731
        serial = announced["serials"][0]
        assert adb("-s", serial, "wait-for-device", "shell", "getprop ro.product.model") == "Pixel 7\n"
        assert f"{serial}\tdevice\n" in adb("devices")


def test_without_an_adb_server_the_answer_says_what_to_do() -> None:
    with sim({"ANDROID_ADB_SERVER_PORT": str(free_port())}, even_port()) as announced:
        assert announced["adbServer"] is None
        assert "5554 to 5585" in announced["hint"]
