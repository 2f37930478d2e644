"""The settings file: its models, from which the JSON Schema is generated, and its problems with their lines."""

# Without ``from __future__ import annotations``: pydantic would evaluate each string annotation again.

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, TypeAdapter, WithJsonSchema
from pydantic_core import CoreSchema, ErrorDetails

from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.config.environment import (
    FORMATS,
    HISTORY_DAYS,
    HISTORY_MEGABYTES,
    IMAGE_SECONDS,
    SETTLE_MS,
    STREAM_LINES,
)
from clawperator.engine.config.toml_lines import Problem, TomlTable, lines_of, read_text, validated
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.contracts.operator_identity import AGENT_ACTION, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode, not_readable

_PATH = r"^([/~].*)?$"
_ABI = "^(arm64-v8a|armeabi-v7a|x86|x86_64)$"
_VERSION = r"^[0-9]{1,9}\.[0-9]{1,9}$"
_COMPONENT = "^([A-Za-z][A-Za-z0-9_.]*/[A-Za-z0-9_.$]+)?$"
_NAME = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_FORMS = {
    PACKAGE: "an Android package name",
    _PATH: "a path that begins with / or ~",
    _ABI: "an ABI of Android, such as x86_64",
    _VERSION: "a version of the form major.minor",
    _COMPONENT: "a component, such as com.android.adbkeyboard/.AdbIME",
    _NAME: "a name of up to 64 letters, digits, dots, underscores and dashes",
}


class ExecutionSettings(TomlTable):
    """How executions reach a device."""

    backend: Literal["operator", "stock"] = Field(
        "operator", description="The Operator app, or what every Android has behind adb."
    )
    allow_unbind: bool = Field(
        False, description="Let the stock backend unbind the Operator's accessibility service while it reads a screen."
    )
    compressed: bool = Field(
        False, description="Let the stock backend leave out decoration, so that screens that move can be read."
    )
    input_method: str = Field(
        "",
        pattern=_COMPONENT,
        max_length=255,
        description="Where the stock backend types what keys cannot: an enabled input method that takes ADBKeyBoard's broadcasts.",
    )


class HistorySettings(TomlTable):
    """What is remembered of executions, on this computer only."""

    enabled: bool = Field(True, description="Record executions, results and trees.")
    days: int = Field(HISTORY_DAYS, ge=1, le=3650, description="Delete runs older than this.")
    megabytes: int = Field(
        HISTORY_MEGABYTES, ge=1, le=1_000_000, description="Delete the oldest runs beyond this size."
    )
    path: str = Field("", pattern=_PATH, description="The history file; empty: in the state folder.")


class EmulatorSettings(TomlTable):
    """What virtual devices may be made of."""

    supported_abis: list[Annotated[str, Field(pattern=_ABI)]] = Field(
        [],
        max_length=4,
        description="Supported ABIs; the first is used for new virtual devices. Empty: arm64-v8a, or x86_64 on hosts that cannot run it.",
    )
    image_seconds: int = Field(
        IMAGE_SECONDS, ge=10, le=86_400, description="Time limit for the download of a system image."
    )


Name = Annotated[str, Field(pattern=_NAME)]


class DeviceSettings(TomlTable):
    """One device: the name of its table is its alias."""

    serial: str = Field(min_length=1, max_length=255, description="The serial, as `clawperator devices` lists it.")
    tags: list[Name] = Field([], max_length=32, description="Groups for --devices tag:<name>.")
    backend: Literal["", "operator", "stock"] = Field("", description="Its backend; empty: that of [execution].")


class OutputSettings(TomlTable):
    """What commands print."""

    format: Literal["json", "pretty"] = Field(
        "json", description='The default of --output. `output = "pretty"` without a table sets only this.'
    )
    terminal: Literal["", "json", "pretty"] = Field(
        "", description="The same where stdout is a terminal; empty: as elsewhere."
    )


