"""Quoting is tested against what it is for: a real shell reading it back."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawperator.engine.adb.quote import MAX_ARGUMENT_BYTES, device_command, device_script, quote
from clawperator.engine.errors import EngineError, ErrorCode

ARGUMENTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
NASTY = [
    "",
    " ",
    "'",
    "''",
    "'\"'\"'",
    "x; rm -rf /sdcard",
    "$(id)",
    "`id`",
    "$HOME",
    "\\",
    "a\\",
    "\n",
    "~",
    "*",
    "-n",
]


def as_the_shell_reads(script: str) -> list[str]:
    done = subprocess.run(["/bin/sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(ARGUMENTS, min_size=1, max_size=40))
@example(NASTY)
def test_a_real_shell_reads_every_argument_back(arguments: list[str]) -> None:
    assert as_the_shell_reads(device_command(["printf", "%s\\0", *arguments])) == arguments


@settings(max_examples=30, deadline=None)
@given(ARGUMENTS, st.lists(ARGUMENTS, min_size=1, max_size=5))
@example("'; exit 1; '", NASTY)
def test_a_real_shell_reads_the_values_of_a_script_back(one: str, many: list[str]) -> None:
    script = device_script("X=${HOME}; { printf '%s\\0' {one}; printf '%s\\0' {many}; }", one=one, many=many)
    assert as_the_shell_reads(script) == [one, *many]


def test_harmless_words_stay_readable() -> None:
    assert device_command(["pm", "list", "packages", "-U", "com.example.app"]) == "pm list packages -U com.example.app"


def test_an_apostrophe_becomes_the_documented_five_characters() -> None:
    assert quote("it's") == "'it'\"'\"'s'"


def test_an_assignment_is_not_mistaken_for_the_command() -> None:
    assert device_command(["A=B", "x"]) == "'A=B' x"


@pytest.mark.parametrize("argument", ["a\0b", "\ud800", "'\udfff"])
def test_what_no_argument_can_carry_is_refused(argument: str) -> None:
    with pytest.raises(EngineError) as caught:
        device_command(["log", argument])
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED


@pytest.mark.parametrize("letter", ["x", "ü", "'"])
def test_an_argument_longer_than_the_kernel_takes_is_refused(letter: str) -> None:
    size = len(letter.encode())
    quote(letter * (MAX_ARGUMENT_BYTES // size))
    with pytest.raises(EngineError) as caught:
        quote(letter * (MAX_ARGUMENT_BYTES // size + 1))
    assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE


def test_mistakes_in_our_own_scripts_are_found_at_once() -> None:
    with pytest.raises(ValueError, match="no value"):
        device_script("log {text}")
    with pytest.raises(ValueError, match="no place"):
        device_script("log x", text="y")
    with pytest.raises(ValueError, match="empty command"):
        device_command([])
