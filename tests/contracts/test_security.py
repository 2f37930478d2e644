"""The threat table of SECURITY.md names tests that exist, and the README leads to it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support import table

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Threats and tests")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines() if re.match(r"\| [^-]", line)
]
THREATS = {threat: held_by for threat, what, held_by in ROWS[1:] if what}
_CITED = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of a file's tests, those of a class behind its name."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {before + each.name for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def test_there_is_a_table() -> None:
    assert len(THREATS) > 20
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@table("threat", THREATS)
def test_a_threat_is_held_by_tests_that_exist_or_by_none(threat: str) -> None:
    held_by = THREATS[threat]
    cited = _CITED.findall(held_by)
    assert held_by == "none" or (cited and not _CITED.sub("", held_by).strip())
    for path, name in cited:
        assert name in names_in(path), f"{path}::{name}"
