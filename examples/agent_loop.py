"""An agent's loop over the command line: look, decide, act, verify. A model would replace ``decide``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

GOAL = ("Network & internet", "Internet")
"""Labels to follow, from the home page of Settings."""


def clawperator(*words: str) -> dict[str, Any]:
    """The one JSON document that a command prints; a failed one ends the program with its hint."""
    done = subprocess.run(["clawperator", *words], stdout=subprocess.PIPE, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    if done.returncode != 0:
        error = answer.get("outcome", {}).get("error") or answer
        sys.exit(f"{error['code']}: {error['message']}\n{error['hint']}")
    return answer


def look() -> list[dict[str, Any]]:
    """What can be acted on or read, each node with a selector."""
    answer = clawperator("inspect", "ui", "--view", "interactive")
    nodes: list[dict[str, Any]] = answer["envelope"]["stepResults"][0]["data"]["view"]["nodes"]
    return nodes


def decide(nodes: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    """The selector of the node with that label."""
    for node in nodes:
        if wanted in (node.get("text"), node.get("desc")) and node.get("selector"):
            selector: dict[str, Any] = node["selector"]
            return selector
    sys.exit(f"There is no {wanted!r} on the screen")


def main() -> None:
    clawperator("action", "open-app", "--app", "com.android.settings")
    for wanted in GOAL:
        selector = decide(look(), wanted)
        answer = clawperator("action", "click", "--selector", json.dumps(selector))
        print(wanted, answer["outcome"]["status"])
    print([node["text"] for node in look() if "text" in node])


if __name__ == "__main__":
    main()
