"""What devices print is parsed by functions that cannot fail, and what devices are told names the Android user."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ENGINE = Path(__file__).parents[2] / "engine"
READERS = (
    *(path for part in ("adb", "doctor", "emulators", "executions", "follow", "hierarchy", "logcat", "operator")
      for path in sorted((ENGINE / part).rglob("*.py"))),
    ENGINE / "device_admin.py",
    ENGINE / "facade.py",
    ENGINE / "fan_out.py",
)  # fmt: skip
"""The modules that read device text."""
_DIGITS = r"(?:\\d|\[0-9\]|\[0-9a-fA-F\])"
_UNBOUNDED = re.compile(r"\((?!\?[:=!<])[^()]*" + _DIGITS + r"[*+]")
"""A group of a pattern with any number of digits: from 4,300 on, ``int`` raises."""

PARSED = {
    "adb/batch.py": {"int(code)": "a group of EndMark.pattern, at most three digits"},
    "adb/connection.py": {"int(target[1])": "a port as getaddrinfo returns it"},
    "adb/device.py": {"int(code)": "at most three digits, checked above", "int(time.time())": "this computer's clock"},
    "adb/displays.py": {"int(number)": "groups of _STATE_SIZE, at most six digits each", "int(value[1:], 16)": "a group of _FLAGS"},
    "adb/parse.py": {
        "int(uid or -1)": "a group of _PACKAGE, at most 18 digits", "int(width)": "at most six digits", "int(height)": "at most six digits",
        "int(found.get('Override') or found.get('Physical') or 0)": "at most six digits", "int(user)": "at most nine digits",
    },
    "adb/protocol.py": {
        "int(digits, 16)": "four bytes, a ValueError is caught",
        "int(number)": "transport_id_of returns at most 18 digits",
    },
    "adb/server.py": {"int(answer, 16)": "a ValueError is caught"},
    "doctor/device_health.py": {
        "int(host_seconds)": "this computer's clock",
        "int(match[at])": "groups of _BUFFER, at most nine digits each",
    },
    "emulators/avds.py": {"int(found[1])": "its length is checked: _LONGEST_NUMBER"},
    "executions/annotate.py": {
        "int(picture.height * _EDGE)": "a number", "int(picture.height * (1 - _EDGE))": "a number",
        "int(right)": "a number", "int(bottom - top)": "a number",
    },
    "executions/build.py": {"int(longest)": "a number"},
    "executions/outcome.py": {"float(str(value))": "what _COORDINATE matches"},
    "executions/touch_windows.py": {
        "int(found[1].removeprefix('0x').removeprefix('#'), 16)": "groups of _FLAGS and _FL, at most eight digits",
        "int(number)": "groups of _RECT and _SK_RECT, at most six digits each",
    },
    "executions/validate.py": {"int(timeout_ms)": "a number of the caller's, checked above", "int(parts[1])": "a path of pydantic's"},
    "hierarchy/blind.py": {"int(cut)": "a bool"},
    "hierarchy/nodes.py": dict.fromkeys(
        ("int(left)", "int(top)", "int(right)", "int(bottom)"), "at most _LONGEST_BOUNDS long, a ValueError is caught"
    ),
    "hierarchy/selectors.py": {"int(step)": "a step of a path that this module made"},
    "hierarchy/source.py": {"int(digits, 16 if hexadecimal else 10)": "at most _MAX_DIGITS, checked above"},
    "hierarchy/tree.py": {"int(rotation)": "one of four texts, checked in the same expression"},
    "logcat/entry.py": {
        **{f"int(found['{name}'])": "a group of _STAMP, two or four digits"
           for name in ("year", "month", "day", "hour", "minute", "second", "zone_hours", "zone_minutes")},
        "int(whole)": "at most _LONGEST_EPOCH bytes of digits", "int(fraction[1:10].ljust(9, b'0'))": "nine digits",
    },
    "operator/crash_parser.py": {"int(java[2] or 0)": "a group of _PROCESS, at most nine digits"},
    "logcat/text.py": {"int(digits, 16 if digits.startswith(b'0x') else 10)": "groups of formats.py, at most ten digits each"},
}  # fmt: skip
"""By module, calls of ``int`` and ``float`` that cannot fail, with the reason."""


def patterns(source: str) -> Iterator[str]:
    """The texts in calls of ``re``'s functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
            texts = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
            yield from (
                text if isinstance(text, str) else text.decode() for text in texts if isinstance(text, str | bytes)
            )


