"""AVDs as their files describe them, and whether they are supported (emulators.md#which-avds-are-supported). Runs no tool."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file

DEFAULT_NAME = "clawperator-pixel"
API_LEVEL = 35
DEVICE_PROFILE = "pixel_7"
DEVICE_PROFILES = (DEVICE_PROFILE,)
PLAY_STORE_TAG = "google_apis_playstore"
PLAIN_TAG = "google_apis"

DOCUMENTED_ABI = "arm64-v8a"
_X86_64 = "x86_64"

MISSING_PLAY_STORE = "missing_play_store"
UNSUPPORTED_API_LEVEL = "unsupported_api_level"
UNSUPPORTED_ABI = "unsupported_abi"
UNSUPPORTED_DEVICE_PROFILE = "unsupported_device_profile"

MAX_INI_BYTES = 1024 * 1024
"""A real file has two kilobytes; a larger one is treated as unreadable."""
_LONGEST_NAME = 128
_NAME = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_HOMES = (
    ("ANDROID_USER_HOME", ("avd",)),
    ("ANDROID_EMULATOR_HOME", ("avd",)),
    ("ANDROID_PREFS_ROOT", (".android", "avd")),
    ("ANDROID_SDK_HOME", (".android", "avd")),
)
"""Variables of a folder that has that of the AVDs inside, the newer ones first."""
_IMAGE = re.compile(r"(?:^|/)system-images/([^/;]+)/([^/;]+)/([^/;]+)$")
"""The end of the path of a system image, in the SDK or from the root."""
_API = re.compile(r"android-(\d+)", re.ASCII)
_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True)
class Avd:
    """One AVD; unknown properties are ``None``. ``running`` is false unless the caller checked it."""

    name: str
    exists: bool = False
    running: bool = False
    api_level: int | None = None
    abi: str | None = None
    play_store: bool = False
    device_profile: str | None = None
    system_image: str | None = None
    unsupported_reasons: tuple[str, ...] = (
        MISSING_PLAY_STORE,
        UNSUPPORTED_API_LEVEL,
        UNSUPPORTED_ABI,
        UNSUPPORTED_DEVICE_PROFILE,
    )

    @property
    def supported(self) -> bool:
        return not self.unsupported_reasons

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "exists": self.exists,
            "running": self.running,
            "apiLevel": self.api_level,
            "abi": self.abi,
            "playStore": self.play_store,
            "deviceProfile": self.device_profile,
            "systemImage": self.system_image,
            "supported": self.supported,
            "unsupportedReasons": list(self.unsupported_reasons),
        }


def machine_abi(machine: str = "") -> str:
    """Return the ABI of virtual devices on ``machine`` (default: this one): arm64 images do not run on x86-64 processors."""
    return _X86_64 if (machine or platform.machine()).lower() in ("x86_64", "amd64") else DOCUMENTED_ABI


# -- names and places


def is_name(text: str) -> bool:
    """Return whether ``text`` can be an AVD name: it becomes part of paths and command lines (http.md#routes)."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None and text[0] != "-" and text.strip(".") != ""


def checked_name(text: str) -> str:
    """Return ``text`` if it can be an AVD name. Raises ``EngineError`` (INVALID_NAME)."""
    if is_name(text):
        return text
    raise EngineError(
        ErrorCode.INVALID_NAME,
        f"Invalid AVD name: {text[:_LONGEST_NAME]!r}",
        hint="Use letters, digits, dots, hyphens and underscores. The first character must not be a hyphen.",
    )


def avd_home(env: Mapping[str, str]) -> str:
    """Return the folder of the AVD files: of ``ANDROID_AVD_HOME``, ``ANDROID_USER_HOME/avd``, ``ANDROID_EMULATOR_HOME/avd`` and
    ``ANDROID_PREFS_ROOT/.android/avd`` the first that is set, else ``~/.android/avd``; where only avdmanager has ever been used with
    ``XDG_CONFIG_HOME``, the one in there.
    """
    if chosen := env.get("ANDROID_AVD_HOME"):
        return chosen
    for name, inside in _HOMES:
        if chosen := env.get(name):
            return os.path.join(chosen, *inside)
    usual = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".android", "avd")
    if (config := env.get("XDG_CONFIG_HOME")) and not os.path.isdir(usual):
        other = os.path.join(config, ".android", "avd")
        return other if os.path.isdir(other) else usual
    return usual


def avd_folder(home: str, name: str, pointer: Mapping[str, str]) -> str:
    """Return the folder with the content of an AVD: that of ``path=`` in ``<name>.ini`` (``pointer``), else of ``path.rel=``, as a
    renamed AVD's folder keeps its old name; else ``<name>.avd``. A path of another computer counts by its last part.
    """
    usual = os.path.join(home, f"{name}.avd")
    path, relative = (pointer.get(key, "").replace("\\", "/").rstrip("/") for key in ("path", "path.rel"))
    candidates = [
        path if os.path.isabs(path) else "",
        os.path.join(os.path.dirname(os.path.normpath(home)), relative) if relative else "",
        *(os.path.join(home, os.path.basename(one)) for one in (path, relative) if one),
    ]
    return next((one for one in candidates if one and os.path.isdir(one)), usual)


