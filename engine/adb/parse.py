"""Device and adb text → values. Pure and tolerant: no input raises, noise is skipped, CR and LF are both accepted.

adb and Android change their wording from version to version, so each function parses what it recognises; an empty value
means that it recognised nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from clawperator.engine.text.numbers import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_PACKAGE = re.compile(r"^package:[ \t]*(\S+)(?:[ \t]+uid:(\d{1,18}))?", re.MULTILINE | re.ASCII)


def parse_package_uids(text: str) -> dict[str, int]:
    """Names of ``pm list packages [-U]`` in the device's order, with their uids (of several users, the first one's), else -1."""
    return {name: int(uid or -1) for name, uid in _PACKAGE.findall(text)}


def parse_packages(text: str) -> list[str]:
    """Package names of ``pm list packages``, in the device's order."""
    return list(parse_package_uids(text))


def parse_sdk(text: str) -> int:
    """Return Android's API level in the value of ``ro.build.version.sdk``, 0 where it has none; of ``36.1`` the 36."""
    return whole_number(text.strip().partition(".")[0], digits=3) or 0


def parse_getprop(text: str) -> dict[str, str]:
    """All properties of ``getprop``; a value may span lines."""
    properties: dict[str, str] = {}
    key, value = "", ""
    for line in _lines(text):
        if not key:
            start = re.match(r"\[([^\]]+)\]: \[(.*)", line)
            if not start:
                continue
            key, value = start[1], start[2]
        elif re.match(r"\[[^\]]+\]: \[", line):  # a truncated value: keep the rest
            key, _, value = line[1:].partition("]: [")
        else:
            value = f"{value}\n{line}"
        if value.endswith("]"):
            properties[key] = value[:-1]
            key = ""
    return properties


def _lines(text: str) -> Iterator[str]:
    """Lines as a device ends them: LF, CR LF or, through the pseudo-terminals of old releases, CR CR LF.

    ``splitlines`` would also cut at U+2028 inside a value.
    """
    return (line.rstrip("\r") for line in text.split("\n"))


class Size(NamedTuple):
    """Pixels; both 0 where the device gave none."""

    width: int
    height: int


def parse_wm_size(text: str) -> Size:
    """``wm size``: the override where there is one, else the physical size."""
    found = dict(re.findall(r"^\s*(Physical|Override) size:\s*(\d{1,6}x\d{1,6})\s*$", text, re.MULTILINE | re.ASCII))
    width, _, height = (found.get("Override") or found.get("Physical") or "0x0").partition("x")
    return Size(int(width), int(height))


def parse_wm_density(text: str) -> int:
    """``wm density`` in dots per inch: the override where there is one; 0 if unknown."""
    found = dict(re.findall(r"^\s*(Physical|Override) density:\s*(\d{1,6})\s*$", text, re.MULTILINE | re.ASCII))
    return int(found.get("Override") or found.get("Physical") or 0)


class PackageVersion(NamedTuple):
    """``versionName`` and ``versionCode`` of an installed package; empty and -1 where absent."""

    name: str
    code: int


def parse_dumpsys_version(text: str, package: str = "") -> PackageVersion:
    """First ``versionName``/``versionCode`` of ``dumpsys package`` (doctor.md#versions), in ``package``'s own section if it has one."""
    section = _package_section(text, package)
    name = re.search(r"^[ \t]*versionName=(.+)$", section, re.MULTILINE)
    code = re.search(r"^[ \t]*versionCode=(\d{1,18})(?!\d)", section, re.MULTILINE | re.ASCII)
    return PackageVersion(name[1].strip() if name else "", int(code[1]) if code else -1)


def parse_user_states(text: str, package: str = "") -> dict[int, str]:
    """Return what ``dumpsys package`` prints of each Android user, by the user: its state in one line, then its permissions."""
    _, *parts = _USER_STATE.split(_package_section(text, package))
    return {int(user): state for user, state in zip(parts[::2], parts[1::2], strict=True)}


def _package_section(text: str, package: str) -> str:
    """From ``Package [NAME]`` to the next such line; the whole text where the heading is missing."""
    start = text.find(f"Package [{package}]") if package else -1
    if start < 0:
        return text
    end = text.find("\n  Package [", start + 1)
    return text[start:] if end < 0 else text[start:end]


_USER_STATE = re.compile(r"^[ \t]+User (\d{1,9}):(?=[^\n]*\binstalled=)", re.MULTILINE | re.ASCII)


