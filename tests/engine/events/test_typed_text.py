"""Typed text is taken out of whatever is said of an execution, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any
from xml.sax.saxutils import quoteattr

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.events.typed_text import (
    TypedText,
    TypedTexts,
    TypedTrees,
    raw_without_typed,
    text_without_typed,
)
from clawperator.engine.events.types import CommandProgress, EnvelopeSeen, LogBatch, SnapshotSeen
from clawperator.engine.logcat.entry import LogEntry

TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=2, max_size=40)
    .filter(str.isprintable)
    .map(lambda text: f"~{text}~")
)
"""Texts that no name or word of an answer contains."""


def payload(text: str) -> dict[str, Any]:
    matcher = {"resourceId": "com.example:id/field"}
    typing = {"id": "a0", "type": "enter_text", "params": {"matcher": matcher, "text": text}}
    waiting = {"id": "a1", "type": "wait_for_node", "params": {"matcher": {"textEquals": text}}}
    return {"commandId": "c", "taskId": "t", "source": "s", "actions": [typing, waiting]}


def tree(text: str) -> str:
    shown = quoteattr(text, {'"': "&quot;"}).strip("'\"")
    return f'<hierarchy><node class="android.widget.EditText" text="{shown}" resource-id="com.example:id/field" /></hierarchy>'


def envelope(text: str) -> dict[str, Any]:
    steps = [
        {"id": "a0", "actionType": "enter_text", "success": True, "data": {"text": text, "submit": "false"}},
        {"id": "a1", "actionType": "snapshot_ui", "success": True, "data": {"text": tree(text)}},
    ]
    return {"commandId": "c", "status": "success", "stepResults": steps, "error": None}


@given(TEXTS)
def test_nothing_said_of_an_execution_holds_its_text(text: str) -> None:
    typed = TypedText.of(payload(text))
    shown = typed.payload(payload(text))
    assert shown["actions"][0]["params"] == {"matcher": {"resourceId": "com.example:id/field"}, "text": ""}
    result = typed.result({"ok": True, "envelope": envelope(text), "warnings": [{"message": f"Wrote {text} and read"}]})
    assert result["envelope"]["stepResults"][0]["data"]["text"] == ""
    assert result["envelope"]["status"] == "success"
    assert 'resource-id="com.example:id/field"' in result["envelope"]["stepResults"][1]["data"]["text"]
    for each in (shown, result):
        assert text not in json.dumps(each, ensure_ascii=False)
        assert json.dumps(text)[1:-1] not in json.dumps(each)


@given(TEXTS)
def test_what_another_process_types_is_known_from_its_result(text: str) -> None:
    texts = TypedTexts()
    trees = TypedTrees(texts)
    begun = CommandProgress(kind="stage-start", command_id="c", fields={"id": "enterText(x)"}, text="")
    seen = SnapshotSeen(command_id="c", step_id="a1", xml=tree(text))
    raw = json.dumps(envelope(text))
    ended = EnvelopeSeen(command_id="c", envelope=envelope(text), raw=raw)
    published = []
    for event in (begun, seen, ended):
        published += list(trees.take(texts.without(event)))
    assert [type(each).__name__ for each in published] == ["CommandProgress", "SnapshotSeen", "EnvelopeSeen"]
    for each in published:
        facts = [getattr(each, name, "") for name in ("xml", "raw", "envelope", "text", "fields")]
        assert text not in json.dumps(facts, ensure_ascii=False)
        assert json.dumps(text)[1:-1] not in json.dumps(facts)


@given(TEXTS)
def test_log_lines_of_a_result_hold_no_text(text: str) -> None:
    lines = (
        f"[Clawperator-Result] {json.dumps(envelope(text))}",
        f"[UiActionEngine] step_success id=a0 type=t2$b data={{text={text}, submit=false}}",
    )
    entries = tuple(LogEntry.create(line, pid=1, tid=1) for line in lines)
    shown = TypedTexts().without(LogBatch(entries=entries))
    assert isinstance(shown, LogBatch)
    first, second = (entry.message for entry in shown.entries)
    assert json.loads(first.partition("] ")[2])["stepResults"][0]["data"]["text"] == ""
    assert second == "[UiActionEngine] step_success id=a0 type=t2$b"


@given(TEXTS)
def test_a_result_that_ends_before_the_typing_holds_no_text_in_its_tree(text: str) -> None:
    for written in (text, f"{text}\n💥"):
        typed = TypedText.of(payload(written))
        steps = [{"actionType": "snapshot_ui", "data": {"text": tree(written)}}]
        raw = json.dumps({"commandId": "c", "stepResults": steps})
        (step,) = json.loads(typed.raw(raw))["stepResults"]
        assert step["data"]["text"] == tree("[typed text]")
        assert json.dumps(tree(written))[1:-1] in raw
        assert json.dumps(tree(written).partition('text="')[2].partition('"')[0])[1:-1] not in typed.raw(raw[:-1])
    assert (
        TypedText.of(payload("💥" * 4)).text('<node text="&#128165;&#128165;&#128165;&#128165;" />')
        == '<node text="[typed text]" />'
    )


@given(TEXTS)
def test_what_stands_beside_a_tree_holds_no_text(text: str) -> None:
    typed = TypedText.of(payload(text))
    story = f"No match for {text} in {tree(text)}: {text}"
    hidden = "[typed text]"
    assert typed.text(story) == f"No match for {hidden} in {tree(hidden)}: {hidden}"
    assert typed.text(json.dumps(tree(text))) == json.dumps(tree(hidden))


@given(st.text(max_size=3))
def test_a_short_text_changes_no_names(text: str) -> None:
    typed = TypedText.of(payload(text))
    result = typed.result({"ok": True, "envelope": envelope(text), "outcome": {"status": "succeeded", "code": text}})
    assert [step["id"] for step in result["envelope"]["stepResults"]] == ["a0", "a1"]
    assert result["outcome"]["code"] == text
    assert not text.strip() or result["envelope"]["stepResults"][0]["data"]["text"] == ""


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda of: st.lists(of) | st.dictionaries(st.text(max_size=5), of),
    )
)
def test_any_payload_can_be_asked(given_payload: Any) -> None:
    TypedText.of(given_payload).payload(given_payload)
    TypedText.of({"actions": given_payload}).payload({"actions": given_payload})
    assert isinstance(text_without_typed(json.dumps(given_payload)), str)
    assert isinstance(raw_without_typed(json.dumps(given_payload)), str)
