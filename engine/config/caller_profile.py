"""The profile that a skill's script has from its caller: what the script chooses itself may narrow it, and never widens it.

It is handed down as data, so that no other policy file, profile, settings or folder changes it. It stands in the script's own
environment and in that of the session that the script leads: a script that clears a variable is still bound. What leaves the
session on purpose, or asks adb itself, is beyond this product.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache

from clawperator.engine.config.policy import CALLER_PROFILE, Profile, Rules
from clawperator.engine.errors import EngineError, ErrorCode

_MOST_BYTES = 4 * 1024 * 1024
_TABLES = ("capabilities", "packages", "actions")


def packed(profile: Profile) -> str:
    """``profile`` for the environment of a script."""
    return json.dumps(profile.to_dict(), separators=(",", ":"))


def handed_down(env: Mapping[str, str]) -> Iterator[Profile]:
    """The profiles that bind this process, each once. Raises ``EngineError`` (USAGE) for one that cannot be read."""
    for text in dict.fromkeys((env.get(CALLER_PROFILE, ""), _of_session(os.getsid(0)))):
        if text:
            yield _unpacked(text)


@lru_cache(maxsize=16)
def narrowed(profile: Profile, outer: Profile) -> Profile:
    """``profile`` as far as ``outer`` allows it, too."""
    return profile._replace(
        name=profile.name if profile.name == outer.name else f"{profile.name} within {outer.name}",
        capabilities=_both(profile.capabilities, outer.capabilities),
        packages=_both(profile.packages, outer.packages),
        actions=_both(profile.actions, outer.actions),
        read_only=profile.read_only or outer.read_only,
        handed_down=True,
    )


def _both(one: Rules, other: Rules) -> Rules:
    """What both allow: of two patterns of which one covers the other, the narrower."""
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


@lru_cache(maxsize=1)
def _of_session(leader: int) -> str:
    """The variable in the environment with which the leader of our session began; empty where there is no ``/proc``."""
    try:
        with open(f"/proc/{leader}/environ", "rb") as stream:
            entries = stream.read(_MOST_BYTES).split(b"\0")
    except OSError:
        return ""
    mark = f"{CALLER_PROFILE}=".encode()
    return next((entry[len(mark) :].decode(errors="replace") for entry in entries if entry.startswith(mark)), "")
