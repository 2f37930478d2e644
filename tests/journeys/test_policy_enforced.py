"""The policy in front of a device, through the real adb: what it refuses never reaches it, and the audit tells of it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine import Engine, EngineError
from clawperator.engine.events.types import ExecutionDispatched
from clawperator.engine.history.store import History
from tests.support import CLI, patience

if TYPE_CHECKING:
    from tests.journeys.conftest import Bench, Connect

pytestmark = pytest.mark.adb

POLICY = """
version = 1
activeProfile = "careful"
[profiles.careful.capabilities]
allow = ["observe", "navigate", "click", "input", "app"]
[profiles.careful.packages]
allow = ["com.android.*"]
deny = ["com.android.vending"]
[profiles.careful.actions]
deny = ["press_key"]
[profiles.look]
read_only = true
"""
MATCHER = {"matcher": {"textEquals": "Battery"}}
SNAPSHOT: dict[str, Any] = {"type": "snapshot_ui"}
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("CAPABILITY_DENIED", {"type": "enter_text", "params": {**MATCHER, "text": "x"}}, "capability", "type_text"),
    ("CAPABILITY_DENIED", {"type": "type_text", "params": {**MATCHER, "text": "x"}}, "capability", "type_text"),
    ("CAPABILITY_DENIED", {"type": "long_press", "params": MATCHER}, "capability", "long_click"),
    ("CAPABILITY_DENIED", {"type": "scroll_and_click", "params": {"target": MATCHER["matcher"], "clickType": "longClick"}}, "capability", "long_click"),
    ("PACKAGE_DENIED", {"type": "open_app", "params": {"applicationId": "com.android.vending"}}, "package", "com.android.vending"),
    ("PACKAGE_DENIED", {"type": "close_app", "params": {"applicationId": "com.example"}}, "package", "com.example"),
    ("ACTION_DENIED", {"type": "key_press", "params": {"key": "home"}}, "action", "press_key"),
]  # fmt: skip


def plan(*actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": "cmd",
        "taskId": "task",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": [{"id": f"a{index}", **action} for index, action in enumerate(actions)],
    }


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    return file


def write(policy: Path, text: str) -> None:
    policy.write_text(text)


def bound(bench: Bench, policy: Path, **settings: Any) -> Engine:
    chosen = replace(bench.engine.settings, policy_path=str(policy), history_path=str(policy.parent / "h.db"))
    return Engine(replace(chosen, **settings), face="cli")


async def test_what_is_refused_never_reaches_the_device(connect: Connect, policy: Path) -> None:
    bench = await connect()
    async with bound(bench, policy) as engine:
        with engine.events.subscribe() as subscription:
            for code, action, kind, name in REFUSED:
                with pytest.raises(EngineError) as caught:
                    await engine.execute(plan(SNAPSHOT, action, SNAPSHOT))
                assert (caught.value.code, caught.value.details[kind]) == (code, name)
                assert caught.value.details["actionId"] == "a1"
                assert caught.value.details["path"].startswith("actions.1.")
            with pytest.raises(EngineError, match=r"com\.example"):
                await engine.force_stop("com.example")
            assert not [event for event in subscription.taken() if isinstance(event, ExecutionDispatched)]
        assert bench.world.commands == 0
        await engine.execute(plan({"type": "open_app", "params": {"applicationId": "com.android.settings"}}, SNAPSHOT))
        assert bench.world.commands == 1
    with History.open(str(policy.parent / "h.db")) as history:
        refused = list(reversed(history.audit(events=("refused",))))
        assert [(entry.code, entry.denied, entry.profile) for entry in refused] == [
            *((code, f"{kind} {name}", "careful") for code, _, kind, name in REFUSED),
            ("PACKAGE_DENIED", "package com.example", "careful"),
        ]
        assert (refused[-1].operation, refused[-1].rule) == ("stop com.example", "package com.example")
        assert [entry.event for entry in history.audit(limit=2)] == ["result", "execute"]


async def test_a_profile_that_only_observes_observes(connect: Connect, policy: Path) -> None:
    write(policy, POLICY.replace('"careful"\n', '"look"\n', 1))
    bench = await connect()
    async with bound(bench, policy) as engine:
        with pytest.raises(EngineError) as caught:
            await engine.execute(plan(SNAPSHOT, {"type": "click", "params": MATCHER}))
        assert (caught.value.code, caught.value.details["profile"]) == ("READ_ONLY", "look")
        assert bench.world.commands == 0
        assert (await engine.snapshot()).succeeded
        assert bench.world.commands == 1


async def test_a_policy_that_changes_holds_at_once_and_a_broken_one_stops_everything(
    connect: Connect, policy: Path
) -> None:
    bench = await connect()
    async with bound(bench, policy) as engine:
        await engine.snapshot()
        write(policy, POLICY + "readonly = true\n")
        for refused in (engine.snapshot, engine.screenshot, engine.picture):
            with pytest.raises(EngineError, match=r"policy\.toml:\d+: ") as caught:
                await refused()
            assert caught.value.code == "POLICY_INVALID"
        os.unlink(policy)
        with pytest.raises(EngineError, match="does not exist"):
            await engine.snapshot()
        assert bench.world.commands == 1
        write(policy, POLICY)
        await engine.snapshot()
    with History.open(str(policy.parent / "h.db")) as history:
        assert [entry.code for entry in history.audit(events=("refused",))] == [
            "FILE_NOT_READABLE",
            "POLICY_INVALID",
            "POLICY_INVALID",
            "POLICY_INVALID",
        ]


async def test_the_command_line_is_bound_as_well(connect: Connect, policy: Path) -> None:
    bench = await connect()
    environment = {
        **os.environ,
        **bench.env,
        "XDG_CONFIG_HOME": str(policy.parent),
        "XDG_STATE_HOME": str(policy.parent),
    }
    environment["ANDROID_SERIAL"] = bench.serial

    async def cli(*words: str, **more: str) -> dict[str, Any]:
        from asyncio import to_thread

        done = await to_thread(
            subprocess.run,
            [*CLI, *words],
            capture_output=True,
            env={**environment, **more},
            timeout=patience(50),
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if answer.get("ok") else 1)
        return answer

    home = ("action", "press-key", "--key", "home")
    assert (await cli(*home, "--policy", str(policy)))["code"] == "ACTION_DENIED"
    assert (await cli(*home, CLAWPERATOR_POLICY=str(policy)))["code"] == "ACTION_DENIED"
    folder = policy.parent / "clawperator"
    folder.mkdir(exist_ok=True)
    write(folder / "policy.toml", POLICY)
    assert (await cli(*home))["code"] == "ACTION_DENIED"
    assert (await cli("observe", "snapshot"))["ok"]
    assert bench.world.commands == 1
    audit = await cli("history", "audit")
    assert [entry["event"] for entry in audit["audit"]] == ["result", "execute", "refused", "refused", "refused"]


async def test_safe_logs_keep_the_screen_out_of_the_history(connect: Connect, policy: Path) -> None:
    bench = await connect()
    async with bound(bench, policy, safe_logs=True) as engine:
        read = {"type": "read_text", "params": {"matcher": {"resourceId": "android:id/title"}}}
        result = await engine.execute(
            plan({"type": "open_app", "params": {"applicationId": "com.android.settings"}}, read, SNAPSHOT)
        )
        text = result.envelope["stepResults"][1]["data"]["text"]
        assert text.strip("* "), "the answer itself is whole"
        assert "<hierarchy" in result.envelope["stepResults"][2]["data"]["text"]
    with History.open(str(policy.parent / "h.db")) as history:
        (run,) = history.export()
    assert run["trees"] == []
    assert text not in json.dumps(run)
    assert run["envelope"]["stepResults"][1]["data"]["text"] == "".join("*" if c.isalnum() else c for c in text)
