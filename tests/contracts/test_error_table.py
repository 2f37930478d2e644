"""The error catalogue, written down a second time by hand: code, HTTP status, retry class."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import clawperator.engine.errors
from clawperator.engine.errors import EngineError, ErrorCode, Retry, not_readable, not_writable
from tests.support import table

SOURCE = Path(clawperator.engine.errors.__file__)

IN_A_SUCCESSFUL_RESPONSE = """
    EXECUTION_TIMEOUT SNAPSHOT_EXTRACTION_FAILED UNSUPPORTED_RUNTIME_CLOSE
    UNSUPPORTED_RUNTIME_SCREENSHOT NODE_NOT_FOUND NODE_NOT_CLICKABLE SECURITY_BLOCK_DETECTED CONTAINER_NOT_FOUND
    CONTAINER_NOT_SCROLLABLE CONTAINER_LOST GESTURE_FAILED GLOBAL_ACTION_FAILED TARGET_NOT_FOUND VALIDATOR_MISMATCH
    INVALID_REGEX_PATTERN VALUE_NODE_NOT_FOUND NAVIGATION_TIMEOUT URI_NOT_HANDLED APP_NOT_FOUND NODE_TEXT_EMPTY
    SET_TEXT_FAILED TEXT_NOT_DELIVERED UI_TREE_UNAVAILABLE UI_NOT_IDLE VERIFY_FAILED RECORDING_ALREADY_IN_PROGRESS
    RECORDING_NOT_IN_PROGRESS RECORDING_STORAGE_UNAVAILABLE RECORDING_START_FAILED RECORDING_STOP_FAILED
    RECORDING_UNAVAILABLE NOT_RUN ACTION_FAILED COMMAND_CANCELLED COMMAND_TIMEOUT NODE_AMBIGUOUS CONTAINER_AMBIGUOUS
    GESTURE_UNSUPPORTED SNAPSHOT_HIERARCHY_UNAVAILABLE WAIT_TIMEOUT ON_SCREEN_LOG_SERVICE_UNAVAILABLE ON_SCREEN_LOG_LAYOUT_INVALID
    ON_SCREEN_LOG_RENDER_FAILED ON_SCREEN_LOG_RENDER_TIMEOUT NOTIFICATION_ACCESS_REQUIRED NOTIFICATION_NOT_FOUND
    NOTIFICATION_NOT_DISMISSIBLE NOTIFICATION_ACTION_NOT_FOUND NOTIFICATION_DISMISS_TIMEOUT MEDIA_SESSION_NOT_FOUND
    MEDIA_SESSION_AMBIGUOUS MEDIA_ACTION_UNSUPPORTED MEDIA_STATE_TIMEOUT
