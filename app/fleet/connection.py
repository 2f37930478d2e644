"""The connection to NATS: loopback without protection, everything else by TLS and with credentials."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import ParseResult, SplitResult, urlsplit

from nats.aio.client import PING_PROTO, Client
from nats.errors import Error as NatsError
from nats.errors import NoServersError

from clawperator.app.extras import not_installed
from clawperator.app.fleet import subjects
from clawperator.engine.errors import EngineError, ErrorCode, not_readable
from clawperator.engine.files.regular import open_regular

CREDENTIALS_VARIABLE, CA_VARIABLE = "CLAWPERATOR_FLEET_CREDS", "CLAWPERATOR_FLEET_CA"
_CONNECT_SECONDS = 5
_PING_SECONDS = 10
_RETRY_SECONDS = 1
_LOOPBACK = re.compile(r"localhost|::1|127(\.\d{1,3}){3}")
_LONGEST_FILE = 64 * 1024
_NKEY = re.compile(r"SU[A-Z2-7]{56}")
"""The seed of a user's nkey."""


class _UnprotectedError(NatsError):
    """A server lacks what the connection to it needs."""


class Connection(Client):
    """Sends credentials to protected servers only, also to those that another server announced.

    ``refusal`` is what the server last refused for lack of permission, in its words.
    """

    refusal = ""

    def _connect_command(self) -> bytes:
        """Return what is sent after the server's first message: nats-py itself encrypts only if the server asks for it."""
        server: ParseResult | None = self._current_server.uri if self._current_server is not None else None
        if server is not None and (missing := _missing(server, self._server_info)):
            words = f"{server.hostname}:{server.port} does not require {missing}"
            raise _UnprotectedError(words)
        return super()._connect_command()

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, Any] | None = None
    ) -> None:
        await super().publish(subject, payload, reply, headers)
        end_if_cancelled()

    async def _send_ping(self, future: asyncio.Future[Any] | None = None) -> None:
        """Send a ping behind what is pending: nats-py sends it first, so that ``flush`` returns before a subscription is made."""
        self._pongs.append(future or asyncio.get_running_loop().create_future())
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """Close without what is pending where the connection has ended: from Python 3.12 on, asyncio fails to write to such a one."""
        if self._transport is not None and self._transport.at_eof():
            self._pending_data_size = 0
        await super()._close(status, do_cbs)


