"""Ratios against plain sockets in the same run, never absolute times: the machine may be busy with anything."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import perf_counter

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.protocol import CLOSE_STDIN, shell_packet
from clawperator.engine.adb.server import AdbServer
from tests.support import running

pytestmark = pytest.mark.benchmark

SERVER = """
import asyncio
from clawperator.engine.adb.protocol import EXIT, STDOUT, shell_packet

END = shell_packet(EXIT, b"\\0")
ANSWERS = {
    "host:tport": b"OKAY" + (7).to_bytes(8, "little"),
    "host-serial": b"OKAY0008shell_v2",
    "shell,v2,raw:small": b"OKAY" + shell_packet(STDOUT, b"hello") + END,
    "shell,v2,raw:log": b"OKAY" + shell_packet(STDOUT, b"x" * 4000) * 375 + END,
    "exec:log": b"OKAY" + b"x" * 1_500_000,
}

async def serve(reader, writer):
    while size := await reader.read(4):
        service = (await reader.readexactly(int(size, 16))).decode()
        writer.write(next(answer for name, answer in ANSWERS.items() if service.startswith(name)))
        if not service.startswith("host:tport"):
            if service.startswith("shell"):
                await reader.readexactly(5)
            await writer.drain()
            break
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


def by_hand(port: int, service: bytes) -> bytes:
    """The same conversation in the fewest calls; what comes is kept, but not understood."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        for request, wanted in ((b"host:tport:serial:abc", 12), (service, 4)):
            sock.sendall(b"%04x%s" % (len(request), request))
            answer = b""
            while len(answer) < wanted:
                answer += sock.recv(65536)
        if service.startswith(b"shell"):
            sock.sendall(shell_packet(CLOSE_STDIN))
        parts = []
        while data := sock.recv(262_144):
            parts.append(data)
        return b"".join(parts)


async def ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int) -> float:
    """Best of ours over best of the floor, taken in turns so that both meet the same weather."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, call in enumerate((ours, floor)):
            start = perf_counter()
            result = call()
            if asyncio.iscoroutine(result):
                await result
            best[place] = min(best[place], perf_counter() - start)
    return best[0] / best[1]


@pytest.mark.parametrize(
    ("service", "limit"),
    [("shell,v2,raw:small", 2.5), ("shell,v2,raw:log", 2.5), ("exec:log", 2.5)],
)
async def test_a_conversation_costs_little_more_than_its_bytes(port: int, service: str, limit: float) -> None:
    device = AdbDevice(AdbServer(port=port), "abc")
    command = [service.rpartition(":")[2]]
    ours = device.exec_out if service.startswith("exec") else device.shell
    await ours(command)  # the features are known from here on
    assert await ratio(lambda: ours(command), lambda: by_hand(port, service.encode()), 40) < limit


async def test_the_light_path_starts_within_twice_the_bare_libraries() -> None:
    def run(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    bare = "import argparse, json, socket"
    assert await ratio(run(f"{bare}; import clawperator.engine.adb.blocking"), run(bare), 10) < 2