class InstallResult(NamedTuple):
    """Outcome of a package installation; ``code`` is Android's constant (``INSTALL_FAILED_…``), empty if it gave none."""

    ok: bool
    code: str
    message: str


def parse_install_result(text: str) -> InstallResult:
    """Parse ``Success``, ``Failure [CODE: words]`` or free text of ``pm``, ``cmd package`` or ``adb install``."""
    _, failed, rest = text.partition("Failure [")
    if failed:
        code, _, message = re.split(r"\]\s*$", rest, maxsplit=1, flags=re.MULTILINE)[0].partition(":")
        return InstallResult(ok=False, code=code.strip(), message=message.strip() or code.strip())
    if re.search(r"^Success\b", text, re.MULTILINE):
        return InstallResult(ok=True, code="", message="")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return InstallResult(ok=False, code="", message=lines[-1] if lines else "the package manager returned no output")


# -- failures of Android's programs

_FAILURE = re.compile(
    r"\s*(?:Error\b|Exception\b|Warning: Activity not started because\b|[\w.$]+(?:Exception|Error)\b)", re.ASCII
)
_REASON = re.compile(r"(?:Error|[\w.$]+(?:Exception|Error)): .", re.ASCII)
_XIAOMI_NOISE = "Exception: /data/system/theme_config/"
"""Where a theme has no file, Xiaomi's Java programs print that with a stack trace, and go on."""
INPUT_BLOCKED_HINT = (
    "This phone's settings limit what adb may do. In the developer options, switch on 'USB debugging (Security settings)' "
    "(Xiaomi, Redmi, POCO) or 'Disable permission monitoring' (OPPO, OnePlus, realme), then reconnect."
)
_CLOSED_HINT = (
    "Android closes this user to adb (a Secure Folder, a work profile, a guest): switch the device to its main user."
)
_LIMITED = (
    r"\b(user|uid) 2000\b|\b(INJECT_EVENTS|WRITE_(SECURE_)?SETTINGS|(GRANT|REVOKE)_RUNTIME_PERMISSIONS)\b"
    r"|\badb\b[^\n]{0,40}\bforbidden|shell does not have permission"
)
"""What a phone says whose maker took rights from adb's shell that Android gives it."""
_POLICY = (
    r"device[ _](owner|policy|admin)|profile owner|DELETE_FAILED_(USER_RESTRICTED|OWNER_BLOCKED)|\bDISALLOW_|\bknox\b"
    r"|managed by (your|an?) (admin|organi)|restricted by (your|policy|admin)"
)
_REFUSALS = tuple(
    (re.compile(pattern, re.IGNORECASE), hint)
    for pattern, hint in (
        (r"is managed by role", "Android gives it with a role: choose the app for that in the device's default apps."),
        (r"not a changeable permission type", "Android gives it when the app is installed, and it cannot be changed."),
        (r"has not requested permission", "The app's manifest does not ask for it: an app cannot get it otherwise."),
        (r"unknown permission", "This Android has no such permission; its own are called android.permission.NAME."),
        (r"not have permission to access user", _CLOSED_HINT),
        (_LIMITED, INPUT_BLOCKED_HINT),
        (
            _POLICY,
            "An administrator's policy (work profile, Knox, parental control) forbids it: ask who manages the device.",
        ),
    )
)
"""What a program of Android's says about a refusal → what to do."""


_CLOSED_USER = re.compile(r"not have permission to access user (\d{1,9})", re.ASCII)


def package_manager_failure(text: str, exit_code: int) -> str:
    """Return the sentence about a ``pm`` that ended with ``exit_code``."""
    if (closed := _CLOSED_USER.search(text)) is not None:
        return f"Android does not let adb access user {closed[1]}, who is in the foreground"
    if not text.strip():
        return "The package manager did not answer"
    return f"The package manager failed: {parse_failure(text, exit_code or 1)}"


def refusal_hint(text: str) -> str | None:
    """Return what to do about the refusal that ``text`` of a program of Android's names; ``None`` if it names none that is known."""
    return next((hint for pattern, hint in _REFUSALS if pattern.search(text)), None)


def parse_failure(text: str, exit_code: int) -> str:
    """Return why a program of Android's failed, empty if it did not: several print an exception and exit with 0."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and _XIAOMI_NOISE not in line]
    if not exit_code and not any(map(_FAILURE.match, lines)):
        return ""
    words = [line for line in lines if not line.startswith("at ")]
    found = next(filter(_REASON.match, words), words[-1] if words else f"it ended with exit code {exit_code}")
    return found[:500]
