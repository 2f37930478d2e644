"""The table of error codes, and the exception that carries them.

A row defines a code: HTTP status, retry class, default hint and meaning (errors.md#retry-classes and errors.md#codes). All front ends
and the documentation derive from it. A code is never localised, reused with another meaning or removed without an alias.

Imported by commands that start in milliseconds: keep it free of heavy imports.
"""

from __future__ import annotations

import errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import StrEnum
    from typing import Any, Self
else:

    class _Members(type):
        """The class of ``StrEnum``: rows of the class body become its members, which it iterates and finds by their names."""

        def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            rows = {key: body.pop(key) for key in [*body] if key.isupper()}
            made = super().__new__(mcs, name, bases, body)
            made.__members__ = {key: made(*row) if isinstance(row, tuple) else made(row) for key, row in rows.items()}
            for key, member in made.__members__.items():
                setattr(made, key, member)
                member.name = key
            return made

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls.__members__.values())

        def __getitem__(cls, name: str) -> Any:
            return cls.__members__[name]

    class StrEnum(str, metaclass=_Members):  # noqa: SLOT000 -- members have attributes
        """What this module needs of ``enum.StrEnum``, which takes a tenth of the start of a light command for so many members."""

        __str__ = str.__str__
        value = property(str.__str__)

        def __reduce__(self) -> tuple[Any, ...]:
            return getattr, (type(self), self.name)  # a copy is the member itself


class Retry(StrEnum):
    """What a caller may do after an error (errors.md#retry-classes). The host itself never retries an execution."""

    NO = "no"
    """The same call fails again until the caller or a person changes something."""
    WAIT = "wait"
    """Repeat the same call after a delay: nothing was dispatched."""
    OBSERVE = "observe"
    """The device's state is unknown or has changed: take a snapshot, then decide; never repeat blindly."""
    SETUP = "setup"
    """Run doctor or setup, then repeat."""


_NO, _WAIT, _OBSERVE, _SETUP = Retry.NO, Retry.WAIT, Retry.OBSERVE, Retry.SETUP


