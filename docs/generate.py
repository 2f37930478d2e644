"""Write the generated parts of the documentation from the code: ``python docs/generate.py``.

A generated part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->`` in a page; the function ``NAME`` below
returns its text. A test runs ``stale()``, so a part can never differ from the code for long.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
PAGES = (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md")))
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_GLOBAL = "global options, allowed anywhere:\n"
_CODE_OR_TAG = re.compile(r"(`[^`]*`)|<")
Schema = Mapping[str, Any]


def errors() -> Iterator[str]:
    from clawperator.engine.errors import ErrorCode

    yield from _table(
        ("Code", "Meaning", "HTTP", "Retry", "Hint"),
        ((f"`{code}`", code.meaning, code.http, code.retry, code.hint) for code in sorted(ErrorCode)),
    )


def actions() -> Iterator[str]:
    from clawperator.engine.contracts.actions import ACTIONS
    from clawperator.engine.contracts.schema import json_schema

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
    from clawperator.engine.contracts.schema import json_schema

    yield from _fields(json_schema("matcher"))


def retry() -> Iterator[str]:
    from clawperator.engine.contracts.schema import json_schema

    yield from _fields(json_schema("retry"))


def outcome() -> Iterator[str]:
    from clawperator.engine.contracts.schema import json_schema

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


def commands() -> Iterator[str]:
    from clawperator.app.cli.arguments import Parser, add_globals, build_parser
    from clawperator.app.cli.table import COMMANDS, load

    everywhere = Parser("clawperator")
    add_globals(everywhere)
    yield f"### Global options\n\n```text\n{_help(everywhere).partition(_GLOBAL)[2].strip()}\n```\n"
    for words in COMMANDS:
        own, _, rest = _help(build_parser(load(words))).partition(_GLOBAL)
        examples = rest.partition("\n\n")[2]
        yield f"### clawperator {words}\n\n```text\n{own.strip()}\n\n{examples}".rstrip() + "\n```\n"


def _help(parser: ArgumentParser) -> str:
    """The help text, as wide as on any other machine."""
    parser.formatter_class = partial(RawDescriptionHelpFormatter, width=100)
    return parser.format_help()


def settings() -> Iterator[str]:
    from clawperator.engine.contracts.schema import json_schema

    schema = json_schema("settings")
    tables = {name: field for name, field in schema["properties"].items() if "$ref" in field}
    yield from _fields({**schema, "properties": {k: v for k, v in schema["properties"].items() if k not in tables}})
    for name, field in tables.items():
        table = schema["$defs"][field["$ref"].rpartition("/")[2]]
        yield f"\n### [{name}]\n\n{table['description']}\n"
        yield from _fields(table)


def capabilities() -> Iterator[str]:
    from clawperator.engine.contracts.actions import ACTIONS
    from clawperator.engine.policy import CAPABILITIES, capabilities_of

    needs = {action: capabilities_of(action, {}) for action in ACTIONS}
    yield from _table(
        ("Capability", "Actions that need it"),
        (
            (f"`{name}`", ", ".join(f"`{action}`" for action, needed in needs.items() if name in needed) or "–")
            for name in CAPABILITIES
        ),
    )


def faults() -> Iterator[str]:
    from clawperator.engine.simulator.scenario import Scenario

    definitions = Scenario.model_json_schema()["$defs"]
    kinds = {
        schema["properties"]["kind"]["const"]: schema
        for schema in definitions.values()
        if "const" in schema.get("properties", {}).get("kind", {})
    }
    common = ("kind", "commands", "command_id")
    yield from _table(
        ("Kind", "Effect", "Keys"),
        (
            (
                f"`{kind}`",
                _prose(schema.get("description", "")),
                ", ".join(f"`{key}`" for key in schema["properties"] if key not in common) or "–",
            )
            for kind, schema in kinds.items()
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
        yield f"### {tool.name}\n\n{_prose(tool.about)}\n"
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
        actions, capabilities, commands, errors, faults, generations, keys, matcher, outcome, retry, routes, settings, tools,
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


def rendered(page: Path) -> str:
    """The text of the page with its generated parts as the code gives them now."""

    def part(found: re.Match[str]) -> str:
        text = "\n".join(PARTS[found[2]]()).strip()
        return f"{found[1]}\n{text}\n\n{found[3]}"

    return _PART.sub(part, page.read_text(encoding="utf-8"))


def stale() -> dict[Path, str]:
    """The pages whose generated parts differ from the code, with the text that they should have."""
    wanted = {page: rendered(page) for page in PAGES}
    return {page: text for page, text in wanted.items() if page.read_text(encoding="utf-8") != text}


if __name__ == "__main__":
    for path, text in stale().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
