"""``policy``: what holds and who says so, what a payload would be told, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.config.policy import CAPABILITIES

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

POLICY = """version = 1
activeProfile = "shop"
[profiles.shop.capabilities]
allow = ["observe", "navigate"]
[profiles.shop.packages]
allow = ["com.example.*"]
[profiles.look]
read_only = true
"""


def plan(*actions: dict[str, Any]) -> str:
    steps = [{"id": f"a{index}", **action} for index, action in enumerate(actions)]
    head = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
    }
    return json.dumps({**head, "actions": steps})


SNAPSHOT: dict[str, Any] = {"type": "snapshot"}
TAP: dict[str, Any] = {"type": "tap", "params": {"matcher": {"textEquals": "OK"}}}
OPEN: dict[str, Any] = {"type": "open_app", "params": {"applicationId": "org.other"}}


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    return file


@pytest.fixture
def usual(lonely: dict[str, str]) -> Path:
    """Where the policy is looked for; it is not there yet."""
    folder = Path(lonely["XDG_CONFIG_HOME"]) / "clawperator"
    folder.mkdir(parents=True)
    return folder / "policy.toml"


def test_show_without_a_file(cli: Cli, usual: Path) -> None:
    shown = cli("policy", "show")
    assert (shown.exit_code, shown.err) == (0, "")
    assert (shown.document["path"], shown.document["exists"], shown.document["source"]) == (
        str(usual),
        False,
        "default",
    )
    (profile,) = shown.document["profiles"]
    assert profile == {
        "name": "default",
        "read_only": False,
        "capabilities": {
            "allow": [name for name in CAPABILITIES if name != "purchase_risk"],
            "deny": ["purchase_risk"],
        },
        "packages": {"allow": ["*"], "deny": []},
        "actions": {"allow": ["*"], "deny": []},
    }
    pretty = cli("policy", "show", "--output", "pretty").out
    assert "missing: everything except purchase_risk is allowed" in pretty


def test_show_says_who_chose_it(cli: Cli, usual: Path, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("policy", "show", "--policy", str(policy)).document["source"] == "flag"
    monkeypatch.setenv("CLAWPERATOR_POLICY", str(policy))
    assert cli("policy", "show").document["source"] == "env"
    monkeypatch.delenv("CLAWPERATOR_POLICY")
    usual.with_name("settings.toml").write_text(f'policy_path = "{policy}"\n')
    shown = cli("policy", "show").document
    assert (shown["source"], shown["path"], shown["activeProfile"]) == ("file", str(policy), "shop")
    assert [profile["name"] for profile in shown["profiles"]] == ["shop", "look"]
    assert [remark.partition(" ")[0] for remark in shown["remarks"]] == ["open_uri"]
    usual.with_name("settings.toml").unlink()
    usual.write_text(POLICY)
    assert cli("policy", "show").document["source"] == "default"
    pretty = cli("policy", "show", "--output", "pretty").out
    assert "shop  active" in pretty
    assert "look  read-only" in pretty
    assert "note: open_uri" in pretty


def test_a_broken_file_is_an_error_everywhere_and_check_lists_it_all(cli: Cli, usual: Path) -> None:
    usual.write_text('version = 1\n[profiles.default.capabilities]\nallow = ["clik"]\n[profiles.default.packges]\n')
    for words in (
        ("policy", "show"),
        ("policy", "check", "--execution", plan(SNAPSHOT)),
        ("action", "press-key", "--key", "home"),
        ("observe", "snapshot"),
    ):
        run = cli(*words)
        assert run.exit_code == 1
        if words[1] != "check":
            assert run.document["code"] == "POLICY_INVALID"
            assert run.document["message"].startswith(f"Policy file {usual}:3: Unknown capability 'clik' (and 1 more)")
    checked = cli("policy", "check")
    assert checked.exit_code == 1
    assert (checked.document["ok"], checked.document["exists"]) == (False, True)
    assert [(problem["line"], problem["hint"]) for problem in checked.document["problems"]] == [
        (3, "Did you mean 'click'?"),
        (4, "Did you mean 'packages'?"),
    ]
    pretty = cli("policy", "check", "--output", "pretty").out
    assert f"{usual}:3  Unknown capability 'clik'" in pretty


def test_check_of_nothing_and_of_a_sound_file(cli: Cli, usual: Path, policy: Path) -> None:
    assert cli("policy", "check").document == {
        "ok": True,
        "path": str(usual),
        "exists": False,
        "problems": [],
        "profile": "default",
    }
    assert cli("policy", "check", "--policy", str(policy)).document["profile"] == "shop"
    missing = cli("policy", "check", "--policy", str(policy.parent / "none.toml"))
    assert (missing.exit_code, missing.document["exists"]) == (1, False)
    assert "ok" in cli("policy", "check", "--policy", str(policy), "--output", "pretty").out


def test_check_of_a_payload(cli: Cli, usual: Path, policy: Path, tmp_path: Path) -> None:
    allowed = cli("policy", "check", "--policy", str(policy), "--execution", plan(SNAPSHOT))
    assert (allowed.exit_code, allowed.document["allowed"], allowed.document["refusals"]) == (0, True, [])
    refused = cli(
        "policy", "check", "--policy", str(policy), "--execution", "-", stdin=plan(TAP, SNAPSHOT, OPEN).encode()
    )
    assert (refused.exit_code, refused.document["ok"], refused.document["allowed"]) == (1, False, False)
    assert refused.document["actions"] == [
        {"id": "a0", "type": "click", "capabilities": ["click"], "packages": [], "allowed": False},
        {"id": "a1", "type": "snapshot_ui", "capabilities": ["observe"], "packages": [], "allowed": True},
        {"id": "a2", "type": "open_app", "capabilities": ["navigate"], "packages": ["org.other"], "allowed": False},
    ]
    assert [refusal["code"] for refusal in refused.document["refusals"]] == ["CAPABILITY_DENIED", "PACKAGE_DENIED"]
    file = tmp_path / "plan.json"
    file.write_text(plan(TAP, OPEN))
    flags = ("--policy", str(policy), "--execution", str(file))
    looked = cli("policy", "check", *flags, "--profile", "look").document
    assert [refusal["code"] for refusal in looked["refusals"]] == ["READ_ONLY", "READ_ONLY"]
    pretty = cli("policy", "check", *flags, "--output", "pretty").out
    assert "refused  by profile shop" in pretty
    assert "actions.1.params.applicationId  PACKAGE_DENIED" in pretty
    assert cli("policy", "check", *flags, "--profile", "lok").document["code"] == "USAGE"
    invalid = cli("policy", "check", "--execution", '{"actions":[]}')
    assert invalid.document["code"] == "EXECUTION_VALIDATION_FAILED"


def test_checking_leaves_no_trace(cli: Cli, usual: Path, policy: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    cli("policy", "show")
    cli("policy", "check", "--policy", str(policy), "--execution", plan(TAP))
    assert sorted(tmp_path.rglob("*")) == before


def test_schema(cli: Cli) -> None:
    assert cli("policy", "schema").document == cli("schema", "policy").document


def test_help_works_and_unknown_words_are_reported(cli: Cli) -> None:
    assert "purchase_risk" in cli("policy", "show", "--help").out
    assert cli("policy", "shwo").document["suggestion"] == "policy show"
