"""The command that adds an extra fits how the product was installed."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from clawperator.app import installation
from clawperator.app.installation import install_command

FOLDER = {"url": "file:///work/a%20b", "dir_info": {}}
EDITABLE = {"url": "file:///work/checkout", "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/clawperator-0.5.0-py3-none-any.whl", "archive_info": {}}
GIT = {"url": "https://example.org/c.git", "vcs_info": {"vcs": "git", "commit_id": "a1b2", "requested_revision": "v1"}}
UV_TOOL = {"uv-receipt.toml": '[tool]\nrequirements = [{ name = "clawperator", directory = "/work/a b" }]\n'}
UV_TOOL_WITH_MCP = {"uv-receipt.toml": 'requirements = [{ name = "clawperator", extras = ["mcp"] }]\n'}
PIPX = {"pipx_metadata.json": '{"main_package": {"package_or_url": "/work/checkout"}}'}
PIPX_WITH_MCP = {"pipx_metadata.json": '{"main_package": {"package_or_url": "/work/a b[mcp,web]"}}'}


@pytest.mark.parametrize(
    ("installer", "origin", "records", "command"),
    [
        ("pip", EDITABLE, {}, "pip install -e '/work/checkout[web]'"),
        ("pip", FOLDER, {}, "pip install '/work/a b[web]'"),
        ("pip", WHEEL, {}, f"pip install 'clawperator[web] @ {WHEEL['url']}'"),
        ("pip", GIT, {}, "pip install 'clawperator[web] @ git+https://example.org/c.git@v1'"),
        ("pip", None, {}, "pip install 'clawperator[web]'"),
        ("uv", EDITABLE, {}, "uv pip install --python {python} -e '/work/checkout[web]'"),
        ("uv", FOLDER, UV_TOOL, "uv tool install '/work/a b[web]'"),
        ("uv", WHEEL, UV_TOOL_WITH_MCP, f"uv tool install 'clawperator[mcp,web] @ {WHEEL['url']}'"),
        ("uv", EDITABLE, PIPX, "pipx install --force -e '/work/checkout[web]'"),
        ("pip", FOLDER, PIPX_WITH_MCP, "pipx install --force '/work/a b[mcp,web]'"),
    ],
)
def test_the_installer_is_the_one_that_was_used(
    installer: str,
    origin: dict[str, object] | None,
    records: dict[str, str],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix, python = tmp_path / "env", tmp_path / "env" / "bin" / "python"
    info = tmp_path / "site" / "clawperator-0.5.0.dist-info"
    info.mkdir(parents=True)
    (prefix / "bin").mkdir(parents=True)
    for program in ("pip", "uv"):
        (prefix / "bin" / program).touch(0o755)
    for name, text in records.items():
        (prefix / name).write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.4\nName: clawperator\nVersion: 0.5.0\n", encoding="utf-8")
    (info / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    assert install_command("web") == command.replace("{python}", str(python))
    if command.startswith("pip install"):
        monkeypatch.setenv("PATH", "/usr/bin")
        elsewhere = install_command("web")
        assert elsewhere == command.replace("pip", f"{python} -m pip", 1), "not the pip of another environment"


def test_a_checkout_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(installation, "distribution", absent)
    assert install_command("web").endswith(f"install -e '{Path(__file__).resolve().parents[2]}[web]'")
