"""Inputs to begin with. Files: ``tests/data``, whose PROVENANCE.md says where each is from, and the corpus; the rest is our own."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path

from PIL import Image

from clawperator.engine.history.store import History
from clawperator.engine.skills import registry
from tests.engine.logcat.conftest import make_record
from tests.hostile.fuzzing import MAX_INPUT
from tests.past_runs import a_run, failed, put

DATA = Path(__file__).parent.parent / "data"
BUILTIN = Path(registry.builtin_path()).parent
PACKAGE = "com.clawperator.operator"
SERIAL = "emulator-5554"


def files(*patterns: str) -> list[bytes]:
    """Own captures, and those of the corpus where there is one; the smallest first, because they fail the fastest."""
    roots = [DATA, *map(Path, filter(None, [os.environ.get("CLAWPERATOR_CORPUS")]))]
    paths = {path.name: path for root in reversed(roots) for pattern in patterns for path in root.glob(pattern)}
    found = sorted(
        (path for path in paths.values() if path.is_file()), key=lambda path: (path.stat().st_size, path.name)
    )
    return [path.read_bytes()[:MAX_INPUT] for path in found]


def built_in(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(BUILTIN.rglob(pattern))]


def lines_of(*texts: str) -> list[bytes]:
    return [text.encode() for text in texts]


def log_records() -> bytes:
    return b"".join(make_record(message, version=version) for version, message in ((1, b"one"), (4, b"two\nlines")))


NODE = {"resourceId": "com.example:id/title", "textContains": "Weather"}
EXECUTION = {
    "commandId": "cmd", "taskId": "task", "source": "test", "expectedFormat": "android-ui-automator", "timeoutMs": 30_000,
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.example.shop"}},
        {"id": "uri", "type": "open_uri", "params": {"uri": "https://example.com/?q=1"}},
        {"id": "c", "type": "click", "params": {"matcher": NODE, "clickType": "long_click", "retry": {"maxAttempts": 3}}},
        {"id": "p", "type": "click", "params": {"coordinate": {"x": 10, "y": 20}}},
        {"id": "t", "type": "enter_text", "params": {"matcher": NODE, "text": "a b", "submit": True}},
        {"id": "r", "type": "read_text", "params": {"matcher": NODE, "validator": "regex", "validatorPattern": "[0-9]+ °C"}},
        {"id": "kv", "type": "read_key_value_pair", "params": {"labelMatcher": NODE, "all": True}},
        {"id": "s", "type": "scroll", "params": {"container": NODE, "direction": "down", "distanceRatio": 0.7, "settleDelayMs": 250}},
        {"id": "su", "type": "scroll_until", "params": {"matcher": NODE, "clickAfter": True, "maxScrolls": 20}},
        {"id": "sc", "type": "scroll_and_click", "params": {"matcher": NODE, "container": NODE, "findFirstScrollableChild": True}},
        {"id": "w", "type": "wait_for_navigation", "params": {"expectedPackage": "com.example", "timeoutMs": 5_000}},
        {"id": "k", "type": "press_key", "params": {"key": "home"}},
        {"id": "z", "type": "sleep", "params": {"durationMs": 100}},
        {"id": "shot", "type": "take_screenshot", "params": {"path": "/tmp/a.png"}},
        {"id": "x", "type": "snapshot_ui", "params": {"format": "ascii"}},
    ],
}  # fmt: skip
ONE_CLICK = {**EXECUTION, "actions": [EXECUTION["actions"][2]]}  # type: ignore[index]
ENVELOPE = {
    "commandId": "cmd", "taskId": "task", "status": "success", "error": None,
    "stepResults": [{"id": "r", "actionType": "read_text", "success": True, "data": {"text": "21 °C", "count": 1, "nested": {"a": [1.5, None]}}}],
}  # fmt: skip
COMPILED = {
    "execution": ONE_CLICK, "recipe": {"id": "r", "version": "1.0.0", "type": "read"}, "capabilities": ["observe"],
    "outputs": [{"name": "t", "type": "integer", "redaction": "none", "from": {"step": "r", "key": "text", "pattern": "([0-9]+)"}}],
    "confirms": [{"stepId": "r", "actionId": "r", "type": "text", "expect": {"contains": "C"}}],
    "choices": [{"stepId": "c", "selector": {"any_of": [{"text_equals": "A"}, {"all_of": [{"class": "B", "clickable": True}]}]}}],
    "optional": ["r"], "warnings": [],
}  # fmt: skip
CALLS = [
    {"name": "act", "arguments": {"type": "click", "selector": {"textEquals": "Buy"}, "deviceId": SERIAL, "timeoutMs": 5_000}},
    {"name": "execute", "arguments": {"execution": EXECUTION}},
    {"name": "snapshot", "arguments": {"view": "interactive", "maxBytes": 4_096, "maxAgeMs": 500}},
    {"name": "match", "arguments": {"selector": {"id": "a"}, "explain": True, "limit": 3}},
    {"name": "suggest", "arguments": {"point": [10, 20]}},
    {"name": "skill_run", "arguments": {"skillId": "a.b", "variables": {"A": "1"}}},
    {"name": "wait", "arguments": {"selector": {"text": "x"}, "waitMs": 100}},
]  # fmt: skip
BODY = {
    "execution": EXECUTION, "deviceId": SERIAL, "operatorPackage": PACKAGE, "receiverPackage": PACKAGE, "timeoutMs": 1_000, "waitMs": 0,
    "path": "/tmp/x.png", "overwrite": True, "args": ["a"], "expectContains": "x",
}  # fmt: skip
RECORDING = b"\n".join(
    json.dumps(row).encode()
    for row in (
        {"type": "recording_header", "schemaVersion": 1, "sessionId": "s", "startedAt": 1, "operatorPackage": PACKAGE},
        {"type": "window_change", "ts": 1, "seq": 1, "packageName": "com.example", "className": "a.B", "title": "T", "snapshot": None},
        {"type": "click", "ts": 2, "seq": 2, "packageName": "com.example", "resourceId": "a:id/b", "text": "Buy", "contentDesc": None, "bounds": {"left": 0, "top": 0, "right": 9, "bottom": 9}, "snapshot": '<hierarchy rotation="0"><node text="Buy" clickable="true" package="com.example" bounds="[0,0][9,9]"/></hierarchy>'},
        {"type": "text_change", "ts": 3, "seq": 3, "packageName": "com.example", "resourceId": "a:id/f", "text": "hello", "contentDesc": None, "bounds": {"left": 0, "top": 0, "right": 9, "bottom": 9}, "snapshot": None},
        {"type": "scroll", "ts": 4, "seq": 4, "packageName": "com.example", "resourceId": None, "scrollX": 0, "scrollY": 10, "maxScrollX": 0, "maxScrollY": 90, "snapshot": None},
        {"type": "press_key", "ts": 5, "seq": 5, "key": "back", "snapshot": None},
    )
)  # fmt: skip
NOTE = {
    "process": "x", "at": 1.7e9, "caller": "cli", "steps": [["c", "click"]], "payload": ONE_CLICK,
    "row": {
        "execution_id": "e", "command_id": "c", "task_id": "t", "source": "s", "mode": "direct", "device_id": SERIAL, "backend": "operator",
        "face": "cli", "pid": 1, "package": PACKAGE, "started_at": 1.7e9, "action_count": 1, "timeout_ms": 1_000,
    },
}  # fmt: skip
SETTINGS = b"""
device_id = "emulator-5554"
log_level = "info"
safe_logs = true
accepted_versions = ["0.4"]
[history]
enabled = true
[emulator]
[console]
theme = "dark"
[keymap]
"x" = "ctrl+k"
"""
POLICY = b"""
version = 1
activeProfile = "ci"
[profiles.ci]
read_only = false
[profiles.ci.capabilities]
allow = ["observe", "click"]
deny = ["purchase_risk"]
[profiles.ci.packages]
allow = ["com.example.*"]
"""
THEME = b"""
name = "mine"
primary = "#5fb3f3"
background = "#101418"
foreground = "#f2f5f8"
dark = true
[variables]
border = "#2e3845"
"""
LAUNCHER_APPS = b"""1 activities found:
  Activity #0:
    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false
    ActivityInfo:
      name=com.example.notes.Main
      packageName=com.example.notes
      labelRes=0x0 nonLocalizedLabel=Field Notes icon=0x7f0d0000 banner=0x0
      ApplicationInfo:
        packageName=com.example.notes
        labelRes=0x7f1216a5 nonLocalizedLabel=null icon=0x0
