"""Fetching the APK from a file and from a real https server that can break off, redirect, stall and never end."""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import json
import os
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator import download
from clawperator.engine.operator.download import FetchedApk, fetch
from clawperator.engine.progress import Stage, unreported
from tests.engine.operator.apks import apk, manifest
from tests.support import CLI, free_port, patience, running, varied

APK = apk(padding=2_000_000)
DIGEST = hashlib.sha256(APK).hexdigest()


class Site:
    """What the server offers, by path; ``breaks_at`` ends the next answer early, ``stalls`` keeps it open then; ``sizes`` replaces a length."""

    def __init__(self) -> None:
        self.files = {"/operator.apk": APK, "/operator.apk.sha256": f"{DIGEST}  operator.apk\n".encode()}
        self.redirects: dict[str, str] = {}
        self.breaks_at = 0
        self.stalls = threading.Event()
        self.stalls.set()
        self.asked = threading.Event()
        self.sizes: dict[str, str] = {}
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    def __init__(self, site: Site, *arguments: object) -> None:
        self.site = site
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if target := self.site.redirects.get(self.path):
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        data = self.site.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        if size := self.site.sizes.get(self.path, str(len(data))):
            self.send_header("Content-Length", size)
        self.end_headers()
        end, self.site.breaks_at = self.site.breaks_at or len(data), 0
        self.wfile.write(data[:end])
        self.site.asked.set()
        self.site.stalls.wait(60)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that does not trust the certificate hangs up."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    offered = Site()
    server = Server(("127.0.0.1", 0), partial(Handler, offered))
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    trusted = tmp_path_factory.mktemp("certificates") / "ca.pem"
    authority.cert_pem.write_to_path(trusted)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    monkeypatch.setenv("no_proxy", "*")
    offered.url = f"https://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield offered
    offered.stalls.set()
    server.shutdown()
    server.server_close()
    thread.join()


def files(home: Path) -> list[str]:
    folder = home / ".clawperator" / "downloads"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def content(done: FetchedApk) -> bytes:
    return Path(done.path).read_bytes()


async def refused(source: str, home: Path, digest: str = "") -> EngineError:
    with pytest.raises(EngineError) as caught:
        await fetch(source, digest, {"HOME": str(home)}, unreported)
    return caught.value


async def test_a_release_with_its_checksum_file(site: Site, tmp_path: Path) -> None:
    news: list[Stage] = []
    done = await fetch(f"{site.url}/operator.apk", "", {"HOME": str(tmp_path)}, news.append)
    assert (done.package, done.sha256) == ("com.clawperator.operator", DIGEST)
    assert content(done) == APK
    assert os.stat(done.path).st_mode & 0o077 == 0
    assert done.to_dict()["next"] == "clawperator operator setup"
    assert files(tmp_path) == ["operator.apk"]
    assert news[-1].state == "done"
    assert max(stage.fraction or 0 for stage in news) == 1


async def test_what_broke_off_leaves_no_file(site: Site, tmp_path: Path) -> None:
    site.breaks_at = 1_000_000
    error = await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)
    assert (error.code, error.code.retryable) == (ErrorCode.OPERATOR_FETCH_FAILED, True)
    assert "1000000 of" in error.message
    assert files(tmp_path) == []
    await fetch(f"{site.url}/operator.apk", DIGEST, {"HOME": str(tmp_path)}, unreported)
    assert files(tmp_path) == ["operator.apk"]


@pytest.mark.parametrize("size", ["", str(1 << 40), "2500000"])
async def test_what_is_too_large_leaves_no_file(
    size: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 1 << 20)
    site.files["/large.apk"] = b"x" * 2_500_000
    site.sizes["/large.apk"] = size
    error = await refused(f"{site.url}/large.apk", tmp_path, DIGEST)
    assert (error.code, "larger than 1 MiB" in error.message) == (ErrorCode.OPERATOR_FETCH_FAILED, True)
    (tmp_path / "large.apk").write_bytes(site.files["/large.apk"])
    error = await refused(str(tmp_path / "large.apk"), tmp_path, DIGEST)
    assert (error.code, "larger than 1 MiB" in error.message) == (ErrorCode.OPERATOR_FETCH_FAILED, True)
    assert files(tmp_path) == []


async def test_a_download_may_not_take_for_ever(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_MOST_SECONDS", 0.0)
    assert "longer than" in (await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)).message
    assert files(tmp_path) == []


async def test_a_full_disk(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert (await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)).code is ErrorCode.DISK_FULL
    assert files(tmp_path) == []