"""

HTTP = {
    200: IN_A_SUCCESSFUL_RESPONSE,
    400: """
    EXECUTION_VALIDATION_FAILED EXECUTION_ACTION_UNSUPPORTED MULTIPLE_DEVICES_DEVICE_ID_REQUIRED MISSING_EXECUTION
    INVALID_REQUEST INVALID_JSON INVALID_BODY INVALID_DEVICE_ID INVALID_RECEIVER_PACKAGE INVALID_OPERATOR_PACKAGE INVALID_PATH
    INVALID_ARGS INVALID_TIMEOUT_MS INVALID_EXPECT_CONTAINS INVALID_PARAMETER INVALID_NAME SKILL_SCRIPT_NOT_FOUND SKILL_EXECUTION_FAILED
    SKILL_EXECUTION_TIMEOUT SKILL_OUTPUT_ASSERTION_FAILED SKILL_VALIDATION_FAILED SKILL_INPUT_MISSING SKILL_INPUT_INVALID
    SKILL_RESULT_PARSE_FAILED SKILL_VERIFICATION_INDETERMINATE COMPILE_VARS_PARSE_FAILED
    FLEET_NOT_SECURED COMPILE_VAR_MISSING COMPILE_VALIDATION_FAILED COMPILE_VARS_REQUIRED RECIPE_PARSE_FAILED RECIPE_SCHEMA_INVALID
    RECIPE_STEP_UNSUPPORTED RECIPE_SELECTOR_INVALID RECIPE_SELECTOR_UNSUPPORTED RECIPE_INPUT_MISSING
    RECIPE_INPUT_UNDECLARED RECIPE_INPUT_INVALID RECIPE_VERIFICATION_MISSING RECIPE_SESSION_POLICY_VIOLATED
    RECIPE_CAPABILITY_UNDECLARED RECIPE_LIMIT_EXCEEDED RECIPE_LITERAL_FORBIDDEN FILE_NOT_WRITABLE USAGE
    """,
    401: "UNAUTHORIZED",
    403: "CAPABILITY_DENIED PACKAGE_DENIED ACTION_DENIED READ_ONLY ORIGIN_NOT_ALLOWED",
    404: """
    DEVICE_NOT_FOUND NO_DEVICES EMULATOR_NOT_FOUND EMULATOR_NOT_RUNNING SKILL_NOT_FOUND ARTIFACT_NOT_FOUND NOT_FOUND
    HISTORY_NOT_FOUND REF_UNKNOWN DEVICE_TAG_UNKNOWN
    """,
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "FLEET_HOST_TAKEN EMULATOR_ALREADY_RUNNING EMULATOR_UNSUPPORTED FILE_EXISTS REF_STALE REF_AMBIGUOUS DEVICE_COMMAND_REFUSED UNBIND_REQUIRED",
    413: "PAYLOAD_TOO_LARGE",
    423: "EXECUTION_CONFLICT_IN_FLIGHT",
    429: "RATE_LIMITED",
    431: "HEADERS_TOO_LARGE",
    500: """
    HOST_DEPENDENCY_MISSING ADB_NOT_FOUND ADB_SERVER_FAILED ADB_NO_USB_PERMISSIONS DEVICE_UNAUTHORIZED DEVICE_OFFLINE
    DEVICE_SHELL_UNAVAILABLE RECEIVER_NOT_INSTALLED RECEIVER_VARIANT_MISMATCH OPERATOR_NOT_INSTALLED
    OPERATOR_VARIANT_MISMATCH BACKEND_UNAVAILABLE PAIRING_FAILED PAIRING_UNSUPPORTED BROADCAST_FAILED LOGCAT_UNAVAILABLE
    SERVICE_UNAVAILABLE
    RESULT_ENVELOPE_MALFORMED UNKNOWN_RUNTIME_ERROR INTERRUPTED REPLAY_DIVERGED HIERARCHY_MALFORMED
    HIERARCHY_TOO_LARGE RUNTIME_TOO_OLD NODE_TOO_OLD DEVICE_DEV_OPTIONS_DISABLED DEVICE_USB_DEBUGGING_DISABLED
    DEVICE_ACCESSIBILITY_NOT_RUNNING ANDROID_BUILD_FAILED ANDROID_INSTALL_FAILED ANDROID_APP_LAUNCH_FAILED
    SMOKE_OPEN_SETTINGS_FAILED SCRCPY_NOT_FOUND CLI_VERSION_INVALID APK_VERSION_UNREADABLE APK_VERSION_INVALID
    VERSION_INCOMPATIBLE DOCTOR_FAILED OPERATOR_APK_NOT_FOUND OPERATOR_FETCH_FAILED OPERATOR_INSTALL_FAILED OPERATOR_GRANT_FAILED
    OPERATOR_VERIFY_FAILED GRANT_DEVICE_PERMISSIONS_FAILED ANDROID_SDK_TOOL_MISSING EMULATOR_START_FAILED
    EMULATOR_BOOT_TIMEOUT EMULATOR_STOP_FAILED EMULATOR_DELETE_FAILED EMULATOR_CREATE_FAILED
    ANDROID_SYSTEM_IMAGE_INSTALL_FAILED ANDROID_AVD_CREATE_FAILED RECORDING_SESSION_NOT_FOUND RECORDING_PULL_FAILED
    RECORDING_PARSE_FAILED RECORDING_SCHEMA_VERSION_UNSUPPORTED REGISTRY_READ_FAILED SKILLS_GIT_NOT_FOUND
    SKILLS_SYNC_FAILED SKILL_ID_INVALID SKILL_ALREADY_EXISTS SKILLS_SCAFFOLD_FAILED UNKNOWN_COMMAND
    MISSING_ARGUMENT MISSING_SELECTOR NOT_IMPLEMENTED UNKNOWN INTERNAL_ERROR INTERNAL_SERVER_ERROR HISTORY_UNAVAILABLE
    LOCKS_UNAVAILABLE FOLDER_NOT_PRIVATE FILE_NOT_READABLE SETTINGS_INVALID POLICY_INVALID SCENARIO_INVALID TOKEN_FILE_INVALID ADDRESS_UNAVAILABLE NOT_CONFIRMED
    """,
    502: "FLEET_ANSWER_MISMATCH",
    503: "DEVICE_BOOTING SERVER_BUSY SHUTTING_DOWN FLEET_UNAVAILABLE",
    504: "RESULT_ENVELOPE_TIMEOUT FLEET_NO_ANSWER",
    507: "DISK_FULL",
}

WAIT = """
    OPERATOR_FETCH_FAILED DEVICE_OFFLINE DEVICE_BOOTING EXECUTION_CONFLICT_IN_FLIGHT EMULATOR_STOP_FAILED ANDROID_SYSTEM_IMAGE_INSTALL_FAILED RATE_LIMITED SHUTTING_DOWN
    REQUEST_TIMEOUT SERVER_BUSY FLEET_UNAVAILABLE
