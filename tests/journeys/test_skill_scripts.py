"""Both generations of skill scripts, unchanged, by ``skills run`` as a whole process, on a simulated device behind the real adb.

The scripts in ``skill_scripts`` are written to the call forms of cli.md#commands: how they find us, what they
send, what they read from stdout, and what they take for a failure.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.skills.made import NARROW, WIDENING, alive, check_bound, made_registry, until
from tests.support import CLI, Ran, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SCRIPTS = Path(__file__).parent / "skill_scripts"
PACKAGE = "com.clawperator.operator"
SKILL = "com.example.app.look"


class Ended(Ran):
    @property
    def values(self) -> dict[str, str]:
        """What the script said on its RESULT line."""
        assert self.exit_code == 0, self.out + self.err
        (frame,) = (frame for frame in self.document["frames"] if frame["kind"] == "result")
        values: dict[str, str] = frame["values"]
        return values


async def skills_run(bench: Any, registry: str, *arguments: str, env: Mapping[str, str] | None = None) -> Ended:
    words = ("skills", "run", SKILL, "--registry", registry, *arguments)
    return Ended(*await ran(*CLI, *words, env={**bench.env, **(env or {})}))


def registry_of(tmp_path: Path, script: str, text: str | None = None) -> str:
    if script.endswith(".js") and not shutil.which("node"):
        pytest.skip("needs node")
    content = (SCRIPTS / script).read_text() if text is None else text
    return made_registry(tmp_path / "root", {SKILL: {script: content}}).path


def is_picture(path: str) -> bool:
    return Path(path).read_bytes().startswith(b"\x89PNG\r\n")


# -- the call forms


async def test_a_shell_script_of_the_first_era(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    run = await skills_run(bench, registry_of(tmp_path, "first_era.sh"), "--device-id", bench.serial, "--", PACKAGE)
    assert run.values == {"status": "success", "device": bench.serial, "package": PACKAGE}
    assert run.err == ""
    text, result, done = run.document["frames"]
    assert text["text"] == "About emulated device"
    assert (result["kind"], done["text"]) == ("result", "✅ Read.")


async def test_a_node_script_of_the_first_era(connect: Connect, tmp_path: Path) -> None:
    """Device and package come from the environment here; the failed plan is exit code 1 and still a document."""
    bench = await connect()
    run = await skills_run(bench, registry_of(tmp_path, "first_era.js"), env={"CLAWPERATOR_DEVICE_ID": bench.serial})
    assert run.values == {"status": "success", "title": "Settings", "refused": "1:NODE_NOT_FOUND"}


async def test_a_current_node_script(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(device={"generation": "0.5"})
    run = await skills_run(bench, registry_of(tmp_path, "flat.js"), "--device", bench.serial)
    assert run.values == {"status": "success", "clicked": "click:true", "refused": "NODE_NOT_FOUND"}
    picture, _, result, _ = run.document["frames"]
    assert is_picture(picture["path"])
    assert result["result"]["device"] == bench.serial


@pytest.mark.ci
@pytest.mark.parametrize("script", ["flat.sh", "flat.py"])
async def test_current_scripts_in_other_languages(connect: Connect, tmp_path: Path, script: str) -> None:
    bench = await connect(device={"generation": "0.5"})
    run = await skills_run(bench, registry_of(tmp_path, script), "--device-id", bench.serial)
    assert run.values == {"status": "success", "title": "Settings", "refused": "NODE_NOT_FOUND"}


# -- what holds for the calls of a script, and what becomes of them


@pytest.mark.ci
async def test_a_device_that_is_not_there_fails_the_script_and_says_why(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    run = await skills_run(bench, registry_of(tmp_path, "first_era.sh"), "--device-id", "nobody")
    assert run.exit_code == 1
    error = run.document
    assert (error["code"], error["exitCode"]) == ("SKILL_EXECUTION_FAILED", 1)
    assert json.loads(error["stderr"])["code"] == "DEVICE_NOT_FOUND"


async def test_the_policy_that_was_named_holds_for_the_script(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(start={"package": "com.android.settings"})
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nactiveProfile = "default"\n[profiles.default.capabilities]\nallow = ["observe", "run_skill"]\ndeny = []\n'
    )
    script = '#!/bin/bash\n"$CLAWPERATOR_BIN" snapshot > /dev/null && echo looked\nexec "$CLAWPERATOR_BIN" click --text Display\n'
    registry = registry_of(tmp_path, "run.sh", script)
    run = await skills_run(bench, registry, "--device-id", bench.serial, "--policy", str(policy))
    looked, refusal = run.document["stdout"].split("\n", 1)
    assert looked == "looked"
    assert json.loads(refusal)["code"] == "CAPABILITY_DENIED"


async def test_an_interrupted_script_takes_its_calls_with_it(connect: Connect, tmp_path: Path) -> None:
    """The execution that it was waiting for holds the device no longer; what is on the device runs on, as always."""
    bench = await connect(speed=1)
    plan = {
        "commandId": "sleeper",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 60000,
        "actions": [{"id": "a", "type": "sleep", "params": {"durationMs": 50000}}],
    }
    script = (
        "#!/bin/bash\n"
        f"\"$CLAWPERATOR_BIN\" exec '{json.dumps(plan)}' &\n"
        'until "$CLAWPERATOR_BIN" lock status | grep -q sleeper; do :; done\n'
        "echo $!\n"
        "wait\n"
    )
    registry = registry_of(tmp_path, "run.sh", script)
    process = await asyncio.create_subprocess_exec(
        *(*CLI, "skills", "run", SKILL, "--registry", registry, "--device-id", bench.serial, "--output", "pretty"),
        env=bench.env,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    pid = int(await process.stdout.readline())  # heard while the script runs
    assert bench.engine.lock(bench.serial).holder.command_id == "sleeper"
    process.send_signal(signal.SIGINT)
    out, _ = await process.communicate()
    assert process.returncode == 130
    inner, *rest = out.splitlines()
    assert json.loads(inner)["broadcastDispatchStatus"] == "sent"  # the script's own call, which let go of the device
    assert rest[0].startswith(b"INTERRUPTED")
    until(lambda: not alive(pid))
    assert bench.engine.lock(bench.serial).state != "held"


async def test_executions_of_a_script_are_in_the_history(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(start={"package": "com.android.settings"})
    registry = registry_of(tmp_path, "run.sh", '#!/bin/bash\n"$CLAWPERATOR_BIN" snapshot > /dev/null\n')
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}
    assert (await skills_run(bench, registry, "--device-id", bench.serial, env=env)).exit_code == 0
    kept = await history(bench, env)
    assert [(run["deviceId"], run["face"]) for run in kept] == [(bench.serial, "cli")]
    assert (await skills_run(bench, registry, "--device-id", bench.serial, "--no-history", env=env)).exit_code == 0
    assert await history(bench, env) == kept


async def history(bench: Any, env: Mapping[str, str]) -> list[dict[str, Any]]:
    listed = await ran(*CLI, "history", "list", env={**bench.env, **env})
    runs: list[dict[str, Any]] = listed.document["executions"]
    return runs


async def test_a_script_cannot_widen_its_callers_profile(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    policy = tmp_path / "narrow.toml"
    policy.write_text(NARROW)
    registry = registry_of(tmp_path, "run.py", WIDENING)
    run = await skills_run(bench, registry, "--device-id", bench.serial, "--policy", str(policy))
    check_bound(run.document["output"])
    assert bench.world.commands == 0


NESTED = """#!/bin/sh
set -e
$CLAWPERATOR_BIN snapshot ${1:+--device-id "$1"} --operator-package "${CLAWPERATOR_OPERATOR_PACKAGE-none}" > /dev/null
echo "RESULT|package=$CLAWPERATOR_OPERATOR_PACKAGE|same=$ANDROPERATOR_OPERATOR_PACKAGE"
"""


async def test_the_calls_of_a_script_use_the_app_that_is_installed(connect: Connect, tmp_path: Path) -> None:
    """A device with the renamed app alone; before, the package of the old one was exported, and a nested call took it as chosen."""
    bench = await connect(device={"generation": "1.0"})
    registry = registry_of(tmp_path, "run.sh", NESTED)
    for named in (["--device-id", bench.serial], []):
        run = await skills_run(bench, registry, *named)
        assert run.values == {"package": "com.androperator.operator", "same": "com.androperator.operator"}
