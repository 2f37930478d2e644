"""Fetch the Operator's APK from a file or over https, only on request and only with a known SHA-256."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import IO, Any, cast
from urllib.parse import urlsplit

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, OPERATOR_PACKAGES
from clawperator.engine.errors import EngineError, ErrorCode, not_readable, not_writable
from clawperator.engine.files.regular import PRIVATE, check_target, open_regular, private_folder
from clawperator.engine.operator.apk import MAX_APK, read_apk, refused, sha256_of
from clawperator.engine.operator.local_apks import DEBUG_FILE, RELEASE_FILE, folder
from clawperator.engine.progress import JobProgress, OnProgress
from clawperator.engine.text.numbers import whole_number

_BLOCK = 256 * 1024
_SECONDS = 30.0
_CHECKSUM_BYTES = 4096
_PARTIAL = 206
_NOTHING_LEFT = 416
_DIGEST = re.compile(r"\b[0-9a-fA-F]{64}\b")


@dataclass(frozen=True, slots=True)
class FetchedApk:
    """The verified file in the downloads folder; ``resumed_at`` is the byte at which a previous download was resumed."""

    path: str
    package: str
    version: str
    sha256: str
    size: int
    resumed_at: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "apk": self.path,
            "receiverPackage": self.package,
            "apkVersion": self.version,
            "sha256": self.sha256,
            "bytes": self.size,
            "resumedAt": self.resumed_at,
            "next": "clawperator operator setup",
        }


async def fetch(source: str, digest: str, env: Mapping[str, str], on_progress: OnProgress) -> FetchedApk:
    """Copy ``source``, a path or an https URL, into the downloads folder, where ``operator setup`` finds it.

    Its SHA-256 must be ``digest``, else the one in ``<source>.sha256``. An interrupted download is resumed. An older file is
    replaced only by a complete Operator APK with this digest.

    Raises ``EngineError``: USAGE for another scheme than https, OPERATOR_FETCH_FAILED, OPERATOR_INSTALL_FAILED for a file that
    is not the Operator's APK, FILE_NOT_WRITABLE, DISK_FULL.
    """
    if "://" in source:
        _check_https(source)
    loop, stop = asyncio.get_running_loop(), threading.Event()
    with JobProgress("fetch", on_progress).stage("download") as stage:

        def progress(done: int, size: int) -> None:
            loop.call_soon_threadsafe(stage.update, "", done / size if size else None)

        try:
            return await asyncio.to_thread(_Fetch(source, digest, folder(env), progress, stop).run)
        finally:
            stop.set()


class _Fetch:
    """One download; blocks, and ends at the next block after ``stop`` is set."""

    def __init__(
        self, source: str, digest: str, target: str, progress: Callable[[int, int], None], stop: threading.Event
    ) -> None:
        self._source = source
        self._digest = digest
        self._folder = target
        self._progress = progress
        self._stop = stop
        self._is_url = "://" in source

    def run(self) -> FetchedApk:
        digest = self._digest or self._published_digest()
        part = os.path.join(self._folder, f".{digest[:16]}.part")
        try:
            private_folder(self._folder)
            if os.path.lexists(part):
                check_target(part, replace=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(part, flags, PRIVATE), "ab") as stream:
                resumed_at = stream.tell()
                self._download(stream, resumed_at)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as exc:
            raise not_writable(part, exc, what="The download") from exc
        return self._keep(part, digest, resumed_at)

    def _published_digest(self) -> str:
        checksum = f"{self._source}.sha256"
        try:
            with self._open(checksum, 0) as stream:
                found = _DIGEST.search(stream.read(_CHECKSUM_BYTES).decode("ascii", "replace"))
        except EngineError as exc:
            raise _failed(f"No checksum was found at {checksum}", hint="Pass --sha256 <hex>.") from exc
        if not found:
            raise _failed(f"{checksum} does not contain a SHA-256 checksum", hint="Pass --sha256 <hex>.")
        return found[0].lower()

    def _download(self, stream: IO[bytes], start: int) -> None:
        with self._open(self._source, start) as source:
            if self._is_url:
                response = cast("HTTPResponse", source)
                if response.status == _NOTHING_LEFT:
                    return
                if response.status != _PARTIAL:
                    stream.truncate(0)
                    start = 0
                size = start + (whole_number(response.headers.get("Content-Length") or "", digits=18) or 0)
            else:
                size = os.fstat(source.fileno()).st_size
                source.seek(start)
            done = start
            while block := self._read(source):
                done += len(block)
                if done > MAX_APK:
                    raise _failed(f"{self._source} is larger than {MAX_APK >> 20} MiB")
                stream.write(block)
                self._progress(done, size)
            if done < size:
                raise _failed(f"The download of {self._source} ended after {done} of {size} bytes")

    def _read(self, source: IO[bytes]) -> bytes:
        if self._stop.is_set():
            raise _failed("The download was interrupted")
        try:
            return source.read(_BLOCK)
        except (OSError, HTTPException) as exc:
            raise _failed(f"The download of {self._source} failed: {exc}") from exc

    def _open(self, source: str, start: int) -> IO[bytes]:
        if not self._is_url:
            path = os.path.expanduser(source)
            try:
                return open_regular(path)
            except (OSError, ValueError) as exc:
                raise not_readable(path, exc) from exc
        request = urllib.request.Request(source, headers={"Range": f"bytes={start}-"} if start else {})  # noqa: S310 -- https only
        try:
            return cast("IO[bytes]", _opener().open(request, timeout=_SECONDS))
        except urllib.error.HTTPError as exc:
            if start and exc.code == _NOTHING_LEFT:  # the download was complete
                return cast("IO[bytes]", exc)
            exc.close()
            raise _failed(f"{source} cannot be downloaded: HTTP {exc.code} {exc.reason}") from exc
        except (OSError, HTTPException, ValueError) as exc:
            raise _failed(f"{source} cannot be downloaded: {getattr(exc, 'reason', None) or exc}") from exc

    def _keep(self, part: str, digest: str, resumed_at: int) -> FetchedApk:
        """Verify the download and give it its name; an invalid one is removed."""
        try:
            if (found := sha256_of(part)) != digest:
                raise refused(self._source, f"its SHA-256 is {found}, not {digest}")
            facts = read_apk(part)
            if facts.package not in OPERATOR_PACKAGES:
                raise refused(self._source, f"it is {facts.package}, not the Operator app")
        except EngineError:
            os.unlink(part)
            raise
        path = os.path.join(self._folder, DEBUG_FILE if facts.package == DEBUG_PACKAGE else RELEASE_FILE)
        try:
            check_target(path, replace=True)
            os.replace(part, path)
        except OSError as exc:
            raise not_writable(path, exc) from exc
        return FetchedApk(path, facts.package, facts.version_name, digest, facts.size, resumed_at)


class _StayHttps(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:  # noqa: PLR0917 -- urllib's
        try:
            _check_https(newurl)
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


def _check_https(url: str) -> None:
    if urlsplit(url).scheme != "https":
        raise EngineError(ErrorCode.USAGE, f"Only https URLs are supported: {url[:200]}", details={"path": "from"})


def _failed(message: str, *, hint: str = "") -> EngineError:
    return EngineError(ErrorCode.OPERATOR_FETCH_FAILED, message, hint=hint or None)
