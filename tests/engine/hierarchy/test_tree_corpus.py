"""Real captures: the licensed few in tests/data, and the whole corpus where ``CLAWPERATOR_CORPUS`` names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.match import Matcher, explain, find_first
from clawperator.engine.hierarchy.tree import UiTree, parse
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
DOCTYPE = "derived-doctype-internal-entity.xml"
IVI_NOT_DISPLAYED = "ivi-en-vehicle-settings-appium-source.xml"

# file → (reason of the strict error, or "" where there is a tree; nodes and a word of the label; "" = refused as well)
MALFORMED = {
    "derived-declaration-only.xml": ("truncated", 0, ""),
    "derived-duplicate-attribute.xml": ("not_well_formed", 0, "an attribute twice"),
    "derived-empty-file.xml": ("empty", 0, ""),
    "derived-error-could-not-get-idle-state.xml": ("not_idle", 0, ""),
    "derived-error-null-root-node.xml": ("no_root", 0, ""),
    "derived-forbidden-control-reference.xml": ("", 77, "XML forbids"),
    "derived-stdout-status-line-after.xml": ("", 63, "UI hierchary dumped to: /dev/tty"),
    "derived-stdout-warning-linker-before.xml": ("", 20, "WARNING: linker"),
    "derived-surrogate-pair-references-emoji-list.xml": ("", 121, "were joined"),
    "derived-truncated-after-complete-node.xml": ("truncated", 64, "incomplete: 64 nodes"),
    "derived-truncated-in-attribute-value.xml": ("truncated", 51, "incomplete: 51 nodes"),
    "derived-truncated-in-tag-name.xml": ("truncated", 76, "incomplete: 76 nodes"),
    "derived-truncated-inside-utf8-character.xml": ("truncated", 56, "incomplete: 56 nodes"),
    "derived-two-dumps-in-one-file.xml": ("several_documents", 25, "only the first"),
    "derived-unescaped-ampersand.xml": ("not_well_formed", 55, "ampersands"),
    "derived-utf16le-bom-crlf-powershell-redirect.xml": ("", 32, "UI hierchary dumped to: /dev/tty"),
    "miui-developer-options-ru-stdout-mixed-stack-trace.xml": ("", 59, "java.io.FileNotFoundException"),
    "select-a-home-app-a8ad.xml": (
        "",
        18,
        "not UTF-8 were replaced by U+FFFD (1 place at line 20, column 343)",
    ),
}


def stated_counts(provenance: str) -> Iterator[tuple[str, int]]:
    """``file.xml`` → the node count that its row's notes end with."""
    for row in re.finditer(r"^\| (?:malformed/)?([^ |]+\.xml) \|(.*)\|$", provenance, re.MULTILINE):
        if counts := re.findall(r"\b(\d+) nodes", row[2]):
            yield row[1], int(counts[-1])


def check_whole(tree: UiTree, name: str) -> None:
    """What holds for every clean tree, however it was captured."""
    assert (tree.recovered, tree.complete) == ("", True), name
    assert [node.index for node in tree.nodes] == list(range(len(tree.nodes))), name
    for node in tree.nodes:
        assert node.role in ROLE_NAMES, name
        assert node.parent is None or node in node.parent.children, name
        assert all(child.parent is node for child in node.children), name
        assert "&#" not in node.label, name
    assert sum(root.end - root.index for root in tree.roots) == len(tree.nodes), name
    if tree.nodes and name != IVI_NOT_DISPLAYED:
        assert len(tree.on_screen) > len(tree.roots) or len(tree.nodes) == len(tree.roots), name


def check_matching(tree: UiTree, name: str) -> None:
    """Each node on screen is found by what it carries: itself, or an earlier one with the same values."""
    for node in tree.on_screen:
        matcher = Matcher(node.resource_id, node.role, node.label, content_desc_equals=node.content_desc)
        found = find_first(tree, matcher)
        assert found is not None, name
        assert found.index <= node.index, name
        assert explain(tree, node, matcher).matches, name


@table("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.stem)
def test_bundled_captures(path: Path) -> None:
    tree = parse(path.read_bytes())
    check_whole(tree, path.name)
    check_matching(tree, path.name)
    counts = dict(stated_counts((DATA / "PROVENANCE.md").read_text("utf-8")))
    assert len(tree.nodes) == counts[path.name]


def check_malformed(path: Path) -> None:
    reason, count, label = MALFORMED[path.name]
    data = path.read_bytes()
    if reason:
        with pytest.raises(EngineError) as caught:
            parse(data)
        assert caught.value.code is ErrorCode.HIERARCHY_MALFORMED
        assert caught.value.details is not None
        assert caught.value.details["reason"] == reason
        assert caught.value.details["line"] >= 1
    else:
        assert label in parse(data).recovered
    if not label:
        with pytest.raises(EngineError):
            parse(data, recover=True)
        return
    tree = parse(data, recover=True)
    assert len(tree.nodes) == count
    assert label in tree.recovered
    assert tree.complete == ("incomplete" not in tree.recovered)


@table("path", sorted((DATA / "malformed").glob("*.xml")), ids=lambda path: path.stem)
def test_bundled_malformed(path: Path) -> None:
    check_malformed(path)


def test_every_capture_of_the_corpus(corpus: Path) -> None:
    counts = dict(stated_counts((corpus / "PROVENANCE.md").read_text("utf-8")))
    paths = sorted((corpus / "hierarchies").glob("*.xml"))
    assert len(paths) > 100
    for path in paths:
        if path.name == DOCTYPE:
            continue
        tree = parse(path.read_bytes())
        check_whole(tree, path.name)
        assert len(tree.nodes) == counts[path.name], path.name
        if len(tree.nodes) < 1_000:
            check_matching(tree, path.name)


def test_the_document_type_of_the_corpus_is_refused(corpus: Path) -> None:
    with pytest.raises(EngineError) as caught:
        parse((corpus / "hierarchies" / DOCTYPE).read_bytes(), recover=True)
    assert caught.value.details == {"reason": "doctype", "line": 1, "column": 77}


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_malformed_of_the_corpus(corpus: Path, name: str) -> None:
    check_malformed(corpus / "hierarchies" / "malformed" / name)


def test_no_malformed_capture_is_left_out(corpus: Path) -> None:
    assert {path.name for path in (corpus / "hierarchies" / "malformed").iterdir()} == set(MALFORMED)


class TestWhatTheyShow:
    """A few facts read off the captures by eye."""

    @staticmethod
    def read(name: str) -> UiTree:
        return parse((DATA / f"{name}.xml").read_bytes())

    def test_appium_classes(self) -> None:
        tree = self.read("appium-server-source-compose-message")
        assert tree.roots[0].cls == "android.widget.FrameLayout"
        assert tree.screen.right == 1080

    def test_line_break_in_a_description(self) -> None:
        assert any("\n" in node.content_desc for node in self.read("flutter-ide-missing-plugin-error").nodes)

    def test_reduced_screens_without_bounds_stay_matchable(self) -> None:
        tree = self.read("airtouch5-home-controls-reduced-1")
        assert len(tree.on_screen) == len(tree.nodes)

    def test_inputs_are_text_fields(self) -> None:
        roles = {
            node.cls.rpartition(".")[2]: node.role for node in self.read("appium-server-source-compose-message").nodes
        }
        assert roles.get("EditText", "textfield") == "textfield"
        assert "FrameLayout" in roles
