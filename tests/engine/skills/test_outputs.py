"""Outputs, confirmations and variance from step results: bound, converted, redacted, and nothing private in between."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills import salt as salts
from clawperator.engine.skills.compiled import Confirm, Output
from clawperator.engine.skills.outputs import (
    convert,
    failed_confirms,
    meets,
    read_outputs,
    redact,
    steps_of,
    variance,
)
from tests.support import table

SALT = b"salt"


def steps(**texts: str) -> dict[str, Any]:
    return steps_of([envelope(**texts)])


def envelope(**texts: str) -> dict[str, Any]:
    results = [
        {"id": name, "actionType": "read_text", "success": True, "data": {"text": texts[name]}} for name in texts
    ]
    return {"commandId": "c", "taskId": "t", "status": "success", "stepResults": results, "error": None}


def output(
    kind: str = "string", redaction: str = "none", step: str = "s", key: str = "text", pattern: str = ""
) -> Output:
    return Output("out", kind, redaction, step, key, pattern)


def read(text: str, **declared: str) -> Any:
    values, warnings = read_outputs([output(**declared)], steps(s=text), SALT)
    assert len(values) + len(warnings) == 1 or declared.get("redaction") == "drop"
    return values["out"] if values else None


# -- outputs


@table(
    ("kind", "text", "value"),
    [
        ("string", " as it is\n", " as it is\n"),
        ("enum", "Heat", "Heat"),
        ("integer", " 21 ", 21),
        ("integer", "-007", -7),
        ("integer", "21.5", None),
        ("integer", "٣", None),
        ("integer", "1_000", None),
        ("integer", "9" * 5000, None),
        ("number", "21.5", 21.5),
        ("number", "+2e3", 2000.0),
        ("number", "21", 21),
        ("number", "1e999", None),
        ("number", "nan", None),
        ("number", "Infinity", None),
        ("number", "21.5 °C", None),
        ("number", "", None),
        ("boolean", "On", True),
        ("boolean", "FALSE", False),
        ("boolean", "maybe", None),
    ],
)
def test_types(kind: str, text: str, value: object) -> None:
    assert read(text, kind=kind) == value
    assert type(read(text, kind=kind)) is type(value)


@given(st.text(), st.sampled_from(["string", "integer", "number", "boolean", "enum"]))
def test_no_text_makes_a_conversion_fail_and_every_value_is_json(text: str, kind: str) -> None:
    value = convert(text, kind)
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_patterns() -> None:
    assert read("Target 21.5 °C now", kind="number", pattern=r"Target ([0-9.]+)") == 21.5
    assert read("Target 21.5", kind="number", pattern=r"Target [0-9.]+ (°C)") is None
    assert read("b", pattern="(a)?b") is None  # the group took no part


@pytest.mark.parametrize("pattern", ["(a+)+$", "(", "(x+x+)+y"])
def test_a_pattern_that_could_hang_or_is_none_is_not_tried(pattern: str) -> None:
    values, (warning,) = read_outputs([output(pattern=pattern)], steps(s="a" * 100_000), SALT)
    assert values == {}
    assert warning["code"] == "OUTPUT_PATTERN"
    assert warning["path"] == "outputs.out"


@pytest.mark.parametrize("text", ["Ada Lovelace", "12 months"])
def test_warnings_do_not_repeat_what_was_read(text: str) -> None:
    _, (warning,) = read_outputs([output(kind="number")], steps(s=text), SALT)
    assert warning["code"] == "OUTPUT_NOT_CONVERTED"
    assert text not in json.dumps(warning)


def test_what_was_not_read_is_absent() -> None:
    failed = {"s": {"id": "s", "success": False, "data": {"text": "x"}}}
    for known in ({}, failed, steps(other="x"), {"s": {"id": "s", "success": True, "data": {}}}):
        values, (warning,) = read_outputs([output()], known, SALT)
        assert (values, warning["code"]) == ({}, "OUTPUT_MISSING")


def test_redaction() -> None:
    digest = hashlib.sha256(SALT + b"Ada Byron-21").hexdigest()[:16]
    assert read("Ada Byron-21", redaction="none") == "Ada Byron-21"
    assert read("Ada Byron-21", redaction="mask") == "*** *****-**"
    assert read("Ada Byron-21", redaction="hash") == f"sha256:{digest}"
    assert read("21.5", kind="number", redaction="mask") == "**.*"
    assert read("On", kind="boolean", redaction="mask") == "****"
    values, warnings = read_outputs([output(redaction="drop")], steps(s="x"), SALT)
    assert (values, warnings) == ({}, [])


@given(st.text(), st.sampled_from(["mask", "hash", "of a later version"]))
def test_no_letter_and_no_digit_comes_through(text: str, mode: str) -> None:
    redacted = redact(text, mode, SALT)
    assert isinstance(redacted, str)
    if mode == "hash":
        assert re.fullmatch(r"sha256:[0-9a-f]{16}", redacted)
        assert redacted != redact(text, mode, b"other salt")
    else:
        assert len(redacted) == len(text)
        assert not any(map(str.isalnum, redacted))
        assert all(now == "*" or now == was for now, was in zip(redacted, text, strict=True))


# -- confirmations


@table(
    ("expect", "text", "met"),
    [
        ({"equals": "On"}, "On", True),
        ({"equals": "On"}, "Only", False),
        ({"contains": "On"}, "Is On now", True),
        ({"contains": "On"}, "Off", False),
        ({"matches": r"^\d+$"}, "21", True),
        ({"matches": r"^\d+$"}, "21 °C", False),
        ({"matches": "(a+)+$"}, "a", False),
        ({"contains": "a", "matches": "b"}, "ab", True),
    ],
)
def test_expectations(expect: dict[str, str], text: str, met: bool) -> None:
    assert meets(text, expect) is met
    confirm = Confirm("press", "press__confirm", "read_text", expect)
    failed = failed_confirms([confirm], steps(press__confirm=text), [], SALT)
    assert [error["code"] for error in failed] == ([] if met else ["VERIFY_FAILED"])


def test_a_failed_confirmation_shows_what_was_read_only_as_far_as_the_recipe_allows() -> None:
    confirm = Confirm("press", "press__confirm", "read_text", {"equals": "On"})
    known = steps(press__confirm="Off 1")

    def details(*outputs: Output) -> Any:
        (error,) = failed_confirms([confirm], known, outputs, SALT)
        assert "Off" not in error["message"]
        return error["details"]

    assert details() == {
        "stepId": "press",
        "actionId": "press__confirm",
        "expected": {"equals": "On"},
        "actual": "*** *",
    }
    assert details(output(step="press__confirm", redaction="none"))["actual"] == "Off 1"
    assert details(output(step="press__confirm", redaction="hash"))["actual"].startswith("sha256:")
    assert "actual" not in details(output(step="press__confirm", redaction="drop"))


def test_presence_is_what_the_plan_itself_has_checked() -> None:
    assert failed_confirms([Confirm("press", "press__confirm", "wait_for_node", {})], {}, [], SALT) == []


def test_nothing_was_read() -> None:
    (error,) = failed_confirms([Confirm("press", "press__confirm", "read_text", {"equals": ""})], {}, [], SALT)
    assert error["details"]["actual"] is None


# -- variance


def test_variance_says_what_was_looked_for_and_what_there_was() -> None:
    matcher = {"matcher": {"textEquals": "Later"}}
    execution = {
        "actions": [{"id": "w", "type": "sleep", "params": {}}, {"id": "ask", "type": "click", "params": matcher}]
    }
    aborted = {**envelope(), "status": "failed", "error": "No UI node found", "errorCode": "NODE_NOT_FOUND"}
    assert variance("ask", execution, aborted) == {
        "stepId": "ask",
        "expected": {"actionType": "click", "params": matcher},
        "found": {"error": "No UI node found", "errorCode": "NODE_NOT_FOUND"},
    }
    step = {"id": "ask", "actionType": "click", "success": False, "data": {"error": "TARGET_NOT_FOUND"}}
    failed = {**envelope(), "status": "failed", "error": "Step ask failed", "stepResults": [step]}
    assert variance("ask", execution, failed)["found"] == {
        "error": "Step ask failed",
        "errorCode": "TARGET_NOT_FOUND",
        "actionId": "ask",
    }


# -- the salt


def test_the_salt_is_made_once_and_is_its_owners(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    salt, trouble = salts.installation_salt(env)
    assert (len(salt), trouble) == (32, "")
    assert salts.installation_salt(env) == (salt, "")
    assert salts.installation_salt({**env, "XDG_STATE_HOME": str(tmp_path / "other")})[0] != salt
    folder = tmp_path / "state" / "clawperator"
    assert os.listdir(folder) == [salts.FILE]
    assert stat.S_IMODE((folder / salts.FILE).stat().st_mode) == 0o600


def test_many_that_make_one_at_the_same_time_have_the_same(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    together, found = threading.Barrier(8), list[bytes]()

    def make() -> None:
        together.wait()
        found.append(salts.installation_salt(env)[0])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "00" * 31])
def test_a_broken_salt_is_reported_and_not_used(tmp_path: Path, content: str) -> None:
    (tmp_path / "clawperator").mkdir()
    (tmp_path / "clawperator" / salts.FILE).write_text(content)
    salt, trouble = salts.installation_salt({"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)})
    assert len(salt) == 32
    assert salts.FILE in trouble
