"""Hostile strings on every face that draws for people, through the one place that knows what is hidden."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

from clawperator.app.cli import diagnostics
from clawperator.app.cli.output import encode
from clawperator.app.cli.pretty import draw
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.junit import junit_xml
from clawperator.engine.text import invisible
from clawperator.widgets.text import safe
from tests.hostile.strings import HOSTILE, INVISIBLE, MARKUP, READABLE, STORM, TERMINAL, steering
from tests.support import table


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize(
    "shown",
    [invisible.visible, safe.escape, safe.pictured, lambda text: safe.shorten(text, 40), lambda text: "".join(safe.wrap(text, 40))],
    ids=["visible", "escape", "pictured", "shorten", "wrap"],
)  # fmt: skip
def test_nothing_hidden_is_left(text: str, shown: Callable[[str], str]) -> None:
    assert steering(shown(text)) == []
    assert "\u200d" not in shown("a\u200db")


@table("text", HOSTILE, ids=ascii)
def test_json_on_stdout_hides_nothing_and_is_the_same_data(text: str) -> None:
    for indent in (None, 2):
        document = encode({text: text}, indent=indent)
        assert json.loads(document) == {text: text}
        assert steering(document.decode(), spared="\n") == []


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_pretty_output_and_stderr(text: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = draw("executions.error", {"code": text, "message": text, "hint": text, "details": {text: text}}).decode()
    diagnostics.warn(text)
    diagnostics.note(text)
    err = capfdbinary.readouterr().err.decode()
    assert steering(out, spared="\n") == []
    assert steering(err, spared="\n") == []
    assert err.count("\n") == 2, "no text begins a line of its own"


@table("text", HOSTILE, ids=ascii)
def test_junit_reports(text: str) -> None:
    check = Check("host.x", "fail", text, detail=text)
    report = junit_xml([check], ["host.x"], device_id=text, package=text, at=0.0).decode()
    ET.fromstring(report)
    assert steering(report, spared="\n\t\r") == []


@table("text", READABLE.values(), ids=READABLE.keys())
def test_legitimate_labels_are_left_alone(text: str) -> None:
    assert invisible.visible(text) == text
    assert json.dumps(text, ensure_ascii=False) == encode([text]).decode()[1:-1]
    shown = safe.escape(text)
    assert "⟨" not in shown
    assert cell_len(shown) == safe.cells(shown)


@table("text", MARKUP.values())
def test_markup_is_text(text: str) -> None:
    assert text in draw("", {"x": text}).decode()
    assert safe.escape(text) == invisible.visible(text) == text


def test_how_characters_are_spelled() -> None:
    assert invisible.visible(TERMINAL["csi"]).startswith("\\x1b[2J")
    assert invisible.visible(INVISIBLE["override"]) == "user\\u202egpj.exe"
    assert invisible.visible(INVISIBLE["tags"]).startswith("hello\\U000e0070\\U000e0072")
    assert safe.escape(INVISIBLE["tags"]).startswith("hello⟨U+E0070⟩")
    assert invisible.visible("🏴\U000e0067\U000e007f") == "🏴\\U000e0067\\U000e007f", "the flag of a region, too"


def test_a_storm_of_marks_is_counted() -> None:
    assert invisible.visible(STORM) == "z" + "\u0301" * 4 + "[+496 marks]"
    assert safe.escape(STORM) == "z" + "\u0301" * 4 + "⟨+496 marks⟩"
