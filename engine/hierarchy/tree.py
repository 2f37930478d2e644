"""Hierarchy XML → ``UiTree``: the Operator's dumps, ``uiautomator dump`` with and without ``--windows``, Appium sources.

Dumps are untrusted and often damaged. Unambiguous violations of XML are repaired and listed in ``UiTree.recovered``;
missing parts are an error, or with ``recover=True`` the tree ends there.
Limits (size, nodes, depth) are checked before memory is used, nothing recurses, and document types are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn
from xml.parsers import expat

from clawperator.engine.contracts.limits import MAX_TREE_BYTES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, Bounds, UiNode, UiTree
from clawperator.engine.hierarchy.serialise import Renderable, written
from clawperator.engine.hierarchy.source import DumpSource, breaks_in_tags, excerpt, is_document

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "NO_BOUNDS",
    "Bounds",
    "IncomingTree",
    "UiNode",
    "UiTree",
    "build",
    "parse",
]

MAX_BYTES = MAX_TREE_BYTES
MAX_NODES = 200_000
MAX_DEPTH = 4_000
_BEGINNING = re.compile(rb"<[A-Za-z_?!]")

_WRAPPERS = frozenset({"hierarchy", "displays", "display", "window"})
_CUT = frozenset({
    expat.errors.codes[text]
    for text in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
})  # fmt: skip
_WORDS = {
    expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]: "an invalid character",
    expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH]: "a closing tag that does not belong to the open element",
    expat.errors.codes[expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE]: "an attribute twice on one element",
    expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]: "an entity that XML does not define",
    expat.errors.codes[expat.errors.XML_ERROR_SYNTAX]: "text where an element should begin",
}
_SCREEN_FAILURES = (
    (b"could not get idle state", "not_idle", "uiautomator failed: the screen was not idle within 10 seconds"),
    (b"null root node", "no_root", "uiautomator found no window to dump: the screen is off, secure or in transition"),
)


def parse(text: str | bytes, *, recover: bool = False, screen: Bounds | None = None) -> UiTree:
    """Parse a dump. ``screen`` is the display where known, else it is estimated from the roots.

    Raises EngineError: ``HIERARCHY_TOO_LARGE`` beyond 64 MB, 200,000 nodes or 4,000 levels; ``HIERARCHY_MALFORMED``
    with ``details`` ``reason`` (empty, not_idle, no_root, no_document, truncated, not_well_formed, doctype,
    several_documents, not_a_hierarchy), ``line`` and ``column`` (from 1). With ``recover`` the reasons truncated,
    not_well_formed and several_documents give a tree instead once a root element was read.
    """
    if len(text) > MAX_BYTES:
        raise _too_large(f"the dump is larger than {MAX_BYTES // 2**20} MB")
    source = DumpSource(text)
    if len(source.data) > MAX_BYTES:
        raise _too_large(f"the dump is larger than {MAX_BYTES // 2**20} MB")
    if not source.cut_to_document():
        _refuse_without_document(source)
    source.keep_line_breaks()
    return _tree_of(_read(source, recover=recover), "; ".join(source.notes), screen)


def _tree_of(reader: _Reader, recovered: str, screen: Bounds | None) -> UiTree:
    return UiTree(
        reader.nodes,
        rotation=reader.rotation,
        recovered=recovered,
        complete=reader.root_closed,
        screen=screen,
        windows=reader.windows,
    )


class IncomingTree:
    """A dump in UTF-8 that is parsed while it comes: ``feed`` its parts, then ``tree`` returns what ``parse`` returns for the whole.

    Only the sound beginning is parsed early. What has to be repaired, and every error but a limit, is left to ``parse``.
    """

    def __init__(self) -> None:
        self._reader, self._parser = _parser()
        self._data = bytearray()
        self._parsed = 0
        self._sound = True

    def feed(self, data: bytes) -> None:
        """Take the next part. Raises ``EngineError``: as ``parse`` for the dump so far, if no rest could change that."""
        self._data += data
        if len(self._data) > MAX_BYTES:
            raise _too_large(f"the dump is larger than {MAX_BYTES // 2**20} MB")
        end = self._data.rfind(b"<", self._parsed)  # what stands between two of them is judged as one
        if self._sound and end > self._parsed:
            self._parse(bytes(self._data[self._parsed : end]), last=False)
            self._parsed = end

    def _parse(self, part: bytes, *, last: bool) -> None:
        self._sound = (self._parsed > 0 or _BEGINNING.match(part) is not None) and not breaks_in_tags(part)
        try:
            if self._sound:
                self._parser.Parse(part, last)
        except expat.ExpatError:
            self._sound = False
        except _Refused:
            self._sound = False
            parse(bytes(self._data))

    def tree(self, *, screen: Bounds | None = None) -> UiTree:
        """Return the tree, or raise ``EngineError``, as ``parse`` does for all parts together."""
        if self._sound:
            self._parse(bytes(self._data[self._parsed :]), last=True)
        return _tree_of(self._reader, "", screen) if self._sound else parse(bytes(self._data), screen=screen)


def build(
    roots: Iterable[Renderable], *, rotation: int = 0, screen: Bounds | None = None, extras: bool = False
) -> UiTree:
    """The tree that ``parse`` would return for the dump of these nodes, without serialising it; ``extras`` as in ``written``."""
    nodes: list[UiNode] = []
    pending: list[tuple[Renderable, int, UiNode | None]] = []
    pending += [(root, at, None) for at, root in enumerate(roots)][::-1]
    while pending:
        rendered, position, parent = pending.pop()
        node = UiNode(parent, "node", written(rendered.attributes, position, extras=extras), nodes)
        nodes.append(node)
        pending += [(child, at, node) for at, child in enumerate(rendered.children)][::-1]
    for node in reversed(nodes):
        if node.parent is not None and node.parent.end < node.end:
            node.parent.end = node.end
    return UiTree(nodes, rotation=rotation, screen=screen)


class _Reader:
    """expat's callbacks, kept short: they run once per element."""

    def __init__(self) -> None:
        self.nodes: list[UiNode] = []
        self.rotation = 0
        self.windows: list[Mapping[str, str]] = []
        self.root_seen = False
        self.root_closed = False
        self.open: list[UiNode | None] = []
        """Open elements; a wrapper is represented by the node around it (none at the top)."""
        self._window: Mapping[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        stack = self.open
        parent = stack[-1] if stack else None
        if len(stack) >= MAX_DEPTH + len(_WRAPPERS):
            raise _too_large(f"the dump is deeper than {MAX_DEPTH} levels")
        if tag in _WRAPPERS:
            self._wrapper(tag, attributes)
            stack.append(parent)
            return
        if parent is None:
            self._root(tag)
        nodes = self.nodes
        node = UiNode(parent, tag, attributes, nodes)
        if node.depth >= MAX_DEPTH:
            raise _too_large(f"the dump is deeper than {MAX_DEPTH} levels")
        if len(nodes) >= MAX_NODES:
            raise _too_large(f"the dump has more than {MAX_NODES} nodes")
        nodes.append(node)
        stack.append(node)

    def end(self, tag: str) -> None:
        node = self.open.pop()
        if node is not None and tag not in _WRAPPERS:
            node.end = len(self.nodes)
        self.root_closed = not self.open

    def _wrapper(self, tag: str, attributes: dict[str, str]) -> None:
        self.root_seen = True
        if tag == "window":
            self._window = attributes
        elif tag == "hierarchy" and not self.nodes:
            rotation = attributes.get("rotation", "")
            self.rotation = int(rotation) if rotation in {"0", "1", "2", "3"} else 0

    def _root(self, tag: str) -> None:
        if not self.open:
            self._require_hierarchy(tag)
            self.root_seen = True
        self.windows.append(self._window)

    def _require_hierarchy(self, tag: str) -> None:
        if tag != "node" and "." not in tag:
            raise _Refused("not_a_hierarchy", f"the document's element is <{tag[:40]}>, not <hierarchy>")

    def doctype(self, *_: object) -> NoReturn:
        raise _Refused("doctype", "document types and entities are refused")

    def close_open(self) -> None:
        """Set the ends of nodes that were still open at the cut."""
        for node in self.open:
            if node is not None:
                node.end = len(self.nodes)


class _Refused(Exception):  # noqa: N818 - never leaves this module; the parser's position is added where it is caught
    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


def _read(source: DumpSource, *, recover: bool) -> _Reader:
    """Parse; on an error repair the bytes once and parse again; then report the remaining error."""
    reader, error, parser = _run(source)
    if error is not None and not reader.root_closed:
        repaired = source.make_legal()
        if recover:
            repaired |= source.escape_ampersands()
        if repaired:
            reader, error, parser = _run(source)
    if error is None:
        return reader
    offset = max(parser.ErrorByteIndex, 0)
    if reader.root_closed:
        _judge_rest(source, offset, recover=recover)
    else:
        _judge_damage(source, reader, error, offset, recover=recover)
    return reader


def _parser() -> tuple[_Reader, Any]:
    reader = _Reader()
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.doctype
    return reader, parser


def _run(source: DumpSource) -> tuple[_Reader, expat.ExpatError | None, Any]:
    reader, parser = _parser()
    try:
        parser.Parse(source.data, True)
    except expat.ExpatError as error:
        return reader, error, parser
    except _Refused as refused:
        raise _malformed(source, parser.CurrentByteIndex, refused.reason, str(refused)) from refused
    return reader, None, parser


def _judge_rest(source: DumpSource, offset: int, *, recover: bool) -> None:
    """Handle text after the document: status text is noted, a second document is an error."""
    rest = source.data[offset:]
    if is_document(rest):
        if not recover:
            raise _malformed(source, offset, "several_documents", "a second document begins")
        source.notes.append("only the first of several documents was read")
    elif words := excerpt(rest):
        source.notes.append(f"text after the document: {words}")


def _judge_damage(source: DumpSource, reader: _Reader, error: expat.ExpatError, offset: int, *, recover: bool) -> None:
    """The document is cut or not well-formed: raise an error, or keep the tree up to there."""
    cut = error.code in _CUT
    words = _WORDS.get(error.code, expat.ErrorString(error.code))
    if b"&" in source.data[max(offset - 1, 0) : offset + 1]:
        words = "an & that is not written as &amp;"
    count = len(reader.nodes)
    if not (recover and reader.root_seen):
        what = f"the document ends too early, after {count} nodes" if cut else f"not well-formed XML: {words}"
        raise _malformed(source, len(source.data) if cut else offset, "truncated" if cut else "not_well_formed", what)
    reader.close_open()
    line, column = source.position(len(source.data) if cut else offset)
    ending = "no closing tag" if cut else words
    source.notes.append(f"incomplete: {count} nodes, {ending} at line {line}, column {column}")


def _refuse_without_document(source: DumpSource) -> NoReturn:
    data = source.data
    if not data.strip(b" \t\r\n\0"):
        raise _malformed(source, 0, "empty", "the dump is empty")
    for words, reason, message in _SCREEN_FAILURES:
        if words in data:
            raise _malformed(source, data.index(words), reason, message)
    raise _malformed(source, 0, "no_document", f"no hierarchy in the output: {excerpt(data)}")


def _malformed(source: DumpSource, offset: int, reason: str, words: str) -> EngineError:
    line, column = source.position(offset)
    message = f"The UI tree cannot be read: {words} (line {line}, column {column})"
    details = {"reason": reason, "line": line, "column": column}
    return EngineError(ErrorCode.HIERARCHY_MALFORMED, message, details=details)


def _too_large(words: str) -> EngineError:
    limits = {"maxBytes": MAX_BYTES, "maxNodes": MAX_NODES, "maxDepth": MAX_DEPTH}
    return EngineError(ErrorCode.HIERARCHY_TOO_LARGE, f"The UI tree cannot be read: {words}", details=limits)
