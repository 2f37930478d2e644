"""Flags over environment over file over default, and nothing read behind anybody's back."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_config_dir

from clawperator.engine import Engine
from clawperator.engine.config.environment import config_folder
from clawperator.engine.config.settings import Settings, package_name
from clawperator.engine.contracts.operator_identity import AGENT_ACTION, RELEASE_PACKAGE
from clawperator.engine.errors import EngineError, ErrorCode
from tests.support import table


def test_defaults_of_an_empty_world(tmp_path: Path) -> None:
    settings = Settings.resolve(env={"HOME": str(tmp_path)})
    assert settings.receiver_package == RELEASE_PACKAGE
    assert settings.action_agent_command == AGENT_ACTION
    assert settings.device_id == ""
    assert settings.lock_dir == str(tmp_path / ".clawperator" / "locks")


def test_precedence(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('device_id = "from-file"\nreceiver_package = "file.pkg"\n')
    env = {"CLAWPERATOR_OPERATOR_PACKAGE": "env.pkg", "CLAWPERATOR_RECEIVER_PACKAGE": "other.pkg"}
    assert Settings.resolve({"device_id": "flag"}, env, file=str(file)).device_id == "flag"
    assert Settings.resolve({"device_id": None}, env, file=str(file)).device_id == "from-file"
    assert Settings.resolve({}, env, file=str(file)).receiver_package == "env.pkg"
    assert Settings.resolve({"receiver_package": "flag.pkg"}, env).receiver_package == "flag.pkg"


def test_empty_values_are_no_choice() -> None:
    env = {
        "CLAWPERATOR_OPERATOR_PACKAGE": "",
        "CLAWPERATOR_RECEIVER_PACKAGE": "classic.pkg",
        "CLAWPERATOR_DEVICE_ID": "",
    }
    settings = Settings.resolve({"receiver_package": ""}, {**env, "ANDROID_SERIAL": "emulator-5554"})
    assert settings.receiver_package == "classic.pkg"
    assert settings.device_id == "emulator-5554"


def test_locks_do_not_move_with_xdg_variables() -> None:
    plain = Settings.resolve(env={"HOME": "/home/me"})
    moved = Settings.resolve(env={"HOME": "/home/me", "XDG_STATE_HOME": "/tmp/a", "XDG_CONFIG_HOME": "/tmp/b"})
    assert plain.lock_dir == moved.lock_dir


@pytest.mark.parametrize(
    ("text", "word"), [("device_id = 1", "device_id"), ("colour = 'red'", "colour"), ("= =", "settings.toml")]
)
def test_a_bad_file_is_refused_with_the_place(tmp_path: Path, text: str, word: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(EngineError, match=word) as caught:
        Settings.resolve(env={}, file=str(file))
    assert caught.value.code is ErrorCode.SETTINGS_INVALID


def test_a_missing_file_is_an_empty_one(tmp_path: Path) -> None:
    assert Settings.resolve(env={}, file=str(tmp_path / "none.toml")).device_id == ""


def test_a_path_through_a_file_is_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "config").touch()
    assert Settings.resolve(env={}, file=str(tmp_path / "config" / "settings.toml")).device_id == ""


@pytest.mark.parametrize("content", [b'device_id = "\xff\xfe"', b"a = " + b"[" * 20_000], ids=["no UTF-8", "too deep"])
def test_no_content_of_a_file_is_an_internal_fault(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(content)
    with pytest.raises(EngineError, match="cannot be read") as caught:
        Settings.resolve(env={}, file=str(file))
    assert caught.value.code is ErrorCode.SETTINGS_INVALID


@table("name", ["-f", "x; rm -rf /", "a..b", "com.example.", "1.a", "com.é", "a\n", " ", "a." * 200 + "a"])
def test_what_names_no_app_reaches_no_device(name: str) -> None:
    with pytest.raises(EngineError, match="must be an Android package name") as caught:
        package_name(name)
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert caught.value.details["path"] == "receiverPackage"


@pytest.mark.parametrize("name", [RELEASE_PACKAGE, f"{RELEASE_PACKAGE}.dev", "org.Example_2.op3"])
def test_package_names(name: str) -> None:
    assert package_name(name) == name


@pytest.mark.parametrize("chosen", [None, "", " ", "/x/config", "relative", "/x/with blank "])
def test_the_config_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch, chosen: str | None) -> None:
    """Light commands work it out by themselves."""
    if chosen is None:
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CONFIG_HOME", chosen)
    assert config_folder() == user_config_dir("clawperator")


@pytest.mark.parametrize("given", ["-1", "600001", "soon", "1.5", "٣"])
def test_a_wait_that_is_none_is_refused_by_the_name_of_its_variable(given: str) -> None:
    with pytest.raises(EngineError) as caught:
        Settings.resolve(env={"CLAWPERATOR_WAIT_MS": given})
    assert (caught.value.code, caught.value.details["path"]) == (
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        "CLAWPERATOR_WAIT_MS",
    )


def test_the_flag_for_waiting_goes_before_the_variable() -> None:
    env = {"CLAWPERATOR_WAIT_MS": "250"}
    assert Settings.resolve(env=env).wait_ms == 250
    assert Settings.resolve({"wait_ms": 0}, env).wait_ms == 0


def test_an_engine_of_a_program_has_what_the_command_line_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder of its locks it would not exclude other programs; without the environment it finds no adb server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "6999")
    file = tmp_path / "clawperator" / "settings.toml"
    file.parent.mkdir()
    file.write_text('[devices.pixel]\nserial = "R58M12ABCDE"\n')
    assert Engine().settings.serial_of("pixel") == "R58M12ABCDE"
    for settings in (Engine().settings, Engine(Settings(device_id="x")).settings):
        assert settings.lock_dir == str(tmp_path / ".clawperator" / "locks")
        assert settings.environment["ANDROID_ADB_SERVER_PORT"] == "6999"
