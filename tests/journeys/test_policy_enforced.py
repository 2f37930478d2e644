"""The policy in front of a device, through the real adb: what it refuses never reaches it, and the audit tells of it."""

from __future__ import annotations

import json
import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.app.serve.verbs import DeviceCommand, made
from clawperator.engine import Engine, EngineError
from clawperator.engine.config.policy import CAPABILITIES
from clawperator.engine.contracts.keys import KEY_CODES
from clawperator.engine.events.types import ExecutionDispatched
from clawperator.engine.executions.shell_input import gesture
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.history.store import History
from tests.support import CLI, patience, varied

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


EFFECTS = {
    "click": ("tap", "click", "enter"),
    "long_click": ("hold", "long_click"),
    "type_text": ("type_text", "set_text", "delete"),
    "navigate": ("go_home", "recents", "swipe", "scroll"),
}
"""The capability → what the simulated screen must not do without it. A click may open an app."""


def any_verb(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """A verb of the servers with arguments as a caller may choose them to get round a profile."""
    at = {"x": chance.randrange(1, 1_000), "y": chance.randrange(200, 2_000)}
    near = {name: max(0, value + chance.choice((0, 0, 1, -5, 12, -20, 300))) for name, value in at.items()}
    held = chance.choice(({}, {"durationMs": chance.choice((1, 100, 399, 400, 900, 5_000))}))
    keys = chance.choice((*KEY_CODES, *map(str, range(1, 401)), "KEYCODE_5", "keycode_enter", " space "))
    return chance.choice(
        (
            ("input_key", {"key": keys}),
            (
                "input_key",
                {"key": chance.choice(("ENTER", "66", "DPAD_CENTER", "A", "SPACE", "DEL", "SEARCH", "BACK"))},
            ),
            ("press_key", {"key": chance.choice(("back", "home", "recents"))}),
            ("input_text", {"text": "x"}),
            ("input_tap", {"point": at}),
            ("input_long_press", {"point": at, **held}),
            ("input_swipe", {"point": at, "to": near, **held}),
            ("input_swipe", {"selector": {"textEquals": "Battery"}, "to": near, **held}),
            ("input_drag", {"point": at, "to": near, **held}),
            ("scroll", {"direction": chance.choice(("down", "up"))}),
            ("scroll_and_click", {"selector": {"textEquals": "Battery"}}),
            ("scroll_until", {"selector": {"textEquals": "Battery"}}),
            ("enter_text", {"selector": {"role": "textfield"}, "text": "x"}),
            ("set_text", {"selector": {"role": "textfield"}, "text": "x"}),
            ("submit", {}),
            ("open_app", {"applicationId": "com.android.settings"}),
            ("set_checked", {"selector": {"role": "switch"}, "checked": chance.random() < 0.5}),
        )
    )


@varied("denied", EFFECTS)
async def test_what_a_profile_cannot_do_never_happens_whatever_is_sent(
    connect: Connect, policy: Path, monkeypatch: pytest.MonkeyPatch, denied: str
) -> None:
    allowed = [name for name in CAPABILITIES if name != denied]
    write(policy, f"version = 1\n[profiles.default.capabilities]\nallow = {allowed}\n")
    bench = await connect()
    chance, done, refusals = random.Random(denied), list[str](), 0
    async with bound(bench, policy) as engine:
        for name in EFFECTS[denied]:
            monkeypatch.setattr(bench.world.ui, name, lambda *_, name=name: done.append(name))
        if denied == "click":  # what takes no long click takes a click when the finger leaves it
            monkeypatch.setattr(bench.world.ui, "hold", lambda *_: None)
        for _ in range(150):
            verb, arguments = any_verb(chance)
            payload = made(verb, arguments, source="test")
            assert not isinstance(payload, DeviceCommand)
            try:
                await engine.execute(payload)
            except EngineError as exc:
                refusals += exc.code == "CAPABILITY_DENIED"
            assert not done, (verb, arguments)
    assert 5 < refusals < 140


@pytest.mark.parametrize(("to", "code"), [(None, "CAPABILITY_DENIED"), ((9_999, 5), "EXECUTION_VALIDATION_FAILED")])
async def test_a_gesture_that_is_refused_after_the_look_is_known_not_to_have_run(
    connect: Connect, policy: Path, to: tuple[int, int] | None, code: str
) -> None:
    write(policy, 'version = 1\n[profiles.default.capabilities]\nallow = ["observe", "navigate", "input"]\n')
    bench = await connect(start={"package": "com.android.settings"})
    async with bound(bench, policy) as engine:
        tree = parse((await engine.snapshot()).envelope["stepResults"][0]["data"]["text"])
        node = next(node for node in tree.on_screen if node.text == "Battery")
        with pytest.raises(EngineError) as caught:
            await engine.execute(gesture("swipe", matcher={"textEquals": "Battery"}, to=to or node.bounds.center))
    outcome = caught.value.to_dict()["outcome"]
    assert (caught.value.code, outcome["status"], outcome["error"]["code"]) == (code, "failed", code)
    assert [(step["id"], step["status"]) for step in outcome["steps"]] == [("look", "done"), ("swipe", "not_run")]


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
