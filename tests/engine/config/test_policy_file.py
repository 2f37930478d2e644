"""The policy file: what may stand in it, and that a file with any mistake is an error with its line and never a profile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.config.policy import CAPABILITIES, DEFAULT, Policy, Profile, Rules
from clawperator.engine.config.policy_file import examine, load, remarks
from clawperator.engine.config.toml_lines import MAX_BYTES
from clawperator.engine.contracts.actions import ACTIONS, INPUT_ACTIONS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.json_schema import json_schema

EVERYTHING = """
version = 1
activeProfile = "shop"

[profiles.shop]
read_only = false

[profiles.shop.capabilities]
allow = ["observe", "navigate", "click", "purchase_risk"]
deny = ["click"]

[profiles.shop.packages]
allow = ["com.example.*", "org.one"]
deny = ["com.example.bank"]

[profiles.shop.actions]
allow = ["*"]
deny = [
  "press_key",
  "open_uri",
]

[profiles.look]
read_only = true
"""


def written(tmp_path: Path, text: str | bytes) -> str:
    file = tmp_path / "policy.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file)


def test_everything_that_may_stand_in_it(tmp_path: Path) -> None:
    path = written(tmp_path, EVERYTHING.replace("\n", "\r\n"))
    shop = Profile(
        "shop",
        Rules(("observe", "navigate", "click", "purchase_risk"), ("click",)),
        Rules(("com.example.*", "org.one"), ("com.example.bank",)),
        Rules(("*",), ("press_key", "open_uri")),
        path=path,
    )
    found = load(path)
    assert found.profile() == shop
    assert found.profile("look").read_only is True
    assert (found.active, list(found.profiles)) == ("shop", ["shop", "look"])
    assert found.profile().allows_capability("purchase_risk")
    assert not found.profile().allows_capability("click"), "deny wins"


def test_what_is_left_out_is_as_without_a_file(tmp_path: Path) -> None:
    found = load(written(tmp_path, "version = 1\n[profiles.default]\n")).profile()
    for name in CAPABILITIES:
        assert found.allows_capability(name) == DEFAULT.allows_capability(name)
    assert all(found.allows_action(kind) for kind in ACTIONS)
    assert found.allows_package("any.thing")
    listed = load(written(tmp_path, 'version = 1\n[profiles.default.capabilities]\nallow = ["observe"]\n')).profile()
    assert [name for name in CAPABILITIES if listed.allows_capability(name)] == ["observe"]


BEGIN = "version = 1\n"


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("", 1, "profiles is missing", "Write at least [profiles.default]."),
        ("[profiles.default]", 1, "version is missing", "Write version = 1."),
        (BEGIN, 1, "profiles is missing", "Write at least [profiles.default]."),
        ("version = 2\n[profiles.default]", 1, "version must be 1, got 2", ""),
        ("version = true\n[profiles.default]", 1, "version must be 1, got True", ""),
        ("version = 1.0\n[profiles.default]", 1, "version must be 1, got 1.0", ""),
        (f"{BEGIN}[profiles.strict]", 1, "activeProfile is 'default', but [profiles.default] is missing", "Known: strict."),
        (
            f'{BEGIN}activeProfile = "strct"\n[profiles.strict]',
            2,
            "activeProfile is 'strct', but [profiles.strct] is missing",
            "Did you mean 'strict'?",
        ),
        (f"{BEGIN}activeProfil = 1\n[profiles.default]", 2, "Unknown key activeProfil", "Did you mean 'activeProfile'?"),
        (f"{BEGIN}[profiles.default]\nreadonly = true", 3, "Unknown key profiles.default.readonly", "Did you mean 'read_only'?"),
        (f"{BEGIN}[profiles.default]\nread_only = 1", 3, "profiles.default.read_only must be true or false, got 1", ""),
        (
            f"{BEGIN}[profiles.default.apps]",
            2,
            "Unknown key profiles.default.apps",
            "Known: read_only, capabilities, packages, actions.",
        ),
        (
            f"{BEGIN}[profiles.default.packages]\nalow = []",
            3,
            "Unknown key profiles.default.packages.alow",
            "Did you mean 'allow'?",
        ),
        (
            f'{BEGIN}[profiles.default.capabilities]\nallow = [\n  "observe",\n  "clik",\n]',
            5,
            "Unknown capability 'clik'",
            "Did you mean 'click'?",
        ),
        (
            f'{BEGIN}[profiles.default.capabilities]\ndeny = ["*"]',
            3,
            "Unknown capability '*'",
            f"Known: {', '.join(CAPABILITIES)}.",
        ),
        (
            f'{BEGIN}[profiles.default.actions]\ndeny = ["presskey"]',
            3,
            "Unknown action type 'presskey'",
            "Did you mean 'press_key'?",
        ),
        (
            f'{BEGIN}[profiles.default.actions]\ndeny = ["tap"]',
            3,
            "Unknown action type 'tap'",
            "Did you mean 'click'?",
        ),
        (f'{BEGIN}[profiles.default.actions]\ndeny = "click"', 3, "profiles.default.actions.deny must be a list of up to 1,000 names, got 'click'", ""),
        (f"{BEGIN}[profiles.default.actions]\ndeny = [3]", 3, "profiles.default.actions.deny must be a name in quotes, got 3", ""),
        (f"{BEGIN}[profiles]\ndefault = 3", 3, "profiles.default must be a table, got 3", ""),
        (f"{BEGIN}profiles = []", 2, "profiles must be a table, got []", ""),
        (f'{BEGIN}[profiles."a b"]', 2, "profiles.a b must be a name of up to 64 letters, digits, _ and -, got 'a b'", ""),
        (f"{BEGIN}[profiles.default]\n[profiles.default]", 3, "This is not valid TOML: Cannot declare ('profiles', 'default') twice (at line 3, column 18)", ""),
    ],
)  # fmt: skip
def test_every_mistake_is_reported_with_its_line(text: str, line: int, message: str, hint: str, tmp_path: Path) -> None:
    policy, problems = examine(text)
    assert policy is None
    assert (line, message, hint) in [(problem.line, problem.message, problem.hint) for problem in problems]
    path = written(tmp_path, text)
    with pytest.raises(EngineError) as caught:
        load(path)
    assert caught.value.code is ErrorCode.POLICY_INVALID
    assert caught.value.message.startswith(f"Policy file {path}:{problems[0].line}: {problems[0].message}")
    assert "Everything is denied" in caught.value.hint
    assert len(caught.value.details["problems"]) == len(problems)


@pytest.mark.parametrize(
    "pattern",
    ["", "com.*.shop", "*.example", "com.example*", "com.example.", ".*", "**", "com example", "-r", "com.x\\n", "com.ä", "x" * 256],
)  # fmt: skip
@pytest.mark.parametrize("key", ["allow", "deny"])
def test_patterns_are_a_star_a_name_or_a_beginning(pattern: str, key: str) -> None:
    policy, (problem,) = examine(
        f'{BEGIN}[profiles.default.packages]\n{key} = ["com.example.*", "*", "one", "{pattern}"]'
    )
    assert policy is None
    assert problem.line == 3
    assert "must hold package names" in problem.message
    assert len(problem.message) < 200


def test_all_mistakes_at_once_in_the_order_of_their_lines() -> None:
    _, problems = examine('version = 3\nx = 1\n[profiles.default]\nread_only = "no"\ncapabilities = []')
    assert [problem.line for problem in problems] == [1, 2, 4, 5]


def test_a_byte_order_mark_is_no_part_of_a_policy(tmp_path: Path) -> None:
    assert load(written(tmp_path, "\ufeffversion = 1\r\n[profiles.default]".encode()))


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"\x00" * 100,
        b"version = 1\n" + b"a = " + b"[" * 20_000,
        b"version = 1\n" + b"#" * MAX_BYTES,
        b"version = 1\n[profiles.default.actions]\ndeny = [" + b'"click",' * 2_000 + b"]",
        b"version = 1\n" + b"".join(b"[profiles.p%d]\n" % number for number in range(1_001)),
        b"version = 99999999999999999999999999\n[profiles.default]",
        b"version = nan\n[profiles.default]",
        b'version = 1\n[profiles.default.actions]\ndeny = ["\\u001b[31m\\u202e"]',
    ],
    ids=["utf-16", "nul", "deep", "large", "long list", "many profiles", "huge number", "nan", "steering"],
)
def test_hostile_files_allow_nothing(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        load(written(tmp_path, content))
    assert caught.value.code is ErrorCode.POLICY_INVALID
    assert len(caught.value.message) < 600
    assert "\x1b" not in caught.value.message


def test_only_a_regular_file_is_one(tmp_path: Path) -> None:
    fifo = tmp_path / "policy.fifo"
    os.mkfifo(fifo)
    for path in (str(fifo), str(tmp_path), "/dev/null", str(tmp_path / "none")):
        with pytest.raises(EngineError) as caught:
            load(path)
        assert caught.value.code is ErrorCode.FILE_NOT_READABLE


def test_a_file_that_may_not_be_read_allows_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, EVERYTHING)
    os.chmod(path, 0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    with pytest.raises(EngineError, match="Permission denied"):
        load(path)


@given(st.text(max_size=200))
def test_no_text_is_a_policy_by_accident(text: str) -> None:
    policy, problems = examine(text)
    assert (policy is None) == bool(problems)
    assert policy is None or "version" in text


@given(st.data())
def test_a_sound_file_with_one_character_less_is_sound_or_an_error(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(EVERYTHING) - 1))
    policy, problems = examine(EVERYTHING[:at] + EVERYTHING[at + 1 :])
    assert (policy is None) == bool(problems)
    assert all(problem.line <= EVERYTHING.count("\n") + 1 for problem in problems)


def test_the_schema_says_the_same() -> None:
    schema = json_schema("policy")
    assert schema["required"] == ["version", "profiles"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["CapabilityRules"]["properties"]["allow"]["items"]["enum"] == list(CAPABILITIES)
    assert schema["$defs"]["ActionRules"]["properties"]["deny"]["items"]["enum"] == ["*", *ACTIONS, *INPUT_ACTIONS]
    assert not [name for name, table in schema["$defs"].items() if table["additionalProperties"] is not False]


def test_remarks_say_what_the_rules_do_not_see(tmp_path: Path) -> None:
    assert not list(remarks(DEFAULT))
    path = written(tmp_path, EVERYTHING)
    os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
    assert list(remarks(load(path).profile())) == ["purchase_risk is allowed: recipes may buy things."]
    os.chmod(path, 0o666)
    assert "Other users" in list(remarks(load(path).profile()))[-1]
    bound = Profile("p", packages=Rules(("com.example.*",)))
    assert [remark.partition(" ")[0] for remark in remarks(bound)] == ["open_uri", "press_key"]
    assert not list(remarks(Profile("p", packages=Rules(("com.example.*",)), read_only=True)))
    assert isinstance(load(path), Policy)
