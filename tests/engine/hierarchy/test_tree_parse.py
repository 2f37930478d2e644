"""What ``parse`` makes of well-formed dumps of every dialect, and of text that is not quite one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy import tree as tree_module
from clawperator.engine.hierarchy.serialise import hierarchy_xml, nodes_xml, render_node
from clawperator.engine.hierarchy.tree import NO_BOUNDS, Bounds, UiTree, build, parse
from tests.support import table

HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"


def node(**attributes: str) -> str:
    words = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<node {words} />"


def document(*nodes: str, rotation: str = "0") -> str:
    return f'{HEAD}<hierarchy rotation="{rotation}">{"".join(nodes)}</hierarchy>'


def refusal(text: str | bytes, *, recover: bool = False) -> EngineError:
    with pytest.raises(EngineError) as caught:
        parse(text, recover=recover)
    return caught.value


def reason(error: EngineError) -> object:
    assert error.code is ErrorCode.HIERARCHY_MALFORMED
    assert error.details is not None
    assert error.details["line"] >= 1
    assert error.details["column"] >= 1
    return error.details["reason"]


class TestNodes:
    def test_every_attribute_is_a_property(self) -> None:
        flags = (
            "checkable",
            "checked",
            "clickable",
            "enabled",
            "focusable",
            "focused",
            "scrollable",
            "password",
            "selected",
        )
        text = node(
            text="Save &amp; go", resource_id="app:id/save", content_desc="desc", bounds="[1,-2][31,48]", package="app",
            long_clickable="true", **{"class": "android.widget.Button"}, **dict.fromkeys(flags, "true"),
        )  # fmt: skip
        [only] = parse(document(text)).nodes
        assert (only.text, only.resource_id, only.content_desc) == ("Save & go", "app:id/save", "desc")
        assert (only.cls, only.package) == ("android.widget.Button", "app")
        assert only.bounds == Bounds(1, -2, 31, 48)
        assert (only.bounds.width, only.bounds.height, only.bounds.center) == (30, 50, (16, 23))
        assert only.long_clickable
        assert all(getattr(only, flag) for flag in flags)

    def test_absent_attributes_are_empty_and_false_but_enabled(self) -> None:
        [only] = parse(document("<node/>")).nodes
        assert (only.text, only.resource_id, only.cls, only.package, only.content_desc, only.label) == ("",) * 6
        assert only.enabled
        assert not any((only.clickable, only.checked, only.focused))
        assert only.bounds is NO_BOUNDS

    def test_document_order_links_and_paths(self) -> None:
        inner = '<node text="a"><node text="b"><node text="c"/></node><node text="d"/></node>'
        tree = parse(document(inner, node(text="e")))
        a, b, c, d, e = tree.nodes
        assert [n.text for n in tree.nodes] == list("abcde")
        assert [n.index for n in tree.nodes] == [0, 1, 2, 3, 4]
        assert [n.end for n in tree.nodes] == [4, 3, 3, 4, 5]
        assert [n.depth for n in tree.nodes] == [0, 1, 2, 1, 0]
        assert (a.children, b.children, c.children) == ((b, d), (c,), ())
        assert (a.parent, d.parent, c.parent) == (None, a, b)
        assert list(c.ancestors) == [b, a]
        assert list(a.descendants) == [b, c, d]
        assert tree.roots == (a, e)
        assert [n.path for n in tree.nodes] == ["0", "0/0", "0/0/0", "0/1", "1"]

    @table(
        ("text", "description", "label"),
        [
            ("Wi-Fi", "desc", "Wi-Fi"),
            ("", "desc", "desc"),
            (" \t\u00a0", "desc", "desc"),
            ("\x85", "desc", "\x85"),  # NEL is not white space to the device
            (" ", "\u2003", ""),
            (" padded ", "desc", " padded "),
        ],
    )
    def test_label_is_the_text_unless_blank(self, text: str, description: str, label: str) -> None:
        [only] = build([render_node({"text": text, "content-desc": description})]).nodes
        assert only.label == label

    def test_clickable_reaches_three_levels_up(self) -> None:
        chain = render_node({"text": "4"})
        for level in "3210":
            chain = render_node({"text": level, "clickable": level == "0"}, [chain])
        nodes = build([chain]).nodes
        assert [n.effectively_clickable for n in nodes] == [True, True, True, True, False]
        assert nodes[3].clickable_through is nodes[0]

    @pytest.mark.parametrize(
        "text",
        ["", "[0,0]", "0,0,1,1", "[0,0][1,1", "-12,-3][0,0],[800,1205]", "[a,b][c,d]", "[0,0][1,1,1]", "[1,2][3]",
         "[0,0][1,1]" * 20, "[" + "9" * 5000 + ",0][1,1]"],
    )  # fmt: skip
    def test_unreadable_bounds(self, text: str) -> None:
        [only] = parse(document(node(bounds=text))).nodes
        assert only.bounds is NO_BOUNDS
        assert only.attributes["bounds"] == text


class TestDialects:
    def test_appium_takes_the_tag_for_the_class(self) -> None:
        tree = parse('<hierarchy><android.widget.Button text="x"/><node class="android.view.View"/><node/></hierarchy>')
        assert [n.cls for n in tree.nodes] == ["android.widget.Button", "android.view.View", ""]

    def test_windows_dump_matches_in_the_active_window(self) -> None:
        def window(title: str, *, active: bool) -> str:
            inner = document(node(package=title, bounds="[0,0][10,10]"), rotation="1").removeprefix(HEAD)
            return f'<window title="{title}" active="{str(active).lower()}">{inner}</window>'

        text = "".join([window("bar", active=False), window("app", active=True), '<window title="divider"></window>'])
        tree = parse(f'{HEAD}<displays><display id="0">{text}</display></displays>')
        assert [tree.window(n)["title"] for n in tree.nodes] == ["bar", "app"]
        assert tree.active_roots == (tree.nodes[1],)
        assert tree.on_screen == (tree.nodes[1],)
        assert (tree.package, tree.rotation) == ("app", 1)

    @table(("written", "read"), [("0", 0), ("3", 3), ("4", 0), ("-1", 0), ("x", 0), ("", 0)])
    def test_rotation(self, written: str, read: int) -> None:
        assert parse(document(rotation=written)).rotation == read

    def test_the_first_hierarchy_tells_the_rotation(self) -> None:
        hierarchies = '<hierarchy rotation="2"><node/></hierarchy><hierarchy rotation="0"/>'
        assert parse(f"<displays><display>{hierarchies}</display></displays>").rotation == 2

    def test_no_node_at_all(self) -> None:
        tree = parse("<hierarchy/>")
        assert (tree.nodes, tree.roots, tree.on_screen, tree.package) == ([], (), (), "")
        assert tree.screen == NO_BOUNDS

    def test_other_documents_are_refused(self) -> None:
        assert reason(refusal("<html><body/></html>")) == "not_a_hierarchy"

    def test_a_node_alone_is_a_tree(self) -> None:
        assert parse(node(text="copied")).nodes[0].text == "copied"


class TestEncodings:
    TEXT = document(node(text="Größe 🙂"))

    @table(
        "data",
        [
            TEXT,
            "\ufeff" + TEXT,
            TEXT.encode(),
            b"\xef\xbb\xbf" + TEXT.encode(),
            TEXT.encode("utf-16"),
            b"\xfe\xff" + TEXT.encode("utf-16-be"),
            TEXT.encode("utf-16-le"),
            TEXT.encode("utf-16-be"),
            "\r\n\r\n" + TEXT,
        ],
        ids=[
            "str",
            "str-bom",
            "utf8",
            "utf8-bom",
            "utf16",
            "utf16be-bom",
            "utf16le-bare",
            "utf16be-bare",
            "blank-lines",
        ],
    )
    def test_same_tree(self, data: str | bytes) -> None:
        tree = parse(data)
        assert tree.nodes[0].text == "Größe 🙂"
        assert (tree.recovered, tree.complete) == ("", True)

    def test_bytes_that_are_not_utf8(self) -> None:
        tree = parse(document(node(text="a\ufffeb")).replace("\ufffe", "\xe9").encode("latin-1"))
        assert tree.nodes[0].text == "a\ufffdb"
        assert "not UTF-8" in tree.recovered
        assert f"line 1, column {len(HEAD) + len('<hierarchy rotation=0><node text=a') + 4}" in tree.recovered

    def test_surrogates_encoded_one_by_one(self) -> None:
        tree = parse(self.TEXT.encode("utf-8").replace("🙂".encode(), b"\xed\xa0\xbd\xed\xb9\x82"))
        assert tree.nodes[0].text == "Größe 🙂"
        assert "were joined" in tree.recovered

    def test_surrogates_in_a_str(self) -> None:
        tree = parse(document(node(text="\ud83d\ude42 \ud83d")))
        assert tree.nodes[0].text == "🙂 \ufffd"
        assert "surrogates" in tree.recovered


class TestLineBreaks:
    """XML would turn raw line feeds in attribute values into blanks; the Operator writes them raw (wire.md#hierarchy-xml)."""

    @table("value", ["a\nb", "\n", "a\tb\n\nc", "one\rtwo", "one\r\ntwo", "x > y\nz", "[list]\n[next]"])
    def test_survive_the_operators_dump(self, value: str) -> None:
        tree = parse(hierarchy_xml(render_node({"text": value}, [render_node({"content-desc": value})])))
        assert (tree.nodes[0].text, tree.nodes[1].content_desc) == (value, value)
        assert tree.recovered == ""

    def test_crlf_files_were_converted(self) -> None:
        text = hierarchy_xml(render_node({"text": "a\nb"})).replace("\n", "\r\n")
        assert parse(text).nodes[0].text == "a\nb"

    def test_single_quotes_and_raw_angle(self) -> None:
        assert (
            parse("<hierarchy><node text='say \"a>\nb\"'\n  content-desc='d'/></hierarchy>").nodes[0].text
            == 'say "a>\nb"'
        )

    def test_breaks_between_attributes_are_layout(self) -> None:
        tree = parse('<hierarchy>\n<node\n\ttext="a"\r\n\tclass="b"\n/></hierarchy>')
        assert tree.nodes[0].attributes == {"text": "a", "class": "b"}

    def test_comments_with_quotes_disturb_nothing(self) -> None:
        tree = parse('<!-- don\'t -->\n<hierarchy>\n<!-- a "b\n --><node text="c\nd"/><?pi "\n?></hierarchy>')
        assert tree.nodes[0].text == "c\nd"

    def test_positions_are_those_of_the_original(self) -> None:
        text = document('\n<node text="a\nb\nc"/>\n', '<node text="d\ne" text="f"/>')
        error = refusal(text)
        assert reason(error) == "not_well_formed"
        assert error.details is not None
        line, column = error.details["line"], error.details["column"]
        assert text.splitlines()[line - 1][column - 1 :].startswith('text="f"')


class TestForbiddenCharacters:
    @table("character", ["\x00", "\x01", "\x1b", "\x0b", "\ufffe", "\uffff"])
    def test_raw(self, character: str) -> None:
        text = "\n" + document(node(text=f"é {character}z"))
        tree = parse(text)
        assert tree.nodes[0].text == "é \ufffdz"
        column = text.index(character)
        words = "characters that XML forbids were replaced by U+FFFD"
        assert tree.recovered == f"{words} (1 place at line 2, column {column})"
        assert tree.complete

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("&#1;", "\ufffd"), ("&#x0;", "\ufffd"), ("&#27;[31m", "\ufffd[31m"), ("&#xFFFE;", "\ufffd"),
            ("&#55357;&#56832;", "😀"), ("&#xD83D;&#xDE00;", "😀"), ("&#55357;", "\ufffd"), ("&#56832;&#55357;", "\ufffd\ufffd"),
            ("&#55357;&#56832;&#60;&#38;&#10;", "😀<&\n"), ("&#9999999;", "\ufffd"), ("&#" + "9" * 9000 + ";", "\ufffd"),
            ("&#00000000065;&#1;", "A\ufffd"),
        ],
    )  # fmt: skip
    def test_references(self, written: str, read: str) -> None:
        tree = parse(document(node(text=written)))
        assert tree.nodes[0].text == read
        assert ("joined" in tree.recovered) == ("\ufffd" not in read)

    def test_legal_references_leave_no_note(self) -> None:
        tree = parse(document(node(text="&#128512;&#10;&#x27;&quot;")))
        assert (tree.nodes[0].text, tree.recovered) == ("😀\n'\"", "")


