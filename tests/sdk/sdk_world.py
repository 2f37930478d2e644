"""What the three tools share: the SDK folder, the AVD folder, the faults that were asked for, and the record of calls.

Standard library only, so that a tool starts in a few milliseconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence


def fault(name: str) -> bool:
    """Whether this goes wrong: a word of ``SDK_FAULTS``, or of the file that ``SDK_FAULTS_FILE`` names."""
    words = os.environ.get("SDK_FAULTS", "").split()
    path = os.environ.get("SDK_FAULTS_FILE")
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            words += stream.read().split()
    return name in words


def record(tool: str, arguments: Sequence[str]) -> None:
    """One line of JSON per call in the file ``SDK_CALLS``."""
    if path := os.environ.get("SDK_CALLS"):
        line = json.dumps({"tool": tool, "arguments": list(arguments), "pid": os.getpid(), "group": os.getpgid(0)})
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def maybe_hang(where: str) -> None:
    """``<where>_hangs``: it never ends by itself. A child hangs with it, as the Java behind the real scripts does."""
    if fault(f"{where}_hangs"):
        os.fork()
        record(f"{where} hangs", [])
        while True:
            time.sleep(60)


# -- the SDK


def sdk_root() -> str:
    return os.environ.get("ANDROID_HOME") or os.environ["ANDROID_SDK_ROOT"]


def installed_images() -> list[str]:
    return sorted(_images(os.path.join(sdk_root(), "system-images")))


def _images(root: str) -> Iterator[str]:
    for folder, _, files in os.walk(root):
        if "source.properties" in files:
            yield ";".join(["system-images", *os.path.relpath(folder, root).split(os.sep)])


def install_image(image: str) -> None:
    folder = os.path.join(sdk_root(), *image.split(";"))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "source.properties"), "w", encoding="utf-8") as stream:
        stream.write("Pkg.Desc=System Image\nPkg.Revision=8\n")


def licences_accepted() -> bool:
    return os.path.exists(_licence())


def accept_licences() -> None:
    os.makedirs(os.path.dirname(_licence()), exist_ok=True)
    with open(_licence(), "w", encoding="utf-8") as stream:
        stream.write("\n24333f8a63b6825ea9c5514f83c2829b004d1fee")


def _licence() -> str:
    return os.path.join(sdk_root(), "licenses", "android-sdk-license")


# -- the AVDs


def avd_home() -> str:
    """By the real tools' own rules: avdmanager follows ``XDG_CONFIG_HOME``, the emulator does not."""
    if home := os.environ.get("ANDROID_AVD_HOME"):
        return home
    if user := os.environ.get("ANDROID_USER_HOME"):
        return os.path.join(user, "avd")
    if (config := os.environ.get("XDG_CONFIG_HOME")) and os.path.basename(sys.argv[0]) == "avdmanager":
        return os.path.join(config, ".android", "avd")
    return os.path.join(os.environ["HOME"], ".android", "avd")


def avd_names() -> list[str]:
    home = avd_home()
    files = os.listdir(home) if os.path.isdir(home) else []
    return sorted(name.removesuffix(".ini") for name in files if name.endswith(".ini"))


def avd_exists(name: str) -> bool:
    return os.path.exists(os.path.join(avd_home(), f"{name}.ini"))


def write_avd(name: str, image: str, profile: str) -> None:
    """The two files, as avdmanager writes them."""
    _, platform, tag, abi = image.split(";")
    folder = os.path.join(avd_home(), f"{name}.avd")
    os.makedirs(folder, exist_ok=True)
    config = {
        "PlayStore.enabled": "true" if "playstore" in tag else "false",
        "abi.type": abi,
        "avd.ini.encoding": "UTF-8",
        "hw.cpu.arch": "arm64" if abi.startswith("arm64") else abi,
        "hw.device.manufacturer": "Google",
        "hw.device.name": profile,
        "hw.lcd.density": "420",
        "hw.lcd.height": "2400",
        "hw.lcd.width": "1080",
        "image.sysdir.1": f"{image.replace(';', '/')}/",
        "tag.display": "Google Play" if "playstore" in tag else "Google APIs",
        "tag.id": tag,
    }
    _write(os.path.join(folder, "config.ini"), config)
    pointer = {
        "avd.ini.encoding": "UTF-8",
        "path": folder,
        "path.rel": f"avd/{name}.avd",
        "target": platform,
    }
    _write(os.path.join(avd_home(), f"{name}.ini"), pointer)


def _write(path: str, values: dict[str, str]) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("".join(f"{key}={value}\n" for key, value in values.items()))
