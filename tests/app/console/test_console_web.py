"""``console --web`` for real: a server, a page as a browser would open it, its socket, and what is left when it ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from clawperator.app.installation import install_command
from tests.support import CLI, free_port, patience, varied

pytest.importorskip("textual_serve", reason="needs the extra 'web'")
import aiohttp

from clawperator.app.console import web


class Served(NamedTuple):
    process: asyncio.subprocess.Process
    session: aiohttp.ClientSession
    address: str

    @property
    def origin(self) -> str:
        return "/".join(self.address.split("/")[:3])

    async def status(self, url: str, **headers: str) -> int:
        async with self.session.get(url, headers=headers) as response:
            return int(response.status)

    async def socket_url(self) -> str:
        async with self.session.get(self.address) as response:
            found = re.search(r'data-session-websocket-url="([^"]+)"', await response.text())
        assert found
        return found[1]

    async def page(self, size: str = "?width=120&height=36") -> aiohttp.ClientWebSocketResponse:
        return await self.session.ws_connect(f"{await self.socket_url()}{size}", headers={"Origin": self.origin})

    async def stop(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGINT)
        out, err = await self.process.communicate()
        return self.process.returncode or 0, out.decode(), err.decode()

    def children(self) -> list[int]:
        return [
            int(text) for text in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]


@asynccontextmanager
async def serving(home: Path, *flags: str) -> AsyncIterator[Served]:
    """No adb, no device, nobody's settings, and a terminal that could draw nothing itself."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("CLAWPERATOR_", "ANDROID_", "XDG_"))
    }
    env |= {
        "HOME": str(home),
        "CLAWPERATOR_WARM": "0",  # a child is a page
        "TERM": "dumb",
        "ADB_PATH": str(home / "none"),
        "ANDROID_ADB_SERVER_PORT": str(free_port()),
    }
    process = await asyncio.create_subprocess_exec(
        *CLI, "console", "--web", *flags,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=env,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        async with asyncio.timeout(patience(50)), aiohttp.ClientSession() as session:
            said = (await process.stderr.readline()).decode()
            found = re.search(r"http://\S+", said)
            assert found, said + (await process.stderr.read()).decode()
            yield Served(process, session, found[0])
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def drawn(page: aiohttp.ClientWebSocketResponse, words: bytes) -> bytes:
    """What the page was told to draw until ``words`` came."""
    shown = b""
    async for message in page:
        assert message.type is aiohttp.WSMsgType.BINARY, message
        shown += bytes(message.data)
        if words in shown:
            return shown
    raise AssertionError(f"the page was closed before {words!r}: {shown!r}")


async def gone(pid: int) -> None:
    """Until that process has ended; one that is no child of ours can be waited for by its descriptor only."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def reports_of_crashes(home: Path) -> list[Path]:
    return list(home.rglob("*crash*"))


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@needs_proc
async def test_a_browser_gets_the_console_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        assert served.address.startswith("http://127.0.0.1:")
        page = await served.page()
        assert b"Inspect" in await drawn(page, b"Inspect")
        (child,) = served.children()
        await page.send_json(["stdin", "6"])
        await drawn(page, b"critical")
        code, out, err = await served.stop()
        assert (code, out, err) == (0, "", "")
        while (message := await page.receive()).type is aiohttp.WSMsgType.BINARY:
            pass  # frames that were on their way
        assert message.type is aiohttp.WSMsgType.CLOSE
        await gone(child)


@needs_proc
async def test_a_page_that_is_closed_takes_its_console_with_it_and_no_other(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        first = await served.page()
        await drawn(first, b"Inspect")
        (one,) = served.children()
        second = await served.page("?width=999999999&height=x")
        await drawn(second, b"Inspect")
        (two,) = set(served.children()) - {one}
        await first.close()
        await gone(one)
        assert two in served.children()
        await second.close()


@needs_proc
async def test_a_server_that_is_killed_leaves_no_console_behind(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        page = await served.page()
        await drawn(page, b"Inspect")
        (child,) = served.children()
        served.process.kill()
        await gone(child)
    assert not reports_of_crashes(tmp_path)


async def test_leaving_the_console_closes_its_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        page = await served.page()
        await drawn(page, b"Inspect")
        await page.send_json(["stdin", "\x11"])
        async for _ in page:
            pass
        assert page.closed


async def test_a_console_that_dies_closes_its_page(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        page = await served.page()
        await drawn(page, b"Inspect")
        (child,) = served.children()
        os.kill(child, signal.SIGKILL)
        async for _ in page:
            pass
        assert page.closed


async def test_only_the_address_that_was_printed_leads_to_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        port = served.origin.rpartition(":")[2]
        assert await served.status(served.address) == 200
        assert await served.status(f"{served.origin}/") == 404
        assert await served.status(f"{served.origin}/ws") == 404
        assert await served.status(f"{served.origin}/static/js/textual.js") == 404
        assert await served.status(f"{served.origin}/download/guess") == 404
        assert await served.status(f"{served.address}static/js/textual.js") == 200
        assert await served.status(f"{served.address}static/../../web.py") in (403, 404)
        assert await served.status(served.address, Host=f"evil.example:{port}") == 403
        assert await served.status(served.address, Host="127.0.0.1") == 403
        assert await served.status(served.address, Origin="http://evil.example") == 403
        assert await served.status(served.address, Origin="null") == 403


async def test_a_foreign_page_opens_no_socket(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        url = await served.socket_url()
        for origin in ("http://evil.example", "null", f"https://{served.origin.partition('//')[2]}"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await served.session.ws_connect(url, headers={"Origin": origin})
            assert refused.value.status == 403


async def test_the_page_tells_no_one_and_is_framed_by_no_one(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, served.session.get(served.address) as response:
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert response.headers["Cache-Control"] == "no-store"
        policy = response.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy


async def test_it_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        port = int(served.origin.rpartition(":")[2])
        with socket.socket() as other:
            assert other.connect_ex(("127.0.0.2", port)) != 0


@pytest.mark.ci
async def test_what_a_page_sends_is_not_believed(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for nonsense in ("{", "3", "[]", '["resize", 3]', '["stdin"]', '["stdin", 4]'):
            page = await served.page()
            await drawn(page, b"Inspect")
            await page.send_str(nonsense)
            async for _ in page:
                pass
            assert page.closed
        page = await served.page()
        await drawn(page, b"Inspect")


@varied(
    ("flags", "words"),
    [
        (("--theme", "nope"), "Unknown theme: nope"),
        (("--port", "0"), "--port must be an integer in [1, 65535]"),
        (("--host", "0.0.0.0"), "unrecognized flag '--host'"),
        (("--snapshot", "/nowhere.xml"), "--snapshot: /nowhere.xml does not exist"),
    ],
)
def test_what_cannot_be_served_is_refused_before(tmp_path: Path, flags: tuple[str, ...], words: str) -> None:
    done = _console(tmp_path, "--web", *flags)
    assert done.returncode == 1
    assert words in done.stdout


@varied(
    ("text", "words"),
    [
        ("[console]\nbell = 3", "line 2: console.bell must be true or false, got 3"),
        ("[console]\ntheme = 'nope'", "Unknown theme: nope"),
        ("[keymap]\napp.halp = 'f1'", "line 2: Unknown key binding app.halp"),
    ],
)
def test_settings_that_are_wrong_are_reported_to_who_starts_it(tmp_path: Path, text: str, words: str) -> None:
    folder = tmp_path / "config" / "clawperator"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text(text)
    done = _console(tmp_path, "--web", XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert done.returncode == 1
    assert words in done.stdout


def test_a_theme_of_the_user_s_own_is_known(tmp_path: Path) -> None:
    from clawperator.app.console.user_themes import theme_exists

    (tmp_path / "midnight.toml").write_text("dark = true")
    assert theme_exists("midnight", tmp_path)
    assert theme_exists("nord", tmp_path)
    assert not theme_exists("claw", tmp_path)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = _console(tmp_path, "--web", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "cannot be used: Address already in use" in done.stdout


def test_a_port_without_a_server(tmp_path: Path) -> None:
    assert "--port requires --web" in _console(tmp_path, "--port", "8080").stdout


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "textual_serve").mkdir()
    (tmp_path / "textual_serve" / "__init__.py").write_text("raise ModuleNotFoundError(name='textual_serve')")
    done = _console(tmp_path, "--web", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert '"code":"HOST_DEPENDENCY_MISSING"' in done.stdout
    assert install_command("web") in done.stdout


def _console(home: Path, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLI, "console", *flags],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience(50), check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "CLAWPERATOR_WARM": "0", **env},
    )  # fmt: skip


def test_sizes_that_a_page_may_ask_for() -> None:
    assert [web._cells(text, 80) for text in ("120", "999999999999", "0", "-3", "x", "", "٣")] == [
        120,
        80,
        10,
        80,
        80,
        80,
        80,
    ]
