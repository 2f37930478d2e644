"""The flags of a verb, from the catalogue, and the arguments that a command line gives with them."""

from __future__ import annotations

from clawperator.app.cli.parsing import selectors
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.values import integer, json_object, number, text_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace
    from typing import Any

    from clawperator.engine.verbs import Param, Verb

_FORMS = {"int": "<n>", "number": "<r>", "point": "<x>,<y>", "package": "<packageId>", "texts": "<json>", "shown": "<text>", "matcher": "<json>"}  # fmt: skip
_UNITS = ("ms", "dp", "sp")
_CHOICES = {flag.names[-1].lstrip("-"): flag for flag in selectors.CHOICE_FLAGS}


def flag_of(param: Param, about: str = "") -> Flag:
    """Return the flag of a parameter, with its meaning (or ``about``), values, bounds and default."""
    about = about or sentence(param.about)
    if param.kind == "bool" and not param.default:
        return switch(f"--{param.flag}", f"{about}{_required(param)}")
    bounds = None
    if param.kind == "choice":
        about += f": {', '.join(param.choices)}"
    elif param.low is not None and param.high is not None:
        about += f", {param.low:g} to {param.high:.0f}"
        bounds = (int(param.low), int(param.high)) if param.kind == "int" else None
    default = param.default if param.usual is None else param.usual
    about += "" if default is None else f" [{str(default).lower() if default is True else default}]"
    either = ("true", "false") if param.kind == "bool" else ()
    about += _required(param)
    return Flag(f"--{param.flag}", form_of(param), about, choices=either, suggest=param.choices, bounds=bounds)


def sentence(about: str) -> str:
    """Return the first sentence of a description as a line of the help."""
    first = about.partition(". ")[0].removesuffix(".").replace("`", "")
    return first if first[1:2].isupper() else first[:1].lower() + first[1:]


def _required(param: Param) -> str:
    return f"; requires Operator {param.since} or newer" if param.since else ""


def form_of(param: Param) -> str:
    """Return what stands for a value in the help."""
    unit = param.flag.rpartition("-")[2]
    return f"<{unit}>" if unit in _UNITS or param.kind == "choice" else _FORMS.get(param.kind, f"<{param.kind}>")


def spelled(param: Param) -> str:
    """Return how a parameter is given, for usage texts and errors."""
    if param.name == "selector":
        return "<selector>"
    return f"<{param.flag}>" if param.word else f"--{param.flag} {form_of(param)}"


def flags_of(verb: Verb) -> Iterator[Flag | Word]:
    """Yield the positional arguments and flags of a verb. A time limit is that of every command."""
    named = {param.flag for param in verb.arguments if not param.word}
    for param in sorted(verb.arguments, key=lambda param: not param.word):
        if param.word:
            yield Word(param.flag, sentence(param.about), suggest=param.choices)
        elif param.name == "selector":
            yield from selectors.SELECTOR_FLAGS_BUT_TEXT if "text" in named else selectors.SELECTOR_FLAGS
        elif param.name == "container":
            yield from selectors.CONTAINER_FLAGS
        elif param.name != "timeoutMs":
            yield _CHOICES.get(param.name) or flag_of(param)


def arguments_of(verb: Verb, options: SimpleNamespace, words: str) -> dict[str, Any]:
    """Return the parameters of the verb as its action has them; those that were not given are missing."""
    given = {param.wire: _value(verb, param, options, words) for param in verb.arguments}
    return {name: value for name, value in given.items() if value is not None}


def _value(verb: Verb, param: Param, options: SimpleNamespace, words: str) -> Any:
    match param.name:
        case "selector":
            return selectors.selector(
                options, text=not any(each.flag == "text" and not each.word for each in verb.arguments)
            )
        case "container":
            return selectors.selector(options, container=True)
        case "within":
            return selectors.within(options)
        case "timeoutMs":
            limit, options.timeout_ms = options.timeout_ms, None
            return limit
    text: Any = getattr(options, param.flag.replace("-", "_"))
    text = param.usual if text is None else text
    flag = f"{words} <{param.flag}>" if param.word else f"--{param.flag}"
    match param.kind:
        case "int" if isinstance(text, str):
            return integer(flag, text, int(param.low or 0), int(param.high or 0))
        case "number":
            return number(flag, text)
        case "bool":
            return text == "true" if isinstance(text, str) else text or None
        case "point" if text is not None:
            from clawperator.engine.hierarchy.queries import read_point

            return dict(zip("xy", read_point(text, flag), strict=True))
        case "matcher" | "texts":
            return json_object(flag, text, param.wire)
        case "package":
            return text_value(flag, text, f"actions.0.params.{param.wire}")
    return text
