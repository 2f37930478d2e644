from __future__ import annotations

import ast
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.locators import Locators
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import FIELDS, Matcher, field_value
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.engine.hierarchy.tree import parse
from tests.app.console.support import settings_screen, view

etree = pytest.importorskip("lxml.etree")

LETTERS = st.sampled_from([*"aAbBkK \"'[]\\.*", "\u212a", "\u0130", "ß", "\u2011", "\u00a0", "\n", "\U0001f600"])
TEXTS = st.text(LETTERS, max_size=4)
IDS = st.sampled_from(["", "android:id/title", "com.x:id/a'b"])


@st.composite
def dumps(draw: st.DrawFn) -> str:
    views = [
        view(
            "TextView",
            draw(st.sampled_from(["[0,0][9,9]", "[0,0][0,0]", "[2,2][4,4]"])),
            text=text,
            content_desc=desc,
            resource_id=name,
        )
        for text, desc, name in draw(st.lists(st.tuples(TEXTS, TEXTS, IDS), min_size=1, max_size=6))
    ]
    return hierarchy_xml(view("FrameLayout", "[0,0][9,9]", *views))


def located(xml: str, expression: str) -> list[int]:
    """Evaluate an XPath. The Operator writes a line break of a value as it is, which other readers of XML take for a space."""
    kept = re.sub('"[^"]*"', lambda value: value[0].replace("\n", "&#10;"), xml)
    document = etree.fromstring(kept.encode())
    every = list(document.iter("node"))
    return [every.index(each) for each in document.xpath(expression)]


def by_selector(tree: UiTree, expression: str) -> list[UiNode]:
    """Evaluate a UiSelector by its documentation."""
    found = list(tree.on_screen)
    calls = re.findall(r'\.(\w+)\(("(?:[^"\\]|\\.)*"|\d+)\)', expression)
    assert "new UiSelector()" + "".join(f".{name}({value})" for name, value in calls) == expression
    for name, written in calls:
        value = ast.literal_eval(written)
        attribute = {"r": "resource-id", "t": "text", "d": "content-desc", "i": ""}[name[0]]
        if name == "instance":
            return found[value : value + 1]
        if name.endswith("Matches"):
            pattern = re.compile(value.replace("(?siu)", "(?si)"))
            found = [node for node in found if pattern.fullmatch(node.attributes.get(attribute, ""))]
        else:
            found = [node for node in found if node.attributes.get(attribute, "") == value]
    return found


def test_a_line_break_is_not_a_space() -> None:
    words = ("\n", " ")
    xml = hierarchy_xml(
        view("FrameLayout", "[0,0][9,9]", *(view("TextView", "[0,0][9,9]", content_desc=text) for text in words))
    )
    matcher = Matcher(content_desc_equals=" ")
    (found,) = find_all(tree := parse(xml), matcher)
    assert located(xml, Locators(tree, found, matcher).xpath()) == [found.index]


@given(dumps(), st.data())
def test_locators_find_exactly_the_node_that_the_device_takes(xml: str, data: st.DataObject) -> None:
    tree = parse(xml)
    node = data.draw(st.sampled_from(list(tree.on_screen)))
    names = [name for name in FIELDS if name != "role" and field_value(node, name)]
    assume(names)
    values = {}
    for name in data.draw(st.sets(st.sampled_from(names), min_size=1)):
        value = field_value(node, name)
        if name.endswith("Contains"):
            start = data.draw(st.integers(0, len(value) - 1))
            value = value[start : data.draw(st.integers(start + 1, len(value)))].swapcase()
        values[name] = value
    matcher = Matcher.from_fields(values)
    found = find_all(tree, matcher)
    assume(found)
    forms = Locators(tree, found[0], matcher)
    assert by_selector(tree, forms.ui_selector()) == [found[0]]
    assert forms.ui_selector().isprintable()
    if all(value.isprintable() for value in values.values()):
        assert located(xml, forms.xpath()) == [found[0].index]
    else:
        with pytest.raises(ValueError, match="no escapes"):
            forms.xpath()


def test_what_they_look_like() -> None:
    tree = parse(settings_screen())
    wifi = Locators(tree, (node := find_all(tree, Matcher(text_equals="Wi‑Fi"))[0]), Matcher(text_equals="Wi‑Fi"))
    assert wifi.ui_selector() == 'new UiSelector().text("Wi‑Fi")'
    assert wifi.xpath() == '//*[@text="Wi‑Fi"]'
    title = Matcher(resource_id="android:id/title", text_contains="BLUE")
    both = Locators(tree, find_all(tree, title)[0], title)
    assert both.ui_selector() == (
        'new UiSelector().resourceId("android:id/title").textMatches("(?siu).*BLUE.*")'
    )  # fmt: skip
    assert both.xpath() == (
        '//*[@resource-id="android:id/title" and contains(translate(@text,"BLUE","blue"),"blue")]'
    )  # fmt: skip
    with pytest.raises(ValueError, match="roles"):
        Locators(tree, node, Matcher(role="text"))
