"""The command that adds an extra to this installation, read from what its installer wrote down."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "clawperator"


def install_command(extra: str) -> str:
    """Return a command line of pip, uv or pipx, whichever installed this program, with the source that it was installed from."""
    installer, origin = _records()
    prefix = Path(sys.prefix)
    for record, command, before in (
        ("uv-receipt.toml", "uv tool install", r"extras = \[([^\]]*)\]"),
        ("pipx_metadata.json", "pipx install --force", r'"package_or_url": "[^"\[]*\[([^\]]*)\]'),
    ):
        with suppress(OSError):
            found = re.search(before, (prefix / record).read_text(encoding="utf-8"))
            kept = re.findall(r"[\w-]+", found[1]) if found else []  # these tools replace the whole environment
            return f"{command} {_requirement(origin, [*dict.fromkeys((*kept, extra))])}"
    return f"{_pip(installer, prefix)} {_requirement(origin, [extra])}"


def _records() -> tuple[str, dict[str, Any]]:
    """Return the name of the installer, and where it found the package (PEP 610); empty where that was an index."""
    with suppress(PackageNotFoundError, ValueError):
        installed = distribution(NAME)
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        return (installed.read_text("INSTALLER") or "").strip(), origin
    return "", {"url": Path(__file__).resolve().parents[1].as_uri(), "dir_info": {"editable": True}}


def _pip(installer: str, prefix: Path) -> str:
    """Return the command for an environment that a person made; ``pip`` alone may be the one of another."""
    if installer == "uv" and shutil.which("uv"):
        return f"uv pip install --python {shlex.quote(sys.executable)}"
    own = shutil.which("pip")
    return (
        "pip install" if own and Path(own).parent == prefix / "bin" else f"{shlex.quote(sys.executable)} -m pip install"
    )


def _requirement(origin: dict[str, Any], extras: list[str]) -> str:
    """Return the argument of the installer, quoted for a shell: a folder, a URL, or the name alone."""
    extra = f"[{','.join(extras)}]"
    url = origin.get("url", "")
    if "dir_info" in origin:
        folder = unquote(urlsplit(url).path)
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"{editable}{shlex.quote(f'{folder}{extra}')}"
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs.get('requested_revision') or vcs['commit_id']}"
    return shlex.quote(f"{NAME}{extra} @ {url}" if url else f"{NAME}{extra}")
