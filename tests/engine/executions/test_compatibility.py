"""Version syntax and the compatibility rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.device import ShellResult
from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.compatibility import Version, check_compatibility, judge
from clawperator.engine.version import __version__
from tests.support import end_mark, table

PACKAGE = "com.clawperator.operator"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.3.1", Version(0, 3, 1, prerelease=False)),
        (" 0.3.1-d\n", Version(0, 3, 1, prerelease=False)),
        ("0.1.4-rc.1", Version(0, 1, 4, prerelease=True)),
        ("0.1.4-beta", Version(0, 1, 4, prerelease=True)),
        ("10.20.30-rc.1-d", Version(10, 20, 30, prerelease=True)),
    ],
)
def test_versions(text: str, version: Version) -> None:
    assert Version.parse(text) == version


@table("text", ["", "0.3", "v0.3.1", "0.3.1.4", "0.3.1-", "0.3.x", "٠.٣.١", "0.3.1-rc.x", "9" * 5000 + ".3.1"])
def test_no_versions(text: str) -> None:
    assert Version.parse(text) is None


class Shell:
    """A device that answers the two questions with captured outputs."""

    serial = "emulator-5554"

    def __init__(self, packages: str, dumpsys: str = "", exit_code: int = 0) -> None:
        self._answers = (packages, dumpsys)
        self._exit_code = exit_code
        self.round_trips = 0

    async def script(self, script: str, **_: Any) -> ShellResult:
        self.round_trips += 1
        mark = end_mark(script)
        return ShellResult("".join(f"{text}{mark}{self._exit_code}\n" for text in self._answers).encode(), b"", 0)


def said(text: str, exit_code: int = 0) -> BatchOutput:
    return BatchOutput(text.encode(), exit_code)


def dump(version: str) -> str:
    return (
        f"Packages:\n  Package [{PACKAGE}]\n    versionCode=301900 minSdk=21 targetSdk=35\n    versionName={version}\n"
    )


@pytest.mark.parametrize(
    ("version", "strict", "code"),
    [
        ("0.3.1", False, None),
        ("0.3.9-d", False, None),
        ("0.3.2-rc.1", False, None),
        ("0.3.1-d", True, None),
        ("0.3.2", True, ErrorCode.VERSION_INCOMPATIBLE),
        ("0.3.1-rc.1", True, ErrorCode.VERSION_INCOMPATIBLE),
        ("0.5.0", False, None),
        ("0.5.7-d", False, None),
        ("0.5.0", True, None),
        ("0.4.0", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("0.6.0", False, None),
        ("0.12.5-d", False, None),
        ("0.12.5", True, None),
        ("0.13.0", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("1.1.0", False, None),
        ("1.2.0", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("1.3.1", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("banana", False, ErrorCode.APK_VERSION_INVALID),
    ],
)
async def test_the_rule(version: str, strict: bool, code: ErrorCode | None) -> None:
    device = Shell(f"package:{PACKAGE}\npackage:{PACKAGE}.dev\n", dump(version))
    found = await check_compatibility(device, PACKAGE, strict=strict)  # type: ignore[arg-type]  # only script() is used
    answer = found.to_dict()
    assert (found.error.code if found.error else None) == code
    assert answer["compatible"] is (code is None)
    assert answer["cliVersion"] == __version__
    assert answer["apkVersion"] == version
    assert answer["apkVersionCode"] == 301900
    assert ("remediation" in answer) == (code is not None)
    assert device.round_trips == 1


@pytest.mark.parametrize(
    ("device", "code"),
    [
        (Shell(f"package:{PACKAGE}.dev\n"), ErrorCode.RECEIVER_VARIANT_MISMATCH),
        (Shell("package:com.clawperator.operator2\n"), ErrorCode.RECEIVER_NOT_INSTALLED),
        (Shell("", exit_code=1), ErrorCode.DEVICE_SHELL_UNAVAILABLE),
        (Shell(f"package:{PACKAGE}\n", "Unable to find package"), ErrorCode.APK_VERSION_UNREADABLE),
    ],
)
async def test_what_keeps_the_version_unknown(device: Shell, code: ErrorCode) -> None:
    found = await check_compatibility(device, PACKAGE)  # type: ignore[arg-type]  # only script() is used
    assert found.error is not None
    assert found.error.code is code
    assert found.remediation


async def test_what_a_refusing_package_manager_says_is_reported_wherever_it_says_it() -> None:
    device = Shell("Error: Could not access the Package Manager. Is the system running?\n", exit_code=1)
    found = await check_compatibility(device, PACKAGE)  # type: ignore[arg-type]  # only script() is used
    assert found.error is not None
    assert "Is the system running?" in found.error.details["stderr"]


# -- the rule alone, on fetched texts

LISTED = f"package:{PACKAGE}\n"
DATA = Path(__file__).parents[2] / "data" / "device"


@pytest.mark.parametrize(
    ("accepted", "version", "fits"),
    [
        ((), "0.13.0", False),
        (("0.13",), "0.13.9-d", True),
        (("0.4", " 0.13 "), "0.13.0", True),
        (("0.13",), "0.3.1", True),
        (("0.13.1", "0", "six", "", "0.x"), "0.13.0", False),
    ],
)
def test_further_accepted_versions(accepted: tuple[str, ...], version: str, fits: bool) -> None:
    assert judge(PACKAGE, said(LISTED), said(dump(version)), accepted=accepted).compatible is fits
    assert not judge(PACKAGE, said(LISTED), said(dump("0.13.0")), strict=True, accepted=accepted).compatible


@table(
    ("text", "exit_code", "code"),
    [
        ("", 0, ErrorCode.APK_VERSION_UNREADABLE),
        (dump("0.3.1"), 1, ErrorCode.APK_VERSION_UNREADABLE),
        ("null\n", 0, ErrorCode.APK_VERSION_UNREADABLE),
        ("    versionCode=301900\n", 0, ErrorCode.APK_VERSION_UNREADABLE),
        ("    versionName=null\n", 0, ErrorCode.APK_VERSION_INVALID),
        ("    versionName=\n    versionCode=1\n", 0, ErrorCode.APK_VERSION_UNREADABLE),
        ("\ufeff  x\r\n    versionName=0.3.4\r\n", 0, None),
        ("    versionName=0.3.4\n    versionName=0.9.0\n", 0, None),
    ],
)
def test_dumps_of_another_shape(text: str, exit_code: int, code: ErrorCode | None) -> None:
    found = judge(PACKAGE, said(LISTED), said(text, exit_code))
    assert (found.error.code if found.error else None) == code
    assert bool(found.remediation) == (code is not None)


@pytest.mark.parametrize(
    ("file", "package", "version", "code", "verdict"),
    [
        (
            "com-paypal-android-p2pmobile",
            "com.paypal.android.p2pmobile",
            "5.14",
            115_005_890,
            ErrorCode.APK_VERSION_INVALID,
        ),
        ("com-yanzhenjie-album-sample", "com.yanzhenjie.album.sample", "1.1", 11, ErrorCode.APK_VERSION_INVALID),
        ("lufthansa-utf8-bom", "com.lufthansa.android.lufthansa", "4.7.1", 10_210, ErrorCode.VERSION_INCOMPATIBLE),
    ],
)
def test_dumps_of_real_devices(file: str, package: str, version: str, code: int | None, verdict: ErrorCode) -> None:
    text = (DATA / f"dumpsys-package-{file}.txt").read_text()
    listed, dumped = said(f"package:{package}\n"), said(text)
    found = judge(package, listed, dumped)
    assert (found.apk_version, found.apk_version_code) == (version, code)
    assert found.error is not None
    assert found.error.code is verdict
    accepted = (".".join(version.split(".")[:2]),)
    assert judge(package, listed, dumped, accepted=accepted).compatible == (len(version.split(".")) == 3)


@given(st.text(max_size=300), st.text(max_size=300), st.integers(0, 255), st.booleans())
def test_any_text_is_judged(listed: str, text: str, exit_code: int, strict: bool) -> None:
    for names in (listed, LISTED + listed):
        for words in (text, f"  versionName={text}"):
            found = judge(PACKAGE, said(names), said(words, exit_code), strict=strict)
            assert found.compatible == ("error" not in found.to_dict())
