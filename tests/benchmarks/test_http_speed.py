"""The server under load: swift lists, little on top of the engine, many listeners, many devices at once."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from clawperator.engine import Engine, Settings
from tests.benchmarks.conftest import Claim, Measured, Report, bare_ms
from tests.support import CLI

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]

TICKS = os.sysconf("SC_CLK_TCK")
LISTENERS, EVENTS_PER_SECOND, LISTEN_SECONDS = 200, 100, 3.0
DEVICES, ACTION_MS, DRIVE_SECONDS = 50, 500, 4.0


@dataclass(frozen=True)
class Server:
    url: str
    pid: int
    env: dict[str, str]

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def megabytes(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1024 / 1024


@contextmanager
def line_of(*command: str, env: dict[str, str]) -> Iterator[tuple[dict[str, object], int]]:
    """A process of ours, and the JSON line in which it says that it is ready."""
    with subprocess.Popen([*CLI, *command], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline()), process.pid
        finally:
            process.kill()


@contextmanager
def served(home: Path, *, devices: int = 1) -> Iterator[Server]:
    """A server before simulated devices, each in a process of its own; it has the list of the devices."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    with ExitStack() as stack:
        phones, _ = stack.enter_context(line_of("sim", "--server", "--devices", str(devices), env=env))
        assert isinstance(phones["env"], dict)
        env |= phones["env"]
        answer, pid = stack.enter_context(line_of("serve", "--port", "auto", "--json", "--no-history", env=env))
        server = Server(str(answer["url"]), pid, env)
        with httpx.Client(base_url=server.url) as client:
            while len(client.get("/devices").json().get("devices", [])) < devices:
                pass
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("server")) as running:
        yield running


class Line:
    """One connection, as plainly as can be: what a client library does on top is not the server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    @classmethod
    async def to(cls, address: tuple[str, int]) -> Line:
        return cls(*await asyncio.open_connection(*address), f"{address[0]}:{address[1]}")

    async def ask(self, request: str, body: object = None) -> bytes:
        data = b"" if body is None else json.dumps(body).encode()
        kind = "Content-Type: application/json\r\n" if data else ""
        head = f"{request} HTTP/1.1\r\nHost: {self._host}\r\n{kind}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        length = answer.lower().partition(b"content-length:")[2].partition(b"\r")[0]
        return await self._reader.readexactly(int(length))

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def ask(address: tuple[str, int], count: int, took: list[float]) -> None:
    """``GET /devices`` so many times over one connection."""
    line = await Line.to(address)
    for _ in range(count):
        began = time.perf_counter()
        await line.ask("GET /devices")
        took.append(time.perf_counter() - began)
    await line.close()


def test_the_list_of_devices(report: Report, server: Server) -> None:
    async def load(connections: int, count: int) -> list[float]:
        took: list[float] = []
        await asyncio.gather(*(ask(server.address, count, took) for _ in range(connections)))
        return sorted(took)

    def measure() -> list[Measured]:
        began = time.perf_counter()
        took = asyncio.run(load(8, 800))
        spent = time.perf_counter() - began
        slowest = took[int(len(took) * 0.99)] * 1_000
        words = f"p50 {statistics.median(took) * 1_000:.2f} ms, p99 {slowest:.2f} ms"
        return [(len(took) / spent, words), (slowest, "")]

    claims = [
        Claim("`GET /devices`, 8 connections, one server process", 4_000, "/s"),
        Claim("`GET /devices`, p99 of that", 5.0, " ms"),
    ]
    report.hold(claims, measure)


async def timed(calls: int, call: Callable[[], Awaitable[object]]) -> list[float]:
    took = []
    for _ in range(calls):
        began = time.perf_counter()
        await call()
        took.append((time.perf_counter() - began) * 1_000)
    return took


def test_a_snapshot_costs_little_more_than_the_engine(report: Report, server: Server) -> None:
    async def compare() -> tuple[float, float]:
        """Median milliseconds of the request and of the engine's own call, turn by turn."""
        settings = Settings.resolve({"history_enabled": False}, server.env)
        line = await Line.to(server.address)
        async with Engine(settings) as engine:
            serial = (await engine.devices())[0].serial
            watching = asyncio.create_task(engine.watch_log(serial))  # the server has the log open as well
            requests: list[float] = []
            calls: list[float] = []
            for _ in range(12):
                calls += await timed(5, engine.snapshot)
                requests += await timed(5, lambda: line.ask("POST /observe/snapshot"))
            watching.cancel()
            await asyncio.wait([watching])
            await line.close()
            return statistics.median(requests[5:]), statistics.median(calls[5:])

    def measure() -> Measured:
        request, call = asyncio.run(compare())
        return request / call, f"{request:.2f} / {call:.2f} ms"

    report.ratio("`POST /observe/snapshot`, p50", "the engine's own call", 1.3, measure)


