"""Texts of nodes that their app marks as sensitive: hidden in trees, parts of them, results and node summaries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.serialise import nodes_xml, render_node
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.text.sensitive import HIDDEN, hide_in_data, hide_in_raw, hide_sensitive, sensitive_texts

SECRET = '4711 & "Pin" <x>'


def tree(**attributes: Any) -> str:
    marked = {
        "text": SECRET,
        "content-desc": "",
        "resource-id": "a:id/pin",
        "accessibility-data-sensitive": True,
        **attributes,
    }
    children = [
        render_node(marked),
        render_node({"text": "open", "accessibility-data-sensitive": False}),
        render_node({"text": "old"}),
    ]
    return nodes_xml([render_node({"class": "android.widget.FrameLayout"}, children)], extras=True)


def test_of_a_sensitive_node_the_texts_are_hidden_and_nothing_else() -> None:
    before, after = (
        parse(tree(**{"content-desc": "pin", "hint": "digits"})),
        parse(hide_sensitive(tree(**{"content-desc": "pin", "hint": "digits"}))),
    )
    for old, new in zip(before.nodes, after.nodes, strict=True):
        hidden = {"text": HIDDEN, "content-desc": HIDDEN, "hint": HIDDEN} if old.sensitive else {}
        assert new.attributes == {**old.attributes, **hidden}
    assert [node.sensitive for node in after.nodes] == [False, True, False, False]


def test_empty_texts_stay_empty_and_trees_without_marks_stay_the_same() -> None:
    assert hide_sensitive(tree(text="")) == tree(text="")
    plain = nodes_xml([render_node({"text": SECRET})])
    assert hide_sensitive(plain) is plain


@given(st.text(max_size=40), st.integers(0, 400))
def test_a_tree_that_breaks_off_hides_them_as_well(text: str, cut: int) -> None:
    text = f"secret-{''.join(char for char in text if char.isprintable())}"
    whole = tree(text=text)
    mark = nodes_xml([render_node({"accessibility-data-sensitive": False})], extras=True)
    assert "secret-" not in hide_sensitive(mark + whole[: max(0, len(whole) - cut)])
    assert list(sensitive_texts(whole)) == [text]


def result(text: str) -> dict[str, Any]:
    summary = json.dumps({"label": "pin 4711", "role": "text", "accessibilityDataSensitive": True})
    steps = [
        {
            "id": "s",
            "actionType": "snapshot_ui",
            "data": {"actual_format": "hierarchy_xml", "text": text, "target": summary},
        }
    ]
    return {"commandId": "c", "stepResults": steps}


def test_results_are_read_whatever_their_escapes() -> None:
    hidden = hide_in_data(result(tree()))
    data = hidden["stepResults"][0]["data"]
    assert json.loads(data["target"]) == {"label": HIDDEN, "role": "text", "accessibilityDataSensitive": True}
    assert "4711" not in str(hidden)
    assert hidden["commandId"] == "c"
    written = json.dumps(result(tree()))
    for raw in (written, written.replace("<", "\\u003c").replace("=", "\\u003d")):
        assert "4711" not in (shown := hide_in_raw(f"[Clawperator-Result] {raw}"))
        assert json.loads(shown.partition("] ")[2]) == hidden


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.7, 0.9, 0.99])
def test_of_a_result_that_cannot_be_read_the_beginning_stays(kept: float) -> None:
    written = "[Clawperator-Result] " + json.dumps(result(tree()))
    shown = hide_in_raw(written[: int(len(written) * kept)])
    assert "4711" not in shown
    assert shown.startswith('[Clawperator-Result] {"commandId": "c"')


def test_a_result_without_trees_stays_as_it_was_written() -> None:
    raw = '[Clawperator-Result] {"commandId":  "c", "error": "Conversion'
    assert hide_in_raw(raw) is raw