class TestOtherOutputAround:
    def test_status_line_behind(self) -> None:
        tree = parse(document(node(text="a")) + "UI hierchary dumped to: /dev/tty\r\n")
        assert tree.recovered == "text after the document: UI hierchary dumped to: /dev/tty"
        assert tree.complete

    def test_warnings_and_errors_before(self) -> None:
        noise = 'WARNING: linker: "[vdso]" unused DT\n\tat java.io.FileInputStream.<init>(F.java:1)\n'
        tree = parse(noise + document(node(text="a\nb")))
        assert tree.nodes[0].text == "a\nb"
        assert tree.recovered.startswith("text before the document: WARNING: linker")

    @pytest.mark.parametrize("rest", ["", "\n", "\r\n \n", "\0\0"])
    def test_white_space_behind_is_nothing(self, rest: str) -> None:
        assert parse(document() + rest).recovered == ""

    def test_positions_count_what_was_before(self) -> None:
        error = refusal("noise\nnoise " + document("<node></oops>"))
        assert error.details is not None
        assert error.details["line"] == 2
        assert error.details["column"] > len("noise " + HEAD)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", "empty"),
            ("\ufeff \r\n", "empty"),
            (b"\0\0\0\0", "empty"),
            ("ERROR: could not get idle state.\n", "not_idle"),
            ("ERROR: null root node returned by UiTestAutomationBridge.\n", "no_root"),
            ("UI hierchary dumped to: /sdcard/window_dump.xml\n", "no_document"),
            ("Killed", "no_document"),
            (HEAD, "truncated"),
        ],
    )
    @pytest.mark.parametrize("recover", [False, True])
    def test_no_document(self, text: str | bytes, expected: str, *, recover: bool) -> None:
        assert reason(refusal(text, recover=recover)) == expected

    def test_two_documents(self) -> None:
        text = document(node(text="first")) + "\n" + document(node(text="second"))
        assert reason(refusal(text)) == "several_documents"
        tree = parse(text, recover=True)
        assert [n.text for n in tree.nodes] == ["first"]
        assert "only the first" in tree.recovered


