"""The three jobs of ``examples/agent_jobs.py``: calls and bytes. Their times are a benchmark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.cli.test_cli_end_to_end import simulation
from tests.support import patience

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent_jobs.py"


@pytest.mark.ci
@pytest.mark.parametrize("way", ["cold", "mcp"])
def test_each_job_takes_few_calls_and_bytes(tmp_path: Path, way: str) -> None:
    with simulation() as simulated:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "PATH": path, **simulated}
        done = subprocess.run(
            [sys.executable, str(EXAMPLE), way],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=patience(60),
        )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == 3
    for row in rows:
        assert row["calls"] <= 5
        assert row["bytes"] <= 4_096