class ErrorCode(StrEnum):
    """Every code the product can emit; a row is ``value, HTTP status, retry class, default hint, meaning``.

    HTTP 200 marks outcomes that travel inside a successful response (the envelope); codes that cannot occur behind the
    server have the status they would get there. A default hint names no key of ``details``: not every error has them.
    """

    http: int
    retry: Retry
    hint: str
    meaning: str

    def __new__(cls, value: str, http: int, retry: Retry, hint: str, meaning: str) -> Self:
        member = str.__new__(cls, value)
        member.http = http
        member.retry = retry
        member.hint = hint
        member.meaning = meaning
        return member

    @property
    def retryable(self) -> bool:
        """Whether repeating the very same call later is safe and may succeed."""
        return self.retry is Retry.WAIT

    @classmethod
    def known(cls, text: str) -> ErrorCode | None:
        """Return the code ``text``; ``None`` for a code of the device, which is passed through without a hint."""
        return cls.__members__.get(text)

    @property
    def exit_code(self) -> int:
        """The CLI's exit code: 1 for every error."""
        return 1

    # fmt: off
    # -- host, device, package (errors.md#codes)
    HOST_DEPENDENCY_MISSING = "HOST_DEPENDENCY_MISSING", 500, _NO, "Install the tool that the detail names.", "a host tool is missing"
    ADB_NOT_FOUND = "ADB_NOT_FOUND", 500, _NO, "Install Android platform tools or set ADB_PATH.", "the adb binary cannot be started"
    ADB_SERVER_FAILED = "ADB_SERVER_FAILED", 500, _SETUP, "Run `adb kill-server`, then `adb start-server`; another program may hold the port.", "the adb server does not start or does not answer"
    ADB_NO_USB_PERMISSIONS = "ADB_NO_USB_PERMISSIONS", 500, _NO, "Add a udev rule or join the right user group, then replug the device.", "the user has no permission to open the USB device"
    NO_DEVICES = "NO_DEVICES", 404, _SETUP, "Connect a device, enable USB debugging, or provision an emulator.", "no device is ready"
    MULTIPLE_DEVICES_DEVICE_ID_REQUIRED = "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED", 400, _NO, "Choose one with --device-id.", "several devices are ready and none was chosen"
    DEVICE_NOT_FOUND = "DEVICE_NOT_FOUND", 404, _SETUP, "Check the serial against `clawperator devices`.", "the chosen device is absent or not ready"
    DEVICE_TAG_UNKNOWN = "DEVICE_TAG_UNKNOWN", 404, _NO, "Add the tag to a device in the settings: `clawperator config path`.", "no device in the settings has the tag"
    DEVICE_UNAUTHORIZED = "DEVICE_UNAUTHORIZED", 500, _SETUP, "Confirm the debugging dialog on the device.", "debugging is not approved on the device"
    DEVICE_BOOTING = "DEVICE_BOOTING", 503, _WAIT, "Wait until Android has started, then send it again.", "Android is still starting on the device"
    DEVICE_OFFLINE = "DEVICE_OFFLINE", 500, _WAIT, "Wait for the device to boot, replug it, or restart the adb server.", "adb lists the device as offline"
    DEVICE_SHELL_UNAVAILABLE = "DEVICE_SHELL_UNAVAILABLE", 500, _SETUP, "Run `clawperator doctor`, or unlock or reboot the device.", "a shell command could not run on the device"
    DEVICE_COMMAND_REFUSED = "DEVICE_COMMAND_REFUSED", 409, _NO, "Correct what the message names.", "the device refused a command"
    RECEIVER_NOT_INSTALLED = "RECEIVER_NOT_INSTALLED", 500, _SETUP, "Install the Operator app: `clawperator operator setup --apk <path>`.", "the Operator app is not installed"
    RECEIVER_VARIANT_MISMATCH = "RECEIVER_VARIANT_MISMATCH", 500, _NO, "Pass --receiver-package with the installed id, or install the other APK.", "only the other variant of the Operator app is installed"
    OPERATOR_NOT_INSTALLED = "OPERATOR_NOT_INSTALLED", 500, _SETUP, "Install the Operator app: `clawperator operator setup --apk <path>`.", "RECEIVER_NOT_INSTALLED in the flat profile"
    OPERATOR_VARIANT_MISMATCH = "OPERATOR_VARIANT_MISMATCH", 500, _NO, "Pass --operator-package with the installed id, or install the other APK.", "RECEIVER_VARIANT_MISMATCH in the flat profile"
    BACKEND_UNAVAILABLE = "BACKEND_UNAVAILABLE", 500, _SETUP, "Choose another backend, or install its requirements.", "the chosen backend is not available on this device"
    PAIRING_FAILED = "PAIRING_FAILED", 500, _SETUP, "Keep the pairing dialog open on the device, and pass the address and code that it currently shows.", "the adb server could not pair with the device"
    PAIRING_UNSUPPORTED = "PAIRING_UNSUPPORTED", 500, _NO, "Update Android platform tools, or connect by USB.", "the adb server or the device cannot pair over Wi-Fi"

    # -- execution (errors.md#codes)
    EXECUTION_VALIDATION_FAILED = "EXECUTION_VALIDATION_FAILED", 400, _NO, "Correct the field that the message names. `clawperator schema execution` prints the payload schema.", "the payload, a selector, a flag value or the timeout is invalid"
    EXECUTION_ACTION_UNSUPPORTED = "EXECUTION_ACTION_UNSUPPORTED", 400, _NO, "Correct the action type, or update the Operator app.", "the action is unknown, or newer than the installed Operator app"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE", 413, _NO, "Split the plan.", "the payload, or the result of a query, exceeds its size limit"
    EXECUTION_CONFLICT_IN_FLIGHT = "EXECUTION_CONFLICT_IN_FLIGHT", 423, _WAIT, "Retry when it has finished, or wait for it with --wait <ms>.", "another execution holds the device"
    CAPABILITY_DENIED = "CAPABILITY_DENIED", 403, _NO, "Change the policy or the plan.", "policy forbids a capability that the plan needs"
    PACKAGE_DENIED = "PACKAGE_DENIED", 403, _NO, "Change the policy or the plan.", "policy forbids an application that the plan touches"
    ACTION_DENIED = "ACTION_DENIED", 403, _NO, "Change the policy or the plan.", "policy forbids an action of the plan"
    READ_ONLY = "READ_ONLY", 403, _NO, "Leave read-only mode, or send actions that only observe.", "the session is read-only"
    BROADCAST_FAILED = "BROADCAST_FAILED", 500, _SETUP, "Run `clawperator doctor` and check the connection. If it was lost during the call, take a snapshot first.", "the command could not be sent to the device"
    LOGCAT_UNAVAILABLE = "LOGCAT_UNAVAILABLE", 500, _OBSERVE, "Check the adb connection; the command may have run.", "the device log ended before the result arrived"
    RESULT_ENVELOPE_TIMEOUT = "RESULT_ENVELOPE_TIMEOUT", 504, _OBSERVE, "Run doctor (accessibility service, version); the command may have run.", "no result came back in time"
    RESULT_ENVELOPE_MALFORMED = "RESULT_ENVELOPE_MALFORMED", 500, _OBSERVE, "Use shorter plans or read less text per plan, and check the Operator app's version.", "the result could not be parsed"
    UNKNOWN_RUNTIME_ERROR = "UNKNOWN_RUNTIME_ERROR", 500, _OBSERVE, "Report this together with the log.", "an internal error occurred during an execution"
    NOT_RUN = "NOT_RUN", 200, _NO, "Nothing was sent to this device. Run the command for it when the cause is known.", "an operation on many devices ended before this device's turn"
    INTERRUPTED = "INTERRUPTED", 500, _OBSERVE, "If the command was sent, take a snapshot before anything else.", "waiting for the result was interrupted"
    COMMAND_TIMEOUT = "COMMAND_TIMEOUT", 200, _OBSERVE, "Use a larger timeoutMs, fewer steps or shorter sleeps.", "the plan exceeded its time limit on the device (Operator 0.10 and later)"
    COMMAND_CANCELLED = "COMMAND_CANCELLED", 200, _OBSERVE, "Take a snapshot before you decide what to do next.", "the Operator app cancelled the plan"
    ACTION_FAILED = "ACTION_FAILED", 200, _OBSERVE, "The message is the app's own. Take a snapshot before you decide what to do next.", "a step failed on the device for a reason without a code"
    EXECUTION_TIMEOUT = "EXECUTION_TIMEOUT", 200, _OBSERVE, "Use a larger timeoutMs, fewer steps or shorter sleeps.", "the plan exceeded its time limit on the device"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE", 500, _SETUP, "Enable it with `clawperator doctor --fix`, or run `clawperator operator setup`. Then retry after a few seconds.", "the Operator's accessibility service is not connected"
    SNAPSHOT_EXTRACTION_FAILED = "SNAPSHOT_EXTRACTION_FAILED", 200, _OBSERVE, "Take the snapshot again and check version compatibility.", "the snapshot's tree could not be read from the log"
    UNSUPPORTED_RUNTIME_CLOSE = "UNSUPPORTED_RUNTIME_CLOSE", 200, _NO, "This is expected: the host stops the app before the plan runs; see data.host_preflight_ok.", "the Operator app cannot close apps itself"
    UNSUPPORTED_RUNTIME_SCREENSHOT = "UNSUPPORTED_RUNTIME_SCREENSHOT", 200, _OBSERVE, "Check the path and the adb connection.", "the Operator app cannot take screenshots, and the host's capture failed"
    UNBIND_REQUIRED = "UNBIND_REQUIRED", 409, _NO, "Pass --allow-unbind, or use the operator backend.", "the call would briefly stop the running accessibility services"
    REPLAY_DIVERGED = "REPLAY_DIVERGED", 500, _OBSERVE, "Take a snapshot and compare it with the recording.", "the screen differs from the recording"

    # -- UI outcome (errors.md#codes)
    NODE_NOT_FOUND = "NODE_NOT_FOUND", 200, _OBSERVE, "Take a snapshot, then correct the selector, scroll, or wait longer.", "no node on screen satisfies all fields of the matcher"
    NODE_AMBIGUOUS = "NODE_AMBIGUOUS", 200, _NO, "Narrow the selector, or name a container.", "several nodes satisfy the matcher, and strict allows one"
    CONTAINER_AMBIGUOUS = "CONTAINER_AMBIGUOUS", 200, _NO, "Narrow the container's selector.", "several nodes satisfy the container's matcher, and strict allows one"
    NODE_NOT_CLICKABLE = "NODE_NOT_CLICKABLE", 200, _OBSERVE, "Choose another node or clickType, and check that the node is enabled.", "the click was refused"
    SECURITY_BLOCK_DETECTED = "SECURITY_BLOCK_DETECTED", 200, _NO, "Handle the dialog on the device, or dismiss it in the plan.", "a secure system window is in the foreground"
    CONTAINER_NOT_FOUND = "CONTAINER_NOT_FOUND", 200, _OBSERVE, "Specify a container, or wait for the screen.", "no scrollable or matching container is on screen"
    CONTAINER_NOT_SCROLLABLE = "CONTAINER_NOT_SCROLLABLE", 200, _OBSERVE, "Choose another container, or set findFirstScrollableChild.", "neither the container nor its descendants can scroll"
    CONTAINER_LOST = "CONTAINER_LOST", 200, _OBSERVE, "The screen changed: take a snapshot.", "the container disappeared while scrolling"
    WAIT_TIMEOUT = "WAIT_TIMEOUT", 200, _OBSERVE, "Take a snapshot, then correct the selector or wait longer.", "no node satisfied the matcher in time"
    GESTURE_UNSUPPORTED = "GESTURE_UNSUPPORTED", 200, _NO, "Use another action; the Android version of this device cannot perform it.", "the device cannot perform the gesture"
    GESTURE_FAILED = "GESTURE_FAILED", 200, _OBSERVE, "Check the accessibility service, then retry after a pause.", "the system refused or cancelled the gesture"
    ON_SCREEN_LOG_SERVICE_UNAVAILABLE = "ON_SCREEN_LOG_SERVICE_UNAVAILABLE", 200, _SETUP, "Run `clawperator doctor`: the panel needs the accessibility service, and Android 5.1 or newer.", "the Operator app cannot show its on-screen log"
    ON_SCREEN_LOG_LAYOUT_INVALID = "ON_SCREEN_LOG_LAYOUT_INVALID", 200, _NO, "Use smaller offsets, width or text.", "the on-screen log does not fit on the screen"
    ON_SCREEN_LOG_RENDER_FAILED = "ON_SCREEN_LOG_RENDER_FAILED", 200, _OBSERVE, "Clear the panel, then set it again.", "Android refused to draw the on-screen log"
    ON_SCREEN_LOG_RENDER_TIMEOUT = "ON_SCREEN_LOG_RENDER_TIMEOUT", 200, _OBSERVE, "Clear the panel, then set it again.", "the on-screen log was not drawn in time"
    NOTIFICATION_ACCESS_REQUIRED = "NOTIFICATION_ACCESS_REQUIRED", 200, _SETUP, "Run `clawperator grant-device-permissions`, which gives the Operator app notification access.", "the Operator app may not read notifications and media sessions"
    NOTIFICATION_NOT_FOUND = "NOTIFICATION_NOT_FOUND", 200, _NO, "List the notifications again: it may be gone.", "no notification has the key"
    NOTIFICATION_NOT_DISMISSIBLE = "NOTIFICATION_NOT_DISMISSIBLE", 200, _NO, "Its app must remove it.", "the notification is ongoing and cannot be dismissed"
    NOTIFICATION_ACTION_NOT_FOUND = "NOTIFICATION_ACTION_NOT_FOUND", 200, _NO, "List the notifications again, and take an action id of this one.", "the notification has no such action"
    NOTIFICATION_DISMISS_TIMEOUT = "NOTIFICATION_DISMISS_TIMEOUT", 200, _OBSERVE, "List the notifications again.", "the notification was still there at the end of the wait"
    MEDIA_SESSION_NOT_FOUND = "MEDIA_SESSION_NOT_FOUND", 200, _NO, "List the media sessions again: the app may have ended its session.", "no media session has the id or belongs to the app"
    MEDIA_SESSION_AMBIGUOUS = "MEDIA_SESSION_AMBIGUOUS", 200, _NO, "Give the id of one session from the list.", "the app has several media sessions"
    MEDIA_ACTION_UNSUPPORTED = "MEDIA_ACTION_UNSUPPORTED", 200, _NO, "The status lists what the session supports.", "the media session does not support the action"
    MEDIA_STATE_TIMEOUT = "MEDIA_STATE_TIMEOUT", 200, _OBSERVE, "Read the media status again.", "the media session did not reach the state in time"
    GLOBAL_ACTION_FAILED = "GLOBAL_ACTION_FAILED", 200, _OBSERVE, "Retry once, then run `clawperator doctor`.", "back, home or recents was refused"
    TARGET_NOT_FOUND = "TARGET_NOT_FOUND", 200, _OBSERVE, "Raise the limits or scroll the other way; see data.termination_reason.", "scrolling ended without reaching the target"
    VALIDATOR_MISMATCH = "VALIDATOR_MISMATCH", 200, _NO, "Wait for the value, or read another node; see data.raw_text.", "the text read does not satisfy the validator"
    INVALID_REGEX_PATTERN = "INVALID_REGEX_PATTERN", 200, _NO, "Use Java regex syntax.", "the device cannot compile validatorPattern"
    VALUE_NODE_NOT_FOUND = "VALUE_NODE_NOT_FOUND", 200, _OBSERVE, "Read the value with read_text.", "the label was found, but not its value"
    NAVIGATION_TIMEOUT = "NAVIGATION_TIMEOUT", 200, _OBSERVE, "The expected package may already be in front.", "no navigation was seen in time"
    URI_NOT_HANDLED = "URI_NOT_HANDLED", 200, _NO, "Install an app for the URI, or change it.", "no app handles the URI"
    APP_NOT_FOUND = "APP_NOT_FOUND", 200, _NO, "Check `clawperator packages list`.", "the package has no launcher entry"
    NODE_TEXT_EMPTY = "NODE_TEXT_EMPTY", 200, _OBSERVE, "Read another node, or wait.", "the node has neither text nor description"
    SET_TEXT_FAILED = "SET_TEXT_FAILED", 200, _OBSERVE, "Click the field first. It may be read-only or secure.", "the field rejected the text"
    TEXT_NOT_DELIVERED = "TEXT_NOT_DELIVERED", 200, _OBSERVE, "Use the operator backend for text that key events cannot type.", "the text could not be typed or did not reach the field"
    SNAPSHOT_HIERARCHY_UNAVAILABLE = "SNAPSHOT_HIERARCHY_UNAVAILABLE", 200, _OBSERVE, "Wake and unlock the device. A secure window may have no tree: leave it, or act without one (`input`).", "a snapshot found no UI tree (Operator 0.10 and later)"
    UI_TREE_UNAVAILABLE = "UI_TREE_UNAVAILABLE", 200, _OBSERVE, "Wake and unlock the device. A secure window may have no tree: leave it, or act without one (`input`).", "the active window provides no UI tree"
    UI_NOT_IDLE = "UI_NOT_IDLE", 200, _OBSERVE, "Wait until nothing on the screen moves. Pass --compressed, which leaves out decoration, or use the operator backend, which reads a moving screen.", "the screen kept moving for 10 seconds, so uiautomator returned no UI tree"
    VERIFY_FAILED = "VERIFY_FAILED", 200, _OBSERVE, "Check the screen before you retry.", "an expected effect was not observed"

    # -- hierarchy files and dumps
    HIERARCHY_MALFORMED = "HIERARCHY_MALFORMED", 500, _OBSERVE, "Take the snapshot again.", "the UI tree cannot be parsed"
    HIERARCHY_TOO_LARGE = "HIERARCHY_TOO_LARGE", 500, _NO, "Read a smaller tree.", "the UI tree exceeds the size, node or depth limit"

    # -- doctor and versions (errors.md#codes)
    RUNTIME_TOO_OLD = "RUNTIME_TOO_OLD", 500, _NO, "Upgrade Python.", "the host's interpreter is too old"
    NODE_TOO_OLD = "NODE_TOO_OLD", 500, _NO, "Upgrade Node.js to run .js skills.", "Node.js is older than 22"
    DEVICE_DEV_OPTIONS_DISABLED = "DEVICE_DEV_OPTIONS_DISABLED", 500, _SETUP, "Tap the build number seven times.", "developer options are off"
    DEVICE_USB_DEBUGGING_DISABLED = "DEVICE_USB_DEBUGGING_DISABLED", 500, _SETUP, "Enable USB debugging in developer options.", "USB debugging is off"
    DEVICE_ACCESSIBILITY_NOT_RUNNING = "DEVICE_ACCESSIBILITY_NOT_RUNNING", 500, _SETUP, "Run `clawperator grant-device-permissions`, or open the accessibility settings on the device.", "the Operator app responds, but its accessibility service is not running"
    ANDROID_BUILD_FAILED = "ANDROID_BUILD_FAILED", 500, _NO, "Read the build output.", "the Android build failed"
    ANDROID_INSTALL_FAILED = "ANDROID_INSTALL_FAILED", 500, _SETUP, "Free storage and check the signatures.", "installing an app failed"
    ANDROID_APP_LAUNCH_FAILED = "ANDROID_APP_LAUNCH_FAILED", 500, _SETUP, "Reinstall the Operator app.", "the Operator's launcher activity did not start"
    SMOKE_OPEN_SETTINGS_FAILED = "SMOKE_OPEN_SETTINGS_FAILED", 500, _OBSERVE, "Check that the screen is on and unlocked.", "opening the settings app and taking a snapshot failed"
    SCRCPY_NOT_FOUND = "SCRCPY_NOT_FOUND", 500, _NO, "Install scrcpy.", "reserved: scrcpy is not installed"
    CLI_VERSION_INVALID = "CLI_VERSION_INVALID", 500, _NO, "Reinstall the CLI.", "the host's version cannot be parsed"
    APK_VERSION_UNREADABLE = "APK_VERSION_UNREADABLE", 500, _SETUP, "Reinstall the Operator app.", "the Operator app's version cannot be read"
    APK_VERSION_INVALID = "APK_VERSION_INVALID", 500, _SETUP, "Install a released Operator app.", "the Operator app's version cannot be parsed"
    VERSION_INCOMPATIBLE = "VERSION_INCOMPATIBLE", 500, _SETUP, "Upgrade the older side.", "the host and the Operator app are incompatible"
    DOCTOR_FAILED = "DOCTOR_FAILED", 500, _NO, "Read the log file.", "a check of the doctor crashed"

    # -- operator setup and permissions (errors.md#codes)
    OPERATOR_APK_NOT_FOUND = "OPERATOR_APK_NOT_FOUND", 500, _NO, "Check the path given with --apk.", "the APK file does not exist"
    OPERATOR_FETCH_FAILED = "OPERATOR_FETCH_FAILED", 500, _WAIT, "Check the URL and the network, then run the command again.", "the Operator APK could not be fetched"
    OPERATOR_INSTALL_FAILED = "OPERATOR_INSTALL_FAILED", 500, _SETUP, "Uninstall first on a signature conflict; check storage and unlock the device.", "installing the Operator app failed"
    OPERATOR_GRANT_FAILED = "OPERATOR_GRANT_FAILED", 500, _SETUP, "Run `clawperator grant-device-permissions`.", "a permission could not be granted during setup"
    OPERATOR_VERIFY_FAILED = "OPERATOR_VERIFY_FAILED", 500, _SETUP, "Pass --receiver-package.", "the Operator app is not listed after setup, or several variants are installed"
    GRANT_DEVICE_PERMISSIONS_FAILED = "GRANT_DEVICE_PERMISSIONS_FAILED", 500, _SETUP, "Run `clawperator doctor`, or grant it in the settings app.", "a permission could not be granted"

    # -- emulator (errors.md#codes)
    ANDROID_SDK_TOOL_MISSING = "ANDROID_SDK_TOOL_MISSING", 500, _NO, "Install the Android SDK command-line tools, and set ANDROID_HOME, or EMULATOR_PATH, SDKMANAGER_PATH and AVDMANAGER_PATH.", "adb, emulator, sdkmanager or avdmanager cannot be started"
    EMULATOR_NOT_FOUND = "EMULATOR_NOT_FOUND", 404, _NO, "Run `clawperator emulator list`.", "no virtual device has this name"
    EMULATOR_NOT_RUNNING = "EMULATOR_NOT_RUNNING", 404, _NO, "Run `clawperator emulator status` to list the running ones.", "the virtual device is not running"
    EMULATOR_ALREADY_RUNNING = "EMULATOR_ALREADY_RUNNING", 409, _NO, "Stop the virtual device first.", "the virtual device is running"
    EMULATOR_UNSUPPORTED = "EMULATOR_UNSUPPORTED", 409, _NO, "Choose another name, or delete the virtual device.", "the virtual device exists but is not compatible"
    EMULATOR_START_FAILED = "EMULATOR_START_FAILED", 500, _SETUP, "Restart the adb server, then start the emulator again.", "the emulator did not start"
    EMULATOR_BOOT_TIMEOUT = "EMULATOR_BOOT_TIMEOUT", 500, _SETUP, "Stop and delete the emulator, then run `clawperator emulator provision`.", "the emulator did not finish booting in time"
    EMULATOR_STOP_FAILED = "EMULATOR_STOP_FAILED", 500, _WAIT, "Stop the process manually.", "the emulator did not stop"
    EMULATOR_DELETE_FAILED = "EMULATOR_DELETE_FAILED", 500, _NO, "Check avdmanager's error in the message.", "the virtual device was not deleted"
    EMULATOR_CREATE_FAILED = "EMULATOR_CREATE_FAILED", 500, _NO, "Check avdmanager's error in the message.", "reserved: the virtual device was not created"
    ANDROID_SYSTEM_IMAGE_INSTALL_FAILED = "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", 500, _WAIT, "Check network, disk space and licences.", "a system image could not be found or installed"
    ANDROID_AVD_CREATE_FAILED = "ANDROID_AVD_CREATE_FAILED", 500, _NO, "Check avdmanager's error in the message.", "the virtual device could not be created"

    # -- recording (errors.md#codes)
    RECORDING_ALREADY_IN_PROGRESS = "RECORDING_ALREADY_IN_PROGRESS", 200, _NO, "Stop the recording first.", "a recording is running"
    RECORDING_NOT_IN_PROGRESS = "RECORDING_NOT_IN_PROGRESS", 200, _NO, "Start a recording first.", "no recording is running"
    RECORDING_STORAGE_UNAVAILABLE = "RECORDING_STORAGE_UNAVAILABLE", 200, _SETUP, "Check the device's storage.", "the device has no folder for recordings"
    RECORDING_START_FAILED = "RECORDING_START_FAILED", 200, _OBSERVE, "Read data.message.", "the recording could not be started"
    RECORDING_STOP_FAILED = "RECORDING_STOP_FAILED", 200, _OBSERVE, "Read data.message.", "the recording could not be finished"
    RECORDING_UNAVAILABLE = "RECORDING_UNAVAILABLE", 200, _SETUP, "Restart the service or reinstall the Operator app.", "the Operator app cannot record"
    RECORDING_SESSION_NOT_FOUND = "RECORDING_SESSION_NOT_FOUND", 500, _NO, "Record a session first: `clawperator record start`.", "the recording does not exist"
    RECORDING_PULL_FAILED = "RECORDING_PULL_FAILED", 500, _SETUP, "Check adb's error in the message.", "the recording could not be fetched"
    RECORDING_PARSE_FAILED = "RECORDING_PARSE_FAILED", 500, _NO, "Fetch the recording again, or correct the line that the message names.", "the recording cannot be parsed"
    RECORDING_SCHEMA_VERSION_UNSUPPORTED = "RECORDING_SCHEMA_VERSION_UNSUPPORTED", 500, _NO, "Update Clawperator.", "the recording's schema version is unknown"

    # -- skills and recipes (errors.md#codes)
    REGISTRY_READ_FAILED = "REGISTRY_READ_FAILED", 500, _NO, "Run `clawperator skills install`, or check CLAWPERATOR_SKILLS_REGISTRY.", "the registry or an artifact cannot be read"
    SKILL_NOT_FOUND = "SKILL_NOT_FOUND", 404, _NO, "Run `clawperator skills list`.", "the skill does not exist"
    ARTIFACT_NOT_FOUND = "ARTIFACT_NOT_FOUND", 404, _NO, "Run `clawperator skills get <id>`.", "the skill has no such artifact"
    COMPILE_VARS_PARSE_FAILED = "COMPILE_VARS_PARSE_FAILED", 400, _NO, "Pass a JSON object, quoted for the shell.", "--vars is not a JSON object"
    COMPILE_VAR_MISSING = "COMPILE_VAR_MISSING", 400, _NO, "Add the variable.", "a placeholder has no value"
    COMPILE_VALIDATION_FAILED = "COMPILE_VALIDATION_FAILED", 400, _NO, "Correct the artifact.", "the compiled text is not a valid execution"
    COMPILE_VARS_REQUIRED = "COMPILE_VARS_REQUIRED", 400, _NO, "Pass the variables with --vars.", "reserved: the artifact needs variables"
    SKILL_SCRIPT_NOT_FOUND = "SKILL_SCRIPT_NOT_FOUND", 400, _NO, "Run `clawperator skills update`.", "the skill has no script"
    SKILL_EXECUTION_FAILED = "SKILL_EXECUTION_FAILED", 400, _OBSERVE, "Read stderr.", "the skill's script failed or could not start"
    SKILL_EXECUTION_TIMEOUT = "SKILL_EXECUTION_TIMEOUT", 400, _OBSERVE, "Use a larger timeout.", "the skill's script exceeded its time limit"
    SKILL_OUTPUT_ASSERTION_FAILED = "SKILL_OUTPUT_ASSERTION_FAILED", 400, _OBSERVE, "Compare the output with expectedSubstring.", "the expected text is not in the script's output"
    SKILL_INPUT_MISSING = "SKILL_INPUT_MISSING", 400, _NO, "Run `clawperator skills get <id>`.", "a declared input of the skill's script has no value"
    SKILL_INPUT_INVALID = "SKILL_INPUT_INVALID", 400, _NO, "Run `clawperator skills get <id>`.", "an input of the skill's script is unknown or has a wrong value"
    SKILL_RESULT_PARSE_FAILED = "SKILL_RESULT_PARSE_FAILED", 400, _OBSERVE, "Correct the skill: the last two lines of stdout must be the mark and one JSON object.", "the result that the skill printed cannot be read"
    SKILL_VERIFICATION_INDETERMINATE = "SKILL_VERIFICATION_INDETERMINATE", 400, _OBSERVE, "Look at the screen before you run it again.", "the skill ran, but it is not proved that its goal was reached"
    SKILLS_GIT_NOT_FOUND = "SKILLS_GIT_NOT_FOUND", 500, _NO, "Install git.", "git is missing"
    SKILLS_SYNC_FAILED = "SKILLS_SYNC_FAILED", 500, _NO, "Check git's error in the message.", "the skills could not be fetched, or have no registry"
    SKILL_ID_INVALID = "SKILL_ID_INVALID", 500, _NO, "Choose another id.", "the skill id is not allowed"
    SKILL_ALREADY_EXISTS = "SKILL_ALREADY_EXISTS", 500, _NO, "Choose another id, or check the folder.", "the skill already exists"
    SKILLS_SCAFFOLD_FAILED = "SKILLS_SCAFFOLD_FAILED", 500, _NO, "Check the folder.", "the new skill could not be written"
    SKILL_VALIDATION_FAILED = "SKILL_VALIDATION_FAILED", 400, _NO, "Correct the files that details names.", "the skill's files are not valid"
    RECIPE_PARSE_FAILED = "RECIPE_PARSE_FAILED", 400, _NO, "Correct the block that details names.", "a block of the recipe is missing, duplicated or invalid YAML"
    RECIPE_SCHEMA_INVALID = "RECIPE_SCHEMA_INVALID", 400, _NO, "Correct the key or value that the message names.", "a key or value of the recipe is missing, unknown or invalid"
    RECIPE_STEP_UNSUPPORTED = "RECIPE_STEP_UNSUPPORTED", 400, _NO, "Use a step type that recipes allow.", "the recipe's step type is not allowed"
    RECIPE_SELECTOR_INVALID = "RECIPE_SELECTOR_INVALID", 400, _NO, "Correct the selector.", "the selector has an unknown key or no criteria"
    RECIPE_SELECTOR_UNSUPPORTED = "RECIPE_SELECTOR_UNSUPPORTED", 400, _NO, "Use a key that the device can match.", "the selector cannot be expressed as a matcher"
    RECIPE_INPUT_MISSING = "RECIPE_INPUT_MISSING", 400, _NO, "Provide a value for the input.", "a required input has no value"
    RECIPE_INPUT_UNDECLARED = "RECIPE_INPUT_UNDECLARED", 400, _NO, "Declare the input.", "the recipe uses an input that it does not declare"
    RECIPE_INPUT_INVALID = "RECIPE_INPUT_INVALID", 400, _NO, "Provide a value that the input allows.", "an input has the wrong type or value"
    RECIPE_VERIFICATION_MISSING = "RECIPE_VERIFICATION_MISSING", 400, _NO, "Add a verification after the side effect.", "a side effect is not verified"
    RECIPE_SESSION_POLICY_VIOLATED = "RECIPE_SESSION_POLICY_VIOLATED", 400, _NO, "Start with the steps that a fresh session needs.", "a fresh session lacks its first steps"
    RECIPE_CAPABILITY_UNDECLARED = "RECIPE_CAPABILITY_UNDECLARED", 400, _NO, "Declare the capability.", "a step needs a capability that the recipe does not declare"
    RECIPE_LIMIT_EXCEEDED = "RECIPE_LIMIT_EXCEEDED", 400, _NO, "Split the recipe.", "the recipe has too many actions or is too large"
    RECIPE_LITERAL_FORBIDDEN = "RECIPE_LITERAL_FORBIDDEN", 400, _NO, "Use an input instead of the literal.", "the recipe contains a personal literal"

    # -- references to nodes of a view
    REF_UNKNOWN = "REF_UNKNOWN", 404, _NO, "Take a new snapshot with a view and use its references.", "a reference's tree is no longer stored, is of another device, or has no such node"
    REF_STALE = "REF_STALE", 409, _NO, "Take a new snapshot with a view and use its references.", "the screen no longer has exactly the node of a reference"
    REF_AMBIGUOUS = "REF_AMBIGUOUS", 409, _NO, "Use a node near it: `clawperator suggest --ref <ref>` explains why.", "no selector finds only the node of a reference"

    # -- history
    HISTORY_NOT_FOUND = "HISTORY_NOT_FOUND", 404, _NO, "Run `clawperator history list`.", "the run or tree is not in the history"
    HISTORY_UNAVAILABLE = "HISTORY_UNAVAILABLE", 500, _NO, "Check the folder's permissions and free disk space, or pass --no-history.", "the history file cannot be used"

    # -- fleet
    FLEET_NO_ANSWER = "FLEET_NO_ANSWER", 504, _OBSERVE, "The host's history has the outcome, if it received the execution. Take a snapshot before you decide.", "a host of the fleet did not answer: whether the execution ran is unknown"
    FLEET_ANSWER_MISMATCH = "FLEET_ANSWER_MISMATCH", 502, _OBSERVE, "Someone else may answer for the host, or its version differs. Check the permissions of the NATS server, and take a snapshot before you decide.", "an answer of the fleet is not for what was sent: whether the execution ran is unknown"
    FLEET_UNAVAILABLE = "FLEET_UNAVAILABLE", 503, _WAIT, "Check the address of the NATS server and the credentials.", "the fleet's NATS server cannot be reached or refuses the connection"
    FLEET_NOT_SECURED = "FLEET_NOT_SECURED", 400, _NO, "Use tls:// and credentials.", "a fleet beyond this computer needs TLS and credentials"
    FLEET_HOST_TAKEN = "FLEET_HOST_TAKEN", 409, _NO, "Choose another name with --name.", "another host of the fleet has this name"

    # -- files and ports of the host
    FILE_EXISTS = "FILE_EXISTS", 409, _NO, "Choose another name, or delete the file first. Nothing was overwritten.", "the file already exists"
    FILE_NOT_WRITABLE = "FILE_NOT_WRITABLE", 400, _NO, "Choose a file name in an existing, writable folder.", "a file cannot be written"
    FILE_NOT_READABLE = "FILE_NOT_READABLE", 500, _NO, "Check the path and the permissions of the file.", "a file is missing or cannot be read"
    FOLDER_NOT_PRIVATE = "FOLDER_NOT_PRIVATE", 500, _NO, "Make the folder yours and run `chmod go-w` on it, or choose another one: what others can write there may be theirs.", "a folder for files of the product belongs to another user, or others can write to it"
    SETTINGS_INVALID = "SETTINGS_INVALID", 500, _NO, "Correct the line that the message names; `clawperator config check` lists every error.", "the settings file has an unknown key or an invalid value"
    POLICY_INVALID = "POLICY_INVALID", 500, _NO, "Correct the line that the message names; `clawperator policy check` lists every error.", "the policy file has an unknown key or an invalid value; everything is denied"
    SCENARIO_INVALID = "SCENARIO_INVALID", 500, _NO, "Correct the line that the message names; `clawperator help sim` has an example.", "the simulator's scenario file has an unknown key or an invalid value"
    LOCKS_UNAVAILABLE = "LOCKS_UNAVAILABLE", 500, _NO, "Set HOME to a folder that this user can write.", "the device lock folder cannot be used"
    DISK_FULL = "DISK_FULL", 507, _NO, "Free disk space or choose a folder on another disk, then run the command again.", "the disk has no space left"
    TOKEN_FILE_INVALID = "TOKEN_FILE_INVALID", 500, _NO, "Use a file that only you can read, with one token per line.", "the token file cannot be used"
    ADDRESS_UNAVAILABLE = "ADDRESS_UNAVAILABLE", 500, _NO, "Choose another port or host, or stop the program that listens there.", "the address to listen on cannot be used"
    NOT_CONFIRMED = "NOT_CONFIRMED", 500, _NO, "Nothing was changed. Pass --yes to confirm.", "the confirmation was not given"

    # -- CLI and HTTP usage (errors.md#codes)
    USAGE = "USAGE", 400, _NO, "Run `clawperator help <command>`.", "the command line is invalid or incomplete"
    UNKNOWN_COMMAND = "UNKNOWN_COMMAND", 500, _NO, "Run `clawperator --help`.", "the command does not exist"
    MISSING_ARGUMENT = "MISSING_ARGUMENT", 500, _NO, "Run `clawperator help <command>`.", "an argument or a required flag is missing"
    MISSING_SELECTOR = "MISSING_SELECTOR", 500, _NO, "Run `clawperator help <command>`, which lists the flags that choose a node.", "the command needs a selector"
    NOT_IMPLEMENTED = "NOT_IMPLEMENTED", 500, _NO, "Run `clawperator --help` to list the available commands.", "the command is not implemented"
    UNKNOWN = "UNKNOWN", 500, _NO, "Report this together with the log.", "an unexpected error occurred"
    INVALID_JSON = "INVALID_JSON", 400, _NO, "Send a JSON body.", "the body is not JSON"
    INVALID_BODY = "INVALID_BODY", 400, _NO, "Send a JSON object.", "the body is missing or not an object"
    MISSING_EXECUTION = "MISSING_EXECUTION", 400, _NO, "Put the payload under the key execution.", "the body has no execution key"
    INVALID_DEVICE_ID = "INVALID_DEVICE_ID", 400, _NO, "Send the serial of a device as a string, or omit deviceId.", "deviceId is not a string"
    INVALID_RECEIVER_PACKAGE = "INVALID_RECEIVER_PACKAGE", 400, _NO, "Send the Android package name of the Operator app, or omit it.", "receiverPackage is not a string, is blank or contradicts operatorPackage"
    INVALID_OPERATOR_PACKAGE = "INVALID_OPERATOR_PACKAGE", 400, _NO, "Send the Android package name of the Operator app, or omit it.", "operatorPackage is not a string, is blank or contradicts receiverPackage"
    INVALID_PATH = "INVALID_PATH", 400, _NO, "Send the path as a non-empty string, or omit it.", "path is not a non-empty string"
    INVALID_ARGS = "INVALID_ARGS", 400, _NO, "Send an array of strings.", "args is not an array"
    INVALID_TIMEOUT_MS = "INVALID_TIMEOUT_MS", 400, _NO, "Send whole milliseconds above 0.", "timeoutMs is not a positive integer"
    INVALID_EXPECT_CONTAINS = "INVALID_EXPECT_CONTAINS", 400, _NO, "Send a string, or omit it.", "expectContains is not a string"
    INVALID_PARAMETER = "INVALID_PARAMETER", 400, _NO, "Correct the parameter that the message names.", "a path or query parameter is not allowed"
    INVALID_NAME = "INVALID_NAME", 400, _NO, "Use letters, digits, '.', '_' and '-' only.", "the virtual device's name has forbidden characters"
    UNAUTHORIZED = "UNAUTHORIZED", 401, _NO, "Send the server's bearer token.", "the request carries no valid token"
    ORIGIN_NOT_ALLOWED = "ORIGIN_NOT_ALLOWED", 403, _NO, "Send the request from an allowed origin and to an allowed host.", "the Origin or Host header is not allowed"
    NOT_FOUND = "NOT_FOUND", 404, _NO, "GET /openapi.json lists the routes.", "the route does not exist"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED", 405, _NO, "Use a method listed in the Allow header.", "the route does not support this method"
    INVALID_REQUEST = "INVALID_REQUEST", 400, _NO, "Send HTTP/1.1.", "the request is malformed or incomplete"
    REQUEST_TIMEOUT = "REQUEST_TIMEOUT", 408, _WAIT, "Send the whole request without a pause.", "the request did not arrive in time"
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE", 431, _NO, "Send fewer or shorter headers.", "the request headers exceed their size limit"
    SERVER_BUSY = "SERVER_BUSY", 503, _WAIT, "Close unused connections, or retry after a pause.", "the server has reached its connection limit"
    SHUTTING_DOWN = "SHUTTING_DOWN", 503, _WAIT, "Retry when the server has restarted.", "the server is shutting down"
    RATE_LIMITED = "RATE_LIMITED", 429, _WAIT, "Retry after a pause.", "too many requests"
    INTERNAL_ERROR = "INTERNAL_ERROR", 500, _NO, "Report this together with the log.", "an internal error occurred in a route"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR", 500, _NO, "Report this together with the log.", "an internal error occurred in the server"
    # fmt: on


