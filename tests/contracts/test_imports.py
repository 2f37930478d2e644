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


def test_importing_touches_nothing() -> None:
    assert import_all(modules("engine", "widgets", "app"))["acts"] == []


ENGINE_ALONE = """
import sys

BLOCKED = ("textual", "rich", "fastapi", "uvicorn", "mcp", "prometheus_client", "shtab", "rich_argparse")

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())

import asyncio
from clawperator.engine import Engine, EngineError, ErrorCode, Settings

async def main():
    async with Engine(Settings()) as engine:
        payload = {"commandId": "a", "taskId": "b", "source": "test", "expectedFormat": "android-ui-automator",
                   "timeoutMs": 5000, "actions": [{"id": "s", "type": "snapshot_ui"}]}
        engine.validate(payload)
        try:
            engine.validate({})
        except EngineError as error:
            return error.code
    return None

print(asyncio.run(main()))
"""


def test_the_engine_works_without_the_libraries_of_the_front_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENGINE_ALONE], capture_output=True, text=True, check=False, timeout=patience(60)
    )
    assert (done.returncode, done.stdout.strip()) == (0, "EXECUTION_VALIDATION_FAILED"), done.stderr


def test_the_public_names_are_there_and_nothing_else_is_promised() -> None:
    import clawperator.engine as public

    assert sorted(public.__all__) == ["Engine", "EngineError", "ErrorCode", "ExecutionResult", "RunOptions", "Settings"]
    for name in public.__all__:
        assert getattr(public, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = public.Nothing


def test_the_package_has_the_same_names_and_imports_nothing_before_they_are_used() -> None:
    import clawperator
    import clawperator.engine as public

    assert sorted(clawperator.__all__) == sorted([*public.__all__, "RemoteEngine", "__version__"])
    for name in public.__all__:
        assert getattr(clawperator, name) is getattr(public, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = clawperator.Nothing
    ours = "import sys, clawperator; print([name for name in sys.modules if name.startswith('clawperator.')])"
    done = subprocess.run([sys.executable, "-c", ours], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    done = subprocess.run([sys.executable, "-m", "clawperator", "-V"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{clawperator.__version__}\n"), done.stderr


LATER = (
    "pydantic",
    "clawperator.engine.bundles",
    "clawperator.engine.contracts.actions",
    "clawperator.engine.contracts.values",
    "clawperator.engine.diagnostics",
    "clawperator.engine.emulators.",
    "clawperator.engine.executions.attempt",
    "clawperator.engine.executions.run",
    "clawperator.engine.executions.validate",
    "clawperator.engine.facade",
    "clawperator.engine.follow",
    "clawperator.engine.history",
    "clawperator.engine.operator",
    "clawperator.engine.recordings",
    "clawperator.engine.simulator",
    "clawperator.engine.skills.",
    "clawperator.app.console.devices.",
    "clawperator.app.console.doctor.screen",
    "clawperator.app.console.execution.dispatch_dialogs",
    "clawperator.app.console.history.",
    "clawperator.app.console.palette.commands",
    "clawperator.app.console.palette.dialog",
    "clawperator.app.console.palette.search",
    "clawperator.app.console.run.",
    "clawperator.app.console.screens.dialogs",
    "clawperator.app.console.screens.forms",
    "clawperator.app.console.skills.",
    "clawperator.app.console.stream.",
    "clawperator.widgets.execution_detail",
    "clawperator.widgets.json_area",
)
"""What the first frame of the console does not show: imported after it, or with the first use."""
EARLY = frozenset({"clawperator.engine.skills.frames"})
MOST_EARLY = 270
"""Modules beyond Python's and Textual's that the first frame may wait for: each costs it about half a millisecond."""

FIRST_FRAME = """
import json, sys
import textual.app, textual.widgets

before = set(sys.modules)
import clawperator.app.console.start, clawperator.app.cli.commands.console

print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_the_first_frame_of_the_console_waits_for_nothing_that_it_does_not_show() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME], capture_output=True, text=True, check=False, timeout=patience(60)
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert [name for name in loaded if name.startswith(LATER) and name not in EARLY] == []
    assert len(loaded) <= MOST_EARLY, f"{len(loaded)} modules are imported before the first frame of the console"
