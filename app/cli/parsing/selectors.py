"""Selector flags: one family for nodes (``--text``, ``--id``, …), the same again for containers."""

from __future__ import annotations

from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.values import invalid, json_object, text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import SimpleNamespace
    from typing import Any


_FIELDS = (
    ("text", "textEquals", "its text"),
    ("text-contains", "textContains", "part of its text"),
    ("id", "resourceId", "its resource id, or the part after ':id/' where the screen has one such id"),
    ("desc", "contentDescEquals", "its content description"),
    ("desc-contains", "contentDescContains", "part of its content description"),
    ("role", "role", "its role: button, textfield, switch, …"),
    ("ref", "ref", "its reference in a view: e12@7f3a1b2c"),
)
"""Flag, matcher field, meaning."""
_LABEL_FIELDS = (
    ("label", "textEquals", "its text"),
    ("label-id", "resourceId", "its resource id"),
    ("label-desc", "contentDescEquals", "its content description"),
    ("label-ref", "ref", "its reference in a view"),
)

FIELD_FLAGS = {field: flag for flag, field, _ in _FIELDS}
LABEL_FIELD_FLAGS = {field: flag for flag, field, _ in _LABEL_FIELDS}
"""Matcher field → the flag's name, without dashes."""


def _family(noun: str, rows: Iterable[tuple[str, str, str]], *, prefix: str = "") -> tuple[Flag, ...]:
    return tuple(
        Flag(
            f"--{prefix}{name}",
            "<s>",
            f"match the {noun} by {meaning}",
            code=ErrorCode.EXECUTION_VALIDATION_FAILED,
            selects=True,
        )
        for name, _, meaning in rows
    )


def _json_flag(noun: str, *names: str) -> Flag:
    about = f"match the {noun} with this JSON matcher"
    return Flag(names, "<json>", about, code=ErrorCode.EXECUTION_VALIDATION_FAILED)


SELECTOR_FLAGS = (_json_flag("node", "--selector"), *_family("node", _FIELDS))
SELECTOR_FLAGS_BUT_TEXT = (_json_flag("node", "--selector"), *_family("node", _FIELDS[1:]))
"""For commands where ``--text`` is not a selector."""
CONTAINER_FLAGS = (
    _json_flag("container", "--container", "--container-selector"),
    *_family("container", _FIELDS, prefix="container-"),
)
LIMIT_FLAGS = (
    switch("--strict", "fail if several nodes match, instead of taking the first"),
    *CONTAINER_FLAGS,
)
"""What limits the nodes that an action may take."""
CHOICE_FLAGS = (
    *LIMIT_FLAGS,
    Flag("--nth", "<n>", "take the match at this position, from 0", bounds=(0, 1_000_000)),
    Flag(
        ("--in", "--within"),
        "<ref|selector>",
        "take a match inside this node, else in its row of a list: a reference, a text, or a JSON matcher",
        code=ErrorCode.EXECUTION_VALIDATION_FAILED,
    ),
)
"""The same, and what the host chooses by."""
LABEL_FLAGS = _family("label", _LABEL_FIELDS)


def selector(options: SimpleNamespace, *, container: bool = False, text: bool = True) -> dict[str, Any] | None:
    """Return the matcher that all the flags together describe; ``None`` when none was given.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) for blank values, for JSON that is no object, and for both forms at once.
    """
    prefix = "container-" if container else ""
    flag = f"--{prefix}selector"
    raw = json_object(flag, options.container if container else options.selector, f"{prefix}selector")
    rows = [(f"{prefix}{name}", field) for name, field, _ in _FIELDS if text or name != "text"]
    fields = _fields(options, rows, f"{prefix}selector")
    if raw is not None and fields:
        simple = ", ".join(f"--{name}" for name, field in rows if field in fields)
        raise invalid(f"use {flag} OR {simple}, not both", f"{prefix}selector")
    return raw if raw is not None else fields or None


def used(options: SimpleNamespace, flags: Iterable[Flag]) -> str:
    """Return those of ``flags`` that were given, for an error about them."""
    return ", ".join(flag.names[0] for flag in flags if getattr(options, flag.dest) not in (None, False))


def limits(options: SimpleNamespace) -> dict[str, Any]:
    """Return the parameters of ``LIMIT_FLAGS`` or ``CHOICE_FLAGS``; ``None`` where nothing was given."""
    found = {"container": selector(options, container=True), "strict": options.strict or None}
    if hasattr(options, "nth"):
        found |= {"nth": options.nth, "within": within(options)}
    return found


def within(options: SimpleNamespace) -> dict[str, Any] | None:
    """Return the matcher that ``--in`` describes; ``None`` where it was not given."""
    from clawperator.engine.contracts.references import REFERENCE

    text = text_value("--in", getattr(options, "in"), "within")
    if text is None or text.lstrip().startswith("{"):
        return json_object("--in", text, "within")
    return {"ref" if REFERENCE.fullmatch(text) else "textEquals": text}


def label(options: SimpleNamespace) -> dict[str, Any] | None:
    """Return the matcher of the label, as :func:`selector` does for nodes."""
    return _fields(options, [(name, field) for name, field, _ in _LABEL_FIELDS], "labelMatcher") or None


def _fields(options: SimpleNamespace, rows: Iterable[tuple[str, str]], path: str) -> dict[str, Any]:
    """The matcher fields among ``rows`` (flag, field) that were given."""
    values = {
        field: text_value(f"--{name}", getattr(options, name.replace("-", "_")), f"{path}.{field}")
        for name, field in rows
    }
    return {field: value for field, value in values.items() if value is not None}


def checked_fields(options: SimpleNamespace) -> tuple[Mapping[str, Any], list[dict[str, Any]]] | None:
    """Return the ``matcher`` that the flags describe and what limits it, validated as in an execution, and the warnings about it.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) that names the flag; ``None`` when no flag was given.
    """
    given = selector(options)
    if given is None:
        return None
    from clawperator.engine.executions.build import single
    from clawperator.engine.executions.validate import validate

    around = limits(options) if hasattr(options, "container") else {}
    params = {"matcher": given, **{name: value for name, value in around.items() if value is not None}}
    try:
        checked = validate(single("match", "wait_for_node", params))
    except EngineError as exc:
        raise _named_by_flag(exc, options) from exc
    warnings = [{**warning.to_dict(), "path": _as_flag_path(warning.path)} for warning in checked.warnings]
    return checked.payload["actions"][0]["params"], warnings


def _named_by_flag(error: EngineError, options: SimpleNamespace) -> EngineError:
    """The validation error of a matcher, in terms of the command line."""
    issues = [{key: _as_flag_path(words) for key, words in issue.items()} for issue in error.details.get("issues", ())]
    path = _as_flag_path(error.details.get("path", ""))
    flags = {f"selector.{field}": f"--{name}" for name, field, _ in _FIELDS} if options.selector is None else {}
    flags |= {"container": "--container", "within": "--in", "nth": "--nth"}
    return EngineError(
        error.code,
        f"{flags.get(path) or flags.get(path.partition('.')[0], '--selector')}: {_as_flag_path(error.message)}",
        hint=error.hint,
        details={"path": path, "issues": issues},
    )


def _as_flag_path(words: str) -> str:
    return words.replace("actions.0.params.matcher", "selector").replace("actions.0.params.", "")
