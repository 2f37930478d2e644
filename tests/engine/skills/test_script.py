"""Which script runs and by what, what it finds in its environment, and by which command it calls us back."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode, Settings
from clawperator.engine.config.active_profile import load_profile, packed
from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.skills.registry import BUILTIN, Registry
from clawperator.engine.skills.script import choose_script, own_command, script_environment
from tests.engine.skills.made import made_registry

SKILL = "com.example.app.look"


@pytest.fixture
def tools(tmp_path: Path) -> dict[str, str]:
    """A PATH with node and bash, whatever this computer has."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("node", "bash"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


def registry(tmp_path: Path, *scripts: str) -> Registry:
    return made_registry(tmp_path / "root", {SKILL: dict.fromkeys(scripts, "#!/bin/sh\n")})


def chosen(registry: Registry, env: dict[str, str]) -> tuple[str, ...]:
    script = choose_script(registry, SKILL, env)
    assert script.command[-1] == script.path
    return (*script.command[:-1], os.path.basename(script.path))


def test_the_script_that_this_computer_runs_best(tmp_path: Path, tools: dict[str, str]) -> None:
    made = registry(tmp_path, "a.rb", "a.sh", "b.sh", "a.py", "a.js", "b.js")
    folder = tools["PATH"]
    assert chosen(made, tools) == (f"{folder}/node", "a.js")
    os.unlink(f"{folder}/node")
    assert chosen(made, tools) == (sys.executable, "-u", "a.py")


def test_shell_scripts_and_others_start_by_themselves(tmp_path: Path, tools: dict[str, str]) -> None:
    assert chosen(registry(tmp_path, "a.rb", "a.sh"), tools) == ("a.sh",)
    assert chosen(registry(tmp_path / "other", "a.rb", "b.rb"), tools) == ("a.rb",)


@pytest.mark.parametrize("lacking", ["x-bit", "first line"])
def test_shell_scripts_that_do_not_start_by_themselves(tmp_path: Path, tools: dict[str, str], lacking: str) -> None:
    made = registry(tmp_path, "a.sh")
    script = Path(made.place(SKILL, made.get(SKILL)["scripts"][0]))
    if lacking == "x-bit":
        script.chmod(0o644)
    else:
        script.write_text("echo no shebang\n")
    assert chosen(made, tools) == (f"{tools['PATH']}/bash", "a.sh")


@pytest.mark.parametrize(("script", "tool"), [("a.js", "node"), ("a.sh", "bash")])
def test_a_missing_interpreter_is_a_dependency_of_the_host(tmp_path: Path, script: str, tool: str) -> None:
    made = registry(tmp_path, script)
    Path(made.place(SKILL, made.get(SKILL)["scripts"][0])).chmod(0o644)
    with pytest.raises(EngineError) as caught:
        choose_script(made, SKILL, {"PATH": str(tmp_path)})
    assert caught.value.code is ErrorCode.SKILL_EXECUTION_FAILED
    assert caught.value.details == {"cause": "HOST_DEPENDENCY_MISSING", "dependency": tool}
    assert caught.value.extra == {"skillId": SKILL, "exitCode": 1}
    assert tool in caught.value.hint


@pytest.mark.parametrize("scripts", [None, [], "a.sh", {"a": 1}, [1, None]])
def test_no_script_is_defined(tmp_path: Path, scripts: object) -> None:
    made = registry(tmp_path, "a.sh")
    made.get(SKILL)["scripts"] = scripts
    with pytest.raises(EngineError) as caught:
        choose_script(made, SKILL, {})
    assert caught.value.code is ErrorCode.SKILL_SCRIPT_NOT_FOUND
    assert "defines no script" in caught.value.message


@pytest.mark.parametrize("what", ["absent", "a folder"])
def test_the_file_is_missing(tmp_path: Path, what: str) -> None:
    made = registry(tmp_path, "a.sh")
    path = Path(made.place(SKILL, made.get(SKILL)["scripts"][0]))
    path.unlink()
    if what == "a folder":
        path.mkdir()
    with pytest.raises(EngineError) as caught:
        choose_script(made, SKILL, {})
    assert caught.value.code is ErrorCode.SKILL_SCRIPT_NOT_FOUND
    assert str(path) in caught.value.message


@pytest.mark.parametrize("what", ["a link", "a linked folder", "dots", "absolute"])
def test_nothing_outside_of_the_root_runs(tmp_path: Path, what: str) -> None:
    made = registry(tmp_path, "a.sh")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.sh").write_text("#!/bin/sh\n")
    (outside / "a.sh").chmod(0o755)
    entry = made.get(SKILL)
    scripts = Path(made.root, entry["path"], "scripts")
    (scripts / "a.sh").unlink()
    if what == "a link":
        (scripts / "a.sh").symlink_to(outside / "a.sh")
    elif what == "a linked folder":
        scripts.rmdir()
        scripts.symlink_to(outside)
    else:
        entry["scripts"] = ["../outside/a.sh" if what == "dots" else str(outside / "a.sh")]
    with pytest.raises(EngineError) as caught:
        choose_script(made, SKILL, {})
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
    assert caught.value.details["skillId"] == SKILL


