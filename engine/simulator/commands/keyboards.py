"""``ime`` and ``cmd input_method``: which keyboards there are, and which one is used."""

from __future__ import annotations

from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.process import Command, Process, command_of
from clawperator.engine.simulator.profile import KEYBOARDS

_ENABLED: Final = "enabled_input_methods"
_CURRENT: Final = "default_input_method"
_USER: Final = "for user #0"


async def input_method(process: Process, words: list[str]) -> int:
    """``cmd input_method ime …``."""
    if words[:1] != ["ime"]:
        raise CommandError(f"Unknown command: {words[0]}" if words else "InputMethodManagerService commands:", 255)
    return await _manage(process, words[1:])


async def _manage(process: Process, words: list[str]) -> int:
    """``list [-a] [-s]``, ``enable``, ``disable``, ``set`` and ``reset``."""
    words = [word for at, word in enumerate(words) if "--user" not in (word, *words[max(0, at - 1) : at])]
    verb, *rest = words or [""]
    secure = process.device.settings["secure"]
    enabled = [name for name in secure.get(_ENABLED, "").split(":") if name]
    if verb == "list":
        chosen = KEYBOARDS if "-a" in rest else [name for name in KEYBOARDS if name in enabled]
        await process.lines(chosen if "-s" in rest else [line for name in chosen for line in _described(name)])
    elif verb == "reset":
        secure[_ENABLED], secure[_CURRENT] = KEYBOARDS[0], KEYBOARDS[0]
        await process.out(f"Reset current and enabled IMEs {_USER}\n  Selected: {KEYBOARDS[0]}\n")
    elif verb in ("enable", "disable", "set"):
        name = next((word for word in rest if not word.startswith("-")), "")
        done = {"enable": "enabled", "disable": "disabled", "set": "selected"}[verb]
        if name not in KEYBOARDS or (verb == "set" and name not in enabled):
            raise CommandError(f"Unknown input method {name} cannot be {done} {_USER}", 255)
        await process.out(f"{_change(secure, enabled, verb, name)} {_USER}\n")
    else:
        raise CommandError(f"Unknown command: {verb}", 255)
    return 0


def _change(secure: dict[str, str], enabled: list[str], verb: str, name: str) -> str:
    if verb == "set":
        secure[_CURRENT] = name
        return f"Input method {name} selected"
    state = "enabled" if verb == "enable" else "disabled"
    if (name in enabled) == (verb == "enable"):
        return f"Input method {name}: already {state}"
    left = [*enabled, name] if verb == "enable" else [each for each in enabled if each != name]
    secure[_ENABLED] = ":".join(left)
    if verb == "disable" and secure.get(_CURRENT) == name:
        secure[_CURRENT] = left[0] if left else ""
    return f"Input method {name}: now {state}"


def _described(name: str) -> list[str]:
    package, _, service = name.partition("/")
    return [
        f"{name}:",
        f"  mId={name} mSettingsActivityName=null mIsVrOnly=false mSupportsSwitchingToNextInputMethod=false",
        "  mIsDefaultResId=0x7f050004",
        "  Service:",
        f"    ServiceInfo: name={service} packageName={package} enabled=true exported=true",
    ]


KEYBOARD: Final[dict[str, Command]] = {"ime": command_of(_manage)}
