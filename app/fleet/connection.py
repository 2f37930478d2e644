"""The connection to NATS: loopback without protection, everything else by TLS and with credentials."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError

from clawperator.engine.errors import EngineError, ErrorCode

CREDENTIALS_VARIABLE, CA_VARIABLE = "CLAWPERATOR_FLEET_CREDS", "CLAWPERATOR_FLEET_CA"
_CONNECT_SECONDS = 5
_PING_SECONDS = 10
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@asynccontextmanager
async def connected(
    servers: str,
    *,
    name: str,
    lasting: bool,
    on_lost: Callable[[], object] = lambda: None,
    buffer: int = 0,
) -> AsyncIterator[Client]:
    """Connect to the comma-separated ``servers`` for the time of the block; ``lasting``: reconnect whenever it is lost.

    ``buffer`` bytes are kept while disconnected: 0 for senders of requests, which must never be sent later. Credentials and CA
    are files that environment variables name. Raises ``EngineError``: FLEET_NOT_SECURED, FLEET_UNAVAILABLE.
    """
    credentials, ca = os.environ.get(CREDENTIALS_VARIABLE, ""), os.environ.get(CA_VARIABLE, "")
    parts = [_parsed(server) for server in servers.split(",")]
    for part in parts:
        _require_protection(part, credentials=credentials)
    shown = ",".join(f"{part.scheme}://{part.hostname}:{part.port or 4222}" for part in parts)
    options: dict[str, Any] = {"user_credentials": credentials} if credentials else {}
    if any(part.scheme == "tls" for part in parts):
        options["tls"] = _tls(ca)

    async def gone() -> None:
        on_lost()

    async def ignore(_: Exception) -> None:
        """Errors of single operations are raised by them; nats-py would log these."""

    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            client = await nats.connect(
                [part.geturl() for part in parts],
                name=name,
                allow_reconnect=lasting,
                max_reconnect_attempts=-1 if lasting else 1,
                reconnect_time_wait=1,
                connect_timeout=_CONNECT_SECONDS,
                ping_interval=_PING_SECONDS,
                pending_size=buffer,
                disconnected_cb=gone,
                error_cb=ignore,
                **options,
            )
    except (NatsError, OSError, TimeoutError, ValueError) as exc:
        raise EngineError(
            ErrorCode.FLEET_UNAVAILABLE, f"NATS at {shown} cannot be used: {str(exc) or type(exc).__name__}"
        ) from exc
    try:
        yield client
    finally:
        with suppress(NatsError, OSError, TimeoutError):
            await client.close()


def _parsed(server: str) -> SplitResult:
    try:
        part = urlsplit(server.strip())
        part.port  # noqa: B018 -- raises for a wrong one
    except ValueError:
        part = SplitResult("", "", "", "", "")
    if part.scheme not in ("nats", "tls") or not part.hostname:
        raise EngineError(ErrorCode.USAGE, "The address of a fleet has the form nats://host:port or tls://host:port")
    return part


def _require_protection(part: SplitResult, *, credentials: str) -> None:
    if part.hostname in _LOOPBACK or (part.scheme == "tls" and (credentials or part.username)):
        return
    missing = "TLS" if part.scheme != "tls" else "credentials"
    raise EngineError(
        ErrorCode.FLEET_NOT_SECURED,
        f"{part.hostname} is another computer: the connection needs {missing}",
        hint=f"Use tls://…, and name a NATS credentials file in {CREDENTIALS_VARIABLE}.",
    )


def _tls(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as exc:
        raise EngineError(ErrorCode.FILE_NOT_READABLE, f"{CA_VARIABLE}: {ca} cannot be read: {exc.strerror}") from exc
