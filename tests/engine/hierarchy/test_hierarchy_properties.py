"""Properties that hold for any input: no surprise exceptions, round trips, and agreement with a naive matcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.explain import explain_tree
from clawperator.engine.hierarchy.match import FIELDS, Matcher, explain, find_all, find_first, matches
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, node_xml, nodes_xml, render_node
from clawperator.engine.hierarchy.tree import MAX_DEPTH, IncomingTree, UiNode, UiTree, build, parse
from tests.support import examples

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
SAMPLE = (DATA / "flutter-ide-missing-plugin-error.xml").read_bytes()
unhurried = settings(deadline=None)
unhurried_more = settings(deadline=None, max_examples=examples(300))
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
PIECES = (b"<node>", b"</node>", b"<hierarchy>", b"</hierarchy>", b"<!--", b"&#1;", b"&", b"'", b'"', b"\xff", b"\x00", b"\n",
          b"<!DOCTYPE a>", b"<?xml version='1.0'?>", b"]]>", b"<![CDATA[", b"\xed\xa0\xbd", b"&#55357;", b"<displays>")  # fmt: skip

names = st.sampled_from(
    ["Wi-Fi", "wi-fi", "Wi\u2011Fi", "OK", "ok", " OK", "K\u212a", "straße", "İstanbul", "", " ", "a\nb", "&amp;"]
)
values = names | st.text(max_size=12)
classes = st.sampled_from(["", "android.widget.Button", "android.widget.TextView", "androidx.recyclerview.widget.RecyclerView",
                           "android.widget.LinearLayout", "android.widget.ImageView", "a.TabLayout"])  # fmt: skip
corners = st.integers(-20, 120)
attributes = st.fixed_dictionaries(
    {"text": values, "content-desc": values, "class": classes},
    optional={
        "resource-id": st.sampled_from(["a:id/title", "b:id/title", "title", "a:id/tab"]),
        "clickable": st.booleans(),
        "bounds": st.tuples(corners, corners, corners, corners) | st.just((0, 0, 100, 100)),
    },
)
screens = st.recursive(
    attributes.map(render_node),
    lambda inner: st.builds(render_node, attributes, st.lists(inner, min_size=1, max_size=4)),
    max_leaves=12,
)
matchers = st.builds(
    Matcher.from_fields,
    st.fixed_dictionaries(
        {},
        optional={
            "resourceId": st.sampled_from(["a:id/title", "title", "x"]),
            "role": st.sampled_from(["button", "BUTTON", "text", "container", "tab", "android.widget.Button"]),
        }
        | dict.fromkeys(FIELDS[2:], values),
    ),
)


def legal(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def flatten(node: RenderNode) -> Iterator[RenderNode]:
    yield node
    for child in node.children:
        assert isinstance(child, RenderNode)
        yield from flatten(child)


def read_or_refuse(data: bytes | str, *, recover: bool) -> UiTree | None:
    try:
        tree = parse(data, recover=recover)
    except EngineError as error:
        if error.code in {ErrorCode.HIERARCHY_MALFORMED, ErrorCode.HIERARCHY_TOO_LARGE}:
            return None
        raise
    assert all(node.end > node.index for node in tree.nodes)
    assert recover or tree.complete
    assert tree.complete or tree.recovered
    return tree


@unhurried
@given(st.binary(max_size=200) | st.text(max_size=200), st.booleans())
def test_any_input_gives_a_tree_or_a_typed_error(data: bytes | str, recover: bool) -> None:
    read_or_refuse(data, recover=recover)


@unhurried
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=25).map(b"".join), st.booleans())
def test_markup_soup_gives_a_tree_or_a_typed_error(data: bytes, recover: bool) -> None:
    read_or_refuse(data, recover=recover)


@unhurried
@given(st.data(), st.booleans())
def test_damaged_captures_give_a_tree_or_a_typed_error(data: st.DataObject, recover: bool) -> None:
    position = data.draw(st.integers(0, len(SAMPLE)))
    removed = data.draw(st.integers(0, 40))
    added = data.draw(st.sampled_from(PIECES) | st.binary(max_size=4))
    read_or_refuse(SAMPLE[:position] + added + SAMPLE[position + removed :], recover=recover)


@unhurried
@given(st.integers(0, len(SAMPLE)))
def test_a_cut_tree_is_a_prefix_of_the_whole(position: int) -> None:
    whole = parse(SAMPLE)
    cut = read_or_refuse(SAMPLE[:position], recover=True)
    if cut is not None:
        count = len(cut.nodes)
        assert [node.attributes for node in cut.nodes] == [node.attributes for node in whole.nodes[:count]]
        assert [node.depth for node in cut.nodes] == [node.depth for node in whole.nodes[:count]]
        assert [node.end for node in cut.nodes] == [min(node.end, count) for node in whole.nodes[:count]]
        assert cut.complete == (SAMPLE[:position].rstrip().endswith(b"</hierarchy>"))


@unhurried
@given(screens, st.sampled_from([0, 1, 2, 3]))
def test_written_trees_are_read_back(screen: RenderNode, rotation: int) -> None:
    text = hierarchy_xml(screen, rotation)
    tree, built = parse(text), build([screen], rotation=rotation)
    nodes = list(flatten(screen))
    assert [node.text for node in tree.nodes] == [legal(str(node.attributes["text"])) for node in nodes]
    assert [len(node.children) for node in tree.nodes] == [len(node.children) for node in nodes]
    assert [node.attributes for node in tree.nodes] == [
        {name: legal(value) for name, value in node.attributes.items()} for node in built.nodes
    ]
    assert [node.bounds for node in tree.nodes] == [node.bounds for node in built.nodes]
    assert [node.role for node in tree.nodes] == [node.role for node in build(tree.roots).nodes]
    assert tree.rotation == rotation
    assert bool(tree.recovered) == bool(FORBIDDEN.search(text))
    assert parse(text.encode()).nodes[-1].attributes == tree.nodes[-1].attributes


@unhurried
@given(screens)
def test_writing_is_stable(screen: RenderNode) -> None:
    text = legal(hierarchy_xml(screen))
    tree = parse(text)
    assert hierarchy_xml(tree.roots[0]) == text
    assert nodes_xml(tree.roots, extras=True) == text
    assert parse(node_xml(tree.roots[0])).nodes[0].attributes == tree.nodes[0].attributes


# -- a matcher as plainly as it can be written


def naive_fold(character: str) -> str:
    if ord(character) > 0xFFFF:
        return character
    upper = character.upper() if len(character.upper()) == 1 else character.title()
    return (upper if len(upper) == 1 else character).lower()[0]


def naive_contains(part: str, text: str) -> bool:
    for start in range(len(text) - len(part) + 1):
        window = text[start : start + len(part)]
        if all(naive_fold(a) == naive_fold(b) for a, b in zip(part, window, strict=True)):
            return True
    return False


def naive_on_screen(tree: UiTree) -> Iterator[UiNode]:
    width = max(root.bounds.right for root in tree.roots)
    height = max(root.bounds.bottom for root in tree.roots)
    if width <= 0 or height <= 0:
        width = max(node.bounds.right for node in tree.nodes)
        height = max(node.bounds.bottom for node in tree.nodes)

    def walk(node: UiNode) -> Iterator[UiNode]:
        left, top, right, bottom = node.bounds
        shown = right > left and bottom > top and left < width and top < height and right > 0 and bottom > 0
        if node.parent is None or (shown and width > 0 and height > 0):
            yield node
            for child in node.children:
                yield from walk(child)

    for root in tree.roots:
        yield from walk(root)


def naive_label(node: UiNode) -> str:
    for value in (node.text, node.content_desc):
        if any(not character.isspace() or character == "\x85" for character in value):
            return value
    return ""


def naive_match(node: UiNode, fields: dict[str, str]) -> bool:
    label, description = naive_label(node), node.content_desc
    tests: dict[str, Callable[[str], bool]] = {
        "resourceId": lambda wanted: node.resource_id == wanted,
        "role": lambda wanted: node.role.lower() == wanted.lower(),
        "textEquals": lambda wanted: label == wanted,
        "textContains": lambda wanted: naive_contains(wanted, label),
        "contentDescEquals": lambda wanted: description == wanted,
        "contentDescContains": lambda wanted: description != "" and naive_contains(wanted, description),
    }
    return bool(fields) and all(tests[name](wanted) for name, wanted in fields.items())


@unhurried_more
@given(screens, matchers)
def test_matching_equals_the_naive_reference(screen: RenderNode, matcher: Matcher) -> None:
    tree = build([screen])
    expected = [node for node in naive_on_screen(tree) if naive_match(node, matcher.fields())]
    assert list(find_all(tree, matcher)) == expected
    assert find_first(tree, matcher) is (expected[0] if expected else None)
    anywhere = [node for node in tree.nodes if naive_match(node, matcher.fields())]
    assert list(find_all(tree, matcher, on_screen_only=False)) == anywhere
    assert [node for node in tree.nodes if matches(node, matcher)] == anywhere


@unhurried_more
@given(screens, matchers)
def test_explanations_agree_with_matching(screen: RenderNode, matcher: Matcher) -> None:
    tree = build([screen])
    found = list(find_all(tree, matcher))
    on_screen = list(naive_on_screen(tree))
    for node in tree.nodes:
        explanation = explain(tree, node, matcher)
        assert explanation.matches == (node in found)
        assert bool(explanation.off_screen) == (node not in on_screen)
        assert [field.field for field in explanation.fields] == list(matcher.fields())
        assert all(field.reason for field in explanation.fields)
    check_tree_explanation(tree, matcher, found, on_screen)


def check_tree_explanation(
    tree: UiTree, matcher: Matcher, found: Sequence[UiNode], on_screen: Sequence[UiNode]
) -> None:
    whole = explain_tree(tree, matcher, nearest=3)
    assert whole.matches == len(found)
    assert whole.off_screen_matches == len(find_all(tree, matcher, on_screen_only=False)) - len(found)
    assert bool(whole.verdict) == (not found)
    fields = matcher.fields()
    given_so_far: dict[str, str] = {}
    for count, (name, wanted) in zip(whole.counts, fields.items(), strict=True):
        given_so_far[name] = wanted
        assert count.alone == sum(naive_match(node, {name: wanted}) for node in on_screen)
        assert count.together == sum(naive_match(node, given_so_far) for node in on_screen)
    misses = [explain(tree, node, matcher) for node in tree.nodes if node not in found] if fields else []
    distances = sorted(miss.failing + bool(miss.off_screen) for miss in misses)
    assert [miss.failing + bool(miss.off_screen) for miss in whole.nearest] == distances[:3]
    assert not any(miss.matches for miss in whole.nearest)


def outcome(read: Callable[[], UiTree]) -> object:
    try:
        tree = read()
    except EngineError as exc:
        return exc.to_dict()
    nodes = [(node.path, node.end, node.tag, dict(node.attributes)) for node in tree.nodes]
    return nodes, tree.rotation, tree.recovered, tree.complete, tree.screen


def fed(parts: Iterator[bytes]) -> UiTree:
    incoming = IncomingTree()
    for part in parts:
        incoming.feed(part)
    return incoming.tree()


damage = st.lists(st.sampled_from(PIECES) | st.binary(max_size=8), max_size=12).map(b"".join)
documents = st.one_of(
    screens.map(lambda screen: hierarchy_xml(screen).encode("utf-8", "surrogatepass")),
    damage,
    st.tuples(st.integers(0, len(SAMPLE)), damage).map(lambda cut: SAMPLE[: cut[0]] + cut[1] + SAMPLE[cut[0] :]),
    st.sampled_from(range(4)).map(
        [b"<node>" * (MAX_DEPTH + 5), b"<a.b/>", SAMPLE, SAMPLE.replace(b" ", b"\n ")].__getitem__
    ),
)


@given(documents, st.lists(st.integers(0, 40_000), max_size=8))
@unhurried_more
def test_a_dump_that_is_parsed_while_it_comes_is_as_the_whole(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    parts = (data[a:b] for a, b in pairwise(places))
    assert outcome(lambda: fed(parts)) == outcome(lambda: parse(data))


def test_a_dump_beyond_a_limit_is_refused_before_its_end() -> None:
    incoming = IncomingTree()
    for _ in range(MAX_DEPTH):
        incoming.feed(b"<node>")
    with pytest.raises(EngineError, match="deeper than"):
        incoming.feed(b"<node>" * 9)
    with pytest.raises(EngineError) as doctype:
        IncomingTree().feed(b"<!DOCTYPE hierarchy [<!ENTITY a 'b'>]><hierarchy>")
    assert doctype.value.details["reason"] == "doctype"
