"""Prepare the bytes of a dump for the XML parser: decoded, without other output, legal XML.

Every change is recorded, so that a position in the parser's input maps back to the original text.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

_UTF8_BOM = b"\xef\xbb\xbf"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_FORBIDDEN = dict.fromkeys([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0xFFFE, 0xFFFF], _REPLACEMENT)
_MAX_DIGITS = 8
_MAX_CHANGES = 500_000

_CHARACTERS = "characters that XML forbids were replaced by U+FFFD"
_BYTES = "bytes that are not UTF-8 were replaced by U+FFFD"
_JOINED = "surrogate pairs written as two characters were joined"

_OPENING = re.compile(rb"\s*<[A-Za-z_?!]")
_START = re.compile(rb"<(?:\?xml|hierarchy|displays|node)\b")
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_BETWEEN_TAGS = re.compile(rb">[ \t\r\n]+(?=<|\Z)")
_BREAK = re.compile(rb"\r\n|[\n\r\t]")
_SUSPECT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|[\x80-\xff]+|(?:&#(?:[0-9]+|x[0-9a-fA-F]+);){1,1024}")
_REFERENCE = re.compile(rb"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
_ENCODED_PAIR = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);)")


class _Change(NamedTuple):
    start: int
    end: int
    text: bytes
    kind: str = ""


class _Edits(NamedTuple):
    """The offsets after each change of one rewriting, in the new bytes and in the old ones."""

    new: list[int]
    old: list[int]

    def back(self, offset: int) -> int:
        step = bisect_right(self.new, offset) - 1
        return self.old[step] + offset - self.new[step]


class DumpSource:
    """A dump as UTF-8 in ``data``, which the methods rewrite.

    ``notes`` describes the changes that a user must know about.
    """

    def __init__(self, text: str | bytes) -> None:
        self.notes: list[str] = []
        self._original = self._encode(text) if isinstance(text, str) else _transcode(bytes(text))
        self._edits: list[_Edits] = []
        self.data = self._original

    def _encode(self, text: str) -> bytes:
        try:
            return text.removeprefix("\ufeff").encode()
        except UnicodeEncodeError:
            joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self.notes.append("surrogates in the text were joined, or replaced by U+FFFD")
            return joined.encode()

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1 and in characters, of a byte offset in ``data``."""
        for edits in reversed(self._edits):
            offset = edits.back(offset)
        line_start = self._original.rfind(b"\n", 0, offset) + 1
        line = self._original.count(b"\n", 0, offset) + 1
        return line, len(self._original[line_start:offset].decode("utf-8", "replace")) + 1

    def cut_to_document(self) -> bool:
        """Drop the output before the document; False when there is no document at all."""
        opening = _OPENING.match(self.data)
        found = opening or _START.search(self.data)
        if found is None:
            return False
        start = self.data.index(b"<", found.start())
        if opening is None:
            self.notes.append(f"text before the document: {excerpt(self.data[:start])}")
        if start:
            self.data = self.data[start:]
            self._edits.append(_Edits([0], [start]))
        return True

    def keep_line_breaks(self) -> None:
        """Write raw line feeds, tabs and carriage returns inside attribute values as references.

        The Operator writes them raw, and XML would turn each into a blank: labels would no longer match the device's.
        A file whose line ends are CRLF was converted on its way, its values too: there CRLF means LF.
        """
        if breaks := breaks_in_tags(self.data):
            first = self.data.find(b"\n")
            converted = first > 0 and self.data[first - 1] == ord("\r")
            self._apply(_breaks_in_values(self.data, breaks, converted=converted))

    def make_legal(self) -> bool:
        """Replace what XML 1.0 forbids (control characters, bytes that are not UTF-8, references to forbidden
        characters) and join surrogate pairs into the character they mean; whether there was any.
        """
        return self._apply(_illegal(self.data))

    def escape_ampersands(self) -> bool:
        """Take every ``&`` that begins no reference of XML's own literally; whether there was any."""
        kind = "ampersands not written as &amp; were taken literally"
        return self._apply(_Change(*found.span(), b"&amp;", kind) for found in _BARE_AMPERSAND.finditer(self.data))

    def _apply(self, changes: Iterable[_Change]) -> bool:
        """Rewrite ``data``; one note per kind of change, with its count and first position.

        A hostile dump can need a change at every other byte: beyond a limit the rest stays as it is.
        """
        pieces: list[bytes] = []
        edits = _Edits([0], [0])
        counts: dict[str, int] = {}
        firsts: dict[str, int] = {}
        done = size = 0
        for change in islice(changes, _MAX_CHANGES):
            pieces += (self.data[done : change.start], change.text)
            size += change.start - done + len(change.text)
            done = change.end
            edits.new.append(size)
            edits.old.append(done)
            counts[change.kind] = counts.get(change.kind, 0) + 1
            firsts.setdefault(change.kind, change.start)
        if not pieces:
            return False
        for kind in filter(None, counts):
            line, column = self.position(firsts[kind])
            places = "1 place" if counts[kind] == 1 else f"{counts[kind]} places, the first"
            self.notes.append(f"{kind} ({places} at line {line}, column {column})")
        if sum(counts.values()) == _MAX_CHANGES:
            self.notes.append(f"only the first {_MAX_CHANGES} repairs were made")
        pieces.append(self.data[done:])
        self.data = b"".join(pieces)
        self._edits.append(edits)
        return True


