"""An agent's loop over the command line: act, look at the screen in the same answer, decide. A model would replace ``decide``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

SETTINGS = "com.android.settings"
GOAL = ("Network & internet", "Internet")
"""Labels to follow, from the home page of Settings."""
REF = re.compile(r"\be\d+\b")


def clawperator(*words: str) -> dict[str, Any]:
    """Return the answer of a command, with the settled screen after it; a failed one ends the program with its hint."""
    line = ["clawperator", *words, "--then", "interactive", "--brief"]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    if done.returncode != 0:
        error = answer.get("outcome", {}).get("error") or answer
        sys.exit(f"{error['code']}: {error['message']}\n{error['hint']}")
    return answer


def decide(screen: dict[str, Any], wanted: str) -> str:
    """Return the reference of the node with that text."""
    for line in screen["lines"].splitlines():
        words, _, text = line.partition(": ")
        if text == wanted and (ref := REF.search(words)):
            return f"{ref[0]}@{screen['tree']}"
    sys.exit(f"There is no {wanted!r} on the screen")


def main() -> None:
    clawperator("close", SETTINGS)  # it may be on another page
    answer = clawperator("open", SETTINGS)
    for wanted in GOAL:
        answer = clawperator("click", "--ref", decide(answer["then"], wanted))
        print(wanted, answer["outcome"]["status"], "" if answer["then"]["changed"] else "but nothing changed")
    print(answer["then"]["lines"])


if __name__ == "__main__":
    main()
