"""Version syntax and the compatibility rule."""

from __future__ import annotations

import pytest

from clawperator.engine.errors import ErrorCode
from clawperator.engine.operator.compatibility import Version, check_compatibility

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


@pytest.mark.parametrize(
    "text", ["", "0.3", "v0.3.1", "0.3.1.4", "0.3.1-", "0.3.x", "٠.٣.١", "0.3.1-rc.x", "9" * 5000 + ".3.1"]
)
def test_no_versions(text: str) -> None:
    assert Version.parse(text) is None


class Shell:
    """A device that answers from a table of captured outputs."""

    serial = "emulator-5554"

    def __init__(self, packages: str, dumpsys: str = "", exit_code: int = 0) -> None:
        self._answers = {"pm": packages, "dumpsys": dumpsys}
        self._exit_code = exit_code

    async def shell(self, argv: list[str]) -> object:
        from clawperator.engine.adb.device import ShellResult

        return ShellResult(self._answers[argv[0]].encode(), b"", self._exit_code)


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
        ("0.5.0", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("1.3.1", False, ErrorCode.VERSION_INCOMPATIBLE),
        ("banana", False, ErrorCode.APK_VERSION_INVALID),
    ],
)
async def test_the_rule(version: str, strict: bool, code: ErrorCode | None) -> None:
    device = Shell(f"package:{PACKAGE}\npackage:{PACKAGE}.dev\n", dump(version))
    found = await check_compatibility(device, PACKAGE, strict=strict)  # type: ignore[arg-type]  # only shell() is used
    answer = found.to_dict()
    assert (found.error.code if found.error else None) == code
    assert answer["compatible"] is (code is None)
    assert answer["cliVersion"] == "0.3.1"
    assert answer["apkVersion"] == version
    assert answer["apkVersionCode"] == 301900
    assert ("remediation" in answer) == (code is not None)


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
    found = await check_compatibility(device, PACKAGE)  # type: ignore[arg-type]  # only shell() is used
    assert found.error is not None
    assert found.error.code is code
    assert found.remediation


async def test_what_a_refusing_package_manager_says_is_told_wherever_it_says_it() -> None:
    device = Shell("Error: Could not access the Package Manager. Is the system running?\n", exit_code=1)
    found = await check_compatibility(device, PACKAGE)  # type: ignore[arg-type]  # only shell() is used
    assert found.error is not None
    assert "Is the system running?" in found.error.details["stderr"]
