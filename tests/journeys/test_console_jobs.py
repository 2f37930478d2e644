"""The jobs of the console on a device behind the real adb: each one by keys, and again by mouse."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.doctor.fix_dialog import FixDialog
from clawperator.app.console.doctor.screen import DoctorScreen
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.screens.menu import MenuDialog
from clawperator.engine import Engine
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.matcher_bench import NodeRow
from tests.app.console.support import FakeClipboard, MemoryStore, drained, until

pytestmark = [pytest.mark.adb, pytest.mark.timeout(180)]
Connect = Callable[..., Awaitable[Any]]
NETWORK = "Network & internet"


@dataclass
class Hand:
    """One way to use the console: the keys, or the mouse on what is shown."""

    app: ConsoleApp
    pilot: Pilot[int]
    mouse: bool

    def rows(self) -> list[str]:
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    def place(self, text: str) -> tuple[int, int] | None:
        """Return where ``text`` stands, the lowest first: the key bar is at the bottom."""
        found = [(row.index(text), y) for y, row in enumerate(self.rows()) if text in row]
        return found[-1] if found else None

    async def do(self, *keys: str, click: str, **how: Any) -> None:
        """Press ``keys``, or click on the text."""
        if not self.mouse:
            await self.pilot.press(*keys)
            return
        await until(self.pilot, lambda: self.place(click) is not None)
        await drained(self.pilot)
        place = self.place(click)
        assert place is not None
        await self.pilot.click(offset=(place[0] + 1, place[1]), **how)

    async def key_bar(self, *keys: str, label: str) -> None:
        """Press ``keys``, or click on the key in the key bar."""
        if not self.mouse:
            await self.pilot.press(*keys)
            return
        bar = self.app.screen.query_one(KeyBar)
        await until(self.pilot, lambda: any(hint.label == label for hint in bar._hints))
        await drained(self.pilot)
        wanted = next(hint.key for hint in bar._hints if hint.label == label)
        place = next(start for start, _, key in bar._hits if key == wanted)
        await self.pilot.click(bar, offset=(place + 1, 0))

    async def mode(self, digit: str, name: str) -> None:
        await self.do(digit, click=f"{digit}{name}" if self.app.size.width < 160 else f"{digit} {name}")
        await until(self.pilot, lambda: self.app.current_mode == name.lower())
        await drained(self.pilot)


HANDS = pytest.mark.parametrize(
    ("size", "mouse"),
    [
        pytest.param((80, 24), False, id="keys-80x24"),
        pytest.param((120, 36), False, id="keys-120x36", marks=pytest.mark.ci),
        pytest.param((200, 60), True, id="mouse-200x60", marks=pytest.mark.ci),
    ],
)


def plan(command: str, *actions: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": "tour",
        "source": "openclaw",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [{"id": f"s{number}", **action} for number, action in enumerate(actions, 1)],
    }


@HANDS
async def test_from_a_selector_to_a_recorded_step(connect: Connect, size: tuple[int, int], mouse: bool) -> None:
    """Jobs 1 to 8: see, find, copy, match, explain, act, add to the draft."""
    bench = await connect(start={"package": "com.android.settings"})
    clipboard = FakeClipboard()
    app = ConsoleApp(bench.engine, clipboard=clipboard, drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=size) as pilot:
        hand = Hand(app, pilot, mouse)
        await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
        mode = app.screen
        assert isinstance(mode, InspectScreen)
        tree = mode.tree_pane

        # 1 and 2: what is on the device, and one of its nodes
        await until(pilot, lambda: NETWORK in "\n".join(hand.rows()))
        await hand.key_bar("slash", label="find")
        await until(pilot, lambda: app.focused is mode.area.find)
        await pilot.press(*NETWORK.split(maxsplit=1)[0].lower())
        await hand.key_bar("enter", label="keep")
        await until(pilot, lambda: tree.node is not None and tree.node.label == NETWORK and app.focused is tree)

        # 3 and 4: its selector, as JSON and as a step
        await hand.key_bar("y", label="copy")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await hand.do("y", click="y  matcher")
        await until(pilot, lambda: clipboard.texts)
        assert json.loads(clipboard.texts[-1]) == {"textEquals": NETWORK}
        await hand.key_bar("y", label="copy")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await hand.do("s", click="s  action step")
        await until(pilot, lambda: len(clipboard.texts) == 2)
        assert json.loads(clipboard.texts[-1])["params"] == {"matcher": {"textEquals": NETWORK}}

        # 5 and 6: a matcher that finds nothing, and the node that was meant
        await hand.key_bar("m", label="matcher")
        await until(pilot, lambda: app.focused is mode.area.matcher)
        mode.area.matcher.post_message(events.Paste(json.dumps({"textEquals": f"{NETWORK}!"})))
        await until(pilot, lambda: "0 matches" in (seen := "\n".join(hand.rows())) and "this node" not in seen)
        if mouse:
            await hand.do(click='1 TextView #title "Network', times=2)
        else:
            await pilot.press("tab")
            await until(pilot, lambda: app.focused is mode.bench_pane and isinstance(mode.bench_pane.value, NodeRow))
            await pilot.press("enter")
        await until(pilot, lambda: app.focused is tree and tree.node is not None and tree.node.label == NETWORK)
        for _ in ("the drawer of a small screen", "the find", "the matcher"):
            if mode.bench.origin != "candidate":
                await pilot.press("escape")
                await drained(pilot)
        assert mode.bench.origin == "candidate"

        # 8: into the draft, then 7: on the device
        await hand.key_bar("i", label="step")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await hand.do("t", click="t  tap")
        await until(pilot, lambda: len(app.drafts.draft) == 1)
        await hand.key_bar("a", label="act")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await hand.do("t", click="t  tap")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog) and "✓ 1 match" in "\n".join(hand.rows()))
        before = tree.snapshot.serial
        await hand.do("enter", click="⏎ send")
        await until(pilot, lambda: any(run.ours and run.over and run.steps for run in app.session.log.executions))
        await until(pilot, lambda: tree.snapshot.serial > before and app.screen is mode)
        assert not app.session.outdated(tree.snapshot), "the tree was read again after the tap"
        if mouse:
            await hand.do(click="draft 1")
        else:
            await pilot.press("3")
        await until(pilot, lambda: app.current_mode == "run" and NETWORK in "\n".join(hand.rows()))


@HANDS
async def test_from_an_agents_failure_to_its_repetition(connect: Connect, size: tuple[int, int], mouse: bool) -> None:
    """Jobs 9, 10 and 12: watch an agent, see which step failed, run it again and compare."""
    bench = await connect(start={"package": "com.android.settings"})
    agent, engine = (Engine(replace(bench.engine.settings), face=face) for face in ("cli", "console"))
    app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with agent, engine, app.run_test(size=size) as pilot:
        hand = Hand(app, pilot, mouse)
        await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
        await hand.mode("2", "Stream")
        missing = {"matcher": {"textEquals": "Not there"}, "retry": {"maxAttempts": 1}}
        result = await agent.execute(plan("agent-1", {"type": "click", "params": missing}), device_id=bench.serial)
        assert result.envelope["status"] == "failed"
        await until(pilot, lambda: any(run.command_id == "agent-1" and run.over for run in app.session.log.executions))
        await hand.key_bar("right_square_bracket", label="next problem")
        await drained(pilot)
        if mouse:
            await hand.do(click="✗", times=2)
        else:
            await pilot.press("enter")
        await until(pilot, lambda: "NODE_NOT_FOUND" in "\n".join(hand.rows()))

        await hand.mode("4", "History")
        history = app.screen
        assert isinstance(history, HistoryScreen)
        await until(pilot, lambda: any(run.command_id == "agent-1" for run in history.runs.runs))
        await pilot.press("home")
        await until(pilot, lambda: history.record is not None and history.record.summary.command_id == "agent-1")
        await hand.key_bar("R", label="run again")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await hand.do("enter", click="⏎ send")
        await until(
            pilot,
            lambda: any(run.ours and run.over and run.run_of == "agent-1" for run in app.session.log.executions),
        )


@HANDS
async def test_a_device_is_made_ready(connect: Connect, size: tuple[int, int], mouse: bool) -> None:
    """Job 11: the first check that fails, its fix, and the check again."""
    bench = await connect(operator={"enabled": False})
    app = ConsoleApp(bench.engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=size) as pilot:
        hand = Hand(app, pilot, mouse)
        await until(pilot, lambda: app.session.report.ended and not app.session.doctor_busy)
        await hand.mode("6", "Doctor")
        await until(pilot, lambda: "readiness" in str(app.session.report.checks))
        failed = next(check for check in app.session.report.checks if check["id"] == "readiness.accessibility.enabled")
        assert failed["status"] != "pass"
        screen = app.screen
        assert isinstance(screen, DoctorScreen)
        panel = screen.panel
        if mouse:
            await hand.do(click=str(failed["summary"])[:16])  # a slow check also shows its time: the row is cut earlier
        for _ in range(panel.row_count()):
            if panel.check is not None and panel.check["id"] == failed["id"]:
                break
            await hand.key_bar("right_square_bracket", label="next problem")
            await drained(pilot)
        assert panel.check is not None
        assert panel.check["id"] == failed["id"]
        await hand.key_bar("F", label="fix")
        await until(pilot, lambda: isinstance(app.screen, FixDialog))
        await hand.do("enter", click="⏎ run")
        await until(
            pilot,
            lambda: (
                any(check["id"] == failed["id"] and check["status"] == "pass" for check in app.session.report.checks)
                and not app.session.doctor_busy
            ),
        )
