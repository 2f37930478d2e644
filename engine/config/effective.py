"""The settings in effect, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clawperator.engine.config.settings import choices
from clawperator.engine.config.settings_file import load, read
from clawperator.engine.config.toml_lines import lines_of

_NOT_IN_THE_FILE = ("lock_dir", "read_only", "package_chosen", "backend_chosen")


def effective(path: str, flags: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Every setting under its name in the file: ``value``, who chose it (``source``), and ``by`` which flag, variable or line.

    Raises ``EngineError`` as ``load`` does.
    """
    file = load(path)
    lines = lines_of(read(path) or "")
    for name, (value, source, variable) in choices(flags, env, file.choices()).items():
        if name == "devices":
            for alias, device in value.items():
                key = f"devices.{alias}"
                yield _row(key, device._asdict(), source, _line(lines, f"{key}.serial", source))
        elif name not in _NOT_IN_THE_FILE:
            key = re.sub("^(history|emulator|warm)_", r"\1.", name)
            key = "output.format" if name == "output" and "output.format" in lines else key
            by = {"flag": f"--{name.replace('_', '-')}", "env": variable}.get(source, "")
            yield _row(key, value, source, by or _line(lines, key, source))
    source = "file" if "terminal" in file.output.model_fields_set else "default"
    yield _row("output.terminal", file.output.terminal, source, _line(lines, "output.terminal", source))
    for key, value in file.console:
        source = "file" if key in file.console.model_fields_set else "default"
        yield _row(f"console.{key}", value, source, _line(lines, f"console.{key}", source))
    for key, value in file.keymap.items():
        yield _row(f"keymap.{key}", value, "file", _line(lines, f"keymap.{key}", "file"))


def _row(key: str, value: Any, source: str, by: str) -> dict[str, Any]:
    return {"key": key, "value": value, "source": source, "by": by}


def _line(lines: Mapping[str, int], key: str, source: str) -> str:
    return f"line {lines[key]}" if source == "file" and key in lines else ""
