"""The source stays short enough to be read: ceilings of its areas, and no class too long to be held in mind."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60


class Class(NamedTuple):
    lines: int
    bases: list[str]


def source() -> Iterator[Path]:
    for area in ("app", "engine", "widgets"):
        yield from (ROOT / area).rglob("*.py")


# -- classes


def classes() -> Iterator[tuple[str, Class]]:
    """Yield the classes of the source by their full names."""
    for path in source():
        module = ".".join(("clawperator", *path.relative_to(ROOT).with_suffix("").parts))
        body = ast.parse(path.read_text(encoding="utf-8")).body
        imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in body:
            if isinstance(node, ast.ClassDef):
                names = [ast.unparse(base).partition("[")[0] for base in node.bases]
                bases = [imported.get(name, f"{module}.{name}") for name in names]
                yield f"{module}.{node.name}", Class((node.end_lineno or 0) - node.lineno + 1, bases)


def test_no_class_is_longer_than_its_reader_can_hold_in_mind() -> None:
    found = dict(classes())
    heirs = Counter(base for one in found.values() for base in set(one.bases))

    def lines(name: str) -> int:
        """The class and, each once, the bases that no other class has."""
        own = (base for base in dict.fromkeys(found[name].bases) if base in found and heirs[base] == 1)
        return found[name].lines + sum(map(lines, own))

    assert len(found) > 1_000
    too_long = {name: count for name in found if (count := lines(name)) > MOST_LINES}
    assert not too_long, "compose it of parts: app/console/actions.py says how a screen does"


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {
        f"{path.relative_to(ROOT)}:{node.name}": lines
        for path in source()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert not too_long


# -- areas

CEILINGS = {
    "app/console and widgets": 35_500,
    "engine/simulator": 11_700,
    "all source": 124_800,
    "all source without blank lines and comments": 101_200,
    "files": 828,
    "pictures": 285,
}
"""A change that needs more room says what it removed, or raises the ceiling with its reason. One that removes lowers it."""


def test_areas_stay_below_their_ceilings() -> None:
    files = {path.relative_to(ROOT): path.read_text(encoding="utf-8").splitlines() for path in source()}
    lines = {path: len(text) for path, text in files.items()}
    found = {
        "app/console and widgets": _within(lines, "app/console", "widgets"),
        "engine/simulator": _within(lines, "engine/simulator"),
        "all source": sum(lines.values()),
        "all source without blank lines and comments": sum(
            bool(line.strip()) and not line.lstrip().startswith("#") for text in files.values() for line in text
        ),
        "files": len(files),
        "pictures": len(list((ROOT / "tests" / "looks").rglob("*.svg"))),
    }
    assert {area: count for area, count in found.items() if count > CEILINGS[area]} == {}


def _within(lines: dict[Path, int], *folders: str) -> int:
    return sum(count for path, count in lines.items() if any(path.is_relative_to(folder) for folder in folders))
