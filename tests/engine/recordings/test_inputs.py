"""Texts with inputs in them: what becomes one, what stays a text, and that nothing is lost on the way there and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.recordings.inputs import RecordedInputs, escaped, free_name, input_name
from clawperator.engine.skills.recipe.templates import INPUT_NAME, fill


def filled(inputs: RecordedInputs, template: str) -> str:
    return fill(template, {each.name: each.value for each in inputs})


def test_a_typed_text_is_found_as_a_word_of_its_own() -> None:
    inputs = RecordedInputs()
    assert inputs.typed("tea", "Search box!", secret=False) == "${inputs.search_box}"
    assert inputs.template("Green tea, hot") == "Green ${inputs.search_box}, hot"
    assert inputs.template("steam teapot") == "steam teapot"


def test_short_texts_are_found_only_as_a_whole() -> None:
    inputs = RecordedInputs()
    inputs.typed("on", "state", secret=False)
    assert inputs.template("on") == "${inputs.state}"
    assert inputs.template("Turn on the light") == "Turn on the light"


def test_longer_texts_win_and_a_secret_is_no_word() -> None:
    inputs = RecordedInputs()
    inputs.typed("tea", "a", secret=False)
    inputs.typed("green tea", "b", secret=False)
    inputs.typed("word", "c", secret=True)
    assert inputs.template("hot green tea") == "hot ${inputs.b}"
    assert inputs.template("a word") == "a word"


def test_the_same_person_is_one_input() -> None:
    inputs = RecordedInputs()
    assert inputs.template("ann@example.com") == inputs.template("ann@example.com") == "${inputs.email}"
    assert inputs.template("bob@example.com") == "${inputs.email_2}"


def test_names() -> None:
    assert [input_name(wish) for wish in ("User name", "1st", "", "é", "A" * 99)] == [
        "user_name",
        "text_1st",
        "text",
        "text",
        "a" * 40,
    ]
    assert free_name("a", {"a": 1, "a_2": 1}) == "a_3"


@given(st.text())
def test_every_wish_gives_an_allowed_name(wish: str) -> None:
    import re

    assert re.fullmatch(INPUT_NAME, input_name(wish))


_TEXT = st.text(st.sampled_from("ab ${}.\ninputs@+4917x")) | st.sampled_from(
    ["ann@example.com is it", "${inputs.email}"]
)


@given(st.lists(_TEXT, max_size=4), _TEXT)
def test_there_and_back(typed: list[str], text: str) -> None:
    inputs = RecordedInputs()
    for each in typed:
        inputs.typed(each, "field", secret=False)
    assert filled(inputs, inputs.template(text)) == text
    assert fill(escaped(text), {}) == text
