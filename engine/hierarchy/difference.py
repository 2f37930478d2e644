"""Explain how a wanted text differs from the one on the screen.

Positions count characters from 1. The differences found are those that cannot be seen: letter case in a long text, line
breaks, no-break and look-alike characters, digits of other scripts, skin tones, blanks at the ends, references copied
raw from the dump.
"""

from __future__ import annotations

import html
import re
import unicodedata
from itertools import zip_longest

from clawperator.engine.hierarchy.folding import fold

_LOOK_ALIKES = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u30fc",
    "'": "\u2018\u2019\u201a\u201b\u2032\u02b9\u02bc\u00b4\u0060",
    '"': "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb",
    "\u00b7": "\u2022\u2219\u22c5",
    "/": "\u2044\u2215",
    ":": "\u2236\ua789",
    "x": "\u00d7",
    # Cyrillic and Greek letters that most fonts draw like Latin ones
    **dict(zip("ABEKMHOPCTYXIJ", "АВЕКМНОРСТУХІЈ", strict=True)),
    **dict(zip("aeopcyij", "аеорсуіј", strict=True)),
}
_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo", strict=True))
_SKIN_TONES = "".join(map(chr, range(0x1F3FB, 0x1F400)))
_LINE_BREAKS = "\t\n\v\f\r\x85\u2028\u2029"
_ZEROS = "\u0660\u06f0\u0966\u09e6\u0e50"
"""Of Arabic, Persian, Devanagari, Bengali and Thai digits."""
_INVISIBLE = "\u00ad\u061c\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\ufe0e\ufe0f"
_PLAIN = str.maketrans(
    {other: plain for plain, others in _LOOK_ALIKES.items() for other in others}
    | {"\u0445": "x"}
    | _GREEK
    | dict.fromkeys(_INVISIBLE + _SKIN_TONES, "")
    | dict.fromkeys(_LINE_BREAKS, " ")
    | {chr(ord(zero) + digit): str(digit) for zero in _ZEROS for digit in range(10)}
)
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")


def plain(text: str) -> str:
    """``text`` on one line, without look-alikes, compatibility forms and invisible characters; letter case stays."""
    return text if text.isascii() and text.isprintable() else unicodedata.normalize("NFKC", text).translate(_PLAIN)


def canonical(text: str) -> str:
    """A form in which texts that look alike are equal: plain, folded, trimmed, unescaped."""
    return fold(plain(unescape(text))).strip()


def unescape(text: str) -> str:
    """Decode the references of a dump; any other ``&`` stays."""
    return _ENTITY.sub(lambda entity: html.unescape(entity.group()), text) if "&" in text else text


def why_not_equal(wanted: str, got: str) -> str:
    """Why two unequal texts are not equal."""
    if not got:
        return "the node has none"
    if unescape(wanted) == got:
        return _raw_entity(wanted)
    if trim(wanted) == trim(got):
        return _blanks(wanted, got)
    where = first_difference(wanted, got)
    if fold(wanted) == fold(got):
        return f"only letter case differs, {where}"
    if canonical(wanted) == canonical(got):
        return f"looks alike but differs {where}"
    if fold(wanted) in fold(got):
        return "the value contains more: use contains"
    if canonical(wanted) and canonical(wanted) in fold(plain(got)):
        return f"the value contains more, and {_odd_characters(wanted, got)}"
    return f"differs {where}"


def why_not_contained(wanted: str, got: str) -> str:
    """Why ``wanted`` is not part of ``got``, ignoring letter case."""
    if not got:
        return "the node has none"
    folded = fold(got)
    if fold(unescape(wanted)) in folded:
        return _raw_entity(wanted)
    if trim(wanted) and fold(trim(wanted)) in folded:
        return "blanks at the ends of the wanted text are not on the screen"
    if canonical(wanted) and canonical(wanted) in fold(plain(got)):
        return f"looks contained but {_odd_characters(wanted, got)}"
    return "not contained"


def trim(text: str) -> str:
    """Without blanks and invisible characters at the ends."""
    return text.strip().strip(_INVISIBLE).strip()


def first_difference(wanted: str, got: str) -> str:
    """``at 3: U+2011 NON-BREAKING HYPHEN is not "-"``: the character on the screen, then the wanted one."""
    for position, (want, have) in enumerate(zip_longest(wanted, got), start=1):
        if want != have:
            return f"at {position}: {spell(have)} is not {spell(want)}"
    return "nowhere"


def spell(character: str | None) -> str:
    """A character in an unambiguous form: quoted when it is visible ASCII, else by code point and name."""
    if character is None:
        return "the end"
    if "!" <= character <= "~":
        return f"'{character}'" if character == '"' else f'"{character}"'
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()


def _raw_entity(wanted: str) -> str:
    found = _ENTITY.search(wanted)
    entity = found.group() if found else "&"
    return f"{entity} was copied raw from the dump: write {spell(unescape(entity))}"


def _blanks(wanted: str, got: str) -> str:
    extra, owner = (got, "the value on the screen") if len(got) >= len(wanted) else (wanted, "the wanted text")
    core = trim(extra)
    start = extra.index(core)
    sides = [
        f"{side} with {spell(blank)}"
        for side, blank in (("begins", extra[:1] if start else ""), ("ends", extra[start + len(core) :][-1:]))
        if blank
    ]
    return f"{owner} {' and '.join(sides)}" if sides else f"differs {first_difference(wanted, got)}"


def _odd_characters(wanted: str, got: str) -> str:
    """The first look-alike character in either text."""
    for text, other, owner in ((got, wanted, "on the screen"), (wanted, got, "in the wanted text")):
        for position, character in enumerate(text, start=1):
            if plain(character) != character and character not in other:
                return f"{spell(character)} at {position} {owner} is not {spell(plain(character)[:1] or None)}"
    return "the characters differ"
