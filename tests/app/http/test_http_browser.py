"""A web page of another site in a real browser: nothing that it can make the browser send reaches a device."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import httpx
import pytest

from tests.app.http.conftest import Serve, Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.ci,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium (Debian: apt install chromium)"),
]
PAGE = """<!doctype html><title>attack</title>
<img src="{url}/devices/{serial}/snapshot">
<img src="{url}/devices/{serial}/screen.png">
<img src="{url}/devices/{serial}/packages" referrerpolicy="no-referrer">
<link rel="stylesheet" href="{url}/doctor">
<script src="{url}/history"></script>
<script type="module" src="{url}/healthz"></script>
<iframe src="{url}/devices"></iframe>
<object data="{url}/devices/{serial}/screen.png" type="image/png"></object>
<video src="{url}/devices/{serial}/screen.png"></video>
<form id="post" method="post" enctype="text/plain" action="{url}/observe/snapshot" target="posted"></form>
<form id="get" action="{url}/devices/{serial}/snapshot" target="got"></form>
<iframe name="posted"></iframe><iframe name="got"></iframe>
<img src="{rebound}/devices/{serial}/snapshot">
<iframe src="{rebound}/devices/{serial}/snapshot"></iframe>
<script>
  document.getElementById("post").submit();
  document.getElementById("get").submit();
  new WebSocket("{url}/events".replace("http", "ws"));
  navigator.sendBeacon("{url}/observe/snapshot", "{{}}");
  fetch("{url}/execute", {{method: "POST", headers: {{"Content-Type": "application/json"}}, body: "{{}}"}}).catch(() => {{}});
  new EventSource("{url}/events?follow={serial}");
  fetch("{url}/observe/snapshot", {{method: "POST", mode: "no-cors"}});
  fetch("{url}/devices/{serial}/snapshot", {{mode: "no-cors"}});
  fetch("{url}/devices").catch(() => {{}});
</script>
"""
REQUESTS = 20
REBOUND = "rebound.example"
"""A name of the attacker's that points to this computer by now."""


async def test_nothing_of_a_page_reaches_a_device(serve: Serve, tmp_path: Path) -> None:
    served = await serve()
    port = httpx.URL(served.url).port
    page = PAGE.format(url=served.url, serial=served.serial, rebound=f"http://{REBOUND}:{port}").encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + page)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as pages:
        shown = await visit(tmp_path, f"http://127.0.0.1:{pages.sockets[0].getsockname()[1]}/")
    assert "attack" in shown
    found = await statuses(served)
    assert found.pop("403") >= REQUESTS
    assert found.keys() == {"200"}  # those of this test
    assert (await served.client.get("/history")).json()["count"] == 0


async def test_a_page_at_a_rebound_name_is_refused(serve: Serve, tmp_path: Path) -> None:
    """For the browser everything that it asks for is of its own origin; only the Host says whose page it is."""
    served = await serve()
    port = httpx.URL(served.url).port
    shown = await visit(tmp_path, f"http://{REBOUND}:{port}/devices/{served.serial}/snapshot")
    assert "ORIGIN_NOT_ALLOWED" in shown
    assert REBOUND in shown
    assert (await served.client.get("/history")).json()["count"] == 0


async def visit(folder: Path, url: str) -> str:
    """The document that the browser shows in the end."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
    browser = await asyncio.create_subprocess_exec(
        *(str(CHROMIUM), *flags, f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"),
        *("--virtual-time-budget=5000", "--dump-dom", url),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        shown, _ = await browser.communicate()
    finally:
        if browser.returncode is None:
            browser.kill()
            await browser.wait()
    return shown.decode()


async def statuses(served: Served) -> dict[str, int]:
    """How many requests were answered with each status."""
    found: dict[str, int] = {}
    for status, count in re.findall(r'clawperator_http_requests_total{.*status="(\d+)"} (\d+)', await metrics(served)):
        found[status] = found.get(status, 0) + int(count)
    return found


async def metrics(served: Served) -> str:
    return (await served.client.get("/metrics")).text
