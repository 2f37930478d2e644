"""Errors about values name the flag, argument or variable that the value came from, on every command and with every bad value."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.command_table import COMMANDS
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.app.cli.parsing.verb_flags import flag_of
from clawperator.engine.verbs import Param

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.app.cli.conftest import Cli

BAD = ("", "no such value", "-1", "99999999999", '{"foo":1}', '{"ref":"e1"}', "\u00fc" * 9000)
PAYLOAD_NAMES = re.compile(r"actions\.\d|params\b|\btimeoutMs must be between|receiverPackage must")
OWN = [words for words in COMMANDS if load(words).own_payload]
"""Commands that make their payload of their flags."""


def lines(words: str) -> Iterator[tuple[str, list[str]]]:
    """Command lines that are an example of the command but for one value, and the name of what has it."""
    command = load(words)
    example = shlex.split(command.examples[0].partition(" <")[0]) if command.examples else []
    parser = build_parser(command)
    for flag in dict.fromkeys(parser.flags.values()):
        others = without(example, flag)
        for bad in BAD if flag.count == 1 else ():
            for name in {flag.names[0], flag.names[-1]}:
                yield name, [*words.split(), *others, f"{name}={bad}"]
        if flag.count == 2:
            yield flag.names[0], [*words.split(), *others, flag.names[0], "x", "99999999999"]
    for _ in filter(lambda declared: isinstance(declared, Word), command.flags):
        for bad in BAD:
            if not bad.startswith("-"):
                yield "", [*words.split(), bad, *example[1:]]


def without(example: list[str], flag: Flag) -> list[str]:
    at = next((place for place, word in enumerate(example) if word in flag.names), None)
    return example if at is None else [*example[:at], *example[at + 1 + flag.count :]]


NAMED = {
    "press nope": "<key> must be one of: back, home, recents",
    "press --key nope": "--key must be one of: back, home, recents",
    "scroll sideways": "<direction> must be one of",
    "action scroll --direction sideways": "--direction must be one of",
    "scroll down --distance-ratio 3": "--distance-ratio must be in [0.0, 1.0]",
    "action click --text a --click-type x": "--click-type must be one of",
    "click --long --focus --text a": "use --long OR --focus, not both",
    "click --ref e12": "--ref must be a reference such as",
    "click --text a --ref e12": "--text, --ref must have no field beside ref",
    "click --in '' --text a": "--in value must not be blank",
    "click --within '' --text a": "--within value must not be blank",
    "click --text a --nth=-1": "--nth must be an integer",
    "wait --text a --timeout 0": "--timeout must be an integer in [1, 120000]",
    "wait --text a --timeout-ms 0": "--timeout-ms must be an integer in [1, 120000]",
    "snapshot --device ''": "--device value must not be blank",
    "input tap --at 1,2 --id a --strict": "use --id, --strict OR --at, not both",
    "input tap --at 1,2 --within a": "use --within OR --at, not both",
    "wait --app a.b --text a": "use --text OR --app, not both",
    "submit --id a": "submit with --id requires --text",
    "submit --text a": "submit with --text requires a selector",
    "click --text a --container-ref e1": "--container-ref must be a reference such as",
    """click --selector '{"ref":"e1"}'""": "--selector: `ref` must be a reference such as",
    """click --selector '{"foo":1}'""": "--selector has an unknown key: 'foo'",
    """click --text a --container-selector '{"foo":1}'""": "--container-selector has an unknown key: 'foo'",
    "read-value --label-ref zz": "--label-ref must be a reference",
    "read --text a --validator nope": "--validator must be one of: temperature, version, regex",
    "read --text a --validator regex": "read with validator='regex' requires --validator-pattern",
    """read --rows '{"foo":1}' --fields a=b""": "--rows has an unknown key: 'foo'",
    "open x.!y": "<target> must be an Android package name",
    "open --app x.!y": "--app must be an Android package name",
    "close 'x y'": "<package> must be an Android package name",
    "wait --app 'x y'": "--app must be an Android package name",
    "wait-for-nav --app 'x y' --timeout 1000": "--app must be an Android package name",
    "wait-for-nav --app x.y --timeout 99999": "--timeout must not exceed 30000",
    "snapshot --timeout 5": "--timeout must be between 1000 and 120000",
    "type '' --id a": "type requires non-empty <text>",
    "set --id a --text ''": "set requires non-empty --text",
    "input key nope": "<key>: There is no key nope",
    "record start --session-id 'a b'": "--session-id must consist of",
    "screenshot --path /no/such/folder/x.png": "/no/such/folder/x.png cannot be written",
    "--operator-package 'a b' snapshot": "--operator-package must be an Android package name",
    "app permissions grant x.y 'a b'": "<permission> is not a valid name",
}


@pytest.mark.parametrize("line", NAMED)
def test_what_the_value_came_from_is_named(cli: Cli, line: str) -> None:
    document = cli(*shlex.split(line)).document
    assert document["message"].startswith(NAMED[line])
    assert not PAYLOAD_NAMES.search(document["message"])


def test_a_variable_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_OPERATOR_PACKAGE", "a b")
    document = cli("snapshot").document
    assert document["message"] == "CLAWPERATOR_OPERATOR_PACKAGE must be an Android package name"
    assert document["details"]["path"] == "CLAWPERATOR_OPERATOR_PACKAGE"


def test_the_fields_of_a_callers_payload_keep_their_names(cli: Cli) -> None:
    plan = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
    }
    actions = [{"id": "a", "type": "press_key", "params": {"key": "nope"}}]
    details = cli("exec", json.dumps({**plan, "actions": actions})).document["details"]
    assert details["path"] == "actions.0.params.key"


@pytest.mark.ci
@pytest.mark.parametrize("words", OWN)
def test_every_bad_value_of_every_flag(cli: Cli, words: str) -> None:
    for name, line in lines(words):
        run = cli(*line)
        shown = re.sub(r'"example":.*', "", run.out)
        assert not PAYLOAD_NAMES.search(shown), (line, run.out)
        document = run.document
        if document.get("code") in ("EXECUTION_VALIDATION_FAILED", "USAGE", "TEXT_NOT_DELIVERED"):
            file = document["message"].startswith("Failed to read the saved UI tree")  # which it names
            assert file or re.search(rf"{name}(?![\w-])", document["message"]), (line, run.out)


def test_a_flag_of_the_catalogue_that_is_on_by_default_is_true_or_false() -> None:
    """``--glow perhaps`` would switch it off."""
    flag = flag_of(Param("glow", "bool", "Glow meanwhile.", default=True))
    assert (flag.names, flag.choices, flag.about) == (("--glow",), ("true", "false"), "glow meanwhile [true]")
