"""An SDK folder with the fake tools, an AVD folder, and what the tests want to know about their calls."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from clawperator.engine.emulators.avds import machine_abi

HERE = Path(__file__).parent
IMAGE = f"system-images;android-35;google_apis_playstore;{machine_abi()}"
_PLACES = {
    "emulator": "emulator/emulator",
    "sdkmanager": "cmdline-tools/latest/bin/sdkmanager",
    "avdmanager": "cmdline-tools/latest/bin/avdmanager",
}


class FakeSdk:
    """``env`` is what makes everything use it. ``end`` ends every process that the tools have left."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.root = folder / "sdk"
        self.home = folder / "home"
        self.avds = self.home / ".android" / "avd"
        self._faults = folder / "faults"
        self._calls = folder / "calls.jsonl"
        self.avds.mkdir(parents=True)
        for tool, place in _PLACES.items():
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            (self.root / place).symlink_to(HERE / tool)
        self.env = {
            **env,
            "PATH": os.pathsep.join((str(Path(sys.executable).resolve().parent), env.get("PATH", os.defpath))),
            "HOME": str(self.home),
            "ANDROID_HOME": str(self.root),
            "SDK_FAULTS_FILE": str(self._faults),
            "SDK_CALLS": str(self._calls),
            "SDK_PYTHON": sys.executable,
        }

    def tool(self, name: str) -> Path:
        return self.root / _PLACES[name]

    def fails(self, *words: str) -> None:
        """From now on exactly these things go wrong."""
        fresh = self._faults.with_suffix(".new")
        fresh.write_text(" ".join(words))
        fresh.replace(self._faults)  # tools read it at any time

    def install(self, image: str = IMAGE) -> None:
        folder = self.root.joinpath(*image.split(";"))
        folder.mkdir(parents=True)
        (folder / "source.properties").write_text("Pkg.Revision=8\n")

    def add_avd(self, name: str, *, abi: str = machine_abi(), level: int = 35, profile: str = "pixel_7") -> None:
        """A configured AVD; supported unless something else is asked for."""
        (self.avds / f"{name}.avd").mkdir()
        (self.avds / f"{name}.avd" / "config.ini").write_text(
            f"PlayStore.enabled=true\nabi.type={abi}\nhw.device.name={profile}\ntag.id=google_apis_playstore\n"
            f"image.sysdir.1=system-images/android-{level}/google_apis_playstore/{abi}/\n"
        )
        (self.avds / f"{name}.ini").write_text(
            f"path={self.avds / name}.avd\npath.rel=avd/{name}.avd\ntarget=android-{level}\n"
        )

    def records(self, tool: str = "") -> list[dict[str, Any]]:
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        return [record for record in map(json.loads, lines) if tool in ("", record["tool"])]

    def calls(self, tool: str) -> list[list[str]]:
        """The argument vectors that ``tool`` was called with, except for looking whether it is there."""
        return [record["arguments"] for record in self.records(tool) if record["arguments"] != ["--help"]]

    def alive(self) -> list[dict[str, Any]]:
        """What the tools have started and is still running."""
        return [record for record in self.records() if _lives(record["group"])]

    def end(self) -> None:
        for record in self.records():
            with suppress(ProcessLookupError, PermissionError):
                if record["group"] != os.getpgid(0):
                    os.killpg(record["group"], signal.SIGKILL)


def _lives(group: int) -> bool:
    """Whether a process of the group runs; one that has ended and is not taken leave of does not count."""
    for entry in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            stat = (Path("/proc") / entry / "stat").read_text() if entry.isdigit() else ""
            state, _, pgrp = stat.rpartition(") ")[2].split()[:3]
            if int(pgrp) == group and state not in "ZX":
                return True
    return False
