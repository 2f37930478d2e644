"""Selector flags: one family for nodes (``--text``, ``--id``, …), the same again for containers."""

from __future__ import annotations

from clawperator.app.cli.values import invalid, json_object, text_value
from clawperator.engine.errors import ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.arguments import Parser

_FIELDS = (
    ("text", "textEquals", "its text"),
    ("text-contains", "textContains", "a part of its text"),
    ("id", "resourceId", "its resource id"),
    ("desc", "contentDescEquals", "its content description"),
    ("desc-contains", "contentDescContains", "a part of its content description"),
    ("role", "role", "its role: button, textfield, switch, …"),
)
"""Flag, matcher field, meaning."""


def add_selector_flags(parser: Parser, *, container: bool = False, text: bool = True) -> None:
    """Declare the family; ``text`` is false where ``--text`` means something else."""
    noun, prefix = ("container", "--container-") if container else ("node", "--")
    bare = "--container" if container else "--selector"
    names = (bare, "--container-selector") if container else (bare,)
    code = ErrorCode.EXECUTION_VALIDATION_FAILED
    parser.value(*names, metavar="<json>", about=f"the {noun} as a JSON matcher", code=code)
    for name, _, meaning in _FIELDS:
        if text or name != "text":
            parser.value(f"{prefix}{name}", metavar="<s>", about=f"the {noun} by {meaning}", code=code)


def selector(options: Namespace, *, container: bool = False, text: bool = True) -> dict[str, Any] | None:
    """The matcher that the flags describe, all of them together; ``None`` when none was given.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) for blank values, for JSON that is no object, and for both forms at once.
    """
    prefix = "container-" if container else ""
    flag = f"--{prefix}selector"
    raw = json_object(flag, options.container if container else options.selector, f"{prefix}selector")
    fields: dict[str, Any] = {}
    for name, field, _ in _FIELDS:
        if text or name != "text":
            value = getattr(options, f"{prefix}{name}".replace("-", "_"))
            if text_value(f"--{prefix}{name}", value, f"{prefix}selector.{field}") is not None:
                fields[field] = value
    if raw is not None and fields:
        simple = "--container-* flags" if container else "simple flags"
        raise invalid(f"use {flag} OR the {simple}, not both", f"{prefix}selector")
    return raw if raw is not None else fields or None