def calls_of_int(module: Path) -> Iterator[tuple[int, ast.Call]]:
    for node in ast.walk(ast.parse(module.read_text())):
        if not isinstance(node, ast.Call):
            continue
        named = isinstance(node.func, ast.Name) and node.func.id in ("int", "float")
        passed = any(isinstance(each, ast.Name) and each.id in ("int", "float") for each in node.args)
        told = isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "defaultdict", "cast")
        if (named and node.args and not isinstance(node.args[0], ast.Constant)) or (passed and not told):
            yield node.lineno, node


def is_of_a_bounded_group(call: ast.Call, source: str) -> bool:
    """Whether it reads one group of a match, in a module whose patterns have no group of any number of digits."""
    (argument, *more) = call.args
    group = isinstance(argument, ast.Subscript) and isinstance(argument.value, ast.Name)
    return group and not more and not any(map(_UNBOUNDED.search, patterns(source)))


def test_no_device_text_is_parsed_by_bare_int() -> None:
    wrong, used = [], set()
    for module in READERS:
        name, source = module.relative_to(ENGINE).as_posix(), module.read_text()
        for line, call in calls_of_int(module):
            text = ast.unparse(call)
            if text in PARSED.get(name, {}):
                used.add((name, text))
            elif not is_of_a_bounded_group(call, source):
                wrong.append(f"{name}:{line}: {text}")
    assert wrong == [], "use engine/text/numbers.py, or a parser of the fact; or say in PARSED why it cannot fail"
    assert used == {(name, text) for name, texts in PARSED.items() for text in texts}, "PARSED has what is not there"


def test_the_check_finds_what_it_is_for(tmp_path: Path) -> None:
    module = tmp_path / "m.py"
    module.write_text(
        'P = re.compile(r"x=(\\d+)")\nint(text)\nint(m[1])\nmap(int, parts)\nint("7")\nisinstance(x, int)\n'
    )
    found = {ast.unparse(call): is_of_a_bounded_group(call, module.read_text()) for _, call in calls_of_int(module)}
    assert found == {"int(text)": False, "int(m[1])": False, "map(int, parts)": False}
    assert is_of_a_bounded_group(ast.parse("int(m[1])").body[0].value, 'P = re.compile(r"(\\d{1,9})")')  # type: ignore[attr-defined]


# -- the Android user

_TAKES_USER = re.compile(
    r"\b(?:am (?:start|broadcast|force-stop|kill|startservice)|settings (?:get|put)"
    r"|pm (?:list packages|path|grant|revoke|clear|uninstall|enable|disable)"
    r"|cmd package (?:install|resolve-activity|query-activities)|content (?:query|insert|call|read)|appops (?:get|set)) +(?=-|[A-Za-z]\w*\.|global|secure|system|\{)"
)
_HOME = "adb/android_user.py"
_USER = ("--user", "{CURRENT", "{*CURRENT")
WITHOUT_USER = {
    "runtime/actions.py": "the Operator's own message, for a person",
    "doctor/accessibility.py": "a line for a person: a test tool is ended whoever runs it",
}


def scripts(module: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module that may be a command of a device: constants, parts of f-strings, and lists of words."""
    tree = ast.parse(module.read_text())
    documents = {
        node.value
        for parent in ast.walk(tree)
        for node in ast.iter_child_nodes(parent)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documents | parts:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(word_of, node.values))
        elif isinstance(node, ast.List | ast.Tuple):
            yield node.lineno, " ".join(map(word_of, node.elts))


def word_of(node: ast.expr) -> str:
    """A word of a command: its text, or the expression that makes it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return f"{{{ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node)}}}"


def test_every_command_that_takes_a_user_names_one() -> None:
    wrong = []
    for module in sorted(ENGINE.rglob("*.py")):
        name = module.relative_to(ENGINE).as_posix()
        if name.startswith("simulator/") or name == _HOME or name in WITHOUT_USER:
            continue
        for line, text in scripts(module):
            told = [text[found.end() :].removeprefix("--brief ") for found in _TAKES_USER.finditer(text)]
            wrong += [f"{name}:{line}: {text}" for rest in told if not rest.startswith(_USER)]
    assert wrong == [], "use am, pm, settings or CURRENT of engine/adb/android_user.py"
