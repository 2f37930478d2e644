"""`ancestor` and `descendant` of a matcher: against a reading of the rule, word by word, on random trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.choice import ChoiceError, candidates, finder
from clawperator.engine.hierarchy.explain import explain_tree
from clawperator.engine.hierarchy.match import find_all, matches
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.queries import matches as listed
from clawperator.engine.hierarchy.tree import parse
from tests.support import table

SHOWN, HIDDEN, EMPTY = "[0,0][100,100]", "[2000,0][2100,100]", "[5,5][5,5]"


@st.composite
def documents(draw: st.DrawFn, depth: int = 4) -> str:
    text, name = draw(st.sampled_from(["", "a", "b", "ab"])), draw(st.sampled_from(["", "x:id/r", "x:id/s"]))
    bounds = draw(st.sampled_from([SHOWN, SHOWN, SHOWN, HIDDEN, EMPTY]))
    inside = "".join(draw(st.lists(documents(depth - 1), max_size=3))) if depth else ""
    about = f'text="{text}" resource-id="{name}" class="android.view.View" bounds="{bounds}"'
    return f"<node {about}>{inside}</node>"


TREES = documents().map(
    lambda inside: parse(f'<hierarchy rotation="0"><node bounds="[0,0][1000,1000]">{inside}</node></hierarchy>')
)
SCALARS = st.fixed_dictionaries(
    {},
    optional={
        "textEquals": st.sampled_from(["a", "b", "ab"]),
        "textContains": st.sampled_from(["a", "B"]),
        "resourceId": st.sampled_from(["x:id/r", "x:id/s"]),
    },
)
OTHERS = SCALARS.filter(bool)
MATCHERS = st.builds(
    lambda own, around: {**own, **around},
    SCALARS,
    st.fixed_dictionaries({}, optional={"ancestor": OTHERS, "descendant": OTHERS}),
).filter(bool)


def holds(tree: UiTree, node: UiNode, fields: dict[str, Any], *, on_screen_only: bool) -> bool:
    def finds(each: UiNode, name: str) -> bool:
        return matches(each, Matcher.from_fields(fields[name]))

    own = {name: value for name, value in fields.items() if isinstance(value, str)}
    if own and not matches(node, Matcher.from_fields(own)):
        return False
    if "ancestor" in fields and not any(finds(each, "ancestor") for each in node.ancestors):
        return False
    inside = [each for each in tree.nodes if node in list(each.ancestors)]
    seen = [each for each in inside if tree.is_on_screen(each) or not on_screen_only]
    return "descendant" not in fields or any(finds(each, "descendant") for each in seen)


@given(TREES, MATCHERS, st.booleans())
def test_relations_are_those_of_the_whole_captured_tree(
    tree: UiTree, fields: dict[str, Any], on_screen_only: bool
) -> None:
    candidates = [node for node in tree.nodes if tree.is_on_screen(node) or not on_screen_only]
    wanted = [node for node in candidates if holds(tree, node, fields, on_screen_only=on_screen_only)]
    assert list(find_all(tree, Matcher.from_fields(fields), on_screen_only=on_screen_only)) == wanted


@given(TREES, MATCHERS)
def test_an_explanation_counts_what_is_found(tree: UiTree, fields: dict[str, Any]) -> None:
    matcher = Matcher.from_fields(fields)
    explained, found = explain_tree(tree, matcher, nearest=50), find_all(tree, matcher)
    assert explained.matches == len(found)
    assert [count.field for count in explained.counts] == list(matcher.to_dict())
    assert not {near.node.index for near in explained.nearest if near.matches} - {node.index for node in found}
    for near in explained.nearest:
        assert [field.field for field in near.fields] == list(matcher.to_dict())
        assert not near.matches
    assert Matcher.from_fields(matcher.to_dict()) == matcher


TREE = parse(f"""<hierarchy rotation="0"><node bounds="[0,0][1000,1000]">
  <node resource-id="x:id/row" bounds="{SHOWN}"><node text="Wi-Fi" bounds="{SHOWN}"/><node text="On" bounds="{SHOWN}"/></node>
  <node resource-id="x:id/row" bounds="{SHOWN}"><node text="Sound" bounds="{SHOWN}"/><node text="On" bounds="{HIDDEN}"/></node>