class _OrFormat:
    """The table of ``output`` in its short form, its format alone."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "enum": list(FORMATS)}, handler(core)]}


def _table_of_format(value: object) -> object:
    return value if isinstance(value, dict) else {"format": value}


class WarmSettings(TomlTable):
    """The process that makes commands start at once."""

    auto: bool = Field(False, description="Start the warm process with the first command that needs an engine.")


Confirm = Literal["always", "doubtful", "never"]


class ConsoleSettings(TomlTable):
    """How the console looks and behaves; its flags win over this."""

    theme: str = Field(
        "auto", min_length=1, max_length=64, description="The name of a theme; auto: chosen for the terminal."
    )
    ascii: Literal["auto", "always", "never"] = Field("auto", description="Draw with ASCII characters only.")
    pictures: Literal["auto", "kitty", "sixel", "blocks", "off"] = Field(
        "auto", description="How screenshots are drawn."
    )
    mouse: bool = Field(True, description="Use the mouse; false leaves it to the terminal for text selection.")
    confirm: Confirm = Field(
        "always",
        description="When to ask before an action is sent; doubtful: if several or no nodes match, or the tree is out of date.",
    )
    bell: bool = Field(False, description="Ring the bell when a run of more than ten seconds ends.")
    settle_ms: int = Field(SETTLE_MS, ge=0, le=5000, description="Delay between an action and the next snapshot.")
    stream_lines: int = Field(STREAM_LINES, ge=1_000, le=200_000, description="Number of log lines kept by the stream.")


def _flat(value: object, name: str = "") -> object:
    """Flatten tables: to TOML, ``tree.find = "f"`` is a nested table; here it is the id ``tree.find``."""
    if not isinstance(value, dict):
        return {name: value} if name else value
    flat: dict[str, object] = {}
    for key, inner in value.items():
        found = _flat(inner, f"{name}.{key}" if name else key)
        flat |= found if isinstance(found, dict) else {}
    return flat


_TEXTS = {"type": "object", "additionalProperties": {"type": ["string", "object"]}}
Keys = Annotated[str, Field(min_length=1, max_length=100, examples=["ctrl+k", "j,down"])]
Keymap = Annotated[dict[str, Keys], BeforeValidator(_flat), WithJsonSchema(_TEXTS)]


class SettingsFile(TomlTable):
    """Settings of Clawperator. Flags and environment variables win over them."""

    device_id: str = Field("", description="The device to use if no flag or variable selects one.")
    receiver_package: str = Field(
        RELEASE_PACKAGE,
        pattern=PACKAGE,
        examples=[RELEASE_PACKAGE],
        description="The package name of the Operator app.",
    )
    action_agent_command: str = Field(
        AGENT_ACTION, min_length=1, description="The broadcast action that the Operator listens to."
    )
    adb_path: str = Field("", description="The path of adb; empty: found automatically.")
    policy_path: str = Field(
        "", pattern=_PATH, description="The policy file; empty: policy.toml beside this file, if it exists."
    )
    log_dir: str = Field("", pattern=_PATH, description="The folder of the log files; empty: ~/.clawperator/logs.")
    log_level: Literal["debug", "info", "warn", "error"] = Field(
        "info", description="The minimum level of log entries."
    )
    safe_logs: bool = Field(False, description="Keep screen texts out of the log, the history and exports.")
    accepted_versions: list[Annotated[str, Field(pattern=_VERSION)]] = Field(
        default_factory=list,
        max_length=20,
        description="Additional major.minor versions of the Operator app to accept as compatible.",
    )
    devices: dict[Name, DeviceSettings] = Field(
        default_factory=dict, description="Aliases of devices, with their serials and tags."
    )
    execution: ExecutionSettings = Field(default_factory=ExecutionSettings)
    history: HistorySettings = Field(default_factory=HistorySettings)
    emulator: EmulatorSettings = Field(default_factory=EmulatorSettings)
    warm: WarmSettings = Field(default_factory=WarmSettings)
    output: Annotated[OutputSettings, BeforeValidator(_table_of_format), _OrFormat()] = Field(
        default_factory=OutputSettings, description="What commands print: json or pretty, or a table."
    )
    console: ConsoleSettings = Field(default_factory=ConsoleSettings)
    keymap: Keymap = Field(default_factory=dict, description="Custom keys for the console's bindings, by binding id.")

    def choices(self) -> dict[str, Any]:
        """Return the file's values by the names of ``Settings``' fields, without those of the console."""
        chosen = {name: getattr(self, name) for name in self.model_fields_set if name not in _TABLES}
        chosen |= {name: getattr(self.execution, name) for name in self.execution.model_fields_set}
        for table in ("history", "emulator", "warm"):
            inner = getattr(self, table)
            chosen |= {f"{table}_{name}": getattr(inner, name) for name in inner.model_fields_set}
        chosen = {name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()}
        for name in ("history_path", "policy_path", "log_dir"):
            if chosen.get(name):
                chosen[name] = os.path.expanduser(chosen[name])
        if "format" in self.output.model_fields_set:
            chosen["output"] = self.output.format
        if self.devices:
            chosen["devices"] = {
                alias: DeviceProfile(device.serial, tuple(device.tags), device.backend)
                for alias, device in self.devices.items()
            }
        return chosen


_TABLES: Mapping[str, type[TomlTable] | None] = {
    "execution": ExecutionSettings,
    "history": HistorySettings,
    "emulator": EmulatorSettings,
    "warm": WarmSettings,
    "output": OutputSettings,
    "console": ConsoleSettings,
    "devices": None,
    "keymap": None,
}


def load(path: str) -> SettingsFile:
    """Return the settings of a file, or the defaults if it does not exist.

    Raises ``EngineError``: FILE_NOT_READABLE, or SETTINGS_INVALID with all problems in ``details.problems``.
    """
    text = read(path)
    settings, problems = examine(text or "")
    if settings is not None:
        return settings
    raise refusal(path, problems)


def refusal(path: str, problems: Sequence[Problem]) -> EngineError:
    """Return SETTINGS_INVALID with the first problem in the message and all in ``details``."""
    first, *others = problems
    more = f" (and {len(others)} more: clawperator config check)" if others else ""
    unreadable = "" if first.key else " cannot be read"
    return EngineError(
        ErrorCode.SETTINGS_INVALID,
        f"Settings file {path}{unreadable}: {first}{more}",
        hint=first.hint or None,
        details={"path": path, "problems": [problem._asdict() for problem in problems]},
    )


def read(path: str) -> str | None:
    """Return the text of a settings file; ``None`` if it does not exist. Raises ``EngineError`` as ``load``."""
    try:
        return read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise not_readable(path, exc, what="Settings file") from exc
    except ValueError as exc:
        raise refusal(path, [Problem(0, "", str(exc))]) from exc


def examine(text: str) -> tuple[SettingsFile | None, list[Problem]]:
    """Return the settings in ``text``, or its problems in the order of their lines."""
    lines = cache(lambda: lines_of(text))
    return validated(SettingsFile, text, lambda error: _problem(error, lines()))


# -- problems


def _problem(error: ErrorDetails, lines: Mapping[str, int]) -> Problem:
    location = [str(part) for part in error["loc"] if part != "[key]"]
    key = ".".join(str(part) for part in error["loc"] if isinstance(part, str) and part != "[key]")
    if error["type"] == "extra_forbidden":
        return Problem(lines.get(key, 0), key, f"Unknown key {shown(key)}", _meant(location))
    if error["type"] == "missing":
        return Problem(lines.get(key.rpartition(".")[0], 0), key, f"{shown(key)} is missing")
    got = shown(repr(error["input"]))
    key = "output" if key == "output.format" and key not in lines else key
    return Problem(
        lines.get(key, 0),
        key,
        f"{shown(key)} must be {_allowed(_schema(location, is_key='[key]' in error['loc']))}, got {got}",
    )


def _meant(location: list[str]) -> str:
    """Return a suggestion for an unknown key."""
    *outer, name = location
    table = DeviceSettings if outer[:1] == ["devices"] else _TABLES.get(".".join(outer)) or SettingsFile
    for place, model in _TABLES.items():
        if model is not None and model is not table and name in model.model_fields:
            return f"{name} belongs below [{place}]."
    return suggestion(name, table.model_fields) or f"Known: {', '.join(table.model_fields)}."


def _schema(location: list[str], *, is_key: bool) -> dict[str, Any]:
    """Return the JSON Schema of the value at ``location``, or of its key."""
    if location[0] == "keymap" and len(location) > 1:
        return TypeAdapter(Keys).json_schema()
    if location[0] == "devices" and len(location) > 1:
        whole, location = TypeAdapter(Name if is_key else DeviceSettings).json_schema(), location[2:]
    else:
        whole = SettingsFile.model_json_schema()
    part: dict[str, Any] = whole
    for name in location:
        part = part["items"] if part.get("type") == "array" else part["properties"][name]
        if "anyOf" in part:
            part = part["anyOf"][-1]
        if "$ref" in part:
            part = whole["$defs"][str(part["$ref"]).rpartition("/")[2]]
    return part


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return a description of the allowed values."""
    if "enum" in schema:
        return f"one of: {', '.join(schema['enum'])}"
    match schema["type"]:
        case "boolean":
            return "true or false"
        case "integer":
            return f"a whole number from {schema['minimum']:,} to {schema['maximum']:,}"
        case "object":
            return "a table"
        case "array":
            most = f"up to {schema['maxItems']} texts"
            return f"a list of {most}, at least {schema['minItems']}" if "minItems" in schema else f"a list of {most}"
    if "pattern" in schema:
        return _FORMS[schema["pattern"]]
    longest = f" of up to {schema['maxLength']} characters" if "maxLength" in schema else ""
    example = f', such as "{schema["examples"][0]}"' if "examples" in schema else ""
    return f"a text in quotes{longest}{example}"
