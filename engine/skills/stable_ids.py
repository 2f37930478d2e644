"""Ids that follow from what was compiled, and scalars as the one text that they have everywhere (skills.md#json-templates)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Scalar = str | int | float | bool

COMMAND_ID = "COMMAND_ID"
TASK_ID = "TASK_ID"
"""Variables that name the ids of the execution, where the caller wants to choose them."""

_DIGITS = 12
_SURROGATE = re.compile("[\ud800-\udfff]")
_POSITIONAL = (1e-7, 1e21)
"""Between these, JavaScript writes a number without an exponent."""


def stable_ids(identity: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, str]:
    """``COMMAND_ID`` and ``TASK_ID``: those of ``chosen``, else ones that follow from ``identity`` alone.

    ``identity`` is written as compact JSON in its own order. Its mappings of variables come from ``in_order``.
    """
    text = json.dumps(identity, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    made = {COMMAND_ID: f"cmd-{digest}", TASK_ID: f"task-{digest}"}
    return {name: chosen.get(name, made[name]) for name in made}


def in_order(texts: Mapping[str, str]) -> dict[str, str]:
    """The same, its keys in the order of their UTF-16 code units, which is that of JavaScript's sort."""
    return dict(sorted(texts.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass")))


def text_of(value: Scalar) -> str:
    """A scalar as text: what ``String()`` makes of it in JavaScript, so that 3.0 and 3 are the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if value == 0:
        return "0"
    low, high = _POSITIONAL
    if low <= abs(value) < high:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