class EngineError(Exception):
    """A failure with a stable code: there is no usable result.

    A step that failed on the device is data in the envelope instead. ``extra`` holds further top-level keys of some codes
    (errors.md#shape).
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint or code.hint
        self.details: dict[str, Any] = dict(details or {})
        self.extra: dict[str, Any] = dict(extra or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Return the error object of errors.md#shape."""
        error: dict[str, Any] = {"code": self.code.value, "message": self.message, "hint": self.hint}
        if self.details:
            error["details"] = self.details
        unsent = self.extra.get("broadcastDispatchStatus", "not_sent") == "not_sent"
        worth_it = self.code.retryable or "retryAfterMs" in self.details
        return {**error, **self.extra, "retryable": worth_it and unsent}

    def to_answer(self) -> dict[str, Any]:
        """Return the document of servers, with the ids of the execution at the same place as in a success."""
        error = self.to_dict()
        beside = {name: self.extra[name] for name in ("deviceId", "executionId") if self.extra.get(name)}
        if "outcome" in error:
            beside["outcome"] = error.pop("outcome")
        return {"ok": False, "error": error, **beside}


class NotPrivateError(PermissionError):
    """``folder`` may hold what other users put there; ``reason`` says why. Answers have it as FOLDER_NOT_PRIVATE."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(errno.EPERM, reason, folder)
        self.folder, self.reason = folder, reason

    def to_engine_error(self) -> EngineError:
        message = f"The folder {self.folder} cannot be used: {self.reason}"
        return EngineError(ErrorCode.FOLDER_NOT_PRIVATE, message, details={"path": self.folder, "reason": self.reason})


def not_writable(path: str, error: OSError | ValueError, *, what: str = "", hint: str = "") -> EngineError:
    """Return why ``path`` cannot be written: FILE_EXISTS, DISK_FULL or FILE_NOT_WRITABLE, with ``details.file``; FOLDER_NOT_PRIVATE.

    ``what`` names the file's part in the command, such as a flag; ``hint`` replaces that of FILE_EXISTS.
    """
    if isinstance(error, NotPrivateError):
        return error.to_engine_error()
    number = getattr(error, "errno", None)
    code = ErrorCode.FILE_NOT_WRITABLE
    if number == errno.EEXIST:
        code = ErrorCode.FILE_EXISTS
    elif number in (errno.ENOSPC, errno.EDQUOT):
        code = ErrorCode.DISK_FULL
    found = _of_file(code, path, error, what, "cannot be written")
    if hint and code is ErrorCode.FILE_EXISTS:
        found.hint = hint
    return found


def not_readable(path: str, error: OSError | ValueError, *, what: str = "") -> EngineError:
    """Return why ``path`` cannot be read: FILE_NOT_READABLE, with ``details.file``."""
    return _of_file(ErrorCode.FILE_NOT_READABLE, path, error, what, "cannot be read")


def _of_file(code: ErrorCode, path: str, error: OSError | ValueError, what: str, verb: str) -> EngineError:
    name = f"{what} {path}" if what else path
    reason = getattr(error, "strerror", None) or error
    return EngineError(code, f"{name} {verb}: {reason}", details={"file": path})


def interruption(dispatch_status: str = "not_sent", **names: str) -> EngineError:
    """Return INTERRUPTED: the caller stopped waiting. A command that was sent may still act on the device.

    ``dispatch_status`` is that of the broadcast (errors.md#shape); ``names`` are the ids of the execution.
    """
    messages = {
        "not_sent": "Interrupted before the command was sent to the device",
        "sent": "Interrupted after the command was sent: it may still act on the device",
    }
    message = messages.get(dispatch_status, "Interrupted: whether anything was sent to the device is unknown")
    return EngineError(ErrorCode.INTERRUPTED, message, extra={"broadcastDispatchStatus": dispatch_status, **names})