# -- files


def parse_ini(text: str) -> dict[str, str]:
    """Parse ``key=value`` lines: both sides trimmed, the last of several values wins, other lines are ignored."""
    values: dict[str, str] = {}
    for line in re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")):
        key, equals, value = line.partition("=")
        key = key.strip()
        if equals and key and not key.startswith("#"):
            values[key] = value.strip()
    return values


def read_ini(path: str) -> dict[str, str]:
    """Return the values of the file at ``path``; empty if it is missing, unreadable or larger than ``MAX_INI_BYTES``."""
    try:
        return parse_ini(read_file(path, MAX_INI_BYTES).decode(errors="replace"))  # what matters is ASCII
    except OSError:
        return {}


def read_avd(home: str, name: str, supported_abis: Sequence[str], running: bool = False) -> Avd:
    """Return the AVD ``name`` as the files in ``home`` describe it; ``name`` may be any text."""
    if not is_name(name):
        return Avd(name, running=running)
    pointer = read_ini(os.path.join(home, f"{name}.ini"))
    config = read_ini(os.path.join(avd_folder(home, name, pointer), "config.ini"))
    return describe(name, config, pointer, supported_abis, running=running)


def describe(
    name: str,
    config: Mapping[str, str],
    pointer: Mapping[str, str],
    supported_abis: Sequence[str],
    *,
    running: bool = False,
) -> Avd:
    """Return the AVD that ``config.ini`` and ``<name>.ini`` (``pointer``) describe."""
    folder = re.sub(r"[/\\]+", "/", config.get("image.sysdir.1", "")).rstrip("/")
    found = _IMAGE.search(folder)
    image = ";".join(("system-images", *found.groups())) if found else None
    level = _api_level(config.get("target", ""), pointer.get("target", ""), image or folder)
    abi = config.get("abi.type") or None
    profile = config.get("hw.device.name") or None
    play_store = (
        config.get("PlayStore.enabled", "").lower() in ("true", "yes")
        or config.get("tag.id") == PLAY_STORE_TAG
        or PLAY_STORE_TAG in folder
    )
    conditions = (
        (MISSING_PLAY_STORE, play_store and PLAY_STORE_TAG in (image or "")),
        (UNSUPPORTED_API_LEVEL, level == API_LEVEL),
        (UNSUPPORTED_ABI, abi in supported_abis),
        (UNSUPPORTED_DEVICE_PROFILE, profile in DEVICE_PROFILES),
    )
    return Avd(
        name,
        exists=bool(config or pointer),
        running=running,
        api_level=level,
        abi=abi,
        play_store=play_store,
        device_profile=profile,
        system_image=image,
        unsupported_reasons=tuple(reason for reason, holds in conditions if not holds),
    )


def required(reason: str, supported_abis: Sequence[str]) -> str:
    """Return what a supported AVD has instead of an unsupported ``reason``, in words; '' for an unknown reason."""
    return {
        MISSING_PLAY_STORE: f"a system image with {PLAY_STORE_TAG}",
        UNSUPPORTED_API_LEVEL: f"API level {API_LEVEL}",
        UNSUPPORTED_ABI: f"ABI {' or '.join(supported_abis)}",
        UNSUPPORTED_DEVICE_PROFILE: f"device profile {' or '.join(DEVICE_PROFILES)}",
    }.get(reason, "")


def _api_level(*places: str) -> int | None:
    """Return the number after the first ``android-`` of the first text that has one."""
    for text in places:
        if (found := _API.search(text)) and len(found[1]) <= _LONGEST_NUMBER:
            return int(found[1])
    return None


@dataclass(frozen=True, slots=True)
class Recipe:
    """The properties of a new AVD."""

    name: str
    image: str
    profile: str

    def details(self) -> dict[str, str]:
        return {"name": self.name, "systemImage": self.image, "deviceProfile": self.profile}


def recipe(
    name: str,
    supported_abis: Sequence[str],
    *,
    api_level: int | None = None,
    device_profile: str | None = None,
    abi: str | None = None,
    play_store: bool | None = None,
) -> Recipe:
    """Return the properties of a supported AVD, changed as the caller asks (emulators.md#limits).

    Raises ``EngineError`` INVALID_NAME, or EXECUTION_VALIDATION_FAILED for values that no image or profile can have.
    """
    level = API_LEVEL if api_level is None else api_level
    chosen_abi = supported_abis[0] if abi is None and supported_abis else abi or ""
    profile = DEVICE_PROFILE if device_profile is None else device_profile
    if level not in range(1, 1000):
        raise _impossible("apiLevel", level)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", chosen_abi, re.ASCII):
        raise _impossible("abi", chosen_abi)
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_ .()\"-]*", profile, re.ASCII) or len(profile) > _LONGEST_NAME:
        raise _impossible("deviceProfile", profile)
    tag = PLAIN_TAG if play_store is False else PLAY_STORE_TAG
    return Recipe(checked_name(name), f"system-images;android-{level};{tag};{chosen_abi}", profile)


def _impossible(path: str, value: object) -> EngineError:
    message = f"Invalid {path}: {str(value)[:_LONGEST_NAME]!r}"
    hint = f"Choose another value for {path}."
    return EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={"path": path})