@varied("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_download_that_stalls(number: int, site: Site, tmp_path: Path) -> None:
    site.breaks_at, site.sizes["/operator.apk"] = 500_000, str(len(APK))
    site.stalls.clear()
    words = ("operator", "fetch", "--from", f"{site.url}/operator.apk", "--sha256", DIGEST, "--json")
    env = {**os.environ, "HOME": str(tmp_path), "CLAWPERATOR_WARM": "0"}
    with running((*CLI, *words), env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert site.asked.wait(patience(30))
        limit = time.monotonic() + patience(20)
        while not [name for name in files(tmp_path) if name.endswith(".part")] and time.monotonic() < limit:
            time.sleep(0.01)
        child.send_signal(number)
        out, _ = child.communicate(timeout=patience(15))
        site.stalls.set()
    assert (child.returncode, json.loads(out)["code"]) == (130, "INTERRUPTED")
    assert files(tmp_path) == []


async def test_a_file_of_this_computer(tmp_path: Path) -> None:
    debug = apk(manifest(package="com.clawperator.operator.dev"))
    source = tmp_path / "given.apk"
    source.write_bytes(debug)
    assert "--sha256" in (await refused(str(source), tmp_path)).hint
    done = await fetch(str(source), hashlib.sha256(debug).hexdigest(), {"HOME": str(tmp_path)}, unreported)
    assert Path(done.path).name == "operator-debug.apk"


@pytest.mark.parametrize("url", ["http://localhost/operator.apk", "ftp://localhost/a", "file:///etc/passwd"])
async def test_nothing_but_https(url: str, tmp_path: Path) -> None:
    assert (await refused(url, tmp_path)).code is ErrorCode.USAGE


async def test_a_redirect_away_from_https_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.redirects["/moved.apk"] = "http://127.0.0.1:9/operator.apk"
    assert (await refused(f"{site.url}/moved.apk", tmp_path, DIGEST)).code is ErrorCode.USAGE


@pytest.mark.parametrize("digest", [DIGEST, ""], ids=["known", "unknown"])
async def test_what_is_wrong_with_the_connection_is_named(
    digest: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the checksum is read first: it is not missing."""
    port = free_port()
    found = {
        f"https://localhost:{port}/operator.apk": "refused",
        "https://no-such-host.invalid/operator.apk": "DNS",
        f"{site.url.replace('localhost', '127.0.0.1')}/operator.apk": "TLS: the certificate is not valid",
    }
    site.redirects["/turn.apk"] = site.redirects["/turn.apk.sha256"] = f"{site.url}/turn.apk"
    found[f"{site.url}/turn.apk"] = "HTTP 302"
    with plain_server() as plain:
        found[plain] = "TLS failed"
        for url, words in found.items():
            error = await refused(url, tmp_path, digest)
            assert (error.code, words in error.message) == (ErrorCode.OPERATOR_FETCH_FAILED, True), error.message
            assert "--sha256" not in (error.hint or "")
    monkeypatch.delenv("SSL_CERT_FILE")
    error = await refused(f"{site.url}/operator.apk", tmp_path, digest)
    assert "TLS: the certificate is not valid" in error.message
    assert "SSL_CERT_FILE" in (error.hint or "")
    assert files(tmp_path) == []


async def test_an_expired_certificate(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    authority.issue_cert("localhost", not_after=past).configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = Server(("127.0.0.1", 0), partial(Handler, site))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        error = await refused(f"https://localhost:{server.server_port}/operator.apk", tmp_path, DIGEST)
    finally:
        server.shutdown()
        server.server_close()
    assert "TLS: the certificate is not valid: certificate has expired" in error.message


@contextmanager
def plain_server() -> Iterator[str]:
    """The https address of a server that speaks plain HTTP."""
    server = Server(("127.0.0.1", 0), partial(Handler, Site()))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://localhost:{server.server_port}/operator.apk"
    server.shutdown()
    server.server_close()


async def test_what_is_not_what_it_should_be_replaces_nothing(site: Site, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    kept = await fetch(f"{site.url}/operator.apk", "", home, unreported)
    site.files["/other.apk"] = other = apk(manifest(package="com.example.game"))
    for path, digest in (("/other.apk", "0" * 64), ("/other.apk", hashlib.sha256(other).hexdigest())):
        assert (await refused(f"{site.url}{path}", tmp_path, digest)).code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert content(kept) == APK
    assert files(tmp_path) == ["operator.apk"]


async def test_without_a_checksum_nothing_is_fetched(site: Site, tmp_path: Path) -> None:
    del site.files["/operator.apk.sha256"]
    assert "--sha256" in (await refused(f"{site.url}/operator.apk", tmp_path)).hint
    site.files["/operator.apk.sha256"] = b"<html>not here</html>"
    assert "--sha256" in (await refused(f"{site.url}/operator.apk", tmp_path)).hint
    assert files(tmp_path) == []
