"""What is masked and what is kept: the words of the device and of people never stand where safe logs are wanted."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.diagnostics.safe_logs import (
    mask,
    mask_document,
    mask_envelope,
    mask_line,
    mask_payload,
    mask_type,
    mask_warning,
)
from clawperator.engine.logcat.progress import read_progress
from tests.support import table

SECRET = "Zq7secret"
TEXTS = st.text(max_size=40)


@given(TEXTS)
def test_letters_and_digits_become_stars_and_nothing_else_does(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(new == ("*" if old.isalnum() else old) for old, new in zip(text, masked, strict=True))
    assert mask(masked) == masked


def test_a_payload_keeps_what_is_done_and_not_to_which_texts() -> None:
    payload = {
        "commandId": "cmd-1",
        "timeoutMs": 5_000,
        "actions": [
            {"id": "a", "type": "enter_text", "params": {"text": SECRET, "matcher": {"resourceId": "app:id/x"}}},
            {"id": "b", "type": "click", "params": {"matcher": {"textContains": "Hi 5", "role": "button"}}},
            {"id": "c", "type": "open_uri", "params": {"uri": f"https://x.y/?q={SECRET}"}},
            {"id": "d", "type": "open_app", "params": {"applicationId": "com.example"}},
            {"id": "e", "type": "click", "params": {"coordinate": {"x": 1, "y": 2}}},
        ],
    }
    masked = mask_payload(payload)
    typed, clicked, opened, started, pressed = (action["params"] for action in masked["actions"])
    assert typed == {"text": "*********", "matcher": {"resourceId": "app:id/x"}}
    assert clicked["matcher"] == {"textContains": "** *", "role": "button"}
    assert opened["uri"] == "*****://*.*/?*=*********"
    assert (started, pressed) == ({"applicationId": "com.example"}, {"coordinate": {"x": 1, "y": 2}})
    assert (masked["commandId"], masked["timeoutMs"]) == ("cmd-1", 5_000)


@table(
    "params",
    [
        {"key": SECRET},
        {"direction": SECRET},
        {"clickType": [SECRET]},
        {"validator": {"key": SECRET}},
        {SECRET: 1},
        {"matcher": {SECRET: SECRET}},
        {SECRET: {SECRET: [{SECRET: SECRET}]}},
        {"password": SECRET},
    ],
    ids=str,
)
def test_nothing_of_a_refused_payload_is_kept_but_words_of_the_contract(params: dict[str, Any]) -> None:
    refused = {"commandId": "c", "mode": SECRET, SECRET: 1, "actions": [{"id": "a", "type": SECRET, "params": params}]}
    masked = mask_payload(refused)
    assert SECRET not in json.dumps(masked)
    assert masked["commandId"] == "c"
    assert mask_type(SECRET) == mask(SECRET)


@pytest.mark.parametrize(
    "word", [("key", "Back"), ("direction", " down "), ("type", "tap"), ("clickType", "longClick")]
)
def test_words_of_the_contract_are_kept_as_they_were_given(word: tuple[str, str]) -> None:
    assert mask_payload({"actions": [dict([word])]}) == {"actions": [dict([word])]}


def test_a_warning_does_not_repeat_an_unknown_key_in_its_path() -> None:
    warning = {"code": "W", "path": f"actions[0].params.{SECRET}", "message": f"{SECRET} is ignored"}
    assert mask_warning(warning) == {
        "code": "W",
        "path": "actions[0].params.*********",
        "message": "********* ** *******",
    }


def test_an_envelope_keeps_how_it_went_and_not_what_it_read() -> None:
    steps = [
        {"id": "a", "actionType": "read_text", "success": True, "data": {"text": "Ann 4", "validator": "none"}},
        {"id": "b", "actionType": "snapshot_ui", "success": True, "data": {"text": "<hierarchy/>", "tree": "d1", "view": {}}},
        {"id": "c", "actionType": "scroll", "success": True, "data": {"scroll_outcome": "moved", "direction": "down"}},
        {
            "id": "d",
            "actionType": "read_key_value_pair",
            "success": False,
            "data": {"label": "Tel", "value": "030", "raw_text": "30", "error": "VALUE_NODE_NOT_FOUND", "message": "At Ann's"},
        },
    ]  # fmt: skip
    envelope = {"commandId": "c", "status": "failed", "stepResults": steps, "error": "No node Ann", "errorCode": "X"}
    masked = mask_envelope(envelope)
    read, seen, scrolled, reported = (step["data"] for step in masked["stepResults"])
    assert read == {"text": "*** *", "validator": "none"}
    assert seen == {}
    assert scrolled == {"scroll_outcome": "moved", "direction": "down"}
    assert reported == {
        "label": "***",
        "value": "***",
        "raw_text": "**",
        "error": "VALUE_NODE_NOT_FOUND",
        "message": "** ***'*",
    }
    assert (masked["error"], masked["errorCode"], masked["status"]) == ("** **** ***", "X", "failed")
    assert [step["success"] for step in masked["stepResults"]] == [True, True, True, False]


@pytest.mark.parametrize("odd", [{"stepResults": None}, {"stepResults": ["x1"]}, {"stepResults": [{"data": "x1"}]}, {}])
def test_an_envelope_may_be_anything(odd: dict[str, Any]) -> None:
    assert "x1" not in json.dumps(mask_envelope(odd))


VALUES = st.recursive(
    st.just(SECRET) | st.none() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "value", "x", "é"]), inner, max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["text", "matcher", "unheard_of", SECRET + " key"]), VALUES, max_size=4))
def test_a_text_under_a_key_that_no_one_knows_is_masked(document: dict[str, Any]) -> None:
    masked = json.dumps(mask_document(document))
    assert SECRET not in masked
    assert json.dumps(mask_document(mask_document(document))) == masked


COMMAND = "[Clawperator-Command]"
IDS = "commandId=cmd-1 taskId=task.1"


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        (
            f"{COMMAND} start {IDS} source=me timeoutMs=5000 actionCount=2",
            f"{COMMAND} start {IDS} source=me timeoutMs=5000 actionCount=2",
        ),
        (
            f"{COMMAND} stage-start {IDS} id=click(NodeMatcher(textEquals=Ann)) label=Click Ann",
            f"{COMMAND} stage-start {IDS} id=click(***********(**********=***)) label=***** ***",
        ),
        (
            f"{COMMAND} stage-retry {IDS} id=openUri:https://x.y attempt=2/3 delayMs=500",
            f"{COMMAND} stage-retry {IDS} id=openUri:*****://*.* attempt=2/3 delayMs=500",
        ),
        (
            "[UiActionEngine] step_success id=read type=m$r data={text=Ann, error=X}",
            "[UiActionEngine] step_success id=read type=m$r data={****=***, *****=*}",
        ),
        (
            f"{COMMAND} failure {IDS} reason=No node Ann\n\tat a.b(c)",
            f"{COMMAND} failure {IDS} reason=** **** ***\n\t** *.*(*)",
        ),
        (f"{COMMAND} stage-log {IDS} message=Hi", f"{COMMAND} stage-log {IDS} message=**"),
        ("[TaskScope] Logging UI tree of Ann", "[TaskScope] ******* ** **** ** ***"),
        ("[TaskRunnerManager] Task completed successfully in 5ms with value: Ann", "[TaskRunnerManager] **** ********* ************ ** *** **** *****: ***"),
        ('[Clawperator-Event] {"text":"Ann"}', '[Clawperator-Event] {"****":"***"}'),
        ("Ann", "***"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_live_line(line: str, masked: str) -> None:
    assert mask_line(line) == masked
    before, after = read_progress(line), read_progress(masked)
    if before is not None and line.startswith((COMMAND, "[UiActionEngine]")):
        assert after is not None
        assert (after[0], after[1].keys()) == (before[0], before[1].keys()), "read as the same line"


WORDS = st.sampled_from(
    [SECRET, "commandId=", "taskId=", "id=", "data=", "reason=", "source=", "timeoutMs=", "actionCount=5", "message=", " ", "\n", "x"]
)  # fmt: skip
BEGINS = st.sampled_from(
    [f"{COMMAND} start ", f"{COMMAND} stage-start ", f"{COMMAND} failure ", f"{COMMAND} stage-log ", "[UiActionEngine] step_start "]
)  # fmt: skip


@given(BEGINS, st.lists(WORDS, max_size=12))
def test_nothing_of_a_line_is_kept_but_names_and_numbers(begin: str, words: list[str]) -> None:
    """Whatever a text on the screen looks like: as a name it is one word, and every other place of it is masked."""
    masked = mask_line(begin + " ".join(words))
    kept = re.findall(rf"\S*{SECRET}\S*", masked)
    names = re.compile(r"(?:commandId|taskId|source|timeoutMs|actionCount|attempt|delayMs|id|type)=")
    assert all(names.match(word) for word in kept), masked


@given(TEXTS, TEXTS)
def test_a_line_of_any_text_has_a_mask(begin: str, text: str) -> None:
    for line in (
        text,
        f"{COMMAND} {text}",
        f"{COMMAND} stage-start {begin} id={text}",
        f"[UiActionEngine] step_start {text}",
    ):
        assert isinstance(mask_line(line), str)


@pytest.mark.parametrize("folder", ["/home/ada lovelace/pictures", r"C:\Users\ada"])
def test_the_folder_of_a_picture_may_name_a_person(folder: str) -> None:
    path = folder + ("/" if "/" in folder else "\\") + "shot-1.png"
    step = {"id": "s", "actionType": "take_screenshot", "success": True, "data": {"path": path}}
    kept = mask_envelope({"commandId": "ada-1", "status": "success", "stepResults": [step]})
    assert kept["commandId"] == "ada-1", "ids are the caller's names for it, and what answers are found by"
    for shown in (
        kept["stepResults"][0]["data"]["path"],
        mask_payload({"actions": [{"params": {"path": path}}]})["actions"][0]["params"]["path"],
    ):
        assert shown.endswith("shot-1.png")
        assert "ada" not in shown