"""
OBSERVE = """
    LOGCAT_UNAVAILABLE RESULT_ENVELOPE_TIMEOUT RESULT_ENVELOPE_MALFORMED UNKNOWN_RUNTIME_ERROR EXECUTION_TIMEOUT
    SNAPSHOT_EXTRACTION_FAILED UNSUPPORTED_RUNTIME_SCREENSHOT NODE_NOT_FOUND NODE_NOT_CLICKABLE CONTAINER_NOT_FOUND
    CONTAINER_NOT_SCROLLABLE CONTAINER_LOST GESTURE_FAILED GLOBAL_ACTION_FAILED TARGET_NOT_FOUND VALUE_NODE_NOT_FOUND
    FLEET_ANSWER_MISMATCH FLEET_NO_ANSWER NAVIGATION_TIMEOUT NODE_TEXT_EMPTY SET_TEXT_FAILED UI_TREE_UNAVAILABLE VERIFY_FAILED
    ACTION_FAILED COMMAND_CANCELLED COMMAND_TIMEOUT SNAPSHOT_HIERARCHY_UNAVAILABLE WAIT_TIMEOUT
"""
SETUP = """
    ADB_SERVER_FAILED NO_DEVICES DEVICE_NOT_FOUND DEVICE_UNAUTHORIZED DEVICE_SHELL_UNAVAILABLE RECEIVER_NOT_INSTALLED
    BROADCAST_FAILED SERVICE_UNAVAILABLE OPERATOR_INSTALL_FAILED OPERATOR_GRANT_FAILED OPERATOR_VERIFY_FAILED
    GRANT_DEVICE_PERMISSIONS_FAILED EMULATOR_START_FAILED EMULATOR_BOOT_TIMEOUT