def breaks_in_tags(data: bytes) -> list[bytes]:
    """Return which of line feed, tab and carriage return stand elsewhere than alone between tags."""
    # In most dumps they are only between tags, which is several times faster to detect than their positions.
    inside = _BETWEEN_TAGS.sub(b">", data) if b"\n" in data else data
    return [byte for byte in (b"\n", b"\t", b"\r") if byte in inside]


def excerpt(text: bytes) -> str:
    """The first line that is not blank, shortened; device text, not made safe for a terminal."""
    for line in text[:4096].decode("utf-8", "replace").splitlines():
        if line.strip(" \t\0"):
            words = line.strip(" \t\0")
            return words if len(words) <= 100 else words[:99] + "…"
    return ""


def is_document(text: bytes) -> bool:
    """Whether a hierarchy begins somewhere in the text."""
    return _START.search(text) is not None


def _transcode(data: bytes) -> bytes:
    """UTF-16 (a redirect in PowerShell) → UTF-8; UTF-8 only loses its byte order mark."""
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        return data.decode("utf-16", "replace").encode()
    if data[:2] in {b"<\0", b"\0<"}:
        return data.decode("utf-16-le" if data[0] else "utf-16-be", "replace").encode()
    return data.removeprefix(_UTF8_BOM)


def _breaks_in_values(data: bytes, breaks: list[bytes], *, converted: bool) -> Iterator[_Change]:
    """Search only tags that contain a break: splitting at ``<`` finds them at the speed of C."""
    start = 0
    for piece in data.split(b"<"):
        tag_end = piece.rfind(b">") if b">" in piece else len(piece)
        for byte in breaks:
            if piece.find(byte, 0, tag_end) >= 0 and piece[:1] not in {b"!", b"?", b"/"}:
                for value in _QUOTED.finditer(piece):
                    for found in _BREAK.finditer(piece, *value.span()):
                        text = b"\n" if converted and found.group() == b"\r\n" else found.group()
                        reference = b"".join(b"&#%d;" % code for code in text)
                        yield _Change(start + found.start(), start + found.end(), reference)
                break
        start += len(piece) + 1


def _illegal(data: bytes) -> Iterator[_Change]:
    for found in _SUSPECT.finditer(data):
        run = found.group()
        if run[0] == ord("&"):
            fixed, kind = _legal_references(run)
        elif run[0] < ord(" "):
            fixed, kind = _REPLACEMENT.encode(), _CHARACTERS
        else:
            fixed, kind = _legal_utf8(run, at_end=found.end() == len(data))
        if fixed != run:
            yield _Change(*found.span(), fixed, kind)


def _legal_references(run: bytes) -> tuple[bytes, str]:
    codes = [_code(found) for found in _REFERENCE.finditer(run)]
    text = "".join(map(chr, codes)).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    legal = [ord(character) for character in text.translate(_FORBIDDEN)]
    if legal == codes:
        return run, ""
    kind = _CHARACTERS if legal.count(0xFFFD) > codes.count(0xFFFD) else _JOINED
    return b"".join(b"&#%d;" % code for code in legal), kind


def _code(reference: re.Match[bytes]) -> int:
    """The number of a reference; beyond Unicode (or absurdly long) → a character that is never legal."""
    hexadecimal, decimal = reference.groups()
    digits = (hexadecimal or decimal).lstrip(b"0") or b"0"
    if len(digits) > _MAX_DIGITS:
        return 0
    code = int(digits, 16 if hexadecimal else 10)
    return code if code < 0x110000 else 0


def _legal_utf8(run: bytes, *, at_end: bool) -> tuple[bytes, str]:
    """Bad sequences → U+FFFD; an incomplete character at the end of the data stays: it is cut, not damaged."""
    joined = _ENCODED_PAIR.sub(_join_pair, run)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(joined, final=not at_end)
    rest = decoder.getstate()[0]
    kind = _CHARACTERS if joined == run else _JOINED
    if text.encode() + rest != joined:
        kind = _BYTES
    return text.translate(_FORBIDDEN).encode() + rest, kind


def _join_pair(pair: re.Match[bytes]) -> bytes:
    halves = pair.group().decode("utf-8", "surrogatepass")
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le").encode()
