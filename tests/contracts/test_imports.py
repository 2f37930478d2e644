"""What importing does: the engine needs no terminal, and no module acts on the world by being imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import patience

ROOT = Path(__file__).parents[2]


def modules(*rooms: str) -> list[str]:
    found = []
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] != "__main__" and "builtin" not in parts:  # scripts of skills are programs, not modules
                found.append(".".join(("clawperator", *(parts[:-1] if parts[-1] == "__init__" else parts))))
    return found


IMPORT_ALL = """
import importlib, json, sys

acts = []

def watch(event, arguments):
    if event == "open":
        mode = arguments[1] or ""
        if "w" in mode or "a" in mode or "+" in mode:
            acts.append(f"{event} {arguments[0]} {mode}")
    elif event.startswith(("socket.connect", "socket.bind", "subprocess.", "os.mkdir", "os.remove", "os.rename", "os.system", "os.exec",
                           "os.posix_spawn", "os.putenv", "os.unsetenv", "os.chmod", "shutil.", "tempfile.", "signal.", "sqlite3.")):
        acts.append(f"{event} {arguments!r}")

sys.dont_write_bytecode = True
sys.addaudithook(watch)
for name in json.loads(sys.stdin.read()):
    importlib.import_module(name)
print(json.dumps({"acts": acts, "loaded": sorted(sys.modules)}))
"""


def import_all(names: list[str]) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


def test_the_engine_loads_no_face_and_no_terminal_library() -> None:
    loaded = import_all(modules("engine"))["loaded"]
    faces = ("textual", "rich", "fastapi", "uvicorn", "clawperator.app", "clawperator.widgets", "clawperator.themes")
    assert [name for name in loaded if name.startswith(faces)] == []


@pytest.mark.parametrize("room", ["engine", "widgets", "app"])
def test_importing_touches_nothing(room: str) -> None:
    assert import_all(modules(room))["acts"] == []


def test_the_public_names_are_there_and_nothing_else_is_promised() -> None:
    import clawperator.engine as public

    assert sorted(public.__all__) == ["Engine", "EngineError", "ErrorCode", "ExecutionResult", "RunOptions", "Settings"]
    for name in public.__all__:
        assert getattr(public, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = public.Nothing
