"""The page of ``console --web`` in a real browser, driven by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import patience

pytest.importorskip("textual_serve", reason="needs the extra 'web'")
import aiohttp

from tests.app.console.test_console_web import serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.ci,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium (Debian: apt install chromium)"),
]


class Tab:
    """One tab. ``shown`` collects what its WebSocket received."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count()
        self.session: str | None = None
        self.shown = b""

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        request = {"id": number, "method": method, "params": params}
        await self._socket.send_json(request if self.session is None else request | {"sessionId": self.session})
        while (answer := await self._receive()).get("id") != number:
            pass
        assert "error" not in answer, answer
        return dict(answer["result"])

    async def until(self, words: bytes) -> None:
        while words not in self.shown:
            await self._receive()

    async def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json()
        if message.get("method") == "Network.webSocketFrameReceived":
            frame = message["params"]["response"]
            if frame["opcode"] == aiohttp.WSMsgType.BINARY:
                self.shown += base64.b64decode(frame["payloadData"])
        return message


@asynccontextmanager
async def browsing(profile: Path, session: aiohttp.ClientSession) -> AsyncIterator[Tab]:
    """A browser with one empty tab."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--remote-debugging-port=0")
    browser = await asyncio.create_subprocess_exec(
        str(CHROMIUM), *flags, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert browser.stderr is not None
    try:
        async for line in browser.stderr:
            if found := re.search(rb"ws://\S+", line):
                break
        else:
            raise AssertionError("the browser did not start")
        async with session.ws_connect(found[0].decode(), max_msg_size=0) as socket:
            tab = Tab(socket)
            target = await tab.send("Target.createTarget", url="about:blank")
            attached = await tab.send("Target.attachToTarget", flatten=True, **target)
            tab.session = attached["sessionId"]
            await tab.send("Network.enable")
            yield tab
    finally:
        with contextlib.suppress(ProcessLookupError):
            browser.kill()
        await browser.communicate()


async def test_the_keyboard_is_the_consoles_without_a_click(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    async with serving(tmp_path / "home") as served, browsing(tmp_path / "profile", served.session) as tab:
        async with asyncio.timeout(patience(50)):
            await tab.send("Page.navigate", url=served.address)
            await tab.until(b"Inspect")
            await tab.send("Input.dispatchKeyEvent", type="keyDown", key="6", code="Digit6", text="6")
            await tab.until(b"critical")