"""
SCENARIO = b"""
speed: 0
device: {serial: emulator-5554, sdk: 34, awake: true}
operator: {enabled: true, version_name: 0.5.0}
start: {package: com.example.shop}
faults:
  - {kind: silence, commands: [1, 2]}
  - {kind: malformed_envelope, how: not_json, command_id: "a*"}
"""
OKAY = b"OKAY"
ANSWERS = [
    OKAY + b"0004" + b"0029",
    b"FAIL0013device 'x' not found",
    OKAY + b"FAIL0006closed",
    OKAY + bytes(8),
    OKAY + b"0000",
]
DENT = b"DENT" + struct.pack("<4I", 0o100644, 10, 1, 5) + b"a.txt"
SYNC = [
    b"STAT" + struct.pack("<3I", 0o100644, 10, 1),
    DENT + DENT + b"DONE" + bytes(16),
    b"DATA" + struct.pack("<I", 5), b"DONE" + bytes(4), b"OKAY" + bytes(4),
    b"FAIL" + struct.pack("<I", 6) + b"denied",
]  # fmt: skip


def png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (90, 160), "red").save(stream, "PNG")
    return stream.getvalue()


def history() -> bytes:
    """A file with two runs, one of which failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.db")
        with History.open(str(path)) as store:
            put(store, a_run(1, trees=["<hierarchy/>"]))
            put(store, failed(a_run(2)))
        with closing(sqlite3.connect(path)) as db:
            db.executescript("PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM")
        return path.read_bytes()
