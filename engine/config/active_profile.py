"""The profile in effect: of the policy file, bounded in the script of a skill by that of the script's caller.

A script's environment names its caller's profile as data, so no other policy file, profile or folder changes it. It is in
the script's environment and in that of the session that the script leads: a script that clears a variable is still bound. What
leaves the session on purpose, or calls adb itself, is beyond this product.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.config.environment import CALLER_PROFILE, session_profile
from clawperator.engine.config.policy import BUILT_IN, HARMLESS, Policy, Profile, Rules, Subject
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_TABLES = ("capabilities", "packages", "actions")


class Place(NamedTuple):
    """The path of the policy file; ``named``: it was chosen explicitly, so it must exist."""

    path: str
    named: bool


def policy_place(settings: Settings) -> Place:
    if settings.policy_path:
        return Place(settings.policy_path, named=True)
    from clawperator.engine.config.environment import policy_path

    return Place(policy_path(), named=False)


def load_profile(settings: Settings, name: str = "") -> Profile:
    """Return the profile ``name``, or the active one, of the policy file; ``DEFAULT`` without a file.

    A file is read again only after a change. In a skill's script the profile is bounded by its caller's. Raises
    ``EngineError``: POLICY_INVALID with file and line, FILE_NOT_READABLE (also for a missing file that was chosen), USAGE for
    an unknown name.
    """
    profile = load_policy(settings).profile(name or settings.policy_profile)
    for outer in handed_down(settings.environment):
        profile = narrowed(profile, outer)
    return profile


def load_policy(settings: Settings) -> Policy:
    """Return all profiles, otherwise as ``load_profile``."""
    place = policy_place(settings)
    try:
        os.lstat(place.path)  # a broken link is an error: a policy was intended
    except (FileNotFoundError, NotADirectoryError) as exc:
        if not place.named:
            return BUILT_IN
        raise _unusable(place.path, "it does not exist") from exc
    except (OSError, ValueError) as exc:
        raise _unusable(place.path, getattr(exc, "strerror", None) or str(exc)) from exc
    return _read(place.path, _version(place.path))


def _version(path: str) -> tuple[int, ...]:
    """Return a value that changes with the file."""
    try:
        now = os.stat(path)
    except OSError as exc:
        raise _unusable(path, exc.strerror or str(exc)) from exc
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


@lru_cache(maxsize=4)
def _read(path: str, version: tuple[int, ...]) -> Policy:  # noqa: ARG001 -- the version is what the cache goes by
    from clawperator.engine.config.policy_file import load

    return load(path)


def _unusable(path: str, reason: str) -> EngineError:
    return EngineError(
        ErrorCode.FILE_NOT_READABLE,
        f"Policy file {path} cannot be used: {reason}",
        hint="Everything is denied until the policy can be read.",
        details={"policy": path, "problems": [{"line": 0, "key": "", "message": reason, "hint": ""}]},
    )


def permit(settings: Settings, capability: str, what: str) -> None:
    """Check an operation that is not an execution against the policy; ``what`` completes "it cannot …".

    Raises ``EngineError`` READ_ONLY for what changes a device or this computer in a read-only session, CAPABILITY_DENIED.
    """
    profile = load_profile(settings)
    if capability not in HARMLESS:
        if settings.read_only:
            message = f"This session is read-only: it cannot {what}"
            raise EngineError(ErrorCode.READ_ONLY, message, details={"capability": capability})
        if profile.read_only:
            raise Subject(profile, "", "", "", {"capability": capability}).read_only(f"it cannot {what}")
    if not profile.allows_capability(capability):
        raise Subject(profile, "", "", "", {"operation": what}).denied(
            ErrorCode.CAPABILITY_DENIED, "capability", capability, "capability"
        )


# -- the profile of a script's caller


def packed(profile: Profile) -> str:
    """Return ``profile`` for the environment of a script."""
    return json.dumps(profile.to_dict(), separators=(",", ":"))


def handed_down(env: Mapping[str, str]) -> Iterator[Profile]:
    """Yield the callers' profiles that bind this process. Raises ``EngineError`` (USAGE) for an unreadable one."""
    for text in dict.fromkeys((env.get(CALLER_PROFILE, ""), session_profile())):
        if text:
            yield _unpacked(text)


@lru_cache(maxsize=16)
def narrowed(profile: Profile, outer: Profile) -> Profile:
    """Return ``profile``, bounded by ``outer``."""
    return profile._replace(
        name=profile.name if profile.name == outer.name else f"{profile.name} within {outer.name}",
        capabilities=_both(profile.capabilities, outer.capabilities),
        packages=_both(profile.packages, outer.packages),
        actions=_both(profile.actions, outer.actions),
        read_only=profile.read_only or outer.read_only,
        handed_down=True,
    )


def _both(one: Rules, other: Rules) -> Rules:
    """Return what both allow: of two overlapping patterns, the narrower."""
    allow = [name for name in one.allow if Rules(other.allow).allows(name)]
    allow += [name for name in other.allow if Rules(one.allow).allows(name)]
    return Rules(tuple(dict.fromkeys(allow)), tuple(dict.fromkeys((*one.deny, *other.deny))))


@lru_cache(maxsize=4)
def _unpacked(text: str) -> Profile:
    try:
        data = json.loads(text)
        capabilities, packages, actions = (
            Rules(tuple(map(str, data[table]["allow"])), tuple(map(str, data[table]["deny"]))) for table in _TABLES
        )
        return Profile(str(data["name"]), capabilities, packages, actions, data["read_only"] is not False)
    except (ValueError, TypeError, KeyError, RecursionError) as exc:
        raise EngineError(
            ErrorCode.USAGE,
            f"The caller's profile in {CALLER_PROFILE} cannot be read",
            hint="It is set for the scripts of skills; nothing is allowed while it is wrong.",
            details={"policy": CALLER_PROFILE},
        ) from exc
