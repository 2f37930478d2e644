"""Write the generated parts of the documentation from the code: ``python docs/generate.py``.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->`` in a page; the function ``NAME`` below
returns its text. A test runs ``stale()``, so a part can never differ from the code for long.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
MANUAL = DOCS / "clawperator.1"
PAGES = (DOCS.parent / "README.md", DOCS / "llms.txt", *sorted(DOCS.rglob("*.md")))
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_CODE_OR_TAG = re.compile(r"(`[^`]*`)|<")
Schema = Mapping[str, Any]


def errors() -> Iterator[str]:
    from clawperator.engine.errors import ErrorCode

    yield from _table(
        ("Code", "Meaning", "HTTP", "Retry", "Hint"),
        ((f"`{code}`", code.meaning, code.http, code.retry, code.hint) for code in sorted(ErrorCode)),
    )


def guide() -> Iterator[str]:
    from clawperator.engine.text.guide import CLI_GUIDE

    yield CLI_GUIDE


def actions() -> Iterator[str]:
    from clawperator.engine.contracts.actions import ACTIONS
    from clawperator.engine.json_schema import json_schema

    definitions = json_schema("execution")["$defs"]
    for name in ACTIONS:
        if name not in definitions:
            continue
        schema = definitions[name]
        names = schema["properties"]["type"].get("enum", [name])
        others = ", ".join(f"`{other}`" for other in names if other != name)
        yield f"### {name}\n\n{schema['description']}{f' Also accepted: {others}.' if others else ''}\n"
        if params := schema["properties"].get("params"):
            yield from _fields(params)
            yield ""


def matcher() -> Iterator[str]:
    from clawperator.engine.json_schema import json_schema

    yield from _fields(json_schema("matcher"))


def retry() -> Iterator[str]:
    from clawperator.engine.json_schema import json_schema

    yield from _fields(json_schema("retry"))


def outcome() -> Iterator[str]:
    from clawperator.engine.json_schema import json_schema

    yield from _fields(json_schema("outcome"))


def generations() -> Iterator[str]:
    from clawperator.engine.contracts.generation import support_table
    from clawperator.engine.version import OPERATOR_RELEASES

    yield from _table(
        ("Action", "Command", *(f"Operator {release}" for release in OPERATOR_RELEASES)),
        (
            (f"`{row.action}`", f"`{row.command}`", *(row.words(release) for release in OPERATOR_RELEASES))
            for row in support_table()
        ),
    )


def differences() -> Iterator[str]:
    rows = _conformance()["differences"]
    yield from _table(("", "Operator", "Stock"), ((row["topic"], row["operator"], row["stock"]) for row in rows))


def conformance() -> Iterator[str]:
    """What ``tests/journeys/test_conformance.py`` found on simulated devices."""
    found = _conformance()["actions"]
    columns = tuple(next(iter(found.values())))
    rows = ((f"`{action}`", *(_answer(answers[name]) for name in columns)) for action, answers in found.items())
    yield from _table(("Action", *columns), rows)


def _conformance() -> Schema:
    data: Schema = json.loads((DOCS / "conformance.json").read_text(encoding="utf-8"))
    return data


def _answer(found: str) -> str:
    return found if found == "yes" else f"`{found}`"


def commands() -> Iterator[str]:
    from clawperator.app.cli.command import OPTIONS_HELP
    from clawperator.app.cli.command_table import SECTIONS

    yield f"### Options of every command\n\n```text\n{_global_options()}\n```\n"
    known = {word for words in SECTIONS.values() for word in words}
    for title, first_words in (*SECTIONS.items(), ("Other forms", None)):
        yield f"### {title}\n"
        for words, text in _help_texts():
            first = words.partition(" ")[0]
            if first in first_words if first_words else first not in known:
                yield f"#### clawperator {words}\n\n```text\n{text.removesuffix(OPTIONS_HELP).strip()}\n```\n"


def exit_codes() -> Iterator[str]:
    from clawperator.app.cli.command import EXIT_CODES, executing_commands, exit_code

    heads = ("Command", *(f"`{status}`" for status in EXIT_CODES), "`partial` with `--allow-partial`")
    accepted = exit_code("partial", allow_partial=True)
    rows = executing_commands().items()
    yield from _table(
        heads, ((f"`{words}`", *EXIT_CODES.values(), accepted if takes else "–") for words, takes in rows)
    )


def _global_options() -> str:
    from clawperator.app.cli.command import global_parser

    return global_parser().format_help(_formatter).partition("anywhere:\n")[2].rstrip()


@cache
def _help_texts() -> tuple[tuple[str, str], ...]:
    """The words and the help of every command, as wide as on any other machine."""
    from clawperator.app.cli.command import build_parser, load
    from clawperator.app.cli.command_table import COMMANDS

    def text(words: str) -> str:
        return build_parser(load(words)).format_help(_formatter, own=True).strip()

    return tuple((words, text(words)) for words in COMMANDS)


_formatter = partial(RawDescriptionHelpFormatter, width=100)


def environment() -> Iterator[str]:
    from clawperator.engine.config.settings import VARIABLES

    yield from _table(
        ("Variable", "Setting"),
        ((", ".join(f"`{name}`" for name in names), f"`{setting}`") for setting, names in VARIABLES.items()),
    )


def settings() -> Iterator[str]:
    from clawperator.engine.json_schema import json_schema

    schema = json_schema("settings")
    referred = {name: field.get("anyOf", [field])[-1] for name, field in schema["properties"].items()}
    named = {name: field for name, field in referred.items() if "$ref" in field}
    each = schema["properties"]["devices"]["patternProperties"]
    tables = {"devices.<alias>": next(iter(each.values())), **named}
    plain = {name: field for name, field in schema["properties"].items() if name not in {*named, "devices"}}
    yield from _fields({**schema, "properties": plain})
    for name, field in tables.items():
        table = schema["$defs"][field["$ref"].rpartition("/")[2]]
        yield f"\n### [{name}]\n\n{table['description']}\n"
        yield from _fields(table)


def capabilities() -> Iterator[str]:
    from clawperator.engine.config.policy import CAPABILITIES, capabilities_of
    from clawperator.engine.contracts.actions import ACTIONS, INPUT_ACTIONS

    needs = {action: capabilities_of(action, {}) for action in (*ACTIONS, *INPUT_ACTIONS)}
    yield from _table(
        ("Capability", "Actions that need it"),
        (
            (f"`{name}`", ", ".join(f"`{action}`" for action, needed in needs.items() if name in needed) or "–")
            for name in CAPABILITIES
        ),
    )


def faults() -> Iterator[str]:
    from clawperator.engine.simulator.scenario import FAULTS

    common = ("kind", "commands", "command_id")
    yield from _table(
        ("Kind", "Effect", "Keys"),
        (
            (
                f"`{fault.__name__}`",
                _prose(fault.__doc__ or ""),
                ", ".join(f"`{key}`" for key in fault.model_fields if key not in common) or "–",
            )
            for fault in sorted(FAULTS, key=lambda fault: fault.__name__)
        ),
    )


def routes() -> Iterator[str]:
    from clawperator.app.http.routes import ROUTERS

    yield from _table(
        ("Route", "", "Operation"),
        (
            (f"`{method} {route.path}`", route.summary or "", f"`{route.operation_id}`")
            for router in ROUTERS
            for route in router.routes
            for method in sorted(getattr(route, "methods", ()))
            if getattr(route, "include_in_schema", False)
        ),
    )


def tools() -> Iterator[str]:
    from clawperator.app.mcp.tools import TOOLS

    for tool in TOOLS.values():
        yield f"### {tool.name}\n\n{_prose(tool.description)}\n"
        yield from _fields(tool.input_schema)
        yield ""


def keys() -> Iterator[str]:
    from textual.keys import format_key

    from clawperator.widgets.keys import rows

    for scope, table in rows():
        yield f"### {scope}\n"
        yield from _table(
            ("Key", "Effect", "Id"),
            (
                (" ".join(f"`{format_key(key)}`" for key in row.keys.split(",")), row.tooltip, f"`{row.id}`")
                for row in table
            ),
        )
        yield ""


PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    part.__name__: part
    for part in (
        actions, capabilities, commands, conformance, differences, environment, errors, exit_codes, faults, generations, guide, keys, matcher, outcome, retry, routes,
        settings, tools,
    )
}  # fmt: skip


def _fields(schema: Schema) -> Iterator[str]:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _kind(field), "yes" if name in required else "", _about(field))
        for name, field in schema.get("properties", {}).items()
    ]
    if rows:
        yield from _table(("Name", "Type", "Required", "Meaning"), rows)
    else:
        yield "No parameters."


def _kind(field: Schema) -> str:
    if "enum" in field:
        return " ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    kind = field.get("type", "")
    kind = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array":
        return f"array of {_kind(field.get('items', {})) or 'values'}"
    limits = [f"{word} {field[key]}" for key, word in (("minimum", "≥"), ("maximum", "≤")) if key in field]
    if "maxLength" in field:
        limits.append(f"up to {field['maxLength']} characters")
    return ", ".join((kind or "any", *limits))


def _about(field: Schema) -> str:
    words = [str(field.get("description", ""))]
    if field.get("default") not in (None, "", [], {}):
        words.append(
            f"Default: `{str(field['default']).lower() if isinstance(field['default'], bool) else field['default']}`."
        )
    if since := field.get("x-since-operator"):
        words.append(f"Operator {since} and later.")
    return " ".join(filter(None, words))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_cell(str(cell)) for cell in row)} |"


def _cell(text: str) -> str:
    return _CODE_OR_TAG.sub(lambda found: found[1] or "&lt;", _prose(text)).replace("|", "\\|")


def _prose(text: str) -> str:
    """One paragraph of Markdown; docstrings mark code with two backticks."""
    return " ".join(text.replace("``", "`").split())


def manual() -> str:
    """The manual page, in man's own markup."""
    from clawperator.app.cli.command_table import COMMANDS
    from clawperator.engine.version import __version__

    lines = [f'.TH CLAWPERATOR 1 "" "clawperator {__version__}"', ".SH NAME", "clawperator \\- drive Android devices"]
    lines += [".SH SYNOPSIS", ".B clawperator", ".I command", "[options]", ".SH OPTIONS", *_verbatim(_global_options())]
    lines.append(".SH COMMANDS")
    for words, text in _help_texts():
        lines += [f'.SS "clawperator {words}"', COMMANDS[words][1] + ".", *_verbatim(text.partition("\n\n")[2])]
    return "\n".join(lines) + "\n"


def _verbatim(text: str) -> list[str]:
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return [".nf", *(f"\\&{line}" if line[:1] in ("'", ".") else line for line in lines), ".fi"]


def rendered(page: Path) -> str:
    """The text of the page with its generated parts as the code gives them now."""

    def part(found: re.Match[str]) -> str:
        text = "\n".join(PARTS[found[2]]()).strip()
        return f"{found[1]}\n{text}\n\n{found[3]}"

    return _PART.sub(part, page.read_text(encoding="utf-8"))


def stale() -> dict[Path, str]:
    """The pages whose generated parts differ from the code, with the text that they should have."""
    wanted = {page: rendered(page) for page in PAGES} | {MANUAL: manual()}
    return {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }


if __name__ == "__main__":
    for path, text in stale().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
