"""Fetching the APK from a file and from a real https server that can break off, redirect and resume."""

from __future__ import annotations

import hashlib
import os
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.download import FetchedApk, fetch
from clawperator.engine.progress import Stage, unreported
from tests.engine.operator.apks import apk, manifest

APK = apk(padding=2_000_000)
DIGEST = hashlib.sha256(APK).hexdigest()


class Site:
    """What the server offers, by path; ``breaks_at`` ends the next answer early; ``ranges`` are the ones that were asked for."""

    def __init__(self) -> None:
        self.files = {"/operator.apk": APK, "/operator.apk.sha256": f"{DIGEST}  operator.apk\n".encode()}
        self.redirects: dict[str, str] = {}
        self.breaks_at = 0
        self.ranges: list[str] = []
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
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").removesuffix("-") or 0)
        if asked:
            self.site.ranges.append(asked)
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end, self.site.breaks_at = self.site.breaks_at or len(data), 0
        self.wfile.write(data[start:end])

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
    assert (done.package, done.sha256, done.resumed_at) == ("com.clawperator.operator", DIGEST, 0)
    assert content(done) == APK
    assert os.stat(done.path).st_mode & 0o077 == 0
    assert done.to_dict()["next"] == "clawperator operator setup"
    assert files(tmp_path) == ["operator.apk"]
    assert news[-1].state == "done"
    assert max(stage.fraction or 0 for stage in news) == 1


async def test_what_broke_off_goes_on(site: Site, tmp_path: Path) -> None:
    site.breaks_at = 1_000_000
    error = await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)
    assert (error.code, error.code.retryable) == (ErrorCode.OPERATOR_FETCH_FAILED, True)
    assert files(tmp_path) == [f".{DIGEST[:16]}.part"]
    done = await fetch(f"{site.url}/operator.apk", DIGEST, {"HOME": str(tmp_path)}, unreported)
    assert done.resumed_at == 1_000_000
    assert site.ranges == ["bytes=1000000-"]
    assert content(done) == APK


async def test_a_whole_part_needs_no_more_bytes(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / ".clawperator" / "downloads"
    folder.mkdir(parents=True)
    (folder / f".{DIGEST[:16]}.part").write_bytes(APK)
    done = await fetch(f"{site.url}/operator.apk", DIGEST, {"HOME": str(tmp_path)}, unreported)
    assert done.resumed_at == len(APK)


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


async def test_an_untrusted_certificate(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    error = await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)
    assert (error.code, "certificate" in error.message) == (ErrorCode.OPERATOR_FETCH_FAILED, True)


async def test_what_is_not_what_it_should_be_replaces_nothing(site: Site, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    kept = await fetch(f"{site.url}/operator.apk", "", home, unreported)
    site.files["/other.apk"] = other = apk(manifest(package="com.example.game"))
    for path, digest in (("/other.apk", "0" * 64), ("/other.apk", hashlib.sha256(other).hexdigest())):
        assert (await refused(f"{site.url}{path}", tmp_path, digest)).code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert content(kept) == APK
    assert files(tmp_path) == ["operator.apk"]


async def test_a_link_in_the_folder_is_not_followed(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / ".clawperator" / "downloads"
    folder.mkdir(parents=True)
    (folder / f".{DIGEST[:16]}.part").symlink_to(tmp_path / "target")
    assert (await refused(f"{site.url}/operator.apk", tmp_path, DIGEST)).code is ErrorCode.FILE_EXISTS
    assert not (tmp_path / "target").exists()


async def test_without_a_checksum_nothing_is_fetched(site: Site, tmp_path: Path) -> None:
    del site.files["/operator.apk.sha256"]
    assert "--sha256" in (await refused(f"{site.url}/operator.apk", tmp_path)).hint
    site.files["/operator.apk.sha256"] = b"<html>not here</html>"
    assert "--sha256" in (await refused(f"{site.url}/operator.apk", tmp_path)).hint
    assert files(tmp_path) == []
