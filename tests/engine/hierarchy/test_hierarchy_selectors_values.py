"""Values that change from day to day, and the words of a text that stay."""

from __future__ import annotations

import time

import pytest

from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import UiNode, build
from clawperator.engine.hierarchy.volatility import fits, is_localised, stable_run, why_volatile
from tests.support import table


def node(**attributes: object) -> UiNode:
    return build([render_node({name.replace("_", "-"): value for name, value in attributes.items()})]).nodes[0]


@table(
    ("text", "run"),
    [
        ("Network & internet", "internet"),
        ("Don't allow", "allow"),
        ("3 new messages from Ann", "new messages from Ann"),
        ("已下载 3 项", "已下载"),
        ("第3页内容", "页内容"),
        ("Price: $5.99 only today", "only today"),
        ("5шт осталось", "осталось"),
        ("Wi\u2011Fi", "Wi\u2011Fi"),
        ("a\nlonger line", "longer line"),
        ("left behind\rright", "left behind"),
        ('say "hello world" now', "hello world"),
        ("Saved 5 minutes ago", "minutes"),
        ("45% of files", "of files"),
        ("• Inbox (12)", "Inbox"),
        ("one two", "one two"),
        ("12:30", ""),
        ("x", ""),
        ("😀😀", ""),
        ("€ 5", ""),
        ("", ""),
        ("x" * 600, ""),
    ],
)
def test_the_words_that_stay(text: str, run: str) -> None:
    assert stable_run(text) == run


def test_a_run_of_a_long_text_ends_with_a_whole_word_and_fits() -> None:
    run = stable_run("wordy " * 200)
    assert fits(run)
    assert len(run) > 200
    assert run.endswith("wordy")


@table("text", ["a" * 100_000, "5 " * 50_000, "'" * 100_000, "a'" * 50_000, "a@" * 50_000 + " ", "1." * 50_000])
def test_a_text_without_end_costs_next_to_nothing(text: str) -> None:
    began = time.process_time()
    stable_run(text)
    why_volatile(node(text=text[:512]), "textEquals", text[:512])
    is_localised("textEquals", text[:512])
    assert time.process_time() - began < 0.1


@table(
    ("text", "what"),
    [
        ("12:30", "a time"),
        ("2024-05-01", "a date or a version"),
        ("$5.99", "a price"),
        ("5 €", "a price"),
        ("50%", "a percentage"),
        ("3 new", "digits that look like a counter"),
        ("٣ رسائل", "digits that look like a counter"),
        ("Yesterday", "a time relative to now"),
        ("Chicago", ""),
        ("Settings", ""),
    ],
)
def test_values_that_change(text: str, what: str) -> None:
    assert why_volatile(node(text=text), "textEquals", text) == what


def test_what_changes_by_use() -> None:
    typed = node(text="Ann", content_desc="Name", **{"class": "android.widget.EditText"})
    assert why_volatile(typed, "textContains", "Ann") == "text typed into an input"
    assert why_volatile(typed, "contentDescEquals", "Name") == ""
    switch = node(text="OFF", checkable=True, **{"class": "android.widget.Switch"})
    assert why_volatile(switch, "textEquals", "OFF") == "a state that a tap changes"
    assert why_volatile(node(text="OFF"), "textEquals", "OFF") == ""


def test_ids() -> None:
    for generated in (
        "ember42",
        ":r1f:",
        "react-select-2-input",
        "0c1d2e3f",
        "17",
        "b1a2c3d4-0001-4000-8000-000000000000",
    ):
        assert why_volatile(node(), "resourceId", generated) == "a number that looks generated"
    for steady in ("a:id/row2", "cart", "a:id/decade", "deadbeef"):
        assert why_volatile(node(), "resourceId", steady) == ""
    for many in ("com.android.vending:id/0_resource_name_obfuscated", "com.facebook.katana:id/(name removed)"):
        assert why_volatile(node(), "resourceId", many) == "a name that stands for many ids"
    assert why_volatile(node(), "resourceId", "a:id/item_10423") == "a number that looks generated"
    assert why_volatile(node(), "resourceId", "com.app2024:id/title2") == ""


@pytest.mark.parametrize(
    ("text", "localised"),
    [("Settings", True), ("设置", True), ("ann@example.org", False), ("notes.txt", False), ("region_download", False),
     ("OK", True), ("5", False), ("Terms/Privacy policy", True), ("追番/追剧", True)],
)  # fmt: skip
def test_words_are_translated_and_addresses_are_not(text: str, localised: bool) -> None:
    assert is_localised("textEquals", text) == localised
    assert not is_localised("resourceId", text)
    assert not is_localised("role", text)


def test_the_limit_counts_utf16_units() -> None:
    assert fits("😀" * 256)
    assert not fits("😀" * 256 + "a")
    assert not fits("")