class TestDamage:
    WHOLE = document('<node text="a"><node text="b"/><node text="é"/></node>')

    @table(
        ("kept", "texts"),
        [
            ('<node text="b"/>', ["a", "b"]),
            ('<node text="b"/><no', ["a", "b"]),
            ('<node text="b"/><node text="', ["a", "b"]),
            ("<hierarchy ", None),
            ('<hierarchy rotation="0">', []),
            ("</node>", ["a", "b", "é"]),
        ],
    )
    def test_cut(self, kept: str, texts: list[str] | None) -> None:
        text = self.WHOLE[: self.WHOLE.index(kept) + len(kept)]
        error = refusal(text)
        assert reason(error) == "truncated"
        if texts is None:
            assert reason(refusal(text, recover=True)) == "truncated"
            return
        tree = parse(text, recover=True)
        assert [n.text for n in tree.nodes] == texts
        assert [n.end for n in tree.nodes][:1] == [len(texts)][: len(texts)]
        assert not tree.complete
        assert tree.recovered.startswith(f"incomplete: {len(texts)} nodes, no closing tag at line 1")

    def test_cut_inside_a_character(self) -> None:
        data = self.WHOLE.encode()
        data = data[: data.index(b"\xc3") + 1]
        assert reason(refusal(data)) == "truncated"
        tree = parse(data, recover=True)
        assert [n.text for n in tree.nodes] == ["a", "b"]
        assert "UTF-8" not in tree.recovered

    @pytest.mark.parametrize(
        ("damage", "words"),
        [
            ('<node text="x" text="y"/>', "an attribute twice"),
            ("</wrong>", "closing tag"),
            ('<node text="a<b"/>', "an invalid character"),
            ('<node text="a & b"/>', "an & that is not written as &amp;"),
            ('<node text="&nbsp;"/>', "an entity that XML does not define"),
        ],
    )
    def test_not_well_formed(self, damage: str, words: str) -> None:
        text = document(node(text="kept"), damage, node(text="lost"))
        error = refusal(text)
        assert reason(error) == "not_well_formed"
        assert words in str(error)

    def test_recover_stops_at_the_damage(self) -> None:
        tree = parse(document(node(text="kept"), "</wrong>", node(text="lost")), recover=True)
        assert [n.text for n in tree.nodes] == ["kept"]
        assert not tree.complete
        assert "closing tag" in tree.recovered

    @table("written", ["Fish & Chips", "a&b;", "&nbsp;", "x && y &amp; z", "&", "&#;"])
    def test_bare_ampersands(self, written: str) -> None:
        text = document(node(text=written), node(text="next"))
        assert reason(refusal(text)) == "not_well_formed"
        tree = parse(text, recover=True)
        assert [n.text for n in tree.nodes] == [written.replace("&amp;", "&"), "next"]
        assert "ampersands" in tree.recovered
        assert tree.complete

    @pytest.mark.parametrize("recover", [False, True])
    def test_document_types_are_refused(self, *, recover: bool) -> None:
        bomb = (
            '<!DOCTYPE hierarchy [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><hierarchy><node text="&b;"/></hierarchy>'
        )
        error = refusal(bomb, recover=recover)
        assert reason(error) == "doctype"
        assert reason(refusal('<!DOCTYPE h SYSTEM "file:///etc/passwd"><hierarchy/>', recover=recover)) == "doctype"


