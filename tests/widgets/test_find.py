from __future__ import annotations

import pytest

from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.models.find import parse_find
from tests.app.console.support import settings_screen

TREE = parse(settings_screen())


def found(text: str) -> list[str]:
    find = parse_find(text)
    return [TREE.nodes[index].label or TREE.nodes[index].cls for index in find.positions(TREE.nodes)]


def test_words_ignore_case_and_all_must_hold() -> None:
    assert found("BLUETOOTH") == ["Bluetooth", "Bluetooth on"]
    assert found("wi‑fi on") == ["Wi‑Fi on"]
    assert found("wi‑fi nowhere") == []


def test_class_and_id_are_searched_as_they_are_drawn() -> None:
    assert found("recyclerview") == ["androidx.recyclerview.widget.RecyclerView"]
    assert found("widget") == ["Wi‑Fi on", "Bluetooth on"], "only #switch_widget, not every android.widget class"


def test_hash_looks_at_ids_only() -> None:
    assert found("#switch") == ["Wi‑Fi on", "Bluetooth on"]
    assert found("#bluetooth") == []


def test_quotes_mean_the_whole_label() -> None:
    assert found('"Wi‑Fi"') == ["Wi‑Fi"]
    assert found('"Wi‑Fi') == ["Wi‑Fi"], "an open quote is read to the end"


def test_flags() -> None:
    assert found("@scroll") == ["androidx.recyclerview.widget.RecyclerView"]
    assert found("@checked blue") == ["Bluetooth on"]


def test_an_unknown_flag_is_named_and_ignored() -> None:
    find = parse_find("@klick wi‑fi")
    assert find.problem.startswith("no flag @klick")
    assert found("@klick wi‑fi") == found("wi‑fi")


@pytest.mark.parametrize("text", ["", " ", "@", "#", '"', '""'])
def test_nothing_to_look_for_finds_nothing(text: str) -> None:
    assert not parse_find(text)
    assert found(text) == []
