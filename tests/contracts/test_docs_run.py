"""README, tutorial and every page of ``docs`` are followed from the first line to the last: what they show runs as it stands.

A page's shell blocks are one script, with a simulated device behind it. A block that cannot run here has an invisible comment in
front of it, ``<!-- not run: why -->``; ``<!-- test: … -->`` marks those that install (below), run until Ctrl-C, or need a server. What stands behind
"`plan.json`:" is the content of that file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from clawperator.app.cli.simulators import NEWEST
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.scenario import Scenario
from tests.app.cli.conftest import served
from tests.engine.operator.apks import save
from tests.support import patience, running

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FENCE = re.compile(
    r"(?:^(?:[^\n]* )?`(?P<file>[\w.-]+)`:\n\n)?"
    r"^(?P<indent> *)(?:<!-- (?P<mark>[^>\n]+) -->\n *)?```(?P<language>\w+)\n(?P<text>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = "not run: "
INSTALLS, UNTIL_CTRL_C, SERVED = "test: install", "test: until Ctrl-C", "test: served"


class Block(NamedTuple):
    language: str
    text: str
    mark: str
    file: str


def blocks(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            found["mark"] or "",
            found["file"] or "",
        )
        for found in FENCE.finditer(text)
    ]


PAGES = [
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```sh" in page.read_text(encoding="utf-8") or "```python" in page.read_text(encoding="utf-8")
]
NEWCOMER = ("README.md", "docs/tutorial.md")
"""What everybody reads; the other pages run in CI."""


def devices_of(page: str) -> list[SimulatedDevice]:
    if page.endswith("many-devices.md"):
        return [device(), device(device={"serial": "R58M12ABCDE"})]
    if page.endswith(("nothing-installed.md", "drive-a-phone.md")):
        return [device(operator={"installed": False})]
    return [device()]


def device(**scenario: Any) -> SimulatedDevice:
    return create_device(Scenario.model_validate({"speed": 0.05, **scenario}), generation=NEWEST)


def environment(home: Path, served_at: Mapping[str, str] = {}) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    shell = {"HOME": str(home), "PATH": path, "SHELLOPTS": "errexit", "TMPDIR": str(home)}
    return {**shell, "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state"), **served_at}


def run(script: str, env: Mapping[str, str], folder: Path, seconds: float = 120) -> str:
    """Run ``script`` as a shell reads what is typed, and return what it printed; every line must succeed."""
    done = subprocess.run(
        ["bash"],
        input=script,
        env=dict(env),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=patience(seconds),
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-6000:]}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a reader of the page is."""
    (found := tmp_path / "work").mkdir()
    return found


@pytest.mark.parametrize(
    "page", [page if page in NEWCOMER else pytest.param(page, marks=pytest.mark.ci) for page in PAGES]
)
def test_a_page_runs_as_it_stands(page: str, tmp_path: Path, folder: Path) -> None:
    home, found = tmp_path / "home", blocks(page)
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.text, encoding="utf-8")
    with served(devices_of(page)) as at:
        env = environment(home, at)
        if page.endswith("drive-a-phone.md"):
            save(home / ".clawperator" / "downloads")
        if page.endswith("many-devices.md"):
            (settings := home / "config" / "clawperator").mkdir(parents=True)
            (settings / "settings.toml").write_text(one(found, "toml").text, encoding="utf-8")
        shell = [block.text for block in found if block.language == "sh" and not block.mark]
        if shell:
            run("".join(shell), env, folder)
        for block in found:
            if block.language == "python" and not block.mark:
                call = "" if "asyncio.run" in block.text else "import asyncio; asyncio.run(main())"
                run(f"python - <<'END'\n{block.text}\n{call}\nEND\n", env, folder)
            if block.mark == UNTIL_CTRL_C:
                run_until_ctrl_c(block.text, env, folder)
            if block.mark == SERVED:
                run_served(block.text, env, folder)


def one(found: list[Block], language: str) -> Block:
    (block,) = (block for block in found if block.language == language)
    return block


