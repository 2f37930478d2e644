from __future__ import annotations

import re

from textual.binding import Binding

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.screen import DevicesScreen
from clawperator.app.console.doctor.fix_dialog import FixDialog
from clawperator.app.console.doctor.screen import DoctorScreen
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.app.console.screens.menu import Dialog, MenuDialog
from clawperator.app.console.skills.form import SkillForm
from clawperator.app.console.skills.screen import SkillsScreen
from clawperator.app.console.stream.screen import StreamScreen
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.emulator_list import EmulatorList
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.fix_log import FixLog
from clawperator.widgets.info_line import FindLine
from clawperator.widgets.job_pane import JobPane
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.run_compare import RunCompare
from clawperator.widgets.run_list import RunList
from clawperator.widgets.skill_list import SkillList
from clawperator.widgets.skill_output import SkillOutput
from clawperator.widgets.ui_tree import UiTreePane
from tests.app.console.support import FakeEngine, make_app
from tests.support import table

ALL = [(scope, binding) for scope, rows in keys.scopes() for binding in rows]
HOLDERS = (
    ConsoleApp, ConsoleScreen, Dialog, MenuDialog, ConfirmDialog, LinePane, UiTreePane, NodeInspector, EnvelopeLog, ExecutionDetail,
    DoctorPanel, DoctorScreen, WrappedText, FixLog, FixDialog, DeviceList, FindLine, RunCompare, RunList, HistoryScreen, RunScreen, JsonArea,
    SkillList, SkillOutput, SkillForm, SkillsScreen,
)  # fmt: skip
PLACES = {
    "tree": (UiTreePane, InspectScreen),
    "node": (NodeInspector, InspectScreen),
    "stream": (EnvelopeLog, StreamScreen),
    "detail": (ExecutionDetail, StreamScreen),
    "compare": (RunCompare, HistoryScreen),
    "runs": (RunList, HistoryScreen),
    "history": (RunList, HistoryScreen),
    "doctor": (DoctorPanel, DoctorScreen),
    "checks": (DoctorPanel, DoctorScreen),
    "devices": (DeviceList, DevicesScreen),
    "emulators": (EmulatorList, DevicesScreen),
    "job": (JobPane, DevicesScreen),
    "skills": (SkillList, SkillsScreen),
    "skill_list": (SkillList, SkillsScreen),
    "skill_output": (SkillOutput, SkillsScreen),
}
UNSENDABLE = {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+j", "ctrl+left_square_bracket", "ctrl+w", "ctrl+t"}


def keys_of(binding: Binding) -> list[str]:
    return [single.key for single in Binding.make_bindings([binding])]


@table(("scope", "binding"), ALL, ids=lambda value: getattr(value, "id", value))
def test_every_binding_explains_itself(scope: str, binding: Binding) -> None:
    assert binding.id
    assert binding.id.startswith(f"{scope}.")
    assert binding.description
    assert binding.group is not None
    assert len(binding.tooltip) > 1
    assert binding.tooltip[0].isupper() or not binding.tooltip[0].isalpha()
    assert not binding.tooltip.endswith(".")


def test_ids_are_unique() -> None:
    ids = [str(binding.id) for _, binding in ALL]
    assert sorted(set(ids)) == sorted(ids)


def test_only_keys_that_every_terminal_sends() -> None:
    for _, binding in ALL:
        for key in keys_of(binding):
            assert key not in UNSENDABLE
            assert not re.match(r"alt\+|ctrl\+shift\+|.*\+enter$", key), key


@table("scope", [scope for scope, _ in keys.scopes()])
def test_no_key_means_two_things_in_one_scope(scope: str) -> None:
    found = [key for binding in keys.bindings(scope) for key in keys_of(binding)]
    assert sorted(set(found)) == sorted(found)


@table("scope", PLACES)
def test_a_pane_hides_no_key_of_its_screen_or_of_the_app(scope: str) -> None:
    """A pane may refine a moving key (enter); it must not take away what works everywhere."""
    own = {key for binding in keys.bindings(scope) for key in keys_of(binding)}
    everywhere = {key for outer in ("screen", "app") for binding in keys.bindings(outer) for key in keys_of(binding)}
    assert not own & everywhere
    moving = {key for binding in keys.bindings("pane") for key in keys_of(binding)}
    assert own & moving <= {"enter"}


def test_the_question_mark_is_the_help_everywhere() -> None:
    assert [binding.id for _, binding in ALL if "question_mark" in keys_of(binding)] == ["app.help"]


def test_screen_and_app_do_not_clash() -> None:
    screen = {key for binding in keys.bindings("screen") for key in keys_of(binding)}
    app = {key for binding in keys.bindings("app") for key in keys_of(binding)}
    assert not screen & app


@table("holder", HOLDERS)
def test_no_one_binds_a_key_beside_the_table(holder: type) -> None:
    known = {binding.id for _, binding in ALL}
    own = holder.__dict__.get("BINDINGS", [])
    assert {binding.id for binding in own} <= known


@table(("scope", "place"), PLACES.items())
def test_every_action_exists(scope: str, place: tuple[type, type]) -> None:
    pane, screen, app = place[0], place[1](), make_app(FakeEngine())
    for outer, holders in (
        (scope, (pane, screen)),
        ("pane", (pane,)),
        ("screen", (screen, app)),
        ("app", (app,)),
    ):
        for binding in keys.bindings(outer):
            name = re.sub(r"\(.*", "", binding.action).removeprefix("app.").removeprefix("screen.")
            meant = (app,) if binding.action.startswith("app.") else holders
            assert any(hasattr(holder, f"action_{name}") for holder in meant), f"{binding.id}: {binding.action}"


@table("menu", keys.MENUS)
def test_menus_have_one_entry_per_key(menu: str) -> None:
    items = keys.MENUS[menu]
    assert len({item.key for item in items}) == len(items)
    assert len({item.id for item in items}) == len(items)
    assert all(item.label and item.tooltip for item in items)
