"""Read an APK file without Google's tools: package, version, minimum API level, native code."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from typing import BinaryIO

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import open_regular
from clawperator.engine.operator.axml import Attribute, AxmlError, elements
from clawperator.engine.operator.zip_index import ZipEntry, ZipError, read_directory, read_entry
from clawperator.engine.text.numbers import whole_number

MAX_APK = 1 << 30
MAX_MANIFEST = 4 << 20
MANIFEST = "AndroidManifest.xml"

_MAX_ABIS = 16
_MAX_VERSION = 200
_PACKAGE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_NATIVE = re.compile(r"lib/([A-Za-z0-9_-]{1,32})/[^/]+", re.ASCII)
_VERSION_CODE, _VERSION_NAME, _VERSION_CODE_MAJOR, _MIN_SDK = 0x0101021B, 0x0101021C, 0x01010576, 0x0101020C
_OTHER_FORMATS = (
    ("base/manifest/AndroidManifest.xml", "it is an app bundle (.aab), which devices cannot install"),
    ("BundleConfig.pb", "it is an app bundle (.aab), which devices cannot install"),
    ("toc.pb", "it is a set of APKs (.apks): unpack the universal APK"),
    ("manifest.json", "it is a package of APKs (.xapk): unpack the base APK"),
)


@dataclass(frozen=True, slots=True)
class ApkFacts:
    """``version_name`` is empty for a resource reference, ``version_code`` -1 and ``min_sdk`` 0 if absent.

    ``size`` is in bytes; ``abis`` are the sorted architectures of its native code.
    """

    path: str
    size: int
    package: str
    version_name: str
    version_code: int
    min_sdk: int
    abis: tuple[str, ...]

    def sha256(self) -> str:
        """Return the digest of the file in lower-case hex. Raises as ``read_apk``."""
        return sha256_of(self.path)


def read_apk(path: str) -> ApkFacts:
    """Read the file's central directory and manifest; blocks.

    Raises ``EngineError``: OPERATOR_APK_NOT_FOUND for a missing file, OPERATOR_INSTALL_FAILED for one that is not an APK.
    """
    with _opened(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_APK:
            raise refused(path, f"it is larger than {MAX_APK >> 20} MiB")
        try:
            return facts_of(stream, path=path, size=size)
        except ZipError as exc:
            raise refused(path, str(exc)) from exc
        except OSError as exc:
            raise _unreadable(path, exc) from exc


def facts_of(stream: BinaryIO | bytes, *, path: str = "", size: int = -1) -> ApkFacts:
    """Read an APK from an open file or from bytes. Raises ``ZipError``."""
    if isinstance(stream, bytes):
        size = len(stream)
        stream = BytesIO(stream)
    if not size:
        raise ZipError("it is empty")
    entries = read_directory(stream)
    manifest = next((entry for entry in entries if entry.name == MANIFEST), None)
    if manifest is None:
        raise ZipError(_other_format(entries))
    try:
        package, name, code, min_sdk = _read_manifest(read_entry(stream, manifest, limit=MAX_MANIFEST))
    except AxmlError as exc:
        raise ZipError(f"its {MANIFEST} {exc}") from exc
    return ApkFacts(path, size, package, name, code, min_sdk, _abis(entries))


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file in lower-case hex. Raises as ``read_apk``."""
    with _opened(path) as stream:
        try:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as exc:
            raise _unreadable(path, exc) from exc


def _opened(path: str) -> BufferedReader:
    try:
        return open_regular(path)
    except FileNotFoundError as exc:
        raise _not_found(path) from exc
    except IsADirectoryError as exc:
        raise _not_found(path, ": it is a folder") from exc
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the path
        raise _unreadable(path, exc) from exc


def _not_found(path: str, why: str = "") -> EngineError:
    return EngineError(ErrorCode.OPERATOR_APK_NOT_FOUND, f"APK file not found: {path}{why}", details={"path": path})


def _unreadable(path: str, exc: Exception) -> EngineError:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return _not_found(path, f": it cannot be read ({reason})")


def refused(path: str, reason: str) -> EngineError:
    """Return the error for a file that cannot be installed; the device was not changed."""
    return EngineError(
        ErrorCode.OPERATOR_INSTALL_FAILED,
        f"{path} cannot be installed: {reason}",
        hint="Nothing was installed. Download the Operator's APK again and pass its path with --apk.",
        details={"path": path, "reason": reason},
    )


def _other_format(entries: Iterable[ZipEntry]) -> str:
    names = {entry.name for entry in entries}
    known = next((reason for name, reason in _OTHER_FORMATS if name in names), "")
    if not known and any(name.endswith(".apk") for name in names):
        known = "it is an archive of APKs: unpack it first"
    return known or f"it is a ZIP archive, not an APK: {MANIFEST} is missing"


def _abis(entries: Iterable[ZipEntry]) -> tuple[str, ...]:
    found = {match[1] for entry in entries if (match := _NATIVE.fullmatch(entry.name))}
    return tuple(sorted(found)[:_MAX_ABIS])


# -- the manifest


def _read_manifest(data: bytes) -> tuple[str, str, int, int]:
    """Return package, versionName, versionCode and minSdkVersion. Raises ``AxmlError``."""
    found = elements(data)
    root = next(found, None)
    if root is None or root.name != "manifest":
        raise AxmlError("is not a manifest")
    package = _text(root.attributes, "package")
    if not _PACKAGE.fullmatch(package) or len(package) > 255:
        raise AxmlError("does not name a package")
    name = _text(root.attributes, "versionName", _VERSION_NAME)[:_MAX_VERSION]
    code = _number(root.attributes, "versionCode", _VERSION_CODE)
    major = _number(root.attributes, "versionCodeMajor", _VERSION_CODE_MAJOR)
    min_sdk = 0
    for element in found:
        if element.depth == 1 and element.name == "uses-sdk":
            min_sdk = max(0, _number(element.attributes, "minSdkVersion", _MIN_SDK))
            break
    return package, name, (max(0, major) << 32 | code) if code >= 0 else -1, min_sdk


def _find(attributes: Iterable[Attribute], name: str, resource: int) -> str | int | None:
    """Find an attribute by Android's resource id if the file has one (names may be stripped), else by name."""
    for attribute in attributes:
        if attribute.resource == resource if attribute.resource else attribute.name == name:
            return attribute.value
    return None


def _text(attributes: Iterable[Attribute], name: str, resource: int = 0) -> str:
    value = _find(attributes, name, resource)
    return value if isinstance(value, str) else ""


def _number(attributes: Iterable[Attribute], name: str, resource: int) -> int:
    value = _find(attributes, name, resource)
    if isinstance(value, str):
        number = whole_number(value, digits=10)
        return -1 if number is None else number
    return -1 if value is None else value
