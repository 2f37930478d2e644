"""Which flag, argument or variable an error is about, of a payload that the command made of its flags."""

from __future__ import annotations

import os
import re

from clawperator.app.cli.parsing.selectors import FIELD_FLAGS, LABEL_FIELD_FLAGS
from clawperator.app.cli.parsing.values import HELP_HINT
from clawperator.engine.executions.argument_names import in_arguments
from clawperator.engine.verbs import kebab
from clawperator.engine.verbs.catalogue import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clawperator.app.cli.parsing.parser import Parser
    from clawperator.engine.errors import EngineError

_ARGUMENTS = {"words": "<text>", "way": "<direction>", "name": "<key>"}
"""Positional arguments that the help calls otherwise."""
_OPTIONS = {
    "key": ("key", "name"),
    "applicationId": ("target", "package"),
    "package": ("package", "app"),
    "uri": ("target", "uri", "app"),
    "direction": ("way", "direction"),
    "durationMs": ("ms", "duration_ms"),
    "text": ("words", "text"),
    "receiverPackage": ("receiver_package",),
    "operatorPackage": ("receiver_package",),
}
"""Parameter → the options that may set it, before that of the catalogue; any other parameter is set by the option of its name."""
_SELECTORS = {
    "container": "container-",
    **dict.fromkeys(("matcher", "target", "expectedNode", "selector", "labelMatcher"), ""),
}
"""Parameter with a selector → the prefix of its flags."""
_OF_EVERY_COMMAND = ("timeoutMs", "receiverPackage", "operatorPackage", "backend")
_VARIABLES = {"receiver_package": ("CLAWPERATOR_OPERATOR_PACKAGE", "CLAWPERATOR_RECEIVER_PACKAGE")}
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_ONLY_GIVEN = ("timeout_ms", "backend")
"""Options without which a value comes from elsewhere."""


def blamed(
    error: EngineError, parser: Parser, given: Mapping[str, Any], arguments: Sequence[str], *, own: bool
) -> EngineError:
    """Return ``error`` about what set the value at ``details.path``, where that stood on the command line or in a variable.

    ``given`` are the options as they were read from ``arguments``. ``own``: the payload was made by the command; of a caller's
    payload only what global options replace is theirs.
    """

    def names(parameter: str, rest: str) -> tuple[str, str]:
        if not own and parameter not in _OF_EVERY_COMMAND:
            return "", ""
        if parameter == "within":
            return parser.written("in", arguments), rest
        if parameter in _SELECTORS:
            return _selector(parameter, rest, parser, given, arguments)
        flags = [param.flag for verb in VERBS.values() for param in verb.params if param.wire == parameter]
        options = [*_OPTIONS.get(parameter, ()), *(flag.replace("-", "_") for flag in (*flags, kebab(parameter)))]
        return ("", "") if rest else (_option(options, parser, given, arguments), "")

    error = as_written(error, parser, arguments)
    if "--" in error.message and not str(error.details.get("path", "")).startswith("actions."):
        return error  # it is about a flag already
    verb = parser.prog.removeprefix("clawperator ")
    lacking = next(filter(error.message.startswith, _OF_EVERY_COMMAND), "")
    return in_arguments(error, names, verb, hint=HELP_HINT, path=lacking)


def as_written(error: EngineError, parser: Parser, arguments: Sequence[str]) -> EngineError:
    """Return ``error`` with the flags in the spelling that ``arguments`` have, where a flag has several.

    A hint with a whole command line stays: that is one spelling for people and programs.
    """
    typed = {argument.partition("=")[0] for argument in arguments}

    def spelt(found: re.Match[str]) -> str:
        names = parser.flags[found[0]].names if found[0] in parser.flags else ()
        return found[0] if found[0] in typed else next((name for name in names if name in typed), found[0])

    error.message = _FLAG.sub(spelt, error.message)
    if "clawperator " not in error.hint:
        error.hint = _FLAG.sub(spelt, error.hint)
    return error


def _option(names: Sequence[str], parser: Parser, given: Mapping[str, Any], arguments: Sequence[str]) -> str:
    known = [name for name in names if name in parser.defaults]
    chosen = [name for name in known if given[name] is not None and given[name] is not parser.defaults[name]]
    variables = [variable for name in known for variable in _VARIABLES.get(name, ()) if os.environ.get(variable)]
    if not chosen and (variables or not known or known[0] in _ONLY_GIVEN):
        return variables[0] if variables else ""
    name = (chosen or known)[0]
    return parser.written(name, arguments) or _ARGUMENTS.get(name, f"<{name}>")


def _selector(
    parameter: str, rest: str, parser: Parser, given: Mapping[str, Any], arguments: Sequence[str]
) -> tuple[str, str]:
    prefix = _SELECTORS[parameter]
    if prefix and given.get("rows") is not None:
        return "--rows", rest
    fields = LABEL_FIELD_FLAGS if parameter == "labelMatcher" else FIELD_FLAGS
    json = prefix.rstrip("-") or "selector"
    if given.get(json) is not None:
        return parser.written(json, arguments), rest
    if rest in fields:
        return f"--{prefix}{fields[rest]}", ""
    used = [name for name in (f"{prefix}{flag}" for flag in fields.values()) if given.get(name.replace("-", "_"))]
    return ", ".join(f"--{name}" for name in used) or parser.written(json, arguments), ""
