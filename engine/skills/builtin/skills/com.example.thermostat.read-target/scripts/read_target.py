#!/usr/bin/env python3
"""Reads the temperature that a room's thermostat aims at, and the one it measures.

    read_target.py [device-id] --room <name>

One command of ``clawperator`` per step: easy to follow, and easy to try out by hand in the same words.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from typing import Any

APP = "com.example.thermostat"


class Clawperator:
    """The command line for one device; every call returns the data of its step, or ends the script."""

    def __init__(self, device: str | None) -> None:
        named = os.environ.get("CLAWPERATOR_BIN") or "clawperator"
        words = [named] if os.path.exists(named) else shlex.split(named)
        self._program = ["node", *words] if words[0].endswith(".js") else words
        self._device = ["--device", device] if device else []

    def __call__(self, *words: str) -> dict[str, Any]:
        command = [*self._program, *words, *self._device]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 -- no shell
        answer = json.loads(done.stdout)
        if "envelope" not in answer:
            sys.exit(f"{words[0]}: {answer['code']}: {answer['message']}")
        envelope = answer["envelope"]
        for step in envelope["stepResults"]:
            if not step["success"]:
                sys.exit(f"{words[0]}: {step['data'].get('message', step['data'].get('error'))}")
        if envelope["status"] != "success":
            sys.exit(f"{words[0]}: {envelope['error']}")
        data: dict[str, Any] = envelope["stepResults"][-1]["data"]
        return data


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the target temperature of a room.")
    parser.add_argument("device", nargs="?", help="serial of the device")
    parser.add_argument("--room", required=True, help="its name, as the app shows it")
    options = parser.parse_args()

    clawperator = Clawperator(options.device)
    clawperator("close", APP)
    clawperator("open", APP)
    clawperator("wait", "--id", f"{APP}:id/tile_label", f"--text={options.room}")
    clawperator("click", "--id", f"{APP}:id/tile_label", f"--text={options.room}")
    clawperator("wait", "--id", f"{APP}:id/room_page")
    text = clawperator("read", "--id", f"{APP}:id/target_temperature")["text"]

    target = float(text.removesuffix("°C"))
    result = {"room": options.room, "target": target, "unit": "°C"}
    print(f"RESULT|room={options.room}|target={target}")
    print(f"[Clawperator-Skill-Result] {json.dumps(result, ensure_ascii=False)}")
    print(f"✅ {options.room} is set to {text}")


if __name__ == "__main__":
    main()
