"""The HTTP server before a hostile device: it answers, stays small, and ends on a signal."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.hostile.conftest import MOST_MEGABYTES, megabytes
from tests.hostile.daemon import FLOODS, SERIAL, Attack, HostileServer, hostile, largest
from tests.hostile.test_memory import PIXELS, PLAN, log_of
from tests.support import CLI, Spawn, patience

READS = "^(shell|exec)(?!.*(logcat -b main|am broadcast))"
ROUTES: dict[str, dict[str, Any] | None] = {
    "GET /devices": None,
    f"GET /devices/{SERIAL}/snapshot": None,
    f"GET /devices/{SERIAL}/screen.png": None,
    f"GET /devices/{SERIAL}/packages": None,
    "GET /doctor": None,
    "GET /android/emulators/running": None,
    "POST /match": {"selector": {"textEquals": "OK"}, "deviceId": SERIAL},
    "POST /suggest": {"selector": {"textEquals": "OK"}, "deviceId": SERIAL},
    "POST /observe/snapshot": {},
    "POST /observe/screenshot": {},
    "POST /execute": {"execution": json.loads(PLAN)},
    "GET /locks": None,
    "GET /history": None,
    "GET /metrics": None,
}
"""What touches a device, and what must not suffer from one that is touched."""

ATTACKS = {
    "endless short lines": Attack(READS, FLOODS["short lines"]),
    "endless pixels": Attack("screencap", PIXELS),
    "the most lines": Attack(READS, answer=largest(b"ab\n")),
    "the most packages": Attack(READS, answer=largest(b"package:a uid:1\n")),
}


@dataclass(frozen=True)
class Served:
    child: subprocess.Popen[bytes]
    client: httpx.Client

    def ask(self, route: str) -> httpx.Response:
        method, _, path = route.partition(" ")
        return self.client.request(method, path, json=ROUTES.get(route))

    def is_healthy(self) -> bool:
        return self.client.get("/healthz").status_code == 200

    def is_executing(self) -> bool:
        return "\nclawperator_executions_in_flight 1.0\n" in self.client.get("/metrics").text


Serve = Callable[[HostileServer], Any]


@pytest.fixture
def serve(environment: Callable[[HostileServer], dict[str, str]], spawn: Spawn) -> Serve:
    @contextmanager
    def start(server: HostileServer) -> Iterator[Served]:
        words = ["serve", "--port", "auto", "--json", "--grace", "1"]
        child = spawn([*CLI, *words], env=environment(server), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert child.stdout is not None
        url = json.loads(child.stdout.readline())["url"]
        with httpx.Client(base_url=url, timeout=patience(20)) as client:
            yield Served(child, client)

    return start


@pytest.mark.ci
@pytest.mark.parametrize("name", ATTACKS)
def test_every_route_stays_small(simulator: int, serve: Serve, name: str) -> None:
    with hostile(simulator, ATTACKS[name]) as server, serve(server) as served:
        with ThreadPoolExecutor(4) as pool:
            answers = dict(zip(ROUTES, pool.map(served.ask, ROUTES), strict=True))
        for route, answer in answers.items():
            assert answer.status_code == 200 or answer.json()["error"]["code"], route
        assert served.is_healthy()
        assert server.attacked.is_set()
        assert megabytes(served.child.pid) < MOST_MEGABYTES


@pytest.mark.ci
@pytest.mark.parametrize("name", ["live lines", "dump", "doubtful records", "envelopes"])
def test_a_log_without_end(simulator: int, serve: Serve, name: str) -> None:
    """With a client of the event stream that reads nothing."""
    with (
        hostile(simulator, log_of(name, nonces=1)) as server,
        serve(server) as served,
        served.client.stream("GET", "/events"),
    ):
        with ThreadPoolExecutor(1) as pool:
            execution = pool.submit(served.ask, "POST /execute")
            assert server.soaked.wait(patience(20))
            assert served.is_healthy()
            execution.result()
        assert megabytes(served.child.pid) < MOST_MEGABYTES
        served.child.terminate()
        assert served.child.wait(patience(10)) == 0


@pytest.mark.parametrize("flood", ["silence", pytest.param("empty packets", marks=pytest.mark.ci)])
def test_others_are_answered_and_the_end_is_heard(simulator: int, serve: Serve, flood: str) -> None:
    with hostile(simulator, Attack("^shell", FLOODS[flood])) as server, serve(server) as served:
        with ThreadPoolExecutor(1) as pool:
            execution = pool.submit(served.ask, "POST /execute")
            assert server.attacked.wait(patience(10))
            assert served.is_healthy()
            while not served.is_executing():  # the attack may have met the log's watcher before the request was read
                assert not execution.done()
            served.child.send_signal(signal.SIGTERM)
            answer = execution.result()
        assert (answer.status_code, answer.json()["error"]["code"]) == (500, "DEVICE_SHELL_UNAVAILABLE")
        assert served.child.wait(patience(10)) == 0
