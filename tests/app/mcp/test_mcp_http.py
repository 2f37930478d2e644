"""MCP over streamable HTTP: the same tools, behind the same gate as the HTTP server, and an end that waits."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from clawperator.engine.history.store import History
from tests.app.mcp.conftest import MODES, Listen, Visit, calling, nap, plan

OWNER, WATCHER = "owner-token-0123456789", "watcher-token-0123456789"
POLICY = """
version = 1
activeProfile = "default"
[profiles.default]
[profiles.watching]
read_only = true
"""
BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.ci)])
async def test_the_same_tools(visit: Visit, listen: Listen, mode: str) -> None:
    place = await visit()
    server = await listen(place)
    assert server.url.endswith("/mcp")
    async with calling(server.url, mode) as agent:
        assert len((await agent.client.list_tools()).tools) == 13
        done = await agent.ok("execute", execution=plan(nap(10)))
        assert (done["deviceId"], done["outcome"]["status"]) == (place.serial, "succeeded")
        assert agent.reported[0][2] == f"sent to {place.serial}"
        latest = await agent.client.read_resource(f"clawperator://devices/{place.serial}/tree")
        assert latest.contents[0].mime_type == "application/json"


async def test_the_gate(visit: Visit, listen: Listen) -> None:
    place = await visit()
    server = await listen(place)
    async with httpx.AsyncClient() as client:

        async def asked(url: str = server.url, **headers: str) -> tuple[int, Any]:
            answer = await client.post(url, json=BEGIN, headers={**HEADERS, **headers})
            return answer.status_code, answer.json()["error"]["code"] if answer.status_code >= 400 else None

        assert await asked() == (200, None)
        assert await asked(Host="evil.example") == (403, "ORIGIN_NOT_ALLOWED")
        assert await asked(Origin="https://evil.example") == (403, "ORIGIN_NOT_ALLOWED")
        assert await asked(server.url.replace("/mcp", "/sse")) == (404, "NOT_FOUND")
        form = await client.post(server.url, content=b"{}", headers={**HEADERS, "Content-Type": "text/plain"})
        assert (form.status_code, form.json()["error"]["code"]) == (400, "INVALID_BODY")
        large = await client.post(server.url, content=b" " * 102_401, headers=HEADERS)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
        marked = await client.post(server.url, content=b"\xef\xbb\xbf" + json.dumps(BEGIN).encode(), headers=HEADERS)
        assert (marked.status_code, marked.headers["x-content-type-options"]) == (200, "nosniff")
        assert "no-store" in marked.headers["cache-control"]
        twice = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "method": "ping"}'
        ambiguous = await client.post(server.url, content=twice, headers=HEADERS)
        assert (ambiguous.status_code, ambiguous.json()["id"], ambiguous.json()["error"]["code"]) == (400, 7, -32700)
        for body in (b"{", b"[]", b"\xff", b"[" * 5_000, b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}'):
            for version in ("2025-11-25", "2026-07-28", "1999-01-01"):
                given = {**HEADERS, "MCP-Protocol-Version": version}
                broken = await client.post(server.url, content=body, headers=given)
                assert 400 <= broken.status_code < 500
    assert not any("Traceback" in line for line in server.errors)


async def test_off_loopback_a_token_is_asked_for(visit: Visit, listen: Listen) -> None:
    place = await visit()
    server = await listen(place, "--host", "0.0.0.0")
    url = server.url.replace("0.0.0.0", "127.0.0.1")
    file = place.folder / ".clawperator" / "server-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    async with httpx.AsyncClient() as client:
        answer = await client.post(url, json=BEGIN, headers=HEADERS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    async with calling(url, token=file.read_text().split()[0]) as agent:
        await agent.ok("devices")
    assert any("not encrypted" in line for line in server.errors)


async def test_a_profile_binds_its_token(visit: Visit, listen: Listen, tmp_path: Path) -> None:
    place = await visit()
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    (tmp_path / "config" / "clawperator" / "policy.toml").write_text(POLICY)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{OWNER} owner\n{WATCHER} wall-screen watching\n")
    tokens.chmod(0o600)
    server = await listen(place, "--token-file", str(tokens), "--registry", "builtin")
    async with calling(server.url, token=WATCHER) as agent:
        await agent.ok("snapshot")
        refused = await agent.refused("act", type="press_key", key="home")
        assert (refused["code"], refused["details"]["profile"]) == ("READ_ONLY", "watching")
        script = await agent.refused("skill_run", skillId="com.android.settings.overview")
        assert script["code"] == "READ_ONLY"
        played = await agent.refused("skill_run", skillId="com.android.settings.overview", artifact="overview")
        assert played["code"] == "READ_ONLY"
    async with calling(server.url, "legacy", OWNER) as agent:
        await agent.ok("act", type="press_key", key="home")
        # The session is the owner's: who has another token does not get into it.
        session = next(iter(await sessions(server.url, OWNER)))
        stranger = {**HEADERS, "Authorization": f"Bearer {WATCHER}", "Mcp-Session-Id": session}
        async with httpx.AsyncClient() as client:
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            assert (await client.post(server.url, json=body, headers=stranger)).status_code == 404
    server.process.terminate()
    assert await server.process.wait() == 0
    with History.open(str(tmp_path / "state" / "clawperator" / "history.db")) as history:
        entries = {(entry.event, entry.caller) for entry in history.audit()}
    assert {("refused", "wall-screen"), ("result", "wall-screen"), ("result", "owner")} <= entries


async def sessions(url: str, token: str) -> list[str]:
    """A session of its own, begun by hand."""
    async with httpx.AsyncClient(headers={**HEADERS, "Authorization": f"Bearer {token}"}) as client:
        return [(await client.post(url, json=BEGIN)).headers["mcp-session-id"]]


async def test_idle_sessions_do_not_lock_others_out(visit: Visit, listen: Listen) -> None:
    server = await listen(await visit())
    async with httpx.AsyncClient() as client:
        sessions = [
            (await client.post(server.url, json=BEGIN, headers=HEADERS)).headers["mcp-session-id"] for _ in range(103)
        ]
        assert len({*sessions}) == 103
        listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        for session, status in ((sessions[0], 404), (sessions[-1], 200)):
            given = {**HEADERS, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
            assert (await client.post(server.url, json=listed, headers=given)).status_code == status
