"""A web page of another site in a real browser: nothing that it can make the browser send reaches a device."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

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
<iframe src="{url}/devices"></iframe>
<form id="form" method="post" enctype="text/plain" action="{url}/observe/snapshot" target="frame"></form>
<iframe name="frame"></iframe>
<script>
  document.getElementById("form").submit();
  new EventSource("{url}/events?follow={serial}");
  fetch("{url}/observe/snapshot", {{method: "POST", mode: "no-cors"}});
  fetch("{url}/devices/{serial}/snapshot", {{mode: "no-cors"}});
  fetch("{url}/devices").catch(() => {{}});
</script>
"""
REQUESTS = 11


async def test_nothing_of_a_page_reaches_a_device(serve: Serve, tmp_path: Path) -> None:
    served = await serve()
    page = PAGE.format(url=served.url, serial=served.serial).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + page)
        await writer.drain()
        writer.close()

    pages = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with pages:
        port = pages.sockets[0].getsockname()[1]
        flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}")
        browser = await asyncio.create_subprocess_exec(
            *(str(CHROMIUM), *flags, "--virtual-time-budget=5000", "--dump-dom", f"http://127.0.0.1:{port}/"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            shown, _ = await browser.communicate()
        finally:
            if browser.returncode is None:
                browser.kill()
                await browser.wait()
    assert b"attack" in shown
    found = await statuses(served)
    assert found.pop("403") >= REQUESTS
    assert found.keys() == {"200"}  # those of this test
    assert (await served.client.get("/history")).json()["count"] == 0


async def statuses(served: Served) -> dict[str, int]:
    """How many requests were answered with each status."""
    found: dict[str, int] = {}
    for status, count in re.findall(r'clawperator_http_requests_total{.*status="(\d+)"} (\d+)', await metrics(served)):
        found[status] = found.get(status, 0) + int(count)
    return found


async def metrics(served: Served) -> str:
    return (await served.client.get("/metrics")).text
