"""Startup is a feature: whole processes of the installed wheel against the imports that nobody can avoid."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.benchmarks.conftest import Phone, Report, in_turn
from tests.benchmarks.raw_script import click

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

ROUNDS = 11


def program(*command: str, env: dict[str, str]) -> Callable[[], None]:
    """Without a timeout of its own: with one, Python looks for the end every 50 ms only."""

    def run() -> None:
        subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    return run


def compare(
    report: Report, what: str, ours: Callable[[], None], floor: tuple[str, Callable[[], None]], limit: float
) -> None:
    name, work = floor

    def measure() -> tuple[float, str]:
        mine, theirs, ratio = in_turn(ours, work, ROUNDS)
        return ratio, f"{mine * 1_000:.0f} / {theirs * 1_000:.0f} ms"

    report.ratio(what, f'`python -c "{name}"`', limit, measure)


def python(binaries: Path, code: str, env: dict[str, str]) -> tuple[str, Callable[[], None]]:
    return code, program(str(binaries / "python"), "-c", code, env=env)


def test_version(installed_wheel: Path, report: Report, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    ours = program(str(installed_wheel / "clawperator"), "--version", env=env)
    compare(report, "`clawperator --version`, whole process", ours, python(installed_wheel, "pass", env), 2.2)


def test_devices(installed_wheel: Path, report: Report, phone: Phone) -> None:
    ours = program(str(installed_wheel / "clawperator"), "devices", "--json", env=phone.env)
    floor = python(installed_wheel, "import argparse, json, socket", phone.env)
    compare(report, "`clawperator devices --json`, whole process", ours, floor, 2.0)


def test_packages_list(installed_wheel: Path, report: Report, phone: Phone) -> None:
    """Its one round trip included, which a device that is simulated in this process makes no shorter."""
    ours = program(str(installed_wheel / "clawperator"), "packages", "list", "--json", env=phone.env)
    floor = python(installed_wheel, "import argparse, json, socket", phone.env)
    compare(report, "`clawperator packages list --json`, whole process", ours, floor, 2.0)


def test_execute(installed_wheel: Path, report: Report, phone: Phone) -> None:
    numbers = count()

    def ours() -> None:
        payload = json.dumps(click(f"startup-{next(numbers)}"))
        program(str(installed_wheel / "clawperator"), "execute", "--execution", payload, env=phone.env)()

    floor = python(installed_wheel, "import asyncio; from pydantic import BaseModel, TypeAdapter", phone.env)
    compare(report, "`clawperator execute` of one click, whole process", ours, floor, 2.0)


@pytest.fixture
def warm(installed_wheel: Path, phone: Phone, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The phone's environment with a warm process."""
    env = {**phone.env, "XDG_RUNTIME_DIR": str(tmp_path)}
    clawperator = str(installed_wheel / "clawperator")
    program(clawperator, "warm", "start", env=env)()
    yield env
    program(clawperator, "warm", "stop", env=env)()


def test_execute_in_the_warm_process(installed_wheel: Path, report: Report, warm: dict[str, str]) -> None:
    numbers = count()

    def ours() -> None:
        payload = json.dumps(click(f"warm-{next(numbers)}"))
        program(str(installed_wheel / "clawperator"), "execute", "--execution", payload, env=warm)()

    floor = python(installed_wheel, "import argparse, json, socket", warm)
    compare(report, "`clawperator execute` of one click, warm", ours, floor, 2.0)


def test_snapshot_in_the_warm_process(installed_wheel: Path, report: Report, warm: dict[str, str]) -> None:
    words = ("observe", "snapshot", "--view", "compact")
    ours = program(str(installed_wheel / "clawperator"), *words, env=warm)
    floor = python(installed_wheel, "import argparse, json, socket", warm)
    compare(report, "`clawperator observe snapshot --view compact`, warm", ours, floor, 2.2)
