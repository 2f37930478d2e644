"""Find values that are likely to change: counters, times, prices, typed text; and the stable part of a text."""

from __future__ import annotations

import re

from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, utf16_length
from clawperator.engine.hierarchy.nodes import UiNode, is_blank

_CURRENCY = "$\u00a2-\u00a5\u058f\u060b\u0e3f\u20a0-\u20cf"
_LOOKED_AT = 4 * MAX_MATCHER_VALUE_LENGTH
"""Only the beginning of a longer text is searched for stable words."""

_SIGNS = (
    (re.compile(r"\d\s?[:h]\s?[0-5]\d"), "a time"),
    (re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}"), "a date or a version"),
    (re.compile(rf"[{_CURRENCY}]\s?\d|\d\s?[{_CURRENCY}]"), "a price"),
    (re.compile(r"\d\s?%"), "a percentage"),
    (re.compile(r"\d"), "digits that look like a counter"),
    (re.compile(r"\b(?:just now|yesterday|ago)\b", re.IGNORECASE), "a time relative to now"),
)
_GENERATED_ID = re.compile(
    r"\d{3}|[0-9a-f]{8}-[0-9a-f]{4}|\A\d+\Z|(?=[0-9a-f]*\d)[0-9a-f]{8}"
    r"|[:\u00ab]r[0-9a-v]{1,3}[:\u00bb]|_r_[0-9a-v]{1,3}_"  # React's useId
    r"|\A(?:ember|ext-gen|gwt-uid-|mat-|cdk-|mui-|radix-|headlessui-|react-select-|downshift-)[\w-]*\d",
    re.ASCII,
)
_NO_NAME = re.compile(r"\A(?:\(name removed\)|\d*_?resource_name_obfuscated|no_id|NO_ID)\Z")
"""What an app whose ids were taken out shows for each of them."""
_STATES = frozenset({"on", "off"})

_ATTACHED = "!-\u06ff"
"""Scripts with spaces between words, where a digit makes the whole word volatile; in others only the character is."""
_UNSTABLE = re.compile(
    rf"(?<![{_ATTACHED}])[{_ATTACHED}]*\d[{_ATTACHED}]*|\d+"  # whatever touches a digit
    r"|(?<!\w)\w+(?:['&<>\"%]\w+)+"  # words with an escaped character inside: "Don't"
    rf"|[&<>\"'%\ufffd\ufffc{_CURRENCY}\x00-\x1f\x7f-\x9f\u2028\u2029]"
    r"|\b(?:just now|yesterday|ago)\b",
    re.IGNORECASE,
)
_CORE = re.compile(r"\w(?:.*\w)?", re.DOTALL)
"""From the first letter to the last, without punctuation at the ends."""
_WORDS = re.compile(r"[^\W\d_]{2}")
_IDENTIFIER = re.compile(r"[!-.0-?A-~]+[@/][!-~]+|[A-Za-z0-9-]+(?:[._][A-Za-z0-9-]+)+")
"""Addresses, paths, names of files, packages and things in code: the same in every language."""


def why_volatile(node: UiNode, field: str, value: str) -> str:
    """What about a value is likely to change, as in "the value has a time"; empty when nothing is."""
    if field == "resourceId":
        name = value.rpartition("/")[2]
        if _NO_NAME.match(name):
            return "a name that stands for many ids"
        return "a number that looks generated" if _GENERATED_ID.search(name) else ""
    if field == "role":
        return ""
    if node.role == "textfield" and field.startswith("text") and not is_blank(node.text):
        return "text typed into an input"
    if node.checkable and value.lower() in _STATES:
        return "a state that a tap changes"
    return next((what for sign, what in _SIGNS if sign.search(value)), "")


def is_localised(field: str, value: str) -> bool:
    """Whether the value probably differs in another language: words, but no address or file name."""
    if field in {"resourceId", "role"}:
        return False
    return _WORDS.search(value) is not None and _IDENTIFIER.fullmatch(value) is None


def fits(value: str) -> bool:
    """Whether a matcher may carry the value at all."""
    return 0 < utf16_length(value) <= MAX_MATCHER_VALUE_LENGTH


def stable_run(text: str) -> str:
    """The longest run of words without digits, dates, prices, times, line breaks and characters that XML escapes; the first
    of equally long ones, empty when no run has a word.
    """
    cores = (_CORE.search(run) for run in _UNSTABLE.split(text[:_LOOKED_AT]))
    longest = max((core.group() for core in cores if core), key=len, default="")
    if not fits(longest):
        longest = longest[: MAX_MATCHER_VALUE_LENGTH // 2].rpartition(" ")[0].rstrip()
    return longest if _WORDS.search(longest) else ""
