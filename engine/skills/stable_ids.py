"""Deterministic ids of compiled artifacts, and scalars as text (skills.md#json-templates)."""

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
"""Variables by which callers may choose the ids of the execution."""

_DIGITS = 12
_SURROGATE = re.compile("[\ud800-\udfff]")
_POSITIONAL = (1e-7, 1e21)
"""The range in which JavaScript writes numbers without an exponent."""


def stable_ids(identity: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return ``COMMAND_ID`` and ``TASK_ID``: those of ``chosen``, else hashes of ``identity`` as compact JSON."""
    text = json.dumps(identity, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    made = {COMMAND_ID: f"cmd-{digest}", TASK_ID: f"task-{digest}"}
    return {name: chosen.get(name, made[name]) for name in made}


def in_order(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping sorted by UTF-16 code units, as JavaScript sorts."""
    return dict(sorted(texts.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass")))


def text_of(value: Scalar) -> str:
    """Return a scalar as JavaScript's ``String()`` does, so that 3.0 and 3 are equal."""
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
