"""Skills over HTTP: what is in the registry, and a script run with what the request gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.app.http.conftest import JSON, Serve, Served
from tests.app.http.test_http_contract import error_of
from tests.engine.skills.made import NARROW, WIDENING, check_bound, declare, made_registry, reporting

SKILL = "com.example.app.look"
SAYS_ITS_ARGUMENTS = """#!/bin/sh
for word; do printf '[%s]' "$word"; done
"""


@pytest.fixture
async def served(serve: Serve, tmp_path: Path) -> Served:
    made = made_registry(tmp_path / "root", {SKILL: {"run.sh": SAYS_ITS_ARGUMENTS}})
    return await serve("--no-history", env={"CLAWPERATOR_SKILLS_REGISTRY": made.path}, wait=False)


async def test_arguments_become_strings(served: Served) -> None:
    content = '{"deviceId": "serial-1", "args": ["a b", 7, -1.5, 2.0, 1e20, true, false, ""], "timeoutMs": 20000}'
    answer = (await served.client.post(f"/skills/{SKILL}/run", content=content, headers=JSON)).json()
    assert (answer["ok"], answer["skillId"], answer["exitCode"]) == (True, SKILL, 0)
    assert answer["output"] == "[serial-1][a b][7][-1.5][2][100000000000000000000][true][false][]"


async def test_wrong_bodies_of_a_run(served: Served) -> None:
    rows: list[tuple[Any, str, str]] = [
        ({"deviceId": None}, "INVALID_DEVICE_ID", "deviceId"),
        ({"deviceId": 7}, "INVALID_DEVICE_ID", "deviceId"),
        ({"args": None}, "INVALID_ARGS", "args"),
        ({"args": "a"}, "INVALID_ARGS", "args"),
        ({"args": ["a", None]}, "INVALID_ARGS", "args.1"),
        ({"args": [["a"]]}, "INVALID_ARGS", "args.0"),
        ({"args": ["\0"]}, "INVALID_ARGS", "args.0"),
        ({"timeoutMs": None}, "INVALID_TIMEOUT_MS", "timeoutMs"),
        ({"timeoutMs": 1.5}, "INVALID_TIMEOUT_MS", "timeoutMs"),
        ({"expectContains": 7}, "INVALID_EXPECT_CONTAINS", "expectContains"),
    ]
    for body, code, path in rows:
        response = await served.client.post(f"/skills/{SKILL}/run", json=body)
        assert error_of(response) == (400, code), body
        assert response.json()["error"]["details"]["path"] == path


async def test_an_unknown_skill_keeps_its_id(served: Served) -> None:
    for method, path in (("GET", "/skills/com.example.absent"), ("POST", "/skills/com.example.absent/run")):
        response = await served.client.request(method, path)
        assert error_of(response) == (404, "SKILL_NOT_FOUND")
        assert response.json()["error"]["skillId"] == "com.example.absent"


@pytest.mark.ci
async def test_a_script_cannot_widen_its_callers_profile(serve: Serve, tmp_path: Path) -> None:
    """The server's own profile allows everything; the token's does not."""
    policy, tokens = tmp_path / "server.toml", tmp_path / "tokens"
    policy.write_text(NARROW.replace('"narrow"', '"wide"', 1) + "[profiles.wide]\n")
    owner, guest = "owner-token-of-thirty-two-letters", "guest-token-of-thirty-two-letters"
    tokens.write_text(f"{owner} owner\n{guest} guest narrow\n")
    tokens.chmod(0o600)
    made = made_registry(tmp_path / "root", {SKILL: {"run.py": WIDENING}})
    flags = ("--token-file", str(tokens), "--policy", str(policy))
    served = await serve(*flags, token=owner, env={"CLAWPERATOR_SKILLS_REGISTRY": made.path})
    client, headers = served.client, {"Authorization": f"Bearer {guest}"}
    answer = await client.post(f"/skills/{SKILL}/run", json={"deviceId": served.serial}, headers=headers)
    check_bound(answer.json()["output"])
    assert served.devices[0].commands == 0
    entries = (await client.get("/audit", params={"limit": 200})).json()["entries"]
    entries = [entry for entry in entries if entry["face"] == "http"]
    (allowed,) = (entry for entry in entries if entry["event"] == "allowed")
    assert allowed["operation"] == f"run the script of {SKILL}"
    who = (allowed["caller"], allowed["peer"], allowed["profile"], allowed["rule"], allowed["verdict"])
    assert who == ("guest", "127.0.0.1", "narrow", "capability run_skill", "allowed")
    (result,) = (entry for entry in entries if entry["event"] == "result")
    assert (result["operation"], result["code"]) == (allowed["operation"], "")


async def test_inputs_and_a_result_of_the_skill_itself(serve: Serve, tmp_path: Path) -> None:
    scripts = {SKILL: {"run.sh": reporting(SKILL)}, "a.b": {"run.sh": reporting("a.b", status="indeterminate")}}
    made = declare(
        made_registry(tmp_path / "root", scripts), SKILL, contract={"inputs": {"unit_name": "string", "n": "integer?"}}
    )
    served = await serve("--no-history", env={"CLAWPERATOR_SKILLS_REGISTRY": made.path}, wait=False)
    shown = (await served.client.get(f"/skills/{SKILL}")).json()
    assert [each["flag"] for each in shown["scriptInputs"]] == ["--n", "--unit-name"]
    body = {"inputs": {"unit_name": "the kitchen", "n": 2}, "args": ["x"]}
    answer = (await served.client.post(f"/skills/{SKILL}/run", json=body)).json()
    assert answer["output"].startswith("[--n][2][--unit-name][the kitchen][x]\n")
    assert (answer["skillResult"]["status"], answer["skillResult"]["result"]["text"]) == ("success", "done")
    rows: list[tuple[dict[str, Any], str, str]] = [
        ({}, "SKILL_INPUT_MISSING", "inputs.unit_name"),
        ({"inputs": {"unit_name": "k", "n": "x"}}, "SKILL_INPUT_INVALID", "inputs.n"),
        ({"inputs": {"unitname": "k"}}, "SKILL_INPUT_INVALID", "inputs.unitname"),
        ({"inputs": {"unit_name": None}}, "SKILL_INPUT_INVALID", "inputs.unit_name"),
        ({"inputs": ["k"]}, "SKILL_INPUT_INVALID", "inputs"),
    ]
    for wrong, code, path in rows:
        refused = await served.client.post(f"/skills/{SKILL}/run", json=wrong)
        assert error_of(refused) == (400, code), wrong
        assert refused.json()["error"]["details"]["path"] == path
    unsure = await served.client.post("/skills/a.b/run", json={})
    assert error_of(unsure) == (400, "SKILL_VERIFICATION_INDETERMINATE")
    assert unsure.json()["error"]["skillResult"]["status"] == "indeterminate"
