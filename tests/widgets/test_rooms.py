"""Widgets know engine values and draw them. They do no I/O and start no engine call: this reads their source."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support import table

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "widgets").rglob("*.py"))
FORBIDDEN = (
    "clawperator.engine.facade", "clawperator.engine.executions.backends", "clawperator.engine.observe", "clawperator.engine.executions",
    "clawperator.engine.doctor", "clawperator.engine.operator", "clawperator.engine.simulator", "clawperator.app",
    "clawperator.engine.emulators.manager", "clawperator.engine.emulators.lifecycle", "clawperator.engine.emulators.sdk",
    "asyncio", "subprocess", "socket", "os", "io", "pathlib", "threading", "tempfile", "shutil", "urllib", "http",
)  # fmt: skip
VALUES = {
    "clawperator.engine.doctor.verdict",
    "clawperator.engine.executions.headline",
    "clawperator.engine.executions.outcome",
    "clawperator.engine.operator.reports",
}
"""Modules of values inside of forbidden packages."""
ADB_VALUES = {"clawperator.engine.adb.mdns", "clawperator.engine.adb.presence"}
CALLS = {"open", "print", "input", "exec", "eval", "__import__"}


def imports(tree: ast.AST) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.append(node.module or "")
    return found


def test_there_are_widgets_to_look_at() -> None:
    assert len(FILES) > 20


@table("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_widgets_import_values_only(file: Path) -> None:
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        assert name in VALUES or not any(name == room or name.startswith(f"{room}.") for room in FORBIDDEN), name
        assert not name.startswith("clawperator.engine.adb") or name in ADB_VALUES, name


@table("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_widgets_do_no_input_or_output(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not names & CALLS
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.AsyncFunctionDef, ast.Await))], (
        "nothing to wait for"
    )


@table("file", [file for file in FILES if file.parent.name in ("format", "models")], ids=lambda file: file.name)
def test_formatters_and_models_are_pure(file: Path) -> None:
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        assert not name.startswith("textual"), name


@table("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_is_read_as_markup(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert "from_markup" not in source
    assert "Text.from_ansi" not in source
