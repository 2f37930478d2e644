"""Whether a tree still shows the screen: by the actions that its device has run since."""

from __future__ import annotations

from clawperator.engine.events.types import CommandProgress, EngineEvent, EnvelopeSeen
from clawperator.widgets.models.execution_queries import acted_since
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.snapshot import TreeSnapshot
from tests.app.console.support import DEVICE, NOON, make_envelope
from tests.support import table

TREE = TreeSnapshot(serial=1, device_id=DEVICE.serial, command_id="cmd-1", step_id="look", at=NOON)


def ended(*types: str, at: float, command: str = "cmd-2", device: str = DEVICE.serial) -> EngineEvent:
    ids = {"snapshot_ui": "look"}
    envelope = make_envelope(command, [(ids.get(kind, kind), kind, True, {}) for kind in types])
    return EnvelopeSeen(device_id=device, command_id=command, envelope=envelope, raw="{}", at=at)


def missed(at: float) -> EngineEvent:
    envelope = make_envelope("cmd-2", [("s1", "click", False, {"error": "NODE_NOT_FOUND"})], status="failed")
    envelope = envelope | {"errorCode": "NODE_NOT_FOUND"}
    return EnvelopeSeen(device_id=DEVICE.serial, command_id="cmd-2", envelope=envelope, raw="{}", at=at)


def progress(kind: str, at: float, **fields: str) -> EngineEvent:
    return CommandProgress(device_id=DEVICE.serial, kind=kind, command_id="cmd-2", fields=fields, text=kind, at=at)


RUNNING = (
    progress("start", NOON + 1, actionCount="1"),
    progress("step-start", NOON + 1, id="s1"),
    progress("stage-start", NOON + 1, id="openApp:com.example"),
)


@table(
    ("events", "words"),
    [
        ((), ""),
        ((ended("click", at=NOON - 1),), ""),
        ((ended("click", at=NOON + 1),), "a click ran since"),
        ((ended("enter_text", "read_text", at=NOON + 1),), "an enter_text ran since"),
        ((ended("wait_for_node", "snapshot_ui", at=NOON + 1),), ""),
        ((ended("click", at=NOON + 1, device="other"),), ""),
        ((ended("click", at=NOON + 1), ended("read_text", at=NOON + 2, command="cmd-3")), "a click ran since"),
        ((missed(NOON + 1),), ""),
        (RUNNING, "an open_app ran since"),
        ((ended("click", "snapshot_ui", at=NOON + 1, command="cmd-1"),), ""),
        ((ended("click", "snapshot_ui", "scroll", at=NOON + 1, command="cmd-1"),), "a scroll ran since"),
    ],
)
def test_what_ran_since(events: tuple[EngineEvent, ...], words: str) -> None:
    log = ExecutionLog()
    log.apply(events)
    assert acted_since(log, TREE) == words
