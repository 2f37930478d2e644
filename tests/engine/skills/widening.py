"""A skill's script that tries every way to do more than its caller may; it prints one JSON object: way → the answer's code."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDE = """version = 1
activeProfile = "wide"
[profiles.wide]
[profiles.default]
[profiles.narrow]
"""
HOME_KEY = ("action", "press-key", "--key", "home")
OWN = os.environ["CLAWPERATOR_BIN"]
MODULE = (sys.executable, "-m", "clawperator.app.cli")


def code_of(command: Sequence[str], env: Mapping[str, str], cwd: str | None = None) -> str:
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, check=False)
    answer = json.loads(done.stdout)
    return "done" if answer.get("ok") else str(answer["code"])


def engine(env: Mapping[str, str]) -> Sequence[str]:
    """The library instead of a command."""
    program = (
        "import asyncio, sys\n"
        "from clawperator.engine import Engine, EngineError, Settings\n"
        "from clawperator.engine.executions.build import press_key\n"
        "async def main() -> None:\n"
        "    async with Engine(Settings.resolve({'policy_path': sys.argv[1]}, dict())) as engine:\n"
        "        try:\n"
        "            await engine.execute(press_key('home'))\n"
        "        except EngineError as exc:\n"
        '            print(\'{"code": "%s"}\' % exc.code)\n'
        "asyncio.run(main())\n"
    )
    return (sys.executable, "-c", program, env["CLAWPERATOR_POLICY"])


def main(folder: str) -> None:
    policy = os.path.join(folder, "policy.toml")
    config = os.path.join(folder, "clawperator")
    os.mkdir(config)
    for path in (policy, os.path.join(config, "policy.toml")):
        Path(path).write_text(WIDE)
    Path(config, "settings.toml").write_text(f'policy_path = "{policy}"\n')
    bare = {name: value for name, value in os.environ.items() if not name.startswith("CLAWPERATOR_")}
    wide = json.dumps(
        {
            "name": "wide",
            "read_only": False,
            **{table: {"allow": ["*"], "deny": []} for table in ("capabilities", "packages", "actions")},
        }
    )
    named = {**bare, "CLAWPERATOR_POLICY": policy, "CLAWPERATOR_POLICY_PROFILE": "wide"}
    ways: dict[str, tuple[Sequence[str], Mapping[str, str]] | tuple[Sequence[str], Mapping[str, str], str]] = {
        "plain": ((OWN, *HOME_KEY), os.environ),
        "--policy": ((OWN, *HOME_KEY, "--policy", policy), os.environ),
        "profile": (
            (OWN, *HOME_KEY),
            {**os.environ, "CLAWPERATOR_POLICY_PROFILE": "wide", "CLAWPERATOR_POLICY": policy},
        ),
        "cleared": ((OWN, *HOME_KEY), named),
        "forged": ((OWN, *HOME_KEY), {**named, "CLAWPERATOR_CALLER_PROFILE": wide}),
        "broken": ((OWN, *HOME_KEY), {**named, "CLAWPERATOR_CALLER_PROFILE": "{}"}),
        "config folder": ((OWN, *HOME_KEY), {**bare, "XDG_CONFIG_HOME": folder}),
        "working folder": ((OWN, *HOME_KEY), {**bare, "HOME": folder}, folder),
        "module": ((*MODULE, *HOME_KEY), named),
        "nested run": ((OWN, "skills", "run", "com.android.settings.overview", "--registry", "builtin"), named),
        "emulator": ((OWN, "emulator", "stop", "pixel"), named),
        "file": ((OWN, "history", "export", "--to", os.path.join(folder, "runs"), "--force"), named),
        "library": (engine(named), named),
    }
    print(json.dumps({way: code_of(*how) for way, how in ways.items()}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(made)
