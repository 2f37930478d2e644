"""Fetch the Operator's APK from a file or over https, only on request and only with a known SHA-256."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, OPERATOR_PACKAGES
from clawperator.engine.errors import EngineError, ErrorCode, not_readable, not_writable
from clawperator.engine.files.regular import PRIVATE, check_target, open_regular, private_folder
from clawperator.engine.operator.apk import read_apk, refused, sha256_of
from clawperator.engine.operator.local_apks import DEBUG_FILE, RELEASE_FILE, folder
from clawperator.engine.progress import JobProgress, OnProgress

MAX_BYTES = 256 << 20
"""Ten times an Operator app: more is another file, or one that never ends."""
_BLOCK = 256 * 1024
_SECONDS, _MOST_SECONDS = 30.0, 1_800.0
"""How long the server may be silent, and how long a download may take."""
_CHECKSUM_BYTES = 4096
_NOT_FOUND = 404
_DIGEST = re.compile(r"\b[0-9a-fA-F]{64}\b")
_CERTIFICATE_HINT = (
    "Check the URL. SSL_CERT_FILE names a file with certificates of authorities that this system does not know."
)


@dataclass(frozen=True, slots=True)
class FetchedApk:
    """The verified file in the downloads folder."""

    path: str
    package: str
    version: str
    sha256: str
    size: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "apk": self.path,
            "receiverPackage": self.package,
            "apkVersion": self.version,
            "sha256": self.sha256,
            "bytes": self.size,
            "next": "clawperator operator setup",
        }


async def fetch(source: str, digest: str, env: Mapping[str, str], on_progress: OnProgress) -> FetchedApk:
    """Copy ``source``, a path or an https URL, into the downloads folder, where ``operator setup`` finds it.

    Its SHA-256 must be ``digest``, else the one in ``<source>.sha256``. An older file is replaced only by a complete Operator APK
    with this digest; anything else leaves no file.

    Raises ``EngineError``: USAGE for another scheme than https, OPERATOR_FETCH_FAILED, OPERATOR_INSTALL_FAILED for a file that
    is not the Operator's APK, FILE_NOT_WRITABLE, DISK_FULL.
    """
    if "://" in source:
        _check_https(source, source)
    loop, stop = asyncio.get_running_loop(), threading.Event()
    part = os.path.join(folder(env), f".{os.urandom(8).hex()}.part")
    done: asyncio.Future[FetchedApk] = loop.create_future()

    def end(result: FetchedApk | None, error: BaseException | None) -> None:
        if result is not None and not done.done():
            done.set_result(result)
        elif error is not None and not done.done():
            done.set_exception(error)

    with JobProgress("fetch", on_progress).stage("download") as stage:

        def progress(got: int, size: int) -> None:
            loop.call_soon_threadsafe(stage.update, "", got / size if size else None)

        def run() -> None:
            result, error = None, None
            try:
                result = _Fetch(source, digest, part, progress, stop).run()
            except BaseException as exc:  # noqa: BLE001 -- the waiting task raises it
                error = exc
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, result, error)

        # a silent server must not keep a process that was interrupted: asyncio waits for its own threads
        threading.Thread(target=run, name="download", daemon=True).start()
        try:
            return await done
        finally:
            stop.set()
            with suppress(OSError):
                os.unlink(part)


class _Fetch:
    """One download to the file ``part``; blocks. After ``stop`` is set, it leaves no file."""

    def __init__(
        self, source: str, digest: str, part: str, progress: Callable[[int, int], None], stop: threading.Event
    ) -> None:
        self._source = source
        self._digest = digest
        self._part = part
        self._folder = os.path.dirname(part)
        self._progress = progress
        self._stop = stop
        self._is_url = "://" in source
        self._until = time.monotonic() + _MOST_SECONDS

    def run(self) -> FetchedApk:
        digest = self._digest or self._published_digest()
        try:
            private_folder(self._folder)
            check_target(self._part, replace=False)
        except OSError as exc:
            raise not_writable(self._part, exc, what="The download") from exc
        try:
            with self._open(self._source) as source:
                self._copy(source)
            return self._keep(digest)
        finally:
            with suppress(OSError):
                os.unlink(self._part)

    def _published_digest(self) -> str:
        checksum = f"{self._source}.sha256"
        try:
            with self._open(checksum) as stream:
                found = _DIGEST.search(stream.read(_CHECKSUM_BYTES).decode("ascii", "replace"))
        except EngineError as exc:
            missing = exc.code is ErrorCode.FILE_NOT_READABLE or exc.details.get("httpStatus") == _NOT_FOUND
            if not missing:
                raise
            raise _failed(f"No checksum was found at {checksum}", hint="Pass --sha256 <hex>.") from exc
        except (OSError, HTTPException) as exc:
            raise _failed(f"{checksum} cannot be downloaded: {_why(exc)}") from exc
        if not found:
            raise _failed(f"{checksum} does not contain a SHA-256 checksum", hint="Pass --sha256 <hex>.")
        return found[0].lower()

    def _copy(self, source: BinaryIO) -> None:
        size = (cast("HTTPResponse", source).length or 0) if self._is_url else os.fstat(source.fileno()).st_size
        self._require_size(size)
        done = 0
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(self._part, flags, PRIVATE), "wb") as stream:
                while block := self._read(source):
                    done += len(block)
                    self._require_size(done)
                    stream.write(block)
                    self._progress(done, size)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as exc:
            raise not_writable(self._part, exc, what="The download") from exc
        if done < size:
            raise _failed(f"The download of {self._source} ended after {done} of {size} bytes")

    def _require_size(self, size: int) -> None:
        if size > MAX_BYTES:
            raise _failed(
                f"{self._source} is larger than {MAX_BYTES >> 20} MiB, too large for an Operator app",
                hint="Check the URL.",
            )

    def _read(self, source: BinaryIO) -> bytes:
        if self._stop.is_set():
            raise _failed("The download was interrupted")
        if time.monotonic() > self._until:
            raise _failed(f"The download of {self._source} took longer than {_MOST_SECONDS / 60:.0f} minutes")
        try:
            return source.read1(_BLOCK)  # type: ignore[attr-defined, no-any-return]  # ``read`` waits for a whole block
        except (OSError, HTTPException) as exc:
            raise _failed(f"The download of {self._source} failed: {_why(exc)}") from exc

    def _open(self, source: str) -> BinaryIO:
        if not self._is_url:
            path = os.path.expanduser(source)
            try:
                return open_regular(path)
            except (OSError, ValueError) as exc:
                raise not_readable(path, exc) from exc
        try:
            return cast("BinaryIO", _opener().open(source, timeout=_SECONDS))
        except urllib.error.HTTPError as exc:
            exc.close()
            why, details = f"HTTP {exc.code} {exc.reason}", {"httpStatus": exc.code}
            raise _failed(f"{source} cannot be downloaded: {why}", details=details) from exc
        except (OSError, HTTPException, ValueError) as exc:
            cause = exc.reason if isinstance(exc, urllib.error.URLError) else exc
            hint = _CERTIFICATE_HINT if isinstance(cause, ssl.SSLCertVerificationError) else ""
            raise _failed(f"{source} cannot be downloaded: {_why(cause)}", hint=hint) from exc

    def _keep(self, digest: str) -> FetchedApk:
        """Verify the download and give it its name."""
        if (found := sha256_of(self._part)) != digest:
            raise refused(self._source, f"its SHA-256 is {found}, not {digest}")
        facts = read_apk(self._part)
        if facts.package not in OPERATOR_PACKAGES:
            raise refused(self._source, f"it is {facts.package}, not the Operator app")
        path = os.path.join(self._folder, DEBUG_FILE if facts.package == DEBUG_PACKAGE else RELEASE_FILE)
        try:
            check_target(path, replace=True)
            os.replace(self._part, path)
        except OSError as exc:
            raise not_writable(path, exc) from exc
        return FetchedApk(path, facts.package, facts.version_name, digest, facts.size)


class _StayHttps(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:  # noqa: PLR0917 -- urllib's
        try:
            _check_https(newurl, req.full_url)
        except EngineError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for https alone, with verified certificates: the default one also reads local files."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        _StayHttps(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _check_https(url: str, source: str) -> None:
    if urlsplit(url).scheme != "https":
        where = f"{url[:200]}, to which {source[:200]} redirects" if url != source else url[:200]
        raise EngineError(ErrorCode.USAGE, f"Only https URLs are supported: {where}", details={"path": "from"})


def _why(error: object) -> str:
    """Return the cause of a failed connection in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not valid: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, socket.gaierror):
        return f"the name of the host cannot be resolved (DNS): {error.strerror}"
    if isinstance(error, TimeoutError):
        return f"the server does not answer within {_SECONDS:.0f} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _failed(message: str, *, hint: str = "", details: Mapping[str, Any] | None = None) -> EngineError:
    return EngineError(ErrorCode.OPERATOR_FETCH_FAILED, message, hint=hint or None, details=details)
