"""The three jobs of ``examples/agent_jobs.py``, each on a fresh simulation: time, calls and bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.app.cli.test_cli_end_to_end import simulation
from tests.benchmarks.conftest import Report
from tests.support import CLI

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent_jobs.py"


def jobs(way: str, folder: Path) -> list[dict[str, Any]]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = {"HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "PATH": path}
    with simulation() as simulated:
        env = {**home, **simulated}
        if way == "warm":
            subprocess.run([*CLI, "warm", "start"], env=env, stdout=subprocess.DEVNULL, check=True)
        try:
            done = subprocess.run([sys.executable, str(EXAMPLE), way], env=env, stdout=subprocess.PIPE, check=True)
        finally:
            if way == "warm":
                subprocess.run([*CLI, "warm", "stop"], env=env, stdout=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("way", "limit"), [("warm", 1_000), ("mcp", 800)])
def test_the_slowest_job(report: Report, tmp_path: Path, way: str, limit: float) -> None:
    """The device's own times included: an app that opens, and a screen that settles."""

    def measure() -> tuple[float, str]:
        rows = jobs(way, tmp_path)
        costs = "; ".join(f"{row['job']}: {row['calls']} calls, {row['bytes']} bytes, {row['ms']} ms" for row in rows)
        return max(row["ms"] for row in rows), costs

    report.milliseconds(f"an agent's job, {way}, the slowest of three", limit, measure)
