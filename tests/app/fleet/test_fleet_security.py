"""TLS and credentials of a fleet, with a real NATS server; 127.0.0.1 counts as another computer here."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clawperator.app.fleet import connection
from clawperator.app.fleet.client import fleet
from clawperator.engine.errors import EngineError
from tests.app.fleet.conftest import PROGRAM, Join, Nats, join  # noqa: F401 -- a fixture
from tests.app.http.conftest import HOME, plan

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(PROGRAM is None or OPENSSL is None, reason="nats-server or openssl is not installed")

SECRET = "s3cret-of-the-fleet"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of 127.0.0.1, signed by itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    names = ("-subj", "/CN=fleet", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(
        (str(OPENSSL), *words, *names, "-keyout", str(key), "-out", str(cert)), check=True, capture_output=True
    )
    return cert, key


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 127.0.0.1 be another computer."""
    monkeypatch.setattr(connection, "_is_loopback", lambda _: False)


@pytest.fixture
def credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: tuple[Path, Path]
) -> Callable[[str], Path]:
    """Call it with the content of the file of credentials; the certificate is trusted."""

    def write(text: str, mode: int = 0o600) -> Path:
        path = tmp_path / "creds"
        path.write_text(text)
        path.chmod(mode)
        monkeypatch.setenv(connection.CREDENTIALS_VARIABLE, str(path))
        monkeypatch.setenv(connection.CA_VARIABLE, str(certificate[0]))
        return path

    return write


def tls(certificate: tuple[Path, Path]) -> str:
    return f'tls {{ cert_file: "{certificate[0]}", key_file: "{certificate[1]}" }}\n'


def nkey() -> tuple[str, str]:
    """A seed and its public key."""
    nkeys = pytest.importorskip("nkeys")
    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    return seed.decode(), nkeys.from_seed(bytearray(seed)).public_key.decode()


