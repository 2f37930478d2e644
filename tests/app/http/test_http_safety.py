"""What a request must not get through: other hosts, web pages, no token, too much, other folders, other profiles."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from pathlib import Path

import httpx
import pytest

from clawperator.engine.history.store import History
from tests.app.http.conftest import HOME, Serve, plan
from tests.app.http.test_http_contract import error_of

TOKEN, WATCHER = "owner-token-0123456789", "watcher-token-0123456789"
POLICY = """
version = 1
activeProfile = "default"
[profiles.default]
[profiles.watching]
read_only = true
"""


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:3000", "10.0.0.1", "[2001:db8::1]:80", "localhost.evil.example"]
)
async def test_a_rebound_name_is_refused(client: httpx.AsyncClient, host: str) -> None:
    assert error_of(await client.get("/devices", headers={"Host": host})) == (403, "ORIGIN_NOT_ALLOWED")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:99", "[::1]:3000"])
async def test_this_computer_is_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/healthz", headers={"Host": host})).status_code == 200


async def test_a_read_only_server_observes(serve: Serve) -> None:
    served = await serve("--read-only")
    assert (await served.client.post("/observe/snapshot")).status_code == 200
    refused = [
        await served.execute(),
        await served.client.post("/verbs/device_wake"),
        await served.client.delete("/android/emulators/any"),
    ]
    assert [error_of(response) for response in refused] == [(403, "READ_ONLY")] * 3


async def test_what_may_show_a_screen_is_kept_by_no_cache_and_taken_for_nothing_else(serve: Serve) -> None:
    served = await serve()
    device = f"/devices/{served.serial}"
    for method, path, status in (
        ("GET", f"{device}/snapshot", 200),
        ("GET", f"{device}/screen.png", 200),
        ("POST", "/observe/snapshot", 200),
        ("POST", "/verbs/device_info", 200),
        ("GET", "/history", 200),
        ("GET", "/nothing", 404),
        ("POST", "/execute", 400),
        ("GET", "/openapi.json", 200),
    ):
        response = await served.client.request(method, path)
        assert response.status_code == status, path
        assert (response.headers["cache-control"], response.headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
    tag = (await served.client.get(f"{device}/snapshot")).headers["etag"]
    known = await served.client.get(f"{device}/snapshot", headers={"If-None-Match": tag}, params={"maxAgeMs": 60_000})
    assert (known.status_code, known.headers["cache-control"]) == (304, "no-store")
    async with served.client.stream("GET", "/events") as events:
        assert "no-store" in events.headers["cache-control"]
        assert events.headers["x-content-type-options"] == "nosniff"
    stranger = await served.client.get("/devices", headers={"Host": "evil.example"})
    assert (stranger.status_code, stranger.headers["cache-control"]) == (403, "no-store")


async def test_a_body_with_a_byte_order_mark_is_read(serve: Serve) -> None:
    served = await serve()
    for path, body in (
        ("/execute?validateOnly=true", {"execution": plan(HOME)}),
        ("/match", {"selector": {"role": "button"}}),
    ):
        sent = b"\xef\xbb\xbf" + json.dumps(body).encode()
        response = await served.client.post(path, content=sent, headers={"Content-Type": "application/json"})
        assert response.status_code == 200, response.text


async def test_an_allowed_page_reads_why_it_is_refused(serve: Serve, tmp_path: Path) -> None:
    """Without CORS headers a browser reports a network error, and the page cannot ask for a token or wait."""
    page = "https://console.example"
    served = await serve("--allow-origin", page, "--token-file", str(tmp_path / "tokens"), wait=False)
    refused = await served.client.get("/devices", headers={"Origin": page})
    assert error_of(refused) == (401, "UNAUTHORIZED")
    assert refused.headers["access-control-allow-origin"] == page
    assert "retry-after" in refused.headers["access-control-expose-headers"]


async def test_web_pages_are_refused_unless_allowed(serve: Serve) -> None:
    served = await serve("--allow-origin", "https://console.example")
    stranger = await served.client.post("/observe/snapshot", headers={"Origin": "https://evil.example"})
    assert error_of(stranger) == (403, "ORIGIN_NOT_ALLOWED")
    assert "access-control-allow-origin" not in stranger.headers
    friend = await served.client.get("/devices", headers={"Origin": "https://console.example"})
    assert (friend.status_code, friend.headers["access-control-allow-origin"]) == (200, "https://console.example")
    asked = await served.client.options(
        "/execute", headers={"Origin": "https://console.example", "Access-Control-Request-Method": "POST"}
    )
    assert (asked.status_code, asked.headers["access-control-allow-methods"]) == (204, "GET, POST, DELETE")
    assert (await served.client.get("/history")).json()["count"] == 0  # nothing was dispatched for the stranger


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
@pytest.mark.parametrize("path", ["/devices", "/devices/any/snapshot", "/healthz", "/events", "/nothing"])
async def test_what_a_browser_marks_as_another_sites_is_refused(
    client: httpx.AsyncClient, path: str, site: str
) -> None:
    answer = await client.get(path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
    assert error_of(answer) == (403, "ORIGIN_NOT_ALLOWED")
    assert answer.json()["error"]["details"] == {"site": site.lower()}


@pytest.mark.parametrize("site", ["none", "same-origin"])
async def test_a_person_in_front_of_a_browser_is_answered(client: httpx.AsyncClient, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "User-Agent": "Mozilla/5.0"}
    assert (await client.get("/locks", headers=headers)).status_code == 200


async def test_an_allowed_page_is_another_site(serve: Serve) -> None:
    served = await serve("--allow-origin", "https://console.example")
    site = {"Sec-Fetch-Site": "cross-site"}
    friend = {**site, "Origin": "https://console.example"}
    assert (await served.client.get("/devices", headers=friend)).status_code == 200
    assert error_of(await served.client.get("/devices", headers=site)) == (403, "ORIGIN_NOT_ALLOWED")


async def test_an_old_browser_does_not_touch_a_device(serve: Serve) -> None:
    served = await serve()
    browser = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15"}
    touching = [f"/devices/{served.serial}/{what}" for what in ("snapshot", "screen.png", "packages")]
    for path in (*touching, "/doctor", "/events"):
        assert error_of(await served.client.get(path, headers=browser)) == (403, "ORIGIN_NOT_ALLOWED"), path
    assert (await served.client.get("/devices", headers=browser)).status_code == 200
    assert (await served.client.get("/history")).json()["count"] == 0
    for path in touching:  # the documented routes stay for what is no browser
        assert (await served.client.get(path)).status_code == 200


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site"])
async def test_a_header_that_decides_is_sent_once(client: httpx.AsyncClient, standing: str, name: str) -> None:
    url = httpx.URL(standing)
    good = {"Host": f"{url.host}:{url.port}", "Origin": "http://evil.example", "Sec-Fetch-Site": "none"}[name]
    lines = {"Host": "127.0.0.1"} | {name: good}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"GET /devices HTTP/1.1\r\n{head}{name}: {good}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 403 ")
    assert f"more than one {name} header" in answer


async def test_off_loopback_a_token_is_made_and_asked_for(serve: Serve, tmp_path: Path) -> None:
    served = await serve("--host", "0.0.0.0", wait=False)
    file = tmp_path / ".clawperator" / "server-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = file.read_text().split()[0]
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    async with httpx.AsyncClient(base_url=url) as client:
        refused = await client.get("/devices")
        assert error_of(refused) == (401, "UNAUTHORIZED")
        assert refused.headers["www-authenticate"] == "Bearer"
        assert (await client.get("/devices", headers={"Authorization": "Bearer x"})).status_code == 401
        assert (await client.get("/devices", headers={"Authorization": token})).status_code == 401
        assert (await client.get("/events")).status_code == 401
        assert (await client.get("/healthz")).status_code == 200
        good = {"Authorization": f"Bearer {token}"}
        assert (await client.get("/openapi.json", headers=good)).status_code == 200
        assert (await client.get("/healthz", headers={"Host": "evil.example", **good})).status_code == 403
    said = "\n".join(served.errors)
    assert "not encrypted" in said
    assert token not in said


async def test_no_authentication_is_said_aloud(serve: Serve) -> None:
    served = await serve("--host", "0.0.0.0", "--no-auth", wait=False)
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    async with httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/healthz")).status_code == 200
    assert any(re.search("WARNING: no authentication", line) for line in served.errors)


async def test_a_profile_binds_its_token(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    (tmp_path / "config" / "clawperator" / "policy.toml").write_text(POLICY)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"# who may call\n{TOKEN} owner\n{WATCHER} wall-screen watching\n")
    tokens.chmod(0o600)
    served = await serve("--token-file", str(tokens), token=TOKEN, env={"CLAWPERATOR_SKILLS_REGISTRY": "builtin"})
    watching = {"Authorization": f"Bearer {WATCHER}"}
    assert (await served.client.post("/observe/snapshot", headers=watching)).status_code == 200
    refused = await served.client.post("/execute", json={"execution": plan(HOME)}, headers=watching)
    assert error_of(refused) == (403, "READ_ONLY")
    assert refused.json()["error"]["details"]["profile"] == "watching"
    compiled = {"executions": [plan(HOME)]}
    refused = await served.client.post("/execute", json={"execution": compiled}, headers=watching)
    assert error_of(refused) == (403, "READ_ONLY")
    for path in (
        "/android/provision/emulator",
        "/skills/com.android.settings.overview/run",
        "/android/emulators/x/start",
    ):
        assert error_of(await served.client.post(path, headers=watching)) == (403, "READ_ONLY")
    assert (await served.execute()).json()["ok"] is True
    entries = (await served.client.get("/audit")).json()["entries"]
    assert [(entry["event"], entry["caller"]) for entry in entries] == [
        ("result", "owner"), ("execute", "owner"), *[("refused", "wall-screen")] * 5, ("result", "wall-screen"), ("execute", "wall-screen"),
    ]  # fmt: skip
    assert {(entry["peer"], entry["rule"]) for entry in entries if entry["event"] == "refused"} == {
        ("127.0.0.1", "read_only")
    }


async def test_refused_requests_are_in_the_audit_within_a_bound(serve: Serve, tmp_path: Path) -> None:
    """Who, from where, what, and the rule; a flood of wrong tokens is twenty entries and a count, and no token is in any."""
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN} owner\n")
    tokens.chmod(0o600)
    served = await serve("--token-file", str(tokens), token=TOKEN, process=True)
    wrong = {"Authorization": "Bearer guessed-token-of-nobody"}
    for _ in range(25):
        refused = await served.client.get(f"/devices/{served.serial}/snapshot?secret=word", headers=wrong)
        assert refused.status_code == 401
    rows: list[tuple[dict[str, str], str, str]] = [
        ({"Origin": "https://evil.example"}, "origin", "origin https://evil.example"),
        ({"Sec-Fetch-Site": "cross-site"}, "site", "site cross-site"),
        ({"Host": "evil.example"}, "host", "host evil.example"),
    ]
    for headers, _, _ in rows:
        answer = await served.client.get(f"/devices/{served.serial}/snapshot", headers=headers)
        assert error_of(answer) == (403, "ORIGIN_NOT_ALLOWED"), headers
    entries = (await served.client.get("/audit", params={"limit": 100})).json()["entries"]
    assert {(entry["event"], entry["verdict"], entry["peer"]) for entry in entries} == {
        ("refused", "refused", "127.0.0.1")
    }
    assert {entry["operation"] for entry in entries} == {f"GET /devices/{served.serial}/snapshot"}
    by_origin = [entry for entry in reversed(entries) if entry["code"] == "ORIGIN_NOT_ALLOWED"]
    assert [(entry["rule"], entry["denied"]) for entry in by_origin] == [(rule, denied) for _, rule, denied in rows]
    guessed = [entry for entry in entries if entry["code"] == "UNAUTHORIZED"]
    assert [(entry["rule"], entry["caller"], entry["times"]) for entry in guessed] == [("token", "", 1)] * 20
    assert all(entry["hint"] and entry["retryable"] is False for entry in entries)
    served.stop()
    await served.process.wait()
    with History.open(str(tmp_path / "state" / "clawperator" / "history.db")) as history:
        (last,) = history.audit(limit=1)
    assert (last.code, last.times) == ("UNAUTHORIZED", 5)
    assert "guessed" not in str(entries) + str(last)


async def test_a_tree_that_is_known_is_not_for_everybody(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    blind = '[profiles.blind.capabilities]\nallow = ["click"]\n'
    (tmp_path / "config" / "clawperator" / "policy.toml").write_text(POLICY + blind)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN} owner\n{WATCHER} clicker blind\n")
    tokens.chmod(0o600)
    served = await serve("--token-file", str(tokens), token=TOKEN)
    path = f"/devices/{served.serial}/snapshot?maxAgeMs=60000"
    assert (await served.client.get(path)).status_code == 200
    blind_eye = {"Authorization": f"Bearer {WATCHER}"}
    assert error_of(await served.client.get(path, headers=blind_eye)) == (403, "CAPABILITY_DENIED")
    matching = await served.client.post(
        "/match", json={"selector": {"textEquals": "x"}, "maxAgeMs": 60_000}, headers=blind_eye
    )
    assert error_of(matching) == (403, "CAPABILITY_DENIED")
    for seen in ("/devices", "/events", "/events?type=result", "/history", "/audit"):
        assert error_of(await served.client.get(seen, headers=blind_eye)) == (403, "CAPABILITY_DENIED")


async def test_pictures_stay_in_their_folder(serve: Serve, tmp_path: Path) -> None:
    served = await serve("--screenshots-dir", str(tmp_path / "shots"))
    for path in ("/etc/x.png", "../x.png", "a/../../x.png", "~/../../x", "\0", "."):
        answer = await served.client.post("/observe/screenshot", json={"path": path})
        assert error_of(answer) == (400, "INVALID_PATH"), path
        refused = await served.execute(HOME, {"id": "p", "type": "screenshot", "params": {"path": path}})
        assert error_of(refused) == (400, "INVALID_PATH"), path
        assert refused.json()["error"]["details"]["path"] == "actions.1.params.path"
    assert (await served.client.get("/history")).json()["count"] == 0


async def test_a_link_does_not_lead_out_of_the_folder(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "out").symlink_to(tmp_path)
    served = await serve("--screenshots-dir", str(tmp_path / "shots"))
    response = await served.client.post("/observe/screenshot", json={"path": "out/x.png"})
    assert error_of(response) == (400, "INVALID_PATH")
    assert not (tmp_path / "x.png").exists()


async def test_the_rate_is_limited_per_caller(serve: Serve, tmp_path: Path) -> None:
    """One request in 100 s: no test is slow enough to get a second one."""
    owner, other = "token-of-the-first-caller", "token-of-the-second-caller"
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{owner} first\n{other} second\n")
    tokens.chmod(0o600)
    served = await serve("--rate", "0.01", "--token-file", str(tokens), wait=False)
    for token in (owner, other):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await served.client.get("/locks", headers=headers)).status_code == 200
        limited = await served.client.get("/locks", headers=headers)
        assert error_of(limited) == (429, "RATE_LIMITED")
        assert limited.headers["retry-after"] == "1"
