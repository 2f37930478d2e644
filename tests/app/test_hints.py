"""Hints of the engine in a face's own words."""

from __future__ import annotations

import re

import pytest

from clawperator.app.hints import MATCH_COMMAND, worded
from clawperator.app.mcp.answers import refusal
from clawperator.app.serve.answers import in_route_words
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.blind import REMEDIES

WORDS = {
    MATCH_COMMAND: "call `match`.",
    "--vars": "`variables`",
    "--artifact": "`artifact`",
    "with --artifact": "with the argument `artifact`",
}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("Look. Find near matches now: clawperator match --selector '{\"textEquals\":\"a\\n`b`\"}' --explain --device-id x", "Look. Find near matches now: call `match`."),
        ("Give it with --vars, or run it with --artifact.", "Give it with `variables`, or run it with the argument `artifact`."),
        ("Run `clawperator skills run a --vars {}` there.", "Run `clawperator skills run a --vars {}` there."),
        ("Take a snapshot.", "Take a snapshot."),
    ],
)  # fmt: skip
def test_words(hint: str, expected: str) -> None:
    error = {"code": "X", "hint": hint, "message": hint}
    assert worded({"error": error}, WORDS)["error"] == {"code": "X", "hint": expected, "message": expected}
    report = worded({"executions": [{"outcome": {"error": error}}], "errors": [error]}, WORDS)
    assert report["executions"][0]["outcome"]["error"]["hint"] == report["errors"][0]["hint"] == expected


FOR_PEOPLE = re.compile(
    r"`(?:clawperator (?:config|grant-device|help|operator|policy|record|skills (?:install|sync|update|validate))|adb )[^`]*`|clawperator doctor --fix"
)
"""Commands without a route or tool: a person runs them on the server's computer."""
AT_THE_START = re.compile(r"(?:[Ss]tart (?:the server|it)|Ask for a server) [^.]*")
OF_THE_COMMAND_LINE = {"UNKNOWN_COMMAND", "MISSING_ARGUMENT", "NOT_IMPLEMENTED", "NOT_CONFIRMED", "USAGE", "HISTORY_UNAVAILABLE", "FLEET_HOST_TAKEN", "OPERATOR_VERIFY_FAILED", "OPERATOR_APK_NOT_FOUND", "COMPILE_VARS_REQUIRED"}  # fmt: skip
"""Codes that no route or tool returns with their default hint."""
OTHERS = [
    "Retry in 812 ms, or wait for it with --wait 4000.",
    "Pass --receiver-package com.clawperator.operator, or install com.other.",
    "Install the Operator app: `clawperator operator setup --apk <path>`; or pass --backend stock, which needs no app on the device.",
    "Run `clawperator device info`.",
    "Run `clawperator help input`.",
    "match and inspect ui --view interactive show the paths of nodes.",
    "Run `clawperator skills install`, pass --registry <file>, or use --registry builtin for the built-in skills.",
    "Add one under `scripts`, or run one of its artifacts with --artifact.",
    "Choose another path, or pass --overwrite to replace the file.",
]
"""Hints of the engine that are no code's default."""
NO_TOOL = {"EMULATOR_NOT_FOUND", "EMULATOR_NOT_RUNNING", "EMULATOR_BOOT_TIMEOUT", "HISTORY_NOT_FOUND"}


def test_what_could_see_what_a_tree_does_not_is_in_words_of_all_faces() -> None:
    assert not [remedy for remedy in REMEDIES.values() if re.search(r"--[a-z]|observe ", remedy)]


@pytest.mark.parametrize("face", ["http", "mcp"])
def test_no_hint_of_a_server_names_a_flag_or_a_command_that_it_has_itself(face: str) -> None:
    unwanted = OF_THE_COMMAND_LINE | (NO_TOOL if face == "mcp" else set())
    errors = [EngineError(code, "m") for code in ErrorCode if code not in unwanted]
    errors += [EngineError(ErrorCode.UNKNOWN, "m", hint=hint) for hint in OTHERS]
    for error in errors:
        document = in_route_words(error.to_answer()) if face == "http" else refusal(error).document
        hint = document["error"]["hint"]
        rest = AT_THE_START.sub("", FOR_PEOPLE.sub("", hint))
        assert not re.search(r"--[a-z]|clawperator (?!:)[a-z]", rest), f"{error.code}: {hint}"
