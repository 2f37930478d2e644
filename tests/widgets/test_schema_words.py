"""What is offered comes from the contract: its keys, types and words, and what is taken makes JSON that it accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import ALIASES
from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS
from clawperator.engine.json_schema import json_schema
from clawperator.widgets.text.json_place import place_at
from clawperator.widgets.text.json_text import read
from clawperator.widgets.text.schema_words import SchemaCompletion, words_at


def seen(field: str, typed: str, others: Mapping[str, str]) -> Iterable[tuple[str, int]]:
    if field == "textEquals":
        return [("Wi‑Fi", 1), *(("filtered", 3) for _ in others)]
    return [("com.android.settings:id/title", 9)] if field == "resourceId" else []


def offered(text: str) -> list[SchemaCompletion]:
    """What is offered at the bar."""
    offset = text.index("|")
    return words_at(*place_at(text.replace("|", "", 1), offset), seen)


def labels(text: str) -> list[str]:
    return [word.label for word in offered(text)]


def taken(text: str, label: str) -> str:
    """The text after that word was taken, with a bar where the cursor goes; laid out in one line."""
    offset = text.index("|")
    text = text.replace("|", "", 1)
    place, document = place_at(text, offset)
    word = next(word for word in words_at(place, document, seen) if word.label == label)
    put = f"{word.text[: word.cursor]}|{word.text[word.cursor :]}"
    if place.comma_before >= 0:
        return (
            f"{text[: place.comma_before]},{text[place.comma_before : place.span.start]}{put}{text[place.span.end :]}"
        )
    return f"{text[: place.span.start]}{put}{text[place.span.end :]}"


def action(kind: str, params: str = "") -> str:
    return f'{{"actions": [{{"id": "a", "type": "{kind}", "params": {{{params}}}}}]}}'


# -- keys


def test_the_root_offers_what_an_execution_has_required_first() -> None:
    root = json_schema("execution")
    found = labels("{|}")
    assert set(found) == set(root["properties"])
    assert set(found[: len(root["required"])]) == set(root["required"])


@pytest.mark.parametrize("kind", ACTIONS)
def test_params_are_those_of_their_type(kind: str) -> None:
    properties = json_schema(kind)["properties"].get("params", {}).get("properties", {})
    assert set(labels(action(kind, "|"))) == set(properties)


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_has_the_params_of_what_it_means(alias: str) -> None:
    assert labels(action(alias, "|")) == labels(action(ALIASES[alias], "|"))


def test_a_key_has_its_type_and_its_meaning() -> None:
    words = {word.label: word for word in offered(action("scroll_and_click", "|"))}
    assert words["direction"].kind == "down|up|left|right"
    assert words["maxSwipes"].kind == "1 to 50, else 10"
    assert words["target"].kind == "object, required"
    assert words["clickAfter"].kind == "true|false, else true"
    assert words["container"].meaning == "What to scroll; default: the first scrollable node on screen"


def test_keys_that_are_there_are_not_offered_again_and_of_two_names_neither_is_required_then() -> None:
    words = {word.label: word.kind for word in offered(action("scroll_and_click", '"matcher": {}, |'))}
    assert "matcher" not in words
    assert words["target"] == "object"
    assert "textEquals" in labels(action("click", '"matcher": {"textE|"}'))


@pytest.mark.parametrize(
    ("kind", "params", "name", "required"),
    [
        ("scroll_until", "", "matcher", False),
        ("scroll_until", '"clickAfter": false, ', "matcher", False),
        ("scroll_until", '"clickAfter": true, ', "matcher", True),
        ("read_text", "", "validatorPattern", False),
        ("read_text", '"validator": "temperature", ', "validatorPattern", False),
        ("read_text", '"validator": "regex", ', "validatorPattern", True),
        ("wait_for_navigation", "", "expectedPackage", True),
        ("wait_for_navigation", '"expectedNode": {}, ', "expectedPackage", False),
        ("click", "", "matcher", True),
        ("click", '"coordinate": {}, ', "matcher", False),
    ],
)
def test_what_other_params_make_required(kind: str, params: str, name: str, *, required: bool) -> None:
    words = {word.label: word.kind for word in offered(action(kind, f"{params}|"))}
    assert words[name].endswith(", required") is required


def test_an_unknown_type_offers_what_any_type_has() -> None:
    assert {*FIELDS, *RELATIONS, "ref"} == set(labels(action("clik", '"matcher": {|}')))


@pytest.mark.parametrize(
    "text", ['{"surprise": {|}}', '{"commandId": "|"}', '{"a"| : 1}', "[|]", '{"actions": [1, {"id": |}]}']
)
def test_where_the_contract_knows_nothing_nothing_is_offered(text: str) -> None:
    assert offered(text) == []


# -- values


def test_enumerations_booleans_and_defaults_are_values() -> None:
    assert labels(action("press_key", '"key": "|"')) == ["back", "home", "recents"]
    assert labels(action("press_key", '"key": "re|"')) == ["recents"]
    assert labels(action("enter_text", '"submit": |')) == ["true", "false"]
    assert labels(action("scroll", '"distanceRatio": |')) == ["0.7"]
    assert labels('{"expectedFormat": |}') == ["android-ui-automator"]


def test_action_types_are_found_by_every_spelling() -> None:
    everything = labels('{"actions": [{"id": "a", "type": "|"}]}')
    assert everything == list(ACTIONS)
    assert labels('{"actions": [{"type": "tap|"}]}') == ["click"]
    assert labels('{"actions": [{"type": "wiat_for_node|"}]}')[0] == "wait_for_node"
    assert offered('{"actions": [{"type": "click|"}]}')[0].kind == "or tap, press, long_press"


def test_values_of_the_screen_fit_the_rest_of_the_matcher() -> None:
    assert labels(action("click", '"matcher": {"textEquals": "|"}')) == ["Wi‑Fi"]
    assert labels(action("click", '"matcher": {"role": "button", "textEquals": "|"}')) == ["Wi‑Fi", "filtered"]
    (word,) = offered(action("click", '"matcher": {"resourceId": "tit|"}'))
    assert (word.text, word.kind) == ('"com.android.settings:id/title"', "9 on screen")


# -- what is put in


@pytest.mark.parametrize(
    ("before", "label", "after"),
    [
        ('{"actions": [{"id": "a", "type": "|"}]}', "sleep", '{"actions": [{"id": "a", "type": "sleep",\n"params": {\n  "durationMs": 0\n}|}]}'),
        (action("click", "|"), "matcher", action("click", '"matcher": {|}')),
        (action("click", '"clickT|": "focus"'), "clickType", action("click", '"clickType"|: "focus"')),
        ('{|"mode": "direct"}', "taskId", '{"taskId": "|","mode": "direct"}'.replace('"|"', '"|"')),
        ('{"taskId": "t" |}', "source", '{"taskId": "t", "source": "|"}'),
    ],
)  # fmt: skip
def test_a_word_comes_with_all_that_belongs_to_it(before: str, label: str, after: str) -> None:
    assert taken(before, label) == after


@pytest.mark.parametrize("kind", ACTIONS)
def test_a_whole_action_is_json_with_what_its_type_needs(kind: str) -> None:
    text = taken('{"actions": [{"id": "click"}, |]}', kind).replace("|", "")
    new = json.loads(text)["actions"][1]
    assert new["type"] == kind
    assert new["id"] != "click"
    schema = json_schema(kind)
    assert set(schema["required"]) <= set(new)
    assert set(schema["properties"].get("params", {}).get("required", ())) <= set(new.get("params", {}))


@given(st.text(alphabet='{}[]":, \nabtr1', max_size=40), st.integers(0, 40))
def test_no_text_makes_it_fail_and_what_is_taken_breaks_nothing(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    place, document = place_at(text, offset)
    for word in words_at(place, document, seen)[:3]:
        assert 0 <= word.cursor <= len(word.text)
        json.loads(
            f"{{{word.text.rstrip(',')}}}"
            if place.role == "key" and not place.colon
            else f"[{word.text.rstrip(',')}]"
            if '"params"' not in word.text
            else "1"
        )
    assert read(text).faults == document.faults
