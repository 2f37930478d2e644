"""What public bug reports show, as a user sees it: saved trees of other tools, explanations, what a phone says of a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli, Plug

FIELD = Path(__file__).parents[2] / "data" / "field"
PAY = '<?xml version=\'1.0\' ?><hierarchy><node text="Pay" bounds="[0,0][9,9]"/></hierarchy>'
JSON_PAY = json.dumps(PAY)
MAESTRO = (FIELD / "07-source-of-other-tools" / "maestro-hierarchy.txt").read_text()


def first_reason(answer: dict[str, Any]) -> tuple[str, str]:
    """The path and the reason of the nearest node."""
    near = answer["explain"]["nearest"][0]
    return near["node"]["path"], near["fields"][0]["reason"]


@pytest.mark.parametrize(
    "wanted", ["com.example.app:id/personDetailsSpeedDial_Main", "@id/personDetailsSpeedDial_Main"]
)
def test_a_test_tag_has_no_package(cli: Cli, wanted: str) -> None:
    words = ("match", "--id", wanted, "--snapshot", str(FIELD / "01-testtag-with-package" / "screen.xml"))
    answer = cli(*words).document
    reason = (
        "the id on the screen has no package: write personDetailsSpeedDial_Main (a test tag, or an id of a web page)"
    )
    assert (answer["count"], first_reason(answer)) == (0, ("0/7", reason))
    assert "write personDetailsSpeedDial_Main" in cli(*words, "--output", "pretty").out


@pytest.mark.parametrize("flag", ["--text", "--text-contains", "--desc"])
def test_the_words_in_a_field_may_be_its_hint(cli: Cli, flag: str) -> None:
    screen = str(FIELD / "03-hint-only-fields" / "screen.xml")
    answer = cli("match", flag, "Password", "--snapshot", screen).document
    path, reason = first_reason(answer)
    assert path == "0/1"
    assert reason == "it is the node's hint, which no selector compares: use its role textfield or its point"
    assert "no selector compares its hint" in cli("suggest", "--node", path, "--snapshot", screen).document["advice"]


def test_empty_bounds_and_both_forms_of_quotes(cli: Cli) -> None:
    screen = str(FIELD / "05-negative-height-rect" / "screen.xml")
    answer = cli("match", "--text", "Confirm", "--snapshot", screen).document
    assert (answer["count"], answer["offScreen"]) == (0, 1)
    assert "empty" in answer["explain"]["nearest"][0]["offScreen"]
    screen = str(FIELD / "06-single-quoted-attributes" / "screen.xml")
    (found,) = cli("match", "--text-contains", "let's go", "--snapshot", screen).document["matches"]
    assert (found["text"], found["contentDesc"]) == ('He said "ok, let\'s go"', 'the "b" side')


@pytest.mark.parametrize(
    "text",
    [
        (FIELD / "07-source-of-other-tools" / "appium-source.txt").read_text(),
        MAESTRO,
        f"Running on emulator-5554\n[INFO] ready\n\n{MAESTRO}",
        f"[debug] [Driver@1] Responding to client with driver.getPageSource() result: {JSON_PAY}\n",
        f'{{"jsonrpc": "2.0", "id": 1, "result": {JSON_PAY}}}',
        f'{{"value": {JSON_PAY}}}'.replace("<", "\\u003c"),
        f"\n {JSON_PAY}",
        '[{"className": "android.widget.Button", "text": "Pay", "bounds": {"left": 0, "top": 0, "right": 9, "bottom": 9}}]',
        '{"children": [{"text": "Pay", "bounds": {"x": 1, "y": 2, "width": 3, "height": 4}}], "bounds": "0, 0, 100, 100"}',
    ],
    ids=[
        "appium",
        "maestro",
        "maestro with a log",
        "appium's log",
        "json-rpc",
        "escaped",
        "json text",
        "nodes",
        "sizes",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_trees_of_other_tools(cli: Cli, tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "source").write_text(text, encoding=encoding)
    answer = cli("match", "--text", "Pay", "--snapshot", str(tmp_path / "source")).document
    assert answer["count"] == 1
    assert "JSON" in answer["snapshot"]["recovered"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "{",
        "[[[[",
        '{"value": "<?xml version="1.0"?>"}',
        "hello",
        "[" * 5_000,
        "<!DOCTYPE hierarchy><hierarchy/>",
        '{"bounds": 1}',
    ],
    ids=["object", "cut", "lists", "not escaped", "text", "deep", "doctype", "no rectangle"],
)
def test_a_file_without_a_tree_says_what_is_wanted(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "source").write_text(text)
    done = cli("match", "--text", "Pay", "--snapshot", str(tmp_path / "source"))
    answer = done.document
    if answer.get("ok"):
        assert answer["count"] == 0
        return
    assert answer["code"] == "HIERARCHY_MALFORMED"
    assert "Give a file with a UI tree" in answer["hint"]
    assert "again" not in answer["hint"]


def test_a_phone_whose_maker_limits_adb_says_so(cli: Cli, plug: Plug) -> None:
    stderr = (FIELD / "16-xiaomi-grants" / "settings-put-stderr.txt").read_text()
    plug(operator={"enabled": False}, faults=[{"kind": "settings_refused", "stderr": stderr}])
    error = cli("grant-device-permissions").document
    assert "Permission denial: writing to settings" in error["message"]
    assert "\n" not in error["message"]
    assert "'USB debugging (Security settings)'" in error["hint"]


@pytest.mark.parametrize(
    "words",
    [("app", "permissions", "grant", "com.example.shop", "CAMERA"), ("app", "clear", "com.example.shop")],
    ids=" ".join,
)
def test_a_refused_change_of_an_app_names_the_setting(cli: Cli, plug: Plug, words: tuple[str, ...]) -> None:
    plug(faults=[{"kind": "program", "program": "pm", "how": "blocked"}])
    error = cli(*words).document
    assert error["code"] == "DEVICE_COMMAND_REFUSED"
    assert "\n" not in error["message"]
    assert "'Disable permission monitoring'" in error["hint"]
