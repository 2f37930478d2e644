"""Selector flags: one family for nodes (``--text``, ``--id``, …), the same again for containers."""

from __future__ import annotations

from clawperator.app.cli.parsing.values import invalid, json_object, text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.hierarchy.matcher import Matcher

_FIELDS = (
    ("text", "textEquals", "its text"),
    ("text-contains", "textContains", "part of its text"),
    ("id", "resourceId", "its resource id"),
    ("desc", "contentDescEquals", "its content description"),
    ("desc-contains", "contentDescContains", "part of its content description"),
    ("role", "role", "its role: button, textfield, switch, …"),
)
"""Flag, matcher field, meaning."""
_LABEL_FIELDS = (
    ("label", "textEquals", "its text"),
    ("label-id", "resourceId", "its resource id"),
    ("label-desc", "contentDescEquals", "its content description"),
)


def add_selector_flags(parser: Parser, *, container: bool = False, text: bool = True) -> None:
    """Declare the family; ``text`` is false where ``--text`` means something else."""
    noun, prefix = ("container", "--container-") if container else ("node", "--")
    bare = "--container" if container else "--selector"
    names = (bare, "--container-selector") if container else (bare,)
    code = ErrorCode.EXECUTION_VALIDATION_FAILED
    parser.value(*names, metavar="<json>", about=f"match the {noun} with this JSON matcher", code=code)
    for name, _, meaning in _FIELDS:
        if text or name != "text":
            parser.value(f"{prefix}{name}", metavar="<s>", about=f"match the {noun} by {meaning}", code=code)


def selector(options: Namespace, *, container: bool = False, text: bool = True) -> dict[str, Any] | None:
    """The matcher that the flags describe, all of them together; ``None`` when none was given.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) for blank values, for JSON that is no object, and for both forms at once.
    """
    prefix = "container-" if container else ""
    flag = f"--{prefix}selector"
    raw = json_object(flag, options.container if container else options.selector, f"{prefix}selector")
    rows = [(f"{prefix}{name}", field) for name, field, _ in _FIELDS if text or name != "text"]
    fields = _fields(options, rows, f"{prefix}selector")
    if raw is not None and fields:
        simple = "--container-* flags" if container else "simple flags"
        raise invalid(f"use {flag} OR the {simple}, not both", f"{prefix}selector")
    return raw if raw is not None else fields or None


def add_label_flags(parser: Parser) -> None:
    """Declare the family that names a label."""
    for name, _, meaning in _LABEL_FIELDS:
        code = ErrorCode.EXECUTION_VALIDATION_FAILED
        parser.value(f"--{name}", metavar="<s>", about=f"match the label by {meaning}", code=code)


def label(options: Namespace) -> dict[str, Any] | None:
    """The matcher of the label, as :func:`selector` has it for nodes."""
    return _fields(options, [(name, field) for name, field, _ in _LABEL_FIELDS], "labelMatcher") or None


def _fields(options: Namespace, rows: Iterable[tuple[str, str]], path: str) -> dict[str, Any]:
    """The matcher fields among ``rows`` (flag, field) that were given."""
    fields: dict[str, Any] = {}
    for name, field in rows:
        value = text_value(f"--{name}", getattr(options, name.replace("-", "_")), f"{path}.{field}")
        if value is not None:
            fields[field] = value
    return fields


def checked_matcher(options: Namespace) -> tuple[Matcher, list[dict[str, Any]]] | None:
    """The matcher that the flags describe, held against the contract as in an execution, and what that warns of.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) that names the flag; ``None`` when no flag was given.
    """
    given = selector(options)
    if given is None:
        return None
    from clawperator.engine.executions.build import single
    from clawperator.engine.executions.validate import validate
    from clawperator.engine.hierarchy.matcher import Matcher

    try:
        checked = validate(single("match", "wait_for_node", {"matcher": given}))
    except EngineError as exc:
        raise _named_by_flag(exc, options) from exc
    warnings = [{**warning.to_dict(), "path": _as_flag_path(warning.path)} for warning in checked.warnings]
    return Matcher.from_fields(checked.payload["actions"][0]["params"]["matcher"]), warnings


def _named_by_flag(error: EngineError, options: Namespace) -> EngineError:
    """The contract's refusal of a matcher, in terms of the command line."""
    issues = [{key: _as_flag_path(words) for key, words in issue.items()} for issue in error.details.get("issues", ())]
    path = _as_flag_path(error.details.get("path", ""))
    flags = {f"selector.{field}": f"--{name}" for name, field, _ in _FIELDS} if options.selector is None else {}
    return EngineError(
        error.code,
        f"{flags.get(path, '--selector')}: {_as_flag_path(error.message)}",
        hint=error.hint,
        details={"path": path, "issues": issues},
    )


def _as_flag_path(words: str) -> str:
    return words.replace("actions.0.params.matcher", "selector")