async def listen(address: tuple[str, int], ready: asyncio.Semaphore, counts: list[int], index: int) -> None:
    """Count events for as long as they come."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(f"GET /events HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode())
    await reader.readuntil(b"heartbeat")
    ready.release()
    try:
        while data := await reader.read(65_536):
            counts[index] += data.count(b"\nevent: ")
    finally:
        writer.close()


def test_two_hundred_listeners(report: Report, server: Server) -> None:
    async def hear() -> tuple[float, float, float]:
        counts, ready = [0] * LISTENERS, asyncio.Semaphore(0)
        tasks = [asyncio.create_task(listen(server.address, ready, counts, index)) for index in range(LISTENERS)]
        for _ in tasks:
            await ready.acquire()
        async with httpx.AsyncClient(base_url=server.url) as client:
            await asyncio.sleep(0.5)
            used, began, before = server.cpu(), time.perf_counter(), sum(counts)
            while (spent := time.perf_counter() - began) < LISTEN_SECONDS:
                if (sum(counts) - before) / LISTENERS < EVENTS_PER_SECOND * spent:
                    (await client.post("/observe/snapshot")).raise_for_status()
                else:
                    await asyncio.sleep(0.005)
            used = server.cpu() - used
            rate = (sum(counts) - before) / LISTENERS / spent
            dropped = (await client.get("/metrics")).text
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert "clawperator_event_streams_dropped 0.0" in dropped
        return used / spent, rate, spent

    def measure() -> Measured:
        share, rate, _ = asyncio.run(hear())
        assert rate >= EVENTS_PER_SECOND * 0.9, rate
        return share, f"{rate:.0f} events/s to each, no client dropped, executions included"

    report.ratio(f"{LISTENERS} listeners of {EVENTS_PER_SECOND} events/s", "one core", 1.0, measure)


def test_idle_and_start(report: Report, tmp_path: Path) -> None:
    def weigh() -> Measured:
        with served(tmp_path) as server:
            return server.megabytes(), "one device, nothing asked"

    report.value("an idle server", 65, " MB", weigh)

    def start() -> Measured:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ADB_PATH": str(tmp_path / "none")}
        own, floor = [], []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import fastapi"], check=True)
            floor.append(time.perf_counter() - began)
            began = time.perf_counter()
            with line_of("serve", "--port", "auto", "--json", env=env):
                own.append(time.perf_counter() - began)
        best, base = min(own), min(floor)
        return best / base, f"{best * 1_000:.0f} ms against {base * 1_000:.0f} ms"

    report.ratio("`serve` until it listens", '`python -c "import fastapi"`', 3.0, start)


def test_fifty_devices_at_once(report: Report, tmp_path: Path) -> None:
    sleep = {"id": "s", "type": "sleep", "params": {"durationMs": ACTION_MS}}

    async def drive(line: Line, index: int, serial: str, until: float, took: list[float]) -> None:
        number = 0
        await asyncio.sleep(index * ACTION_MS / 1_000 / DEVICES)  # agents do not march in step
        while time.perf_counter() < until:
            number += 1
            plan = {"commandId": f"{serial}-{number}", "taskId": "t", "source": "bench", "timeoutMs": 10_000}
            body = {"execution": {**plan, "expectedFormat": "android-ui-automator", "actions": [sleep]}}
            began = time.perf_counter()
            await line.ask("POST /execute", {**body, "deviceId": serial})
            took.append((time.perf_counter() - began) * 1_000 - ACTION_MS)

    async def fleet(server: Server) -> tuple[float, list[float], float, float]:
        first = await Line.to(server.address)
        serials = [row["serial"] for row in json.loads(await first.ask("GET /devices"))["devices"]]
        alone: list[float] = []
        await drive(first, 0, serials[0], time.perf_counter() + DRIVE_SECONDS, alone)
        lines = [first, *[await Line.to(server.address) for _ in serials[1:]]]

        async def all_of_them(seconds: float, took: list[float]) -> None:
            until, each = time.perf_counter() + seconds, enumerate(zip(lines, serials, strict=True))
            await asyncio.gather(*(drive(line, place, serial, until, took) for place, (line, serial) in each))

        await all_of_them(1, [])
        took: list[float] = []
        used, began = server.cpu(), time.perf_counter()
        await all_of_them(DRIVE_SECONDS, took)
        spent = time.perf_counter() - began - ACTION_MS / 1_000  # the beginning and the end are half empty
        used = server.cpu() - used
        for line in lines:
            await line.close()
        return len(took) / spent, sorted(took), statistics.median(alone), used * 1_000 / len(took)

    def measure() -> list[Measured]:
        with served(tmp_path, devices=DEVICES) as server:
            rate, took, alone, used = asyncio.run(fleet(server))
        slow, bare = took[int(len(took) * 0.95)], bare_ms()
        return [
            (rate, f"p95 {slow:.0f} ms beyond the action, {rate * used / 1_000:.0%} of a core"),
            (slow / alone, f"{slow:.1f} / {alone:.1f} ms"),
            (used / bare, f"{used:.1f} / {bare:.1f} ms"),
        ]

    claims = [
        Claim(f"executions on {DEVICES} devices, {ACTION_MS} ms each", 85, "/s"),
        Claim("time beyond the action, p95 of that", 10, "×", "the median of one device alone"),
        Claim("the server's processor time for one of them", 3, "×", "a loop of bare Python"),
    ]
    report.hold(claims, measure)
