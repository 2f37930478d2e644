"""What shells offer, asked of the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clawperator.app.cli.completions import completions
from tests.support import patience

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

ASKS = {
    "bash": """
        source completion
        for COMP_LINE in "$@"; do COMP_POINT=${#COMP_LINE}; _clawperator; echo "${COMPREPLY[@]}"; done
    """,
    "fish": """
        source completion
        for line in $argv; complete -C $line | string split -f1 \\t | string join ' '; end
    """,
}
SHELLS = [
    pytest.param(
        shell, marks=pytest.mark.skipif(not shutil.which(shell), reason=f"needs {shell} (apt install {shell})")
    )
    for shell in ASKS
]
EXPECTED = {
    "dev": "device devices",
    "action cl": "click",
    "action press-key --key ": "back home recents",
    "packages list --output ": "json pretty",
    "completion ": "bash fish zsh",
    "execute --val": "--validate-only",
    "help errors NODE_NOT_C": "NODE_NOT_CLICKABLE",
    "emulator start pix": "pixel",
}


def offered(line: str) -> dict[str, str]:
    return dict(completions(line.split(" ")))


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_offer(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    (tmp_path / "pixel.ini").touch()
    (tmp_path / "completion").write_text(cli("completion", shell).out, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}"
    env = {**os.environ, "PATH": path, "ANDROID_AVD_HOME": str(tmp_path)}
    program = shutil.which(shell, path=path) or shell
    lines = [f"clawperator {line}" for line in EXPECTED]
    words = [program, "-c", ASKS[shell], *(["bash"] if shell == "bash" else []), *lines]
    done = subprocess.run(
        words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=patience(40)
    )
    assert [" ".join(sorted(line.split())) for line in done.stdout.splitlines()] == list(EXPECTED.values()), done.stderr


def test_values_of_flags_in_both_forms() -> None:
    assert set(offered("observe snapshot --output ")) == {"json", "pretty"}
    assert set(offered("observe snapshot --output=p")) == {"--output=pretty"}
    assert set(offered("observe --output pretty sn")) == {"snapshot"}
    assert ":files" in offered("execute --execution ")
    assert offered("skills run com.example.app -- --roo") == {":files": ""}


def test_commands_come_with_what_they_do() -> None:
    assert offered("history sh") == {"show": "Show one run: payload, steps, log lines, envelope, UI trees"}


@pytest.mark.usefixtures("lonely")
def test_what_only_an_observer_may_list_is_not_offered_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pixel.ini").touch()
    monkeypatch.setenv("ANDROID_AVD_HOME", str(tmp_path))
    assert "pixel" in offered("emulator start ")
    policy = tmp_path / "policy.toml"
    policy.write_text("version = 1\n[profiles.default.capabilities]\nallow = []\n")
    monkeypatch.setenv("CLAWPERATOR_POLICY", str(policy))
    assert "pixel" not in offered("emulator start ")
    policy.write_text("no policy")
    assert "pixel" not in offered("emulator start ")


def test_skills(lonely: dict[str, str]) -> None:
    assert list(offered("skills get com.example.thermostat.s")) == ["com.example.thermostat.set-mode"]


def test_what_files_and_devices_are_called_never_reaches_a_shell_as_code(
    lonely: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pixel", "$(touch owned)", "a b", ";x", "`x`", "é"):
        (tmp_path / f"{name}.ini").touch()
    monkeypatch.setenv("ANDROID_AVD_HOME", str(tmp_path))
    assert offered("emulator start ") == {"pixel": ""}


@pytest.mark.parametrize(
    "line",
    ["observe snapshot --device-id ", "history show ", "emulator start ", "nonsense ", "--nonsense ", "", "help help "],
)
def test_without_anything_nothing_fails(lonely: dict[str, str], line: str) -> None:
    for word in offered(line):
        assert word.isascii()


@pytest.mark.cold
def test_a_description_stays_one_line_and_steers_no_terminal(
    cli: Cli, lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "clawperator.app.cli.completions.completions", lambda _: [("a.b", "one\n$(touch owned)\ttwo\r\x1b]0;x\x07")]
    )
    (line,) = cli("completion", "--words", "--", "skills", "get", "").out.split("\n")[:-1]
    assert line.startswith("a.b\tone")
    assert line.isprintable() or line.replace("\t", "").isprintable()
