"""The Operator's format, to the byte (wire.md#hierarchy-xml)."""

from __future__ import annotations

from clawperator.engine.hierarchy.serialise import ATTRIBUTES, hierarchy_xml, node_xml, nodes_xml, render_node
from clawperator.engine.hierarchy.tree import Bounds, parse

REST = (
    'checkable="false" checked="false" clickable="{click}" enabled="true" focusable="false" focused="false" '
    'scrollable="false" long-clickable="false" password="false" selected="false" bounds="{bounds}"'
)
LEAF = render_node({
    "text": "Tom's \"1\" <2> & 3\n\t4", "resource-id": "a:id/b", "class": "android.widget.Button", "package": "a",
    "content-desc": "Wi\u2011Fi", "clickable": True, "bounds": (1, -2, 30, 40), "unknown": "left out",
})  # fmt: skip
EXPECTED = (
    "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
    '<hierarchy rotation="1">\n'
    '  <node index="0" text="" resource-id="" class="" package="" content-desc="" '
    + REST.format(click="false", bounds="[0,0][90,80]")
    + ">\n"
    '    <node index="0" text="Tom&apos;s &quot;1&quot; &lt;2&gt; &amp; 3\n\t4" resource-id="a:id/b" '
    'class="android.widget.Button" package="a" content-desc="Wi\u2011Fi" '
    + REST.format(click="true", bounds="[1,-2][30,40]")
    + " />\n"
    "  </node>\n"
    "</hierarchy>\n"
)


def test_the_dump_is_the_operators() -> None:
    assert hierarchy_xml(render_node({"bounds": Bounds(0, 0, 90, 80)}, [LEAF]), rotation=1) == EXPECTED


def test_indexes_count_siblings_unless_given() -> None:
    children = [render_node({}), render_node({"index": 7}), render_node({})]
    tree = parse(hierarchy_xml(render_node({}, children)))
    assert [node.attributes["index"] for node in tree.nodes] == ["0", "0", "7", "2"]


def test_no_root_and_several() -> None:
    assert nodes_xml([]).endswith('<hierarchy rotation="0">\n</hierarchy>\n')
    assert len(parse(nodes_xml([LEAF, LEAF])).roots) == 2


def test_extras_are_kept_on_request() -> None:
    [node] = parse('<hierarchy><node hint="a&amp;b" NAF="true" text="t"/></hierarchy>').nodes
    assert node_xml(node).endswith('bounds="[0,0][0,0]" hint="a&amp;b" NAF="true" />')
    assert "hint" not in node_xml(node, extras=False)
    assert list(parse(node_xml(node)).nodes[0].attributes) == [*ATTRIBUTES, "hint", "NAF"]


def test_a_fragment_begins_at_the_margin() -> None:
    text = node_xml(render_node({}, [LEAF]))
    assert text.startswith("<node ")
    assert "\n  <node " in text
    assert text.endswith("\n</node>")
