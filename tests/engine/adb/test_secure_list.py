"""Lists of components in the secure settings: what others have there stays, byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clawperator.engine.adb.secure_list import appended, contains, entries, without
from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE, service_of
from tests.support import table

OURS = service_of(RELEASE_PACKAGE)
THEIRS = "com.other/.Service"

LISTS = st.lists(
    st.one_of(
        st.sampled_from(["", " ", "null", "\n", THEIRS, f" {OURS}", f"{OURS}2", OURS.upper(), "a/b\n", "\u202ex/y"]),
        st.text(max_size=8),
    ),
    max_size=6,
).map(":".join)


@pytest.mark.parametrize("text", ["", "null"])
def test_an_absent_list_begins_with_us(text: str) -> None:
    assert entries(text) == ()
    assert appended(text, OURS) == OURS
    assert without(appended(text, OURS), OURS) == ""


@table(
    "text",
    [
        THEIRS,
        f":{THEIRS}",
        f"{THEIRS}:",
        f"{THEIRS}::x/y",
        " ",
        f" {THEIRS} ",
        "\n",
        f"{THEIRS}\n",
        f"{OURS}Two",
        "null:",
    ],
)
def test_odd_separators_and_neighbours_stay(text: str) -> None:
    assert not contains(text, OURS)
    assert appended(text, OURS) == f"{text}:{OURS}"
    assert without(f"{text}:{OURS}", OURS) == text


def test_an_entry_is_known_by_either_spelling() -> None:
    assert contains("x/y:com.app/.Service", "com.app/com.app.Service")
    assert contains("com.app/com.app.Service", "com.app/.Service")
    assert without("a/b:com.app/.Service:c/d", "com.app/com.app.Service") == "a/b:c/d"
    assert not contains("com.app/.Service", "com.app/com.other.Service")


@given(LISTS)
def test_adding_and_removing_gives_the_same_list(text: str) -> None:
    assume(not contains(text, OURS))
    added = appended(text, OURS)
    assert contains(added, OURS)
    assert appended(added, OURS) == added
    assert without(added, OURS) == ("" if text == "null" else text)
    assert entries(added)[-1] == OURS
    assert entries(added)[:-1] == entries(text)
