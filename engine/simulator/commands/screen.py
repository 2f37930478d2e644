"""Screen and input: ``wm``, ``input``, ``uiautomator``, ``screencap``, ``ime``."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.dumpsys import SECOND_DISPLAY
from clawperator.engine.simulator.process import Command, Process, command_of, encode
from clawperator.engine.simulator.profile import KEYBOARDS
from clawperator.engine.simulator.redirections import open_sink
from clawperator.engine.simulator.render import SRGB, blank_png, render_png, render_rgba
from clawperator.engine.simulator.uiautomator import uiautomator_process

DUMP_PATH: Final = "/sdcard/window_dump.xml"
SOURCES: Final = frozenset(
    {
        "touchscreen",
        "touchpad",
        "touchnavigation",
        "mouse",
        "stylus",
        "keyboard",
        "dpad",
        "gamepad",
        "joystick",
        "trackball",
    }
)
INPUT_USAGE: Final = """Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]

The commands and default sources are:
      text <string> (Default: keyboard)
      keyevent [--longpress] <key code number or name> ... (Default: keyboard)
      tap <x> <y> (Default: touchscreen)
      swipe <x1> <y1> <x2> <y2> [duration(ms)] (Default: touchscreen)
      draganddrop <x1> <y1> <x2> <y2> [duration(ms)] (Default: touchscreen)"""


async def window_manager(process: Process, words: list[str]) -> int:
    """``wm size`` and ``wm density``. The simulated display has one size."""
    if words == ["dismiss-keyguard"]:  # a locked one asks for its secret, which no command can enter
        return 0
    metrics = process.device.ui.metrics
    texts = {"size": f"{metrics.width}x{metrics.height}", "density": str(metrics.density)}
    verb, *rest = words or [""]
    if verb not in texts:
        raise CommandError(f"Unknown command: {verb}", 255)
    if rest and rest != ["reset"]:
        raise CommandError(f"Error: this display has no other {verb}", 255)
    if not rest:
        await process.out(f"Physical {verb}: {texts[verb]}\n")
    return 0


# -- input


async def input_service(process: Process, words: list[str]) -> int:
    words = list(words)
    if words and words[0] in SOURCES:
        words.pop(0)
    other = words[:1] == ["-d"] and words[1:2] != ["0"]
    if words[:1] == ["-d"]:
        del words[:2]
    verb, *rest = words or [""]
    handler = _GESTURES.get(verb)
    if handler is None:
        raise CommandError(f"Error: Unknown command: {verb}\n{INPUT_USAGE}" if verb else INPUT_USAGE, 255)
    device = process.device
    start_ms = device.scenario.latency_ms.input
    await device.clock.sleep(((40 if device.sdk >= 31 else 700) if start_ms is None else start_ms) / 1000)
    if other:  # nothing there takes input
        return 0
    ended: list[CommandError] = []

    async def inject() -> None:
        try:
            await handler(device, rest)
        except CommandError as exc:
            ended.append(exc)

    await asyncio.wait([device.spawn(inject())])  # the system injects, also when the shell is closed meanwhile
    if ended:
        raise ended[0]
    return 0


async def _tap(device: SimulatedDevice, words: list[str]) -> None:
    x, y = _numbers(words, 2, "tap")
    device.input.tap(x, y)


async def _swipe(device: SimulatedDevice, words: list[str]) -> None:
    numbers = _numbers(words, 5 if len(words) > 4 else 4, "swipe")
    x1, y1, x2, y2 = numbers[:4]
    await device.input.swipe(x1, y1, x2, y2, numbers[4] if len(numbers) > 4 and numbers[4] >= 0 else 300)


async def _key(device: SimulatedDevice, words: list[str]) -> None:
    """``--longpress`` is ignored (android-facts 8c)."""
    keys = [word for word in words if not word.startswith("--")]
    if not keys:
        raise _bad_arguments("keyevent")
    for key in keys:
        await device.clock.sleep(device.scenario.latency_ms.key / 1000)
        device.input.key(key)


async def _combination(device: SimulatedDevice, words: list[str]) -> None:
    """``keycombination``, from Android 12 on; the modifiers count from 13 on. The one that apps react to selects the whole text."""
    keys = [word.upper().removeprefix("KEYCODE_") for word in words]
    if device.sdk < 31 or len(keys) < 2:
        raise CommandError(f"Error: Unknown command: keycombination\n{INPUT_USAGE}", 255)
    if keys in (["CTRL_LEFT", "A"], ["113", "29"]):
        device.ui.select_all() if device.sdk >= 33 else device.input.type_text("a")


async def _text(device: SimulatedDevice, words: list[str]) -> None:
    if len(words) != 1:
        raise _bad_arguments("text")
    each = device.scenario.latency_ms.key / 1000
    text = words[0].replace("%s", " ") if each else words[0]
    for part in text if each else (text,):
        await device.clock.sleep(each)
        device.input.type_text(part)


def _numbers(words: list[str], count: int, verb: str) -> list[int]:
    if len(words) != count:
        raise _bad_arguments(verb)
    try:
        return [round(float(word)) for word in words]
    except (ValueError, OverflowError) as exc:
        text = f'java.lang.NumberFormatException: For input string: "{" ".join(words)}"'
        raise CommandError(f"\nException occurred while executing '{verb}':\n{text}", 255) from exc


def _bad_arguments(verb: str) -> CommandError:
    text = f"java.lang.IllegalArgumentException: Invalid arguments for command: {verb}"
    return CommandError(f"\nException occurred while executing '{verb}':\n{text}", 255)


_GESTURES: Final[dict[str, Callable[[SimulatedDevice, list[str]], Awaitable[None]]]] = {
    "draganddrop": _swipe,
    "keycombination": _combination,
    "keyevent": _key,
    "swipe": _swipe,
    "tap": _tap,
    "text": _text,
}


# -- dumps and screenshots


async def uiautomator(process: Process) -> int:
    """``uiautomator dump [FILE]``: always exit 0, and "dumped to" even where writing failed (android-facts 7a to 7c, 7f)."""
    options, words = process.options("", ("compressed", "verbose", "windows"))
    if words[:1] != ["dump"]:
        verb = words[0] if words else ""
        raise CommandError(f"Unknown command: {verb}\nUsage: uiautomator <subcommand> [options]", 1)
    target = words[1] if len(words) > 1 else DUMP_PATH
    device = process.device
    if (fault := device.scenario.of_device("uiautomator_output")) is not None:
        await process.out(fault.before)
    xml = await uiautomator_process(device, process.shell.pid, compressed="compressed" in options)
    try:
        await open_sink(process.shell, process.path(target)).write(encode(xml))
    except BrokenPipeError:
        raise
    except OSError as exc:
        log = device.log
        pid = process.shell.pid
        text = f"Could not write {target}: {exc.strerror}"
        log.write(pid=pid, tid=pid, uid=process.uid, level="E", tag="AccessibilityNodeInfoDumper", message=text)
    await process.out(f"UI hierchary dumped to: {target}\n")
    return 0


_SEVERAL: Final = (
    "[Warning] Multiple displays were found, but no display id was specified! Defaulting to the first display found, however this "
    "default is not guaranteed to be consistent across captures. A display id should be specified.\n"
    "A display ID can be specified with the [-d display-id] option.\n"
    'See "dumpsys SurfaceFlinger --display-id" for valid display IDs.'
)


async def screencap(process: Process) -> int:
    """``screencap [-p] [FILE]``: PNG with ``-p`` or a file called ``.png``, else raw RGBA behind a short header."""
    options, words = process.options("phd:a")
    await process.device.clock.sleep(process.device.scenario.latency_ms.screencap / 1000)
    wants_png = "p" in options or (bool(words) and words[0].endswith(".png"))
    folds = process.device.scenario.of_device("foldable") is not None
    if folds and "d" not in options:
        await process.error(_SEVERAL)
    second = process.device.unseen == "other_display" or folds
    if second and options.get("d", SECOND_DISPLAY if folds else "") == SECOND_DISPLAY:
        data = blank_png(1_920, 1_080)
    else:
        data = render_png(process.device.ui) if wants_png else _raw_pixels(process.device)
    if words:
        await open_sink(process.shell, process.path(words[0])).write(data)
    else:
        await process.stdout.write(data)
    return 0


def _raw_pixels(device: SimulatedDevice) -> bytes:
    """Width, height, pixel format (RGBA) and, from API 26 on, colour space; then the pixels."""
    size, pixels = render_rgba(device.ui)
    head = struct.pack("<4I", *size, 1, SRGB)
    return head[: 16 if device.sdk >= 26 else 12] + pixels


SCREEN: Final[dict[str, Command]] = {
    "input": command_of(input_service),
    "screencap": screencap,
    "uiautomator": uiautomator,
    "wm": command_of(window_manager),
}


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
