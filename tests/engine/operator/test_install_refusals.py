"""Refusals of the package manager become a sentence and a next step; captured ones, and every constant of Android's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.parse import InstallResult, parse_install_result
from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE
from clawperator.engine.errors import ErrorCode
from clawperator.engine.operator.apk import ApkFacts
from clawperator.engine.operator.installation import refusal

APK = ApkFacts("/x/operator.apk", 1000, RELEASE_PACKAGE, "0.3.1", 301_900, 21, ("arm64-v8a",))
DATA = Path(__file__).parents[2] / "data" / "device"
GENERAL = "Check the device's storage and screen"


def test_an_administrator_s_policy() -> None:
    result = parse_install_result("Failure [INSTALL_FAILED_USER_RESTRICTED: Installation is blocked by device policy]")
    assert "administrator" in refusal(result, APK, "s").hint


def test_a_dialog_that_does_not_show() -> None:
    result = parse_install_result("Failure [INSTALL_FAILED_ABORTED: User rejected permissions]")
    error = refusal(result, APK, "s")
    assert "cancelled on the device (INSTALL_FAILED_ABORTED: User rejected permissions)" in error.message
    assert "'Verify apps over USB'" in error.hint


@pytest.mark.parametrize(
    ("file", "words", "hint"),
    [
        ("failed-insufficient-storage", "storage is full", "Free storage"),
        ("failed-no-matching-abis", "native code (arm64-v8a) is for another CPU architecture", "architecture"),
        ("failed-update-incompatible", "signed with another key", f"adb -s s uninstall {RELEASE_PACKAGE}"),
        ("failed-user-restricted", "does not allow the installation", "Unlock the device"),
        ("parse-failed", "it is not signed", "release APK"),
        ("streamed-not-supported", "APK content must be streamed", GENERAL),
    ],
)
def test_captured_refusals(corpus: Path, file: str, words: str, hint: str) -> None:
    result = parse_install_result((corpus / "device" / f"adb-install-{file}.txt").read_text())
    assert not result.ok
    error = refusal(result, APK, "s")
    assert error.code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert words in error.message
    assert hint in error.hint
    assert error.extra["install"]["exitCode"] == 1
    assert result.code in error.extra["install"]["error"]


def test_the_constants_of_android_that_a_person_can_do_something_about() -> None:
    known = json.loads((DATA / "install-response-codes.json").read_text())
    general = {
        code
        for code in known
        if code != "INSTALL_SUCCEEDED" and refusal(InstallResult(False, code, ""), APK, "s").hint.startswith(GENERAL)
    }
    assert general == {
        "INSTALL_FAILED_INVALID_URI",
        "INSTALL_FAILED_NO_SHARED_USER",
        "INSTALL_FAILED_REPLACE_COULDNT_DELETE",
        "INSTALL_FAILED_INVALID_INSTALL_LOCATION",
        "INSTALL_FAILED_PACKAGE_CHANGED",
        "INSTALL_PARSE_FAILED_CERTIFICATE_ENCODING",
        "INSTALL_PARSE_FAILED_BAD_PACKAGE_NAME",
        "INSTALL_PARSE_FAILED_BAD_SHARED_USER_ID",
        "INSTALL_PARSE_FAILED_MANIFEST_EMPTY",
    }


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cmd: Can't find service: package", "Reboot"),
        ("Error: Could not access the Package Manager. Is the system running?", "Reboot"),
        ("java.io.IOException: Requested internal only, but not enough space", "Free storage"),
        ("null", GENERAL),
        ("", GENERAL),
    ],
)
def test_refusals_without_a_constant(text: str, hint: str) -> None:
    error = refusal(parse_install_result(text), APK, "s")
    assert error.hint.startswith(hint)
    assert error.extra["install"]["error"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_words_are_an_error(code: str, message: str) -> None:
    """Braces and percent signs of a device are no places to fill in."""
    error = refusal(InstallResult(False, code, f"{{uninstall}} %s {message}"), APK, "s")
    assert error.message.startswith(f"{RELEASE_PACKAGE} was not installed")
