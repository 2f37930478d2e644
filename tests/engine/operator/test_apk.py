"""APK files, good and bad: what is read from them, and what a person is told about the others."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.apk import MAX_MANIFEST, ApkFacts, facts_of, read_apk
from clawperator.engine.operator.axml import MAX_DEPTH, AxmlError, elements
from clawperator.engine.operator.zip_index import ZipError
from tests.engine.operator.apks import Axml, apk, manifest, save

GOOD = apk(files=("classes.dex", "lib/arm64-v8a/libx.so", "lib/x86_64/libx.so", "lib/readme.txt"))


def problem(path: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        read_apk(path)
    return caught.value


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("utf8", [False, True])
@pytest.mark.parametrize("nameless", [False, True])
def test_what_an_apk_says(tmp_path: Path, stored: bool, utf8: bool, nameless: bool) -> None:
    """Whatever way of writing it: names of Android's attributes may be stripped, their ids remain."""
    content = manifest("com.clawperator.operator.dev", "0.3.1-d", 301_900, 24, utf8=utf8, nameless=nameless)
    path = save(tmp_path, apk(content, stored=stored))
    found = read_apk(path)
    expected = ApkFacts(path, os.path.getsize(path), "com.clawperator.operator.dev", "0.3.1-d", 301_900, 24, ())
    assert found == expected
    assert found.sha256() == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_native_code_and_numbers_that_are_absent_or_references() -> None:
    assert facts_of(GOOD).abis == ("arm64-v8a", "x86_64")
    referring = facts_of(apk(manifest(version=None, min_sdk="VanillaIceCream")))
    assert (referring.version_name, referring.min_sdk) == ("", 0)
    assert facts_of(apk(manifest(code=7, major=2))).version_code == 2 << 32 | 7


def test_long_strings_of_the_pool() -> None:
    """Lengths beyond 127 and 32,767 are written in two pieces."""
    long = "com." + "a" * 200
    assert facts_of(apk(manifest(long, utf8=True))).package == long
    assert facts_of(apk(manifest(version="1" * 40_000))).version_name == "1" * 200


def _zip(**files: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"#!/bin/sh\necho hello\n", "it is not a ZIP archive", id="text"),
        pytest.param(GOOD[:-40], "it is truncated", id="cut"),
        pytest.param(GOOD[:200], "it is truncated", id="begun"),
        pytest.param(_zip(readme=b"x"), "not an APK: AndroidManifest.xml is missing", id="plain zip"),
        pytest.param(_zip(base__manifest__AndroidManifest_dot_xml=b"x"), "an app bundle", id="aab"),
        pytest.param(_zip(base_dot_apk=b"x"), "an archive of APKs", id="apks"),
        pytest.param(
            apk(b"<manifest package='x'/>"), "its AndroidManifest.xml is text instead of binary XML", id="text xml"
        ),
        pytest.param(apk(b"\3\0"), "its AndroidManifest.xml is not binary XML", id="short xml"),
        pytest.param(apk(manifest("no package at all")), "does not name a package", id="package"),
        pytest.param(apk(bytes(MAX_MANIFEST + 1)), "larger than", id="bomb"),
    ],
)
def test_what_is_no_apk(tmp_path: Path, data: bytes, reason: str) -> None:
    error = problem(save(tmp_path, data))
    assert error.code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert reason in error.message
    assert "--apk" in error.hint


def test_what_is_no_file(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.apk")
    assert (problem(missing).code, problem(missing).message) == (
        ErrorCode.OPERATOR_APK_NOT_FOUND,
        f"APK file not found: {missing}",
    )
    assert "it is a folder" in problem(str(tmp_path)).message
    os.mkfifo(tmp_path / "pipe.apk")
    assert "not a regular file" in problem(str(tmp_path / "pipe.apk")).message
    assert problem("a\0b").code is ErrorCode.OPERATOR_APK_NOT_FOUND


def test_a_manifest_that_lies_about_its_size_is_not_unpacked_further() -> None:
    """The directory says 100 bytes, the packed data would become four megabytes and more."""
    data = bytearray(apk(bytes(MAX_MANIFEST - 1)))
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + 24, 100)
    with pytest.raises(ZipError, match="checksum"):
        facts_of(bytes(data))


def test_depth_is_bounded() -> None:
    axml = Axml()
    for _ in range(MAX_DEPTH + 1):
        axml.start("manifest", {})
    with pytest.raises(AxmlError, match="too deeply"):
        list(elements(axml.data()))


def said_of(data: bytes) -> str:
    """The package, or the reason against it."""
    try:
        return facts_of(data).package
    except ZipError as exc:
        return str(exc)


@given(st.binary(max_size=300))
def test_any_bytes_are_an_apk_or_refused_in_words(data: bytes) -> None:
    for candidate in (data, b"PK\x05\x06" + data, b"\x03\x00\x08\x00" + data):
        with pytest.raises(ZipError):
            facts_of(candidate)
        with pytest.raises(ZipError):
            facts_of(apk(candidate))


@given(st.data())
def test_a_damaged_apk_is_read_or_refused_in_words(data: st.DataObject) -> None:
    good = bytearray(data.draw(st.sampled_from((GOOD, apk(stored=True)))))
    for _ in range(data.draw(st.integers(1, 8))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    assert said_of(bytes(good[: data.draw(st.integers(0, len(good)))]))


@given(st.data())
def test_a_damaged_manifest_is_read_or_refused_in_words(data: st.DataObject) -> None:
    """Past the checksum: whoever damages an APK on purpose corrects it."""
    good = bytearray(manifest(utf8=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 8))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    assert said_of(apk(bytes(good)))