</node></hierarchy>""")


@table(
    ("fields", "count"),
    [
        ({"resourceId": "x:id/row", "descendant": {"textEquals": "Wi-Fi"}}, 1),
        ({"resourceId": "x:id/row", "descendant": {"textEquals": "On"}}, 1),  # the other one is off the screen
        ({"textEquals": "Sound", "ancestor": {"resourceId": "x:id/row"}}, 1),
        ({"ancestor": {"resourceId": "x:id/row"}}, 3),
        ({"resourceId": "x:id/row", "ancestor": {"resourceId": "x:id/row"}}, 0),  # a node is not above itself
        ({"textEquals": "On", "descendant": {"textEquals": "On"}}, 0),
    ],
)
def test_what_a_relation_finds(fields: dict[str, Any], count: int) -> None:
    answer = listed(TREE, Matcher.from_fields(fields), limit=10, explain=True)
    assert (answer["selector"], answer["count"]) == (fields, count)
    if not count:
        relation = next(iter(fields.keys() & {"ancestor", "descendant"}))
        reasons = [field for near in answer["explain"]["nearest"] for field in near["fields"]]
        words = "above it" if relation == "ancestor" else "on screen inside it"
        assert {"field": relation, "ok": False, "got": "", "reason": f"no node {words} matches"}.items() <= {
            **next(field for field in reasons if field["field"] == relation and not field["ok"])
        }.items()


ROW, ON = {"resourceId": "x:id/row"}, {"textContains": "o"}


@table(
    ("limits", "count", "taken", "refused"),
    [
        ({}, 2, "0/0/1", None),
        ({"container": ROW}, 1, "0/0/1", None),  # strict descendants of the first match
        ({"container": {**ROW, "descendant": {"textEquals": "Sound"}}}, 1, "0/1/0", None),
        ({"container": {"resourceId": "x:id/none"}}, 0, None, ("CONTAINER_NOT_FOUND", "container")),
        ({"container": ROW, "strict": True}, 1, None, ("CONTAINER_AMBIGUOUS", "container")),
        ({"strict": True}, 2, None, ("NODE_AMBIGUOUS", "matcher")),
        ({"nth": 1}, 2, "0/1/0", None),
        ({"nth": 2}, 2, None, ("NODE_NOT_FOUND", "nth")),
        ({"within": {"textEquals": "Sound"}, "strict": True}, 0, None, None),
        ({"within": {**ROW, "descendant": {"textEquals": "Sound"}}}, 1, "0/1/0", None),
        ({"within": ROW}, 0, None, ("CONTAINER_AMBIGUOUS", "within")),
    ],
)
def test_what_limits_a_matcher(
    limits: dict[str, Any], count: int, taken: str | None, refused: tuple[str, str] | None
) -> None:
    matchers: dict[str, Any] = {
        name: Matcher.from_fields(each) if isinstance(each, dict) else each for name, each in limits.items()
    }
    answer = listed(TREE, Matcher.from_fields(ON), limit=10, **matchers)
    assert [match["path"] for match in answer["matches"] if match.get("taken")] == ([taken] if taken else [])
    assert answer["count"] == count
    said = answer.get("refused")
    assert (said and (said["code"], said["parameter"])) == refused
    if not count:
        assert answer["explain"].get("parameter") == (refused[1] if refused else None)
        assert answer["explain"]["verdict"] or refused == ("CONTAINER_AMBIGUOUS", "within")


def test_why_a_node_is_not_in_the_container() -> None:
    answer = listed(TREE, Matcher.from_fields({"textEquals": "Sound"}), container=Matcher.from_fields(ROW), limit=10)
    assert answer["explain"]["verdict"] == "container removes the last 1"
    (field,) = (each for each in answer["explain"]["nearest"][0]["fields"] if not each["ok"])
    assert (field["field"], field["reason"]) == ("container", "it is not inside the first node on screen that matches")


@given(TREES, MATCHERS, MATCHERS, OTHERS)
def test_a_container_is_a_condition_like_those_of_an_action(
    tree: UiTree, fields: dict[str, Any], container: dict[str, Any], text: dict[str, str]
) -> None:
    """``Matcher.container`` finds what an action takes (``choice``), and a flat form is read back."""
    whole = replace(Matcher.from_fields(fields), container=Matcher.from_fields(container))
    assert Matcher.from_flat(whole.flat()) == whole
    try:
        wanted = candidates(tree, finder(fields), container=finder(container))
    except ChoiceError:
        wanted = ()
    assert [*find_all(tree, whole)] == [*wanted]
    assert explain_tree(tree, whole).matches == len(wanted)
    listed(tree, Matcher.from_fields(fields), container=whole.container, within=Matcher.from_fields(text), limit=3)
