"""Translation of the engine's hints, which name commands and flags, for faces that have neither."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MATCH_COMMAND = "clawperator match"
"""Key of a face's words for the command that explains a selector, with all its flags."""
_MATCH = rf"{MATCH_COMMAND} --selector .*"
_OTHER_COMMANDS = r"`(?:clawperator|adb) [^`]*`"
"""Not translated: a person runs them on the engine's computer, and their flags are no arguments of a call."""


def commands(calls: Mapping[str, str]) -> dict[str, str]:
    """Return the words for commands of the command line: ``calls`` are a face's own by command."""
    words: dict[str, str] = {}
    for command, call in calls.items():
        quoted = f"`clawperator {command}`"
        words |= {quoted: call, f"Run {quoted}": f"Call {call}", f"run {quoted}": f"call {call}"}
    return words


def worded(document: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return ``document`` with the messages and hints of its errors, outcome, executions and rows in a face's ``words``."""
    changed = dict(document)
    if isinstance(error := changed.get("error"), Mapping):
        changed["error"] = _error(error, words)
    if isinstance(outcome := changed.get("outcome"), Mapping):
        changed["outcome"] = worded(outcome, words)
    for name in ("executions", "rows"):
        if name in changed:
            changed[name] = [worded(each, words) for each in changed[name]]
    if "errors" in changed:
        changed["errors"] = [_error(error, words) for error in changed["errors"]]
    return changed


def _error(error: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    texts = {key: error[key] for key in ("message", "hint") if isinstance(error.get(key), str)}
    return {**error, **{key: _in_words(text, words) for key, text in texts.items()}}


def _in_words(text: str, words: Mapping[str, str]) -> str:
    """Return ``text`` with the keys of ``words`` replaced, longest first, except within other commands."""

    def replacement(found: re.Match[str]) -> str:
        return words.get(MATCH_COMMAND if found["match"] else found[0], found[0])

    return _pattern(tuple(words)).sub(replacement, text)


@lru_cache(maxsize=4)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted((re.escape(each) for each in known if each != MATCH_COMMAND), key=len, reverse=True)
    return re.compile("|".join([f"(?P<match>{_MATCH})", *longest_first, _OTHER_COMMANDS]), re.DOTALL)
