"""The wheel holds the product, and works from another folder."""

from __future__ import annotations

import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from clawperator.engine.version import OPERATOR_RELEASES, __version__
from tests.support import patience

pytestmark = [pytest.mark.ci, pytest.mark.timeout(600)]


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(cwd), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )


def test_version_from_elsewhere(installed_wheel: Path, tmp_path: Path) -> None:
    done = run(installed_wheel / "clawperator", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_demo_from_elsewhere_without_a_terminal(installed_wheel: Path, tmp_path: Path) -> None:
    done = run(installed_wheel / "clawperator", "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    assert answer["outcome"]["status"] == "succeeded"
    assert [step["status"] for step in answer["outcome"]["steps"]] == ["done"] * 6


@pytest.mark.parametrize("module", ["clawperator", "clawperator.app.cli"])
def test_the_documented_module_forms(module: str, installed_wheel: Path, tmp_path: Path) -> None:
    done = run(installed_wheel / "python", "-m", module, "version", cwd=tmp_path)
    assert json.loads(done.stdout) == {"cliVersion": __version__, "operatorGenerations": [*OPERATOR_RELEASES]}


def test_generic_names_do_not_land_in_site_packages(installed_wheel: Path) -> None:
    (packages,) = (installed_wheel.parent / "lib").glob("python*/site-packages")
    assert (packages / "clawperator" / "engine" / "py.typed").is_file()
    assert (packages / "clawperator" / "py.typed").is_file()
    assert (packages / "clawperator" / "themes").is_dir()
    for name in ("app", "engine", "widgets", "themes", "tests"):
        assert not (packages / name).exists()


def test_the_wheel_holds_nothing_that_the_source_distribution_lacks(distributions: Path) -> None:
    (wheel,), (sdist,) = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    modules = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    with tarfile.open(sdist) as archive:
        sources = {name.split("/", 1)[1] for name in archive.getnames() if name.endswith(".py")}
    assert {name.removeprefix("clawperator/") for name in modules} <= {
        name.removeprefix("src/clawperator/") for name in sources
    }
    assert {"app/cli/main.py", "engine/facade.py"} <= sources