"""


@table(("status", "names"), HTTP.items())
def test_the_status_of_every_code_is_the_catalogue_s(status: int, names: str) -> None:
    assert {code.value for code in ErrorCode if code.http == status} == set(names.split())


def test_the_catalogue_and_the_table_name_the_same_codes_once_each() -> None:
    catalogue = Counter(" ".join(HTTP.values()).split())
    assert catalogue == Counter(code.value for code in ErrorCode)
    written = re.findall(r'^    ([A-Z_]+) = "([A-Z_]+)", ', SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(name == value for name, value in written)
    assert Counter(name for name, _ in written) == catalogue


@pytest.mark.parametrize(("retry", "names"), [(Retry.WAIT, WAIT), (Retry.OBSERVE, OBSERVE), (Retry.SETUP, SETUP)])
def test_retry_classes_are_the_catalogue_s(retry: Retry, names: str) -> None:
    assert {name: ErrorCode[name].retry for name in names.split()} == dict.fromkeys(names.split(), retry)


def test_only_waiting_makes_a_code_retryable() -> None:
    assert {code for code in ErrorCode if code.retryable} == {ErrorCode[name] for name in WAIT.split()}


def test_every_code_exits_with_one_and_says_what_it_means() -> None:
    assert all(code.exit_code == 1 for code in ErrorCode)
    assert [code for code in ErrorCode if not code.meaning or code.meaning.endswith(".")] == []
    assert [code for code in ErrorCode if not code.hint.endswith(".")] == []
    assert [code for code in ErrorCode if "details." in code.hint] == [], "not every error of the code has that detail"


def test_every_code_that_the_sources_raise_is_in_the_table() -> None:
    root = SOURCE.parents[1]
    files = [file for part in ("engine", "app", "widgets") for file in (root / part).rglob("*.py")]
    used = {
        name
        for file in files
        for name in re.findall(r"\bErrorCode\.([A-Z][A-Z_]+)\b", file.read_text(encoding="utf-8"))
    }
    assert used, "found no sources"
    assert used <= set(ErrorCode.__members__)


def test_importing_the_table_imports_next_to_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import clawperator.engine.errors;"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    )
    assert not loaded & {
        "asyncio",
        "pydantic",
        "dataclasses",
        "inspect",
        "pathlib",
        "subprocess",
        "logging",
        "tempfile",
    }


def test_an_error_is_a_flat_object_with_its_code_s_hint() -> None:
    error = EngineError(
        ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "busy", details={"deviceId": "d"}, extra={"executionId": "e"}
    )
    assert error.to_dict() == {
        "code": "EXECUTION_CONFLICT_IN_FLIGHT",
        "message": "busy",
        "hint": "Retry when it has finished, or wait for it with --wait <ms>.",
        "details": {"deviceId": "d"},
        "executionId": "e",
        "retryable": True,
    }
    assert str(error) == "EXECUTION_CONFLICT_IN_FLIGHT: busy"


def test_every_error_has_a_hint_and_details_where_there_are_any() -> None:
    usage = {"code": "USAGE", "message": "no", "hint": ErrorCode.USAGE.hint, "retryable": False}
    assert (
        EngineError(ErrorCode.USAGE, "no").to_dict() == EngineError(ErrorCode.USAGE, "no", hint="").to_dict() == usage
    )
    assert EngineError(ErrorCode.NO_DEVICES, "none", hint="plug in").to_dict()["hint"] == "plug in"


@table(
    ("number", "code"),
    [
        (errno.EEXIST, "FILE_EXISTS"),
        (errno.ENOSPC, "DISK_FULL"),
        (errno.EDQUOT, "DISK_FULL"),
        (errno.EACCES, "FILE_NOT_WRITABLE"),
        (errno.ENOENT, "FILE_NOT_WRITABLE"),
        (errno.EISDIR, "FILE_NOT_WRITABLE"),
    ],
)
def test_a_file_that_cannot_be_written_says_why(number: int, code: str) -> None:
    error = not_writable("/a/b.png", OSError(number, os.strerror(number)), what="--to")
    assert error.code == code
    assert error.message == f"--to /a/b.png cannot be written: {os.strerror(number)}"
    assert error.details == {"file": "/a/b.png"}
    assert not_writable("a\0b", ValueError("embedded null byte")).code is ErrorCode.FILE_NOT_WRITABLE
    assert not_readable("/a/b.png", OSError(number, "why")).message == "/a/b.png cannot be read: why"


def test_a_copy_of_a_code_is_the_code() -> None:
    for member in (*ErrorCode, *Retry):
        assert copy.copy(member) is copy.deepcopy(member) is pickle.loads(pickle.dumps(member)) is member
    assert [code.name for code in ErrorCode] == [code.value for code in ErrorCode]
