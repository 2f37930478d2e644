from __future__ import annotations

from typing import Any

from clawperator.engine.errors import ErrorCode
from clawperator.engine.executions.headline import action_words, headline, result_words, short_source
from tests.support import table


def action(kind: str, name: str = "a", **params: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "params": params}


@table(
    ("given", "words"),
    [
        (action("click", matcher={"role": "button", "textEquals": "Wi‑Fi"}), 'click "Wi‑Fi"'),
        (action("wait_for_node", matcher={"resourceId": "com.x:id/title"}), "wait_for_node #title"),
        (action("scroll_and_click", target={"role": "switch"}), "scroll_and_click role switch"),
        (action("open_app", applicationId="com.x"), "open_app com.x"),
        (action("press_key", key="back"), "press_key back"),
        (action("sleep", durationMs=2_500), "sleep 2.5 s"),
        (action("enter_text", matcher={"textEquals": "Password"}, text="secret"), 'enter_text "Password"'),
        ({"type": "snapshot_ui"}, "snapshot_ui"),
        ({"type": "click", "params": "none"}, "click"),
    ],
)
def test_an_action_has_its_target_but_never_what_is_typed(given: dict[str, Any], words: str) -> None:
    assert action_words(given) == words


def test_the_action_that_failed_stands_for_the_run() -> None:
    payload = {"actions": [action("open_app", "a", applicationId="com.x"), action("press_key", "b", key="home")]}
    assert headline(payload, None) == "open_app com.x, press_key home"
    assert headline(payload, {"failedStep": {"id": "b"}}) == "press_key home"
    assert headline(None, None, [("a", "click")]) == "click"
    assert len(headline({"actions": [action("open_uri", uri="x" * 9_000)]}, None)) == 200


def test_every_code_has_words_without_underscores() -> None:
    assert result_words("NODE_NOT_FOUND") == "not found"
    assert result_words("") == ""
    assert all(result_words(code) and "_" not in result_words(code) for code in ErrorCode)
    assert short_source("clawperator-console") == "console"