def end_if_cancelled() -> None:
    """Raise ``CancelledError`` in a task whose cancellation was swallowed: by nats-py, or by asyncio's ``wait_for`` before Python 3.12."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _missing(server: ParseResult, info: dict[str, Any]) -> str:
    """Return what the server should require but, by its first message, does not; empty if it is protected."""
    local = _is_loopback(server.hostname)
    if not info.get("tls_required") and (server.scheme == "tls" or not local):
        return "TLS"
    return "" if local or info.get("auth_required") else "credentials"


def _is_loopback(host: str | None) -> bool:
    return _LOOPBACK.fullmatch(host or "") is not None


@asynccontextmanager
async def connected(
    servers: str,
    *,
    name: str,
    lasting: bool,
    on_lost: Callable[[], object] = lambda: None,
    on_back: Callable[[], object] = lambda: None,
    on_closed: Callable[[str], object] = lambda _: None,
    on_error: Callable[[Exception], object] = lambda _: None,
    buffer: int = 0,
) -> AsyncIterator[Connection]:
    """Connect to the comma-separated ``servers`` for the time of the block; ``lasting``: reconnect whenever it is lost.

    ``buffer`` bytes are kept while disconnected: 0 for senders of requests, which must never be sent later. ``on_closed`` gets the
    reason if a server ends a lasting connection for good, as it does when credentials expire; ``on_error`` what a server refuses.
    Credentials and CA are files that environment variables name.

    Raises ``EngineError``: USAGE, FLEET_NOT_SECURED, FLEET_UNAVAILABLE, FILE_NOT_READABLE, TOKEN_FILE_INVALID,
    HOST_DEPENDENCY_MISSING.
    """
    parts = [_parsed(server) for server in servers.split(",")]
    options = _protection(parts)
    client, failure = Connection(), _Failure()
    open_ = False

    async def lost() -> None:
        if open_:
            on_lost()

    async def back() -> None:
        failure.clear()
        on_back()

    async def closed() -> None:
        if open_:
            on_closed(failure.words)

    async def failed(error: Exception) -> None:
        """Note the failure: nats-py would log it."""
        failure.note(error)
        if isinstance(error, ssl.SSLError) and failure.limit is not None and len(parts) == 1:
            failure.limit.reschedule(0)  # another attempt would fail in the same way
        if "permissions violation" in str(error).lower():
            client.refusal = str(error).removeprefix("nats: ")
        on_error(error)

    callbacks = {"disconnected_cb": lost, "reconnected_cb": back, "closed_cb": closed, "error_cb": failed}
    try:
        await _connect(client, parts, failure, lasting=lasting, name=name, pending_size=buffer, **callbacks, **options)
        open_ = True
        yield client
    finally:
        open_ = False
        with suppress(NatsError, OSError, TimeoutError):
            await client.close()


async def _connect(
    client: Connection, parts: Sequence[SplitResult], failure: _Failure, *, lasting: bool, **options: Any
) -> None:
    """Connect, or raise the ``EngineError`` that names the best known reason."""
    servers = [part.geturl() for part in parts]
    try:
        async with asyncio.timeout(_CONNECT_SECONDS) as failure.limit:
            await client.connect(
                servers,
                max_reconnect_attempts=1,
                reconnect_time_wait=0.2,  # type: ignore[arg-type]  # seconds, to sleep
                connect_timeout=_CONNECT_SECONDS,
                ping_interval=_PING_SECONDS,
                **options,
            )
    except (NatsError, OSError, TimeoutError, ValueError) as exc:
        failure.note(exc)
        raise failure.to_engine_error(",".join(servers)) from exc
    finally:
        failure.limit = None
    client.options |= {
        "allow_reconnect": lasting,
        "max_reconnect_attempts": -1 if lasting else 1,
        "reconnect_time_wait": _RETRY_SECONDS,
    }
    failure.clear()


class _Failure:
    """The best known reason why a connection fails: that of the server or of TLS rather than of the socket.

    ``limit`` ends the attempt to connect, as long as there is one.
    """

    def __init__(self) -> None:
        self.limit: asyncio.Timeout | None = None
        self.clear()

    def clear(self) -> None:
        self.words, self._kind = "the connection was closed", Exception

    def note(self, error: Exception) -> None:
        named = isinstance(error, NatsError | ssl.SSLError) and not isinstance(error, NoServersError | TimeoutError)
        if not named and self._kind is not Exception:
            return
        self._kind = type(error)
        words = str(error).removeprefix("nats: ").strip("'") or type(error).__name__
        if isinstance(error, TimeoutError):
            words = "no NATS server answers there"
        elif isinstance(error, ConnectionRefusedError):
            words = "connection refused"
        if isinstance(error, ssl.SSLError):
            words = f"TLS failed: {getattr(error, 'verify_message', '') or error.reason or words}"
        self.words = words

    def to_engine_error(self, shown: str) -> EngineError:
        if self._kind is _UnprotectedError:
            hint = "Configure tls and authorization on the server."
            return EngineError(ErrorCode.FLEET_NOT_SECURED, f"The NATS server {self.words}", hint=hint)
        return EngineError(ErrorCode.FLEET_UNAVAILABLE, f"NATS at {shown} cannot be used: {self.words}")


# -- addresses and protection


def _parsed(server: str) -> SplitResult:
    try:
        part = urlsplit(server.strip())
        port = part.port or 4222
    except ValueError:
        part, port = SplitResult("", "", "", "", ""), 0
    if part.scheme not in ("nats", "tls") or not part.hostname or part.path.strip("/") or part.query or part.fragment:
        raise EngineError(ErrorCode.USAGE, "The address of a fleet has the form nats://host:port or tls://host:port")
    if part.username is not None:
        raise EngineError(
            ErrorCode.USAGE,
            "The address of a fleet must not contain credentials: other users of this computer can see it",
            hint=f"Write user:password or the token into a file, and name it in {CREDENTIALS_VARIABLE}.",
        )
    name = f"[{part.hostname}]" if ":" in part.hostname else part.hostname
    return SplitResult(part.scheme, f"{name}:{port}", "", "", "")


def _require_protection(part: SplitResult, *, credentials: str) -> None:
    if _is_loopback(part.hostname) or (part.scheme == "tls" and credentials):
        return
    missing = "TLS" if part.scheme != "tls" else "credentials"
    raise EngineError(
        ErrorCode.FLEET_NOT_SECURED,
        f"{part.hostname} is another computer: the connection needs {missing}",
        hint=f"Use tls://…, and name a file with credentials in {CREDENTIALS_VARIABLE}.",
    )


def _protection(parts: Sequence[SplitResult]) -> dict[str, Any]:
    """Return the options of nats-py for TLS and credentials, from the files that environment variables name."""
    credentials, ca = os.environ.get(CREDENTIALS_VARIABLE, ""), os.environ.get(CA_VARIABLE, "")
    for part in parts:
        _require_protection(part, credentials=credentials)
    options = _credentials(credentials) if credentials else {}
    if ca or any(part.scheme == "tls" for part in parts):
        options["tls"] = _tls(ca)
    return options


def _credentials(path: str) -> dict[str, Any]:
    """Return the options of nats-py for a file: a NATS credentials file, the seed of an nkey, ``user:password`` or a token."""
    try:
        with open_regular(path) as stream:
            mode = os.fstat(stream.fileno()).st_mode
            text = stream.read(_LONGEST_FILE).decode("utf-8", "replace").strip()
    except (OSError, ValueError) as exc:
        raise not_readable(path, exc, what=CREDENTIALS_VARIABLE) from exc
    if os.name == "posix" and mode & 0o077:
        words = f"{CREDENTIALS_VARIABLE} {path} can be read by other users"
        raise EngineError(ErrorCode.TOKEN_FILE_INVALID, words, hint=f"Run: chmod 600 {path}")
    signed = "BEGIN NATS USER JWT" in text
    if signed or _NKEY.fullmatch(text):
        if public := _public_key(text):
            how = {"user_credentials": path} if signed else {"nkeys_seed_str": text}
            return {**how, "inbox_prefix": subjects.inbox(public)}
        text = ""
    if not text or "\n" in text:
        raise EngineError(
            ErrorCode.TOKEN_FILE_INVALID,
            f"{CREDENTIALS_VARIABLE} {path} has no valid credentials",
            hint="It holds a NATS credentials file, the seed of an nkey, user:password, or a token.",
        )
    user, colon, password = text.partition(":")
    return {"user": user, "password": password, "inbox_prefix": subjects.inbox(user)} if colon else {"token": text}


def _public_key(text: str) -> str:
    """Return the public key of the seed in ``text``; empty without a valid one."""
    try:
        import nkeys  # type: ignore[import-untyped]  # it has no types
    except ImportError as exc:
        raise not_installed("fleet", f"These credentials need the package '{exc.name}'") from exc
    found = _NKEY.search(text)
    try:
        return nkeys.from_seed(bytearray(found[0], "ascii")).public_key.decode() if found is not None else ""
    except (nkeys.NkeysError, ValueError):
        return ""


def _tls(ca: str) -> ssl.SSLContext:
    logging.getLogger("asyncio").addFilter(_is_relevant)
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as exc:
        raise not_readable(ca, exc, what=CA_VARIABLE) from exc


def _is_relevant(record: logging.LogRecord) -> bool:
    """Return false for asyncio's remark about how nats-py makes streams of TLS, which every closed connection causes."""
    return "eof_received" not in str(record.msg)
