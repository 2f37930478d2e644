"""What a profile refuses, one action at a time: deny wins, nothing slips through, and no file costs nothing."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.config.active_profile import load_policy, load_profile
from clawperator.engine.config.policy import (
    CAPABILITIES,
    DEFAULT,
    Profile,
    Rules,
    action_refusals,
    admit,
    admit_recipe,
    capabilities_of,
    packages_of,
    refusals,
)
from clawperator.engine.config.settings import Settings
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.keys import KEY_CODES, key_effects
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.shell_input import SWIPE_MS, gesture, key
from tests.support import patience, table

SOUND = "version = 1\n[profiles.default]\n"


def an_execution(*actions: tuple[str, dict[str, Any]]) -> Execution:
    steps = tuple(Action(f"a{index}", kind, params) for index, (kind, params) in enumerate(actions))
    return Execution("cmd", "task", "source", 5_000, steps)


def refused(profile: Profile, *actions: tuple[str, dict[str, Any]]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        admit(profile, an_execution(*actions))
    return caught.value


# -- what an action needs


@table(
    ("action_type", "params", "needed"),
    [
        ("snapshot_ui", {}, {"observe"}),
        ("read_text", {}, {"observe"}),
        ("wait_for_node", {}, {"observe"}),
        ("read_key_value_pair", {}, {"observe"}),
        ("take_screenshot", {}, {"observe"}),
        ("start_recording", {}, {"record"}),
        ("stop_recording", {}, {"record"}),
        ("open_app", {}, {"navigate"}),
        ("close_app", {}, {"navigate"}),
        ("open_uri", {}, {"navigate"}),
        ("press_key", {}, {"input", "navigate"}),
        ("scroll", {}, {"navigate"}),
        ("wait_for_navigation", {}, {"navigate"}),
        ("scroll_until", {}, {"navigate"}),
        ("scroll_until", {"clickAfter": False, "clickType": "long_click"}, {"navigate"}),
        ("scroll_until", {"clickAfter": True}, {"navigate", "click"}),
        ("scroll_and_click", {}, {"navigate", "click"}),
        ("scroll_and_click", {"clickAfter": False}, {"navigate"}),
        ("scroll_and_click", {"clickType": "long_click"}, {"navigate", "long_click"}),
        ("click", {}, {"click"}),
        ("click", {"clickAfter": False}, {"click"}),
        ("click", {"clickType": "focus"}, {"click"}),
        ("click", {"clickType": "long_click"}, {"long_click"}),
        ("click", {"clickType": " LongClick "}, {"long_click"}),
        ("click", {"clickType": ["long_click"]}, {"click"}),
        ("enter_text", {}, {"type_text"}),
        ("enter_text", {"submit": False}, {"type_text"}),
        ("enter_text", {"submit": True}, {"type_text", "click"}),
        ("scroll", {"distanceRatio": 0.0}, {"navigate", "click"}),
        ("scroll_until", {"distanceRatio": 0.05}, {"navigate", "click"}),
        ("scroll_and_click", {"distanceRatio": 0, "clickAfter": False}, {"navigate", "click"}),
        ("scroll", {"distanceRatio": 0.5}, {"navigate"}),
        ("input_text", {"text": "x"}, {"input", "type_text"}),
        ("input_tap", {"at": [1, 1]}, {"input", "click"}),
        ("input_long_press", {"at": [1, 1]}, {"input", "long_click"}),
        ("input_long_press", {"at": [1, 1], "durationMs": 400}, {"input", "long_click"}),
        ("input_long_press", {"at": [1, 1], "durationMs": 50}, {"input", "click"}),
        ("input_drag", {"at": [1, 1], "to": [1, 900]}, {"input", "long_click", "navigate"}),
        ("input_drag", {"at": [1, 1], "to": [1, 9]}, {"input", "long_click", "navigate"}),
        ("input_drag", {"at": [1, 1], "to": [1, 9], "durationMs": 9}, {"input", "long_click", "navigate", "click"}),
        ("input_swipe", {"at": [1, 1], "to": [1, 900]}, {"input", "navigate"}),
        ("input_swipe", {"at": [5, 5], "to": [5, 5]}, {"input", "navigate", "click"}),
        ("input_swipe", {"at": [5, 5], "to": [21, 21], "durationMs": 399}, {"input", "navigate", "click"}),
        ("input_swipe", {"at": [5, 5], "to": [5, 5], "durationMs": 400}, {"input", "navigate", "long_click"}),
        ("input_swipe", {"at": [5, 5], "to": [5, 405], "durationMs": 20_000}, {"input", "navigate", "long_click"}),
        ("input_swipe", {"matcher": {"textEquals": "x"}, "to": [1, 900]}, {"input", "navigate"}),
        ("take_screenshot", {"path": "/tmp/a.png"}, {"observe", "write_files"}),
        ("sleep", {}, set()),
        ("doctor_ping", {}, set()),
    ],
)
def test_capabilities(action_type: str, params: dict[str, Any], needed: set[str]) -> None:
    assert capabilities_of(action_type, params) == needed


@table(
    ("effect", "keys"),
    [
        ({"type_text"}, "A z 7 KEYCODE_7 14 29 KEYCODE_A COMMA AT NUMPAD_5 149 DEL 67 FORWARD_DEL CUT COPY PASTE 279"),
        ({"type_text", "click"}, "SPACE 62 keycode_space"),
        ({"click"}, "ENTER 66 0066 KEYCODE_ENTER NUMPAD_ENTER 160 DPAD_CENTER 23 CALL"),
        ({"click", "navigate"}, "BUTTON_A 96 BUTTON_START 188 SEARCH"),
        ({"navigate"}, "BACK 4 HOME APP_SWITCH MENU DPAD_UP PAGE_DOWN MOVE_END NAVIGATE_NEXT ASSIST SETTINGS ESCAPE"),
        ({"navigate", "type_text"}, "TAB 61"),
        (
            set(),
            "POWER 26 SLEEP WAKEUP VOLUME_UP VOLUME_MUTE MEDIA_PLAY F1 CTRL_LEFT SHIFT_LEFT CAPS_LOCK BRIGHTNESS_UP",
        ),
        ({"click", "navigate", "type_text"}, "229 305 400"),
    ],
)
def test_a_key_needs_the_capabilities_of_what_it_does(effect: set[str], keys: str) -> None:
    for name in keys.split():
        (action,) = key(name).actions
        assert capabilities_of(action.type, action.params) == {"input", *effect}, name


def test_every_key_with_a_name_has_a_class() -> None:
    assert [name for name, code in KEY_CODES.items() if len(key_effects(code)) == 3] == []
    assert len(set(KEY_CODES.values())) == len(KEY_CODES)


@given(
    st.tuples(st.integers(0, 2_000), st.integers(0, 2_000)),
    st.tuples(st.integers(-90, 90), st.integers(-90, 90)),
    st.one_of(st.none(), st.integers(1, 20_000)),
    st.integers(120, 800),
)
def test_a_swipe_that_android_takes_for_a_click_needs_its_capability(
    at: tuple[int, int], by: tuple[int, int], duration_ms: int | None, dpi: int
) -> None:
    """Whatever the density: within 8 dp a touch is a click, and a long click once it has stayed there for 400 ms."""
    end = (at[0] + by[0], at[1] + by[1])
    (action,) = gesture("swipe", at, to=end, duration_ms=duration_ms).actions
    needed = capabilities_of(action.type, action.params)
    slop, length = 8 * dpi / 160, math.hypot(*by)
    held_ms = SWIPE_MS if duration_ms is None else duration_ms
    if held_ms * min(1.0, slop / max(length, 0.01)) >= 400:
        assert "long_click" in needed
    elif length <= slop:
        assert needed & {"click", "long_click"}
    assert {"input", "navigate"} <= needed


def test_every_action_type_has_its_place_in_the_table() -> None:
    without = {kind for kind in ACTIONS if not capabilities_of(kind, {})}
    assert without == {"sleep"}
    assert {name for kind in ACTIONS for name in capabilities_of(kind, {})} <= set(CAPABILITIES)


# -- without a policy


def test_without_a_policy_everything_goes_but_purchases() -> None:
    for kind in ACTIONS:
        admit(DEFAULT, an_execution((kind, {"applicationId": "com.example", "clickAfter": True})))
    assert [name for name in CAPABILITIES if not DEFAULT.allows_capability(name)] == ["purchase_risk"]
    with pytest.raises(EngineError) as caught:
        admit_recipe(DEFAULT, capabilities=["observe", "purchase_risk"], application_id="com.example", recipe_id="r.x")
    assert caught.value.code is ErrorCode.CAPABILITY_DENIED
    assert caught.value.details == {
        "capability": "purchase_risk",
        "profile": "default",
        "path": "capabilities",
        "recipeId": "r.x",
    }


# -- every denial


IN_PLANS = ("observe", "navigate", "click", "long_click", "type_text", "input", "record", "write_files")


@table("capability", IN_PLANS)
@table("how", ["denied", "not allowed"])
def test_a_capability_is_denied_wherever_an_action_needs_it(capability: str, how: str) -> None:
    others = tuple(name for name in CAPABILITIES if name != capability)
    rules = Rules(CAPABILITIES, (capability,)) if how == "denied" else Rules(others)
    profile = Profile("p", capabilities=rules, path="/p.toml")
    kinds = [(kind, params) for kind in ACTIONS for params in ({}, {"clickType": "long_click"}, {"path": "a.png"})]
    for kind, params in kinds:
        if capability in capabilities_of(kind, params):
            error = refused(profile, ("sleep", {}), (kind, params))
            assert error.code is ErrorCode.CAPABILITY_DENIED
            assert error.details == {
                "capability": capability,
                "profile": "p",
                "actionId": "a1",
                "actionType": kind,
                "path": "actions.1.type",
                "policy": "/p.toml",
            }
        else:
            admit(profile, an_execution((kind, params)))


@table("kind", ACTIONS)
@table("how", ["denied", "not allowed"])
def test_an_action_type_is_denied(kind: str, how: str) -> None:
    rules = Rules(("*",), (kind,)) if how == "denied" else Rules(tuple(other for other in ACTIONS if other != kind))
    profile = Profile("p", actions=rules)
    error = refused(profile, (kind, {}))
    assert (error.code, error.details["action"]) == (ErrorCode.ACTION_DENIED, kind)
    for other in set(ACTIONS) - {kind}:
        admit(profile, an_execution((other, {})))


@pytest.mark.parametrize("kind", ["open_app", "close_app"])
def test_a_package_is_denied(kind: str) -> None:
    profile = Profile("p", packages=Rules(("com.example.*", "org.one"), ("com.example.bank", "com.example.pay.*")))
    for package in ("com.example.shop", "com.example.a.b", "com.example.bankers", "com.example.pay", "org.one"):
        admit(profile, an_execution((kind, {"applicationId": package})))
        admit_recipe(profile, capabilities=[], application_id=package)
    for package in (
        "com.example",
        "com.examples.shop",
        "org.one.two",
        "com.example.bank",
        "com.example.pay.x",
        "ORG.ONE",
    ):
        error = refused(profile, (kind, {"applicationId": package}))
        assert (error.code, error.details["package"]) == (ErrorCode.PACKAGE_DENIED, package)
        assert error.details["path"] == "actions.0.params.applicationId"
        with pytest.raises(EngineError) as caught:
            admit_recipe(profile, capabilities=[], application_id=package)
        assert (caught.value.code, caught.value.details["path"]) == (ErrorCode.PACKAGE_DENIED, "application_id")


def test_a_package_of_an_action_that_only_carries_the_name_is_no_matter() -> None:
    """Every known parameter is accepted on every action; on most it means nothing."""
    assert packages_of(Action("a", "click", {"applicationId": "com.example.bank"})) == ()
    assert packages_of(Action("a", "open_app", {"applicationId": 5})) == ()


@table("kind", ACTIONS)
def test_read_only_is_what_a_session_that_may_only_observe_is(kind: str) -> None:
    profile = Profile("look", read_only=True)
    if kind in OBSERVING:
        admit(profile, an_execution((kind, {})))
    else:
        error = refused(profile, (kind, {}))
        assert (error.code, error.details["action"]) == (ErrorCode.READ_ONLY, kind)
        assert "snapshot_ui" in error.details["observing"]


def test_the_doctor_s_handshake_is_exempt() -> None:
    nothing = Profile("p", Rules(()), Rules(()), Rules(()), read_only=True)
    admit(nothing, an_execution(("doctor_ping", {})))
    assert refused(nothing, ("sleep", {})).code is ErrorCode.ACTION_DENIED


def test_all_refusals_are_reported_in_the_order_of_the_actions() -> None:
    profile = Profile(
        "p", Rules(("observe",)), Rules(("*",), ("com.bad",)), Rules(("*",), ("close_app",)), read_only=True
    )
    found = list(refusals(profile, an_execution(("close_app", {"applicationId": "com.bad"}), ("snapshot_ui", {}))))
    assert [error.code.value for error in found] == [
        "READ_ONLY",
        "ACTION_DENIED",
        "CAPABILITY_DENIED",
        "PACKAGE_DENIED",
    ]
    assert not list(action_refusals(profile, Action("a", "snapshot_ui")))


# -- rules

NAMES = st.from_regex(r"[a-c](\.[a-c]){0,3}", fullmatch=True)
PATTERNS = st.one_of(st.just("*"), NAMES, NAMES.map(lambda name: f"{name}.*"))


@given(NAMES, st.lists(PATTERNS, max_size=4), st.lists(PATTERNS, max_size=4))
def test_deny_wins_and_nothing_else_is_allowed(name: str, allow: list[str], deny: list[str]) -> None:
    def listed(patterns: list[str]) -> bool:
        beginnings = {name[: end + 1] + "*" for end, character in enumerate(name) if character == "."}
        return bool({"*", name, *beginnings} & set(patterns))

    assert Rules(tuple(allow), tuple(deny)).allows(name) == (listed(allow) and not listed(deny))


@given(st.text(max_size=20), st.lists(PATTERNS, max_size=3))
def test_more_denials_never_allow_more(name: str, deny: list[str]) -> None:
    assert not (Rules(("*",), (*deny, "x")).allows(name) and not Rules(("*",), tuple(deny)).allows(name))
    assert not Rules(("*",), ("*",)).allows(name)
    assert not Rules((), ()).allows(name)


# -- where it comes from


def settings(path: Path | str = "") -> Settings:
    return Settings(policy_path=str(path))


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own config folder, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "clawperator"


def test_an_absent_file_is_the_default_and_a_named_one_must_be_there(config: Path, tmp_path: Path) -> None:
    assert load_profile(settings()) is DEFAULT
    with pytest.raises(EngineError, match="does not exist") as caught:
        load_profile(settings(tmp_path / "none.toml"))
    assert caught.value.code is ErrorCode.FILE_NOT_READABLE
    assert caught.value.details["policy"] == str(tmp_path / "none.toml")


def test_the_file_in_the_config_folder_holds_for_everybody(config: Path) -> None:
    config.mkdir(parents=True)
    (config / "policy.toml").write_text(SOUND + "read_only = true\n")
    found = load_profile(settings())
    assert (found.read_only, found.path) == (True, str(config / "policy.toml"))
    (config / "policy.toml").write_text("read_only = true\n")
    with pytest.raises(EngineError, match=r"policy\.toml:1: "):
        load_profile(settings())


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(SOUND + "read_only = false\n")
    first = load_policy(settings(file))
    assert load_policy(settings(file)) is first
    before = os.stat(file)
    file.write_text(SOUND + "read_only = true \n")  # of the same length
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_profile(settings(file)).read_only is True
    file.write_text("nonsense")
    for _ in range(2):
        with pytest.raises(EngineError, match="not valid TOML"):
            load_profile(settings(file))
    file.unlink()
    with pytest.raises(EngineError, match="does not exist"):
        load_profile(settings(file))


def test_a_profile_by_its_name(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(SOUND + "[profiles.look]\nread_only = true\n")
    assert load_profile(settings(file), "look").read_only is True
    assert load_profile(settings(file)).name == "default"
    with pytest.raises(EngineError, match="no profile 'lok'") as caught:
        load_profile(settings(file), "lok")
    assert caught.value.hint == "Known: default, look."
    assert load_profile(settings(), "default") is DEFAULT
    with pytest.raises(EngineError, match="no policy file that has a profile 'look'"):
        load_profile(settings(), "look")


def test_a_link_to_nowhere_and_a_folder_that_cannot_be_entered_allow_nothing(config: Path, tmp_path: Path) -> None:
    config.mkdir(parents=True)
    (config / "policy.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(EngineError) as caught:
        load_profile(settings())
    assert caught.value.code is ErrorCode.FILE_NOT_READABLE
    (config / "policy.toml").unlink()
    (config / "policy.toml").symlink_to("policy.toml")
    with pytest.raises(EngineError):
        load_profile(settings())
    with pytest.raises(EngineError):
        load_profile(settings("\0"))
    with pytest.raises(EngineError):
        load_profile(settings("/" + "x" * 300))


def test_no_file_costs_no_import(tmp_path: Path) -> None:
    script = """
import os, sys
from clawperator.engine.config.settings import Settings
from clawperator.engine.config.active_profile import load_profile
asked = []
for name in ("lstat", "stat", "open"):
    plain = getattr(os, name)
    setattr(os, name, lambda path, *more, _plain=plain, _name=name, **named: (asked.append((_name, path)), _plain(path, *more, **named))[1])
chosen = Settings()
load_profile(chosen)
before, asked[:] = set(sys.modules), []
load_profile(chosen)
assert set(sys.modules) == before
assert [name for name, path in asked if str(path).endswith("policy.toml")] == ["lstat"], asked
assert not {"pydantic", "tomllib", "clawperator.engine.config.policy_file"} & before, before
"""
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=patience(30),
    )
    assert done.returncode == 0, done.stderr
