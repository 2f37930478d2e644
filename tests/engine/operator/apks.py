"""Small APK files, written byte by byte from the format: no tool of the Android SDK is needed."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE

ANDROID = "http://schemas.android.com/apk/res/android"
NONE = 0xFFFFFFFF
IDS = {
    "versionCode": 0x0101021B,
    "versionName": 0x0101021C,
    "minSdkVersion": 0x0101020C,
    "versionCodeMajor": 0x01010576,
}

Value = str | int | None
"""``None`` is a reference into the resources."""


class Axml:
    """Binary XML in the making; attribute names with a resource id come first in the pool, as aapt puts them."""

    def __init__(self, *, utf8: bool = False, nameless: bool = False) -> None:
        self._utf8 = utf8
        self._nameless = nameless
        self._strings: list[str] = list(IDS)
        self._body = b""

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings.append(text)
        return self._strings.index(text)

    def start(self, name: str, attributes: Mapping[str, Value]) -> None:
        packed = b"".join(self._attribute(key, value) for key, value in attributes.items())
        head = struct.pack("<LL6H", NONE, self.string(name), 20, 20, len(attributes), 0, 0, 0)
        self._body += self._event(0x0102, head + packed)

    def end(self, name: str) -> None:
        self._body += self._event(0x0103, struct.pack("<LL", NONE, self.string(name)))

    def _attribute(self, key: str, value: Value) -> bytes:
        space = self.string(ANDROID) if key in IDS else NONE
        name = self.string(key)
        if isinstance(value, str):
            text = self.string(value)
            return struct.pack("<3LHBBL", space, name, text, 8, 0, 0x03, text)
        kind, data = (0x01, 0x7F010000) if value is None else (0x10, value)
        return struct.pack("<3LHBBL", space, name, NONE, 8, 0, kind, data)

    @staticmethod
    def _event(kind: int, body: bytes) -> bytes:
        return struct.pack("<HHLLL", kind, 16, 16 + len(body), 1, NONE) + body

    def data(self) -> bytes:
        ids = struct.pack(f"<HHL{len(IDS)}L", 0x0180, 8, 8 + 4 * len(IDS), *IDS.values())
        content = self._pool() + ids + self._body
        return struct.pack("<HHL", 0x0003, 8, 8 + len(content)) + content

    def _pool(self) -> bytes:
        texts = ["" if self._nameless and text in IDS else text for text in self._strings]
        packed, offsets = b"", []
        for text in texts:
            offsets.append(len(packed))
            packed += _utf8(text) if self._utf8 else _utf16(text)
        packed += b"\0" * (-len(packed) % 4)
        start = 28 + 4 * len(offsets)
        flags = 0x100 if self._utf8 else 0
        head = struct.pack("<HHL5L", 0x0001, 28, start + len(packed), len(offsets), 0, flags, start, 0)
        return head + struct.pack(f"<{len(offsets)}L", *offsets) + packed


def _utf16(text: str) -> bytes:
    data = text.encode("utf-16-le")
    units = len(data) // 2
    size = struct.pack("<H", units) if units < 0x8000 else struct.pack("<HH", 0x8000 | units >> 16, units & 0xFFFF)
    return size + data + b"\0\0"


def _utf8(text: str) -> bytes:
    data = text.encode()
    return _size8(len(text)) + _size8(len(data)) + data + b"\0"


def _size8(size: int) -> bytes:
    return bytes([size]) if size < 0x80 else bytes([0x80 | size >> 8, size & 0xFF])


def manifest(
    package: str = RELEASE_PACKAGE,
    version: Value = "0.3.1",
    code: int = 301_900,
    min_sdk: Value = 21,
    *,
    utf8: bool = False,
    nameless: bool = False,
    major: int = 0,
) -> bytes:
    axml = Axml(utf8=utf8, nameless=nameless)
    more: dict[str, Value] = {"versionCodeMajor": major} if major else {}
    axml.start("manifest", {"versionCode": code, "versionName": version, **more, "package": package})
    axml.start("uses-sdk", {"minSdkVersion": min_sdk})
    axml.end("uses-sdk")
    axml.start("application", {"label": "Operator"})
    axml.end("application")
    axml.end("manifest")
    return axml.data()


def apk(
    content: bytes | None = None, *, files: Sequence[str] = ("classes.dex",), stored: bool = False, padding: int = 0
) -> bytes:
    """An APK with that manifest (default: the release Operator's); ``padding`` bytes make it as large as real ones."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("AndroidManifest.xml", manifest() if content is None else content)
        for name in files:
            archive.writestr(name, b"\x7fELF" if name.endswith(".so") else b"dex\n035\0")
        if padding:
            archive.writestr(zipfile.ZipInfo("assets/padding"), bytes(padding))
    return target.getvalue()


def save(folder: Path, data: bytes | None = None, name: str = "operator.apk") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(apk() if data is None else data)
    return str(path)
