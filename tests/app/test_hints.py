"""Hints of the engine in a face's own words."""

from __future__ import annotations

import pytest

from clawperator.app.hints import MATCH_COMMAND, worded

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