# -- calling back


def test_our_own_command_is_one_path_that_works() -> None:
    with own_command() as command:
        assert_calls_us(command)


@pytest.mark.parametrize("folder", ["no command here", "withoutblanks"])
def test_where_nothing_is_installed_beside_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """``python -m``, or a folder whose name would be split: a script of our own stands in, for as long as it is needed."""
    there = tmp_path / folder
    there.mkdir()
    python = there / "python's own"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    if " " in folder:
        (there / "clawperator").write_text("#!/bin/sh\nexit 9\n")
        (there / "clawperator").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    with own_command() as command:
        assert_calls_us(command)
        assert os.path.dirname(command) != str(there)
    assert not os.path.exists(command)


def assert_calls_us(command: str) -> None:
    from clawperator.engine.version import __version__

    assert os.access(command, os.X_OK)
    assert not any(map(str.isspace, command))
    done = subprocess.run([*command.split(), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{__version__}\n"


# -- script_environment


def settings(**chosen: Any) -> Settings:
    return replace(Settings(environment={"PATH": "/bin", "DEVICE_ID": "from-the-caller", "OTHER": "1"}), **chosen)


def test_what_both_generations_look_for(tmp_path: Path) -> None:
    made = registry(tmp_path, "a.sh")
    env = script_environment(
        settings(),
        made,
        "com.example.app.read",
        "/x/clawperator",
        "serial-1",
        package="com.example.operator",
        run_id="run-1",
    )
    assert env == {
        "PATH": "/bin",
        "OTHER": "1",
        "CLAWPERATOR_BIN": "/x/clawperator",
        "CLAWPERATOR_OUTPUT": "json",
        "ANDROPERATOR_BIN": "/x/clawperator",
        "CLAW_BIN": "/x/clawperator",
        "CLAWPERATOR_OPERATOR_PACKAGE": "com.example.operator",
        "ANDROPERATOR_OPERATOR_PACKAGE": "com.example.operator",
        "CLAWPERATOR_RECEIVER_PACKAGE": "com.example.operator",
        "RECEIVER_PKG": "com.example.operator",
        "CLAWPERATOR_DEVICE_ID": "serial-1",
        "ANDROPERATOR_DEVICE_ID": "serial-1",
        "DEVICE_ID": "serial-1",
        "CLAWPERATOR_SKILL_ID": "com.example.app.read",
        "CLAWPERATOR_SKILL_RUN_ID": "run-1",
        "ANDROPERATOR_SKILL_RUN_ID": "run-1",
        "CLAWPERATOR_CALLER_PROFILE": packed(DEFAULT),
        "CLAWPERATOR_SKILLS_REGISTRY": made.path,
        "CLAWPERATOR_LOG_LEVEL": "info",
    }


def test_what_was_chosen_holds_for_the_calls_of_the_script(tmp_path: Path) -> None:
    made = replace(registry(tmp_path, "a.sh"), source=BUILTIN)
    policy = tmp_path / "p.toml"
    policy.write_text('version = 1\nactiveProfile = "watching"\n[profiles.watching]\nread_only = true\n')
    env = script_environment(
        settings(
            device_id="chosen-before",
            backend="stock",
            backend_chosen=True,
            allow_unbind=True,
            policy_path=str(policy),
            safe_logs=True,
            log_dir="/logs",
            log_level="debug",
            history_enabled=False,
            adb_path="/adb",
            policy_profile="watching",
        ),
        made,
        "com.example.app.read",
        "c",
        None,
        package="",
        run_id="run-1",
    )
    assert {name: env[name] for name in env if name.startswith(("CLAWPERATOR_", "ADB", "DEVICE"))} == {
        "CLAWPERATOR_BIN": "c",
        "CLAWPERATOR_OUTPUT": "json",
        "CLAWPERATOR_BACKEND": "stock",
        "CLAWPERATOR_ALLOW_UNBIND": "1",
        "CLAWPERATOR_DEVICE_ID": "chosen-before",
        "DEVICE_ID": "chosen-before",
        "CLAWPERATOR_SKILL_ID": "com.example.app.read",
        "CLAWPERATOR_SKILL_RUN_ID": "run-1",
        "CLAWPERATOR_SKILLS_REGISTRY": "builtin",
        "CLAWPERATOR_POLICY": str(policy),
        "CLAWPERATOR_CALLER_PROFILE": packed(load_profile(Settings(policy_path=str(policy)))),
        "CLAWPERATOR_POLICY_PROFILE": "watching",
        "CLAWPERATOR_SAFE_LOGS": "1",
        "CLAWPERATOR_LOG_DIR": "/logs",
        "CLAWPERATOR_LOG_LEVEL": "debug",
        "CLAWPERATOR_NO_HISTORY": "1",
        "ADB_PATH": "/adb",
    }


def test_without_a_device_the_callers_variables_stay(tmp_path: Path) -> None:
    made = registry(tmp_path, "a.sh")
    env = script_environment(settings(), made, "com.example.app.read", "c", None, package="", run_id="run-1")
    assert env["DEVICE_ID"] == "from-the-caller"
    assert "CLAWPERATOR_DEVICE_ID" not in env