class TestBounds:
    """The limits are those of decision 6; beyond them nothing is built."""

    def test_depth(self) -> None:
        def nested(levels: int) -> str:
            return document("<node>" * levels + "</node>" * levels)

        tree = parse(nested(4_000))
        assert tree.nodes[-1].depth == 3_999
        assert len(tree.nodes[-1].path.split("/")) == 4_000
        assert len(tree.on_screen) == 4_000
        assert build(tree.roots).nodes[-1].depth == 3_999
        assert len(parse(nodes_xml(tree.roots)).nodes) == 4_000
        assert refusal(nested(4_001)).code is ErrorCode.HIERARCHY_TOO_LARGE
        assert refusal("<hierarchy>" * 5_000).code is ErrorCode.HIERARCHY_TOO_LARGE

    def test_nodes(self) -> None:
        tree = parse(document("<node/>" * 200_000))
        assert len(tree.nodes) == 200_000
        assert refusal(document("<node/>" * 200_001)).code is ErrorCode.HIERARCHY_TOO_LARGE

    def test_size(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert tree_module.MAX_BYTES == 64 * 1024 * 1024
        text = document(node(text="é" * 100))
        monkeypatch.setattr(tree_module, "MAX_BYTES", len(text.encode()))
        assert len(parse(text).nodes) == 1
        monkeypatch.setattr(tree_module, "MAX_BYTES", len(text.encode()) - 1)
        assert refusal(text).code is ErrorCode.HIERARCHY_TOO_LARGE
        assert refusal(text.encode(), recover=True).code is ErrorCode.HIERARCHY_TOO_LARGE


class TestOnScreen:
    """wire.md#tree-used-for-matching: positive size, visible to the user, on the screen; a dropped node drops its subtree."""

    @staticmethod
    def kept(*children: Mapping[str, object], screen: Bounds | None = None) -> list[str]:
        inner = [render_node(child, [render_node({"text": "in", "bounds": (0, 0, 5, 5)})]) for child in children]
        tree = build([render_node({"bounds": (0, 0, 100, 200)}, inner)], screen=screen)
        return [n.text for n in tree.on_screen[1:]]

    @pytest.mark.parametrize(
        ("bounds", "stays"),
        [
            ((0, 0, 1, 1), True), ((99, 199, 500, 500), True), ((-5, -5, 1, 1), True), ((-50, -50, 500, 500), True),
            ((5, 5, 5, 9), False), ((5, 5, 9, 5), False), ((9, 9, 5, 5), False), ((0, 0, 0, 0), False),
            ((100, 0, 110, 9), False), ((0, 200, 9, 210), False), ((-9, 0, 0, 9), False), ((0, -9, 9, 0), False),
        ],
    )  # fmt: skip
    def test_bounds(self, bounds: tuple[int, ...], *, stays: bool) -> None:
        assert self.kept({"text": "x", "bounds": bounds}) == (["x", "in"] if stays else [])

    def test_the_screen_can_be_reported(self) -> None:
        below = {"text": "x", "bounds": (0, 300, 9, 310)}
        assert self.kept(below) == []
        assert self.kept(below, screen=Bounds(0, 0, 100, 400)) == ["x", "in"]

    @pytest.mark.parametrize("name", ["visible-to-user", "displayed"])
    def test_platform_flag(self, name: str) -> None:
        text = f'<node bounds="[0,0][9,9]"><node {name}="false" bounds="[0,0][9,9]"/><node {name}="true"/></node>'
        tree = parse(document(text))
        assert [n.index for n in tree.on_screen] == [0, 2]

    def test_roots_always_stay_and_unknown_bounds_too(self) -> None:
        tree = parse(document('<node bounds="[0,0][0,0]"><node bounds="[0,0][9,9]"/><node/></node>'))
        assert len(tree.on_screen) == 3
        assert tree.screen == Bounds(0, 0, 9, 9)


def test_build_equals_parsing_what_is_written() -> None:
    root = render_node(
        {"text": "a", "bounds": (0, 0, 9, 9)}, [render_node({"clickable": True}), render_node({"x": "y"})]
    )
    built, parsed = build([root], rotation=2), parse(hierarchy_xml(root, rotation=2))
    assert isinstance(built, UiTree)
    assert [n.attributes for n in built.nodes] == [n.attributes for n in parsed.nodes]
    assert [(n.index, n.end, n.depth) for n in built.nodes] == [(n.index, n.end, n.depth) for n in parsed.nodes]
    assert built.rotation == parsed.rotation == 2