async def refusal(url: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        async with fleet(url):
            pass
    assert SECRET not in str(caught.value.to_dict())
    return caught.value


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("kind", ["password", "token", "nkey"])
async def test_a_fleet_beyond_this_computer_works_with_tls_and_each_kind_of_credentials(
    tmp_path: Path, kind: str, certificate: tuple[Path, Path], credentials: Callable[[str], Path]
) -> None:
    seed, public = nkey() if kind == "nkey" else ("", "")
    own = 'permissions: { publish: ["clawperator.v1.hosts"], subscribe: ["_INBOX_%s.>"] }'
    users, right, wrong = {
        "password": (
            f'users: [{{user: "ann@lab", password: {SECRET}, {own % "ann=40lab"}}}]',
            f"ann@lab:{SECRET}\n",
            f"ann@lab:{SECRET}x",
        ),
        "token": (f"token: {SECRET}", SECRET, f"{SECRET}x"),
        "nkey": (f"users: [{{nkey: {public}, {own % public}}}]", f"{seed}\n", nkey()[0] if kind == "nkey" else ""),
    }[kind]
    server = Nats(tmp_path, f"{tls(certificate)}authorization {{ {users} }}")
    await server.start()
    url = server.url.replace("nats:", "tls:")
    try:
        credentials(right)
        async with fleet(url) as client:
            assert await client.devices() == []
        credentials(wrong)
        refused = await refusal(url)
        assert refused.code == "FLEET_UNAVAILABLE"
        assert "authorization violation" in refused.message.lower()
        assert (await refusal(server.url)).code == "FLEET_NOT_SECURED"
    finally:
        await server.stop()


@pytest.mark.usefixtures("remote")
async def test_a_server_whose_certificate_is_unknown_or_expired_is_refused(
    tmp_path: Path, certificate: tuple[Path, Path], credentials: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Nats(tmp_path, f"{tls(certificate)}authorization {{ token: {SECRET} }}")
    await server.start()
    credentials(SECRET)
    monkeypatch.delenv(connection.CA_VARIABLE)
    monkeypatch.setattr(connection, "_CONNECT_SECONDS", 120)
    try:
        async with asyncio.timeout(30):  # another attempt would fail in the same way: none is made
            refused = await refusal(server.url.replace("nats:", "tls:"))
    finally:
        await server.stop()
    assert refused.code == "FLEET_UNAVAILABLE"
    assert "self-signed certificate" in refused.message


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("info", ['{"auth_required":true}', '{"auth_required":true,"tls_available":true}'])
async def test_credentials_are_not_sent_to_a_server_that_does_not_encrypt(
    credentials: Callable[[str], Path], info: str
) -> None:
    heard = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"INFO {info}\r\n".encode())
        heard.extend(await reader.read())
        writer.close()

    credentials(SECRET)
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        refused = await refusal(f"tls://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert refused.code == "FLEET_NOT_SECURED"
    assert "TLS" in refused.message
    assert bytes(heard) == b""


@pytest.mark.usefixtures("remote")
async def test_a_server_that_lets_everybody_in_is_refused(
    tmp_path: Path, certificate: tuple[Path, Path], credentials: Callable[[str], Path]
) -> None:
    server = Nats(tmp_path, tls(certificate))
    await server.start()
    credentials(SECRET)
    try:
        refused = await refusal(server.url.replace("nats:", "tls:"))
    finally:
        await server.stop()
    assert refused.code == "FLEET_NOT_SECURED"
    assert "credentials" in refused.message


@pytest.mark.parametrize(
    ("text", "mode", "code", "words"),
    [
        (SECRET, 0o644, "TOKEN_FILE_INVALID", "other users"),
        ("", 0o600, "TOKEN_FILE_INVALID", "no valid credentials"),
        ("two\nlines", 0o600, "TOKEN_FILE_INVALID", "no valid credentials"),
        ("BEGIN NATS USER JWT\nx\nBEGIN USER NKEY SEED\nSUx", 0o600, "TOKEN_FILE_INVALID", "no valid credentials"),
        (None, 0o600, "FILE_NOT_READABLE", connection.CREDENTIALS_VARIABLE),
    ],
)
async def test_files_of_credentials_that_are_refused(
    credentials: Callable[..., Path], text: str | None, mode: int, code: str, words: str
) -> None:
    if text and "SU" in text:
        pytest.importorskip("nkeys")
    path = credentials(text or "", mode)
    if text is None:
        path.unlink()
    refused = await refusal("nats://127.0.0.1:1")
    assert refused.code == code
    assert words in refused.message


async def test_an_unknown_authority_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(connection.CA_VARIABLE, "/nowhere/ca.pem")
    refused = await refusal("tls://127.0.0.1:1")
    assert refused.code == "FILE_NOT_READABLE"
    assert re.search(r"CLAWPERATOR_FLEET_CA.*/nowhere/ca.pem", refused.message)


async def test_what_the_server_does_not_permit_was_not_sent(
    tmp_path: Path,
    join: Join,  # noqa: F811 -- a fixture
    credentials: Callable[[str], Path],
) -> None:
    (folder := tmp_path / "server").mkdir()
    asks = 'permissions: { publish: ["clawperator.v1.hosts", "clawperator.v1.device.*.="], subscribe: '
    reader, client_only = f'{asks}">" }}', f'{asks}"_INBOX.>" }}'
    users = (
        f"users: [{{user: host, password: x}}, {{user: reader, password: x, {reader}}}, "
        f"{{user: client, password: x, {client_only}}}]"
    )
    server = Nats(folder, f"authorization {{ {users} }}")
    await server.start()
    try:
        credentials("host:x")
        host = await join("bench", url=server.url)
        credentials("reader:x")
        async with fleet(server.url) as client:
            [device] = await client.devices()
            with pytest.raises(EngineError) as caught:
                await client.execute(plan(HOME), device["device"])
        credentials("client:x")
        with pytest.raises(EngineError) as refused:  # its subscriptions are not permitted
            await join("other", url=server.url)
    finally:
        await server.stop()
    assert (caught.value.code, caught.value.extra["broadcastDispatchStatus"]) == ("FLEET_UNAVAILABLE", "not_sent")
    assert "permit" in caught.value.message
    assert refused.value.code == "FLEET_UNAVAILABLE"
    assert "offer devices" in refused.value.message
    assert host.devices[0].commands == 0