def run_until_ctrl_c(script: str, env: Mapping[str, str], folder: Path) -> None:
    """Press Ctrl-C when the first line has come."""
    command = ["bash", "-c", script]
    with running(command, env=dict(env), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        said = child.stdout.readline()
        assert b'"code"' not in said, said
        child.send_signal(signal.SIGINT)
        assert child.wait(patience(20)) == 0, said


def run_served(program: str, env: Mapping[str, str], folder: Path) -> None:
    """Run a Python program with the address of a server in place of the default one."""
    command = [str(BIN / "clawperator"), "serve", "--port", "auto", "--json"]
    with running(command, env=dict(env), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        url = json.loads(child.stdout.readline())["url"]
        assert "http://127.0.0.1:3000" in program
        said = run(f"python - <<'END'\n{program.replace('http://127.0.0.1:3000', url)}\nEND\n", env, folder)
        assert "succeeded" in said


def test_few_blocks_do_not_run() -> None:
    marks = [(page, block.mark) for page in PAGES for block in blocks(page) if block.mark]
    reasons = [mark.removeprefix(NOT_RUN) for _, mark in marks if mark.startswith(NOT_RUN)]
    assert len(reasons) == 6, reasons
    assert {mark for _, mark in marks if not mark.startswith(NOT_RUN)} == {INSTALLS, UNTIL_CTRL_C, SERVED}
    assert {page for page, mark in marks if mark == INSTALLS} == {*NEWCOMER, "docs/how-to/install.md"}


def test_every_shell_block_is_found() -> None:
    for page in PAGES:
        shown = len(re.findall(r"^ *```sh$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
        assert len([block for block in blocks(page) if block.language == "sh"]) == shown, page


# -- jobs, clients


@pytest.mark.ci
@pytest.mark.parametrize("page", ["docs/how-to/continuous-integration.md", "examples/ci.yml"])
def test_a_job_runs_as_it_stands(page: str, tmp_path: Path, folder: Path) -> None:
    if page.endswith(".yml"):
        steps = yaml.safe_load((ROOT / page).read_text(encoding="utf-8"))["jobs"]["plans"]["steps"]
        shutil.copytree(ROOT / "examples", folder / "examples")
    else:
        steps = yaml.safe_load(one(blocks(page), "yaml").text)["steps"]
        for block in blocks(page):
            if block.file:
                (folder / block.file).write_text(block.text, encoding="utf-8")
    ran = [step["run"] for step in steps if "run" in step and not step["run"].startswith("pip install")]
    assert len(ran) == 2
    for script in ran:
        run(f"{script}\n", environment(tmp_path / "home"), folder)


@pytest.mark.ci
def test_an_mcp_client_can_start_what_its_configuration_says(tmp_path: Path, folder: Path) -> None:
    (server,) = json.loads(one(blocks("docs/how-to/mcp-client.md"), "json").text)["mcpServers"].values()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    command = [str(BIN / server["command"]), *server["args"]]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with running(command, env=environment(tmp_path / "home"), cwd=folder, **pipes) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline())
        child.stdin.close()
        assert child.wait(patience(20)) == 0
    assert "clawperator" in answer["result"]["serverInfo"]["name"].lower()


# -- installing


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What these tests share, in all workers: each file is fetched once. Nothing is compiled that runs once."""
    folder = tmp_path_factory.getbasetemp().parent / "downloads"
    return {"PIP_CACHE_DIR": f"{folder}/pip", "UV_CACHE_DIR": f"{folder}/uv", "PIP_NO_COMPILE": "1"}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, downloads: dict[str, str]) -> Path:
    """The folder of uv and pipx."""
    folder = tmp_path_factory.mktemp("tools")
    if uv := shutil.which("uv", path=f"{BIN}{os.pathsep}{os.environ['PATH']}"):  # a tenth of the time, in each worker
        commands = [[uv, "venv", "-q", "--python", sys.executable, str(folder)]]
        commands += [[uv, "pip", "install", "-q", "--python", str(folder / "bin" / "python"), "uv", "pipx"]]
    else:
        venv.create(folder, with_pip=True)
        commands = [[str(folder / "bin" / "pip"), "install", "-q", "uv", "pipx"]]
    for command in commands:
        subprocess.run(command, env=os.environ | downloads, check=True, timeout=patience(300))
    return folder / "bin"


def checkout(folder: Path) -> Path:
    """A copy of this repository as a clone has it."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in files.stdout.decode().split("\0"):
        if name and not name.startswith("tests/") and (ROOT / name).exists():
            (target := folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
    return folder


def empty_home(folder: Path, *programs: Path) -> dict[str, str]:
    """Return the environment of a person who has the network of this machine, its Python, ``programs``, and nothing else."""
    (home := folder / "home").mkdir()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "CLAWPERATOR_", "VIRTUAL_ENV"))
    }
    others = [place for place in os.environ["PATH"].split(os.pathsep) if Path(place) != BIN]
    path = os.pathsep.join([*map(str, programs), str(home / ".local" / "bin"), *others])
    return {**kept, "HOME": str(home), "PATH": path, "SHELLOPTS": "errexit"}


@pytest.mark.ci
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [*NEWCOMER, "docs/how-to/install.md"])
def test_what_installs_does_so_from_a_fresh_clone_in_an_empty_home(
    page: str, tools: Path, downloads: dict[str, str], tmp_path: Path
) -> None:
    env = empty_home(tmp_path, tools) | downloads
    place = checkout(tmp_path / "clone")
    for block in blocks(page):
        if block.mark == INSTALLS:
            script = block.text.replace(" && .venv/bin/pytest -n 6 --dist worksteal", "")  # these tests are among them
            out = run(script, env, place, seconds=600)
            if "demo" in script:
                assert '"status":"succeeded"' in out
            if "uninstall" not in script:
                run("PATH=$PWD/.venv/bin:$PATH clawperator -V\n", env, place)


@pytest.mark.ci
@pytest.mark.timeout(900)
@pytest.mark.parametrize("install", ["uv tool install .", "pipx install .", "pip install -q ."])
def test_the_hint_about_an_extra_adds_it(install: str, tools: Path, downloads: dict[str, str], tmp_path: Path) -> None:
    env = empty_home(tmp_path, tmp_path / "env" / "bin", tools) | downloads
    place = checkout(tmp_path / "clone")
    if install.startswith("pip "):
        venv.create(tmp_path / "env", with_pip=True)
    run(f"{install}\n", env, place, seconds=600)
    refused = json.loads(run("clawperator mcp </dev/null || true\n", env, tmp_path).splitlines()[0])
    assert refused["code"] == "HOST_DEPENDENCY_MISSING"
    assert str(place) in refused["hint"]
    run(f"{refused['hint'].removeprefix('Install it: ')}\n", env, tmp_path, seconds=600)
    run("clawperator mcp </dev/null\n", env, tmp_path)
