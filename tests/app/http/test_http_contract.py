"""The documented endpoints with their exact bodies and status codes (http.md#rules and errors.md#codes and http.md#routes)."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from clawperator.app.serve.event_frames import EXECUTION
from clawperator.engine.json_schema import json_schema
from clawperator.engine.version import OPERATOR_RELEASES, __version__
from tests.app.http.conftest import HOME, JSON, Serve, nap, plan
from tests.app.http.sse import stream
from tests.engine.skills.made import spoiled_registry
from tests.support import free_port
from tests.view_lines import nodes_of


def error_of(response: Any) -> tuple[int, str]:
    document = response.json()
    assert document["ok"] is False
    assert document["error"]["message"]
    return response.status_code, document["error"]["code"]


async def test_devices_are_those_that_adb_lists(serve: Serve) -> None:
    served = await serve(devices=2)
    answer = (await served.client.get("/devices")).json()
    assert answer["ok"] is True
    assert [(row["serial"], row["state"]) for row in answer["devices"]] == [
        (w.serial, "device") for w in served.devices
    ]


async def test_an_execution_answers_with_the_envelope(serve: Serve) -> None:
    served = await serve()
    response = await served.execute({"id": "s1", "type": "key_press", "params": {"key": "home"}}, command="d1")
    answer = response.json()
    assert response.status_code == 200
    assert answer["ok"] is True
    assert answer["deviceId"] == served.serial
    assert answer["terminalSource"] == "clawperator_result"
    assert answer["mode"] == "direct"
    envelope = answer["envelope"]
    assert (envelope["commandId"], envelope["status"], envelope["error"]) == ("d1", "success", None)
    assert envelope["stepResults"] == [
        {"id": "s1", "actionType": "press_key", "success": True, "data": {"key": "home"}}
    ]


async def test_a_failed_plan_is_a_successful_transport(client: httpx.AsyncClient) -> None:
    click = {
        "id": "c",
        "type": "click",
        "params": {"matcher": {"textEquals": "not there"}, "retry": {"maxAttempts": 1}},
    }
    # HOME first: the server may know the tree of the screen from another test, and would then need no such hint.
    response = await client.post("/execute", json={"execution": plan(HOME, click)})
    assert response.status_code == 200
    assert response.json()["envelope"]["status"] == "failed"
    assert response.json()["envelope"]["errorCode"] == "NODE_NOT_FOUND"
    error = response.json()["outcome"]["error"]
    assert error["hint"].endswith(
        "Find near matches now: POST /match with `selector` as in details.selector and `explain`: true."
    )
    near = await client.post("/match", json={"selector": error["details"]["selector"], "explain": True})
    assert near.json()["count"] == 0


async def test_a_plan_of_actions_only(client: httpx.AsyncClient) -> None:
    home = {"type": HOME["type"], "params": HOME["params"]}
    for execution in ([home], {"actions": [home]}):
        done = (await client.post("/execute", json={"execution": execution})).json()
        assert (done["ok"], done["envelope"]["stepResults"][0]["id"]) == (True, "s1")
    away = [{"type": "take_screenshot", "params": {"path": "/etc/x.png"}}]
    refused = await client.post("/execute", json={"execution": away})
    assert refused.json()["error"]["code"] == "INVALID_PATH"


def compiled(*plans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"executions": [{**each, "commandId": f"part-{index}"} for index, each in enumerate(plans)], **more}


async def test_a_compiled_artifact_is_executed_whole(client: httpx.AsyncClient) -> None:
    matcher = {"matcher": {"textEquals": "not there"}, "retry": {"maxAttempts": 1}}
    missing = {"id": "later", "type": "click", "params": matcher}
    three = compiled(plan(HOME), plan(missing), plan(HOME), optional=["later"])
    report = await client.post("/execute", json={"execution": three})
    done = report.json()
    assert (report.status_code, done["ok"], done["planned"], done["errors"]) == (200, True, 3, [])
    names = [execution["envelope"]["commandId"] for execution in done["executions"]]
    assert names == ["part-0", "part-1", "part-2"]
    broken = await client.post("/execute", json={"execution": compiled(plan(HOME), plan(missing), plan(HOME))})
    assert (broken.status_code, broken.json()["ok"], len(broken.json()["executions"])) == (200, False, 2)
    assert broken.json()["errors"][0]["code"] == "NODE_NOT_FOUND"
    assert "clawperator match" not in broken.json()["errors"][0]["hint"]
    checked = await client.post("/execute?validateOnly=true", json={"execution": three})
    assert (checked.json()["validated"], len(checked.json()["executions"])) == (True, 3)
    wrong = await client.post("/execute", json={"execution": compiled(plan(HOME), {"actions": []})})
    assert wrong.json()["error"]["details"]["path"].startswith("executions.1")
    away = compiled(plan({"id": "p", "type": "take_screenshot", "params": {"path": "/etc/x.png"}}))
    refused = await client.post("/execute", json={"execution": away})
    assert refused.json()["error"]["code"] == "INVALID_PATH"


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        ({}, 400, "MISSING_EXECUTION", None),
        ({"execution": None}, 400, "MISSING_EXECUTION", None),
        ({"execution": ""}, 400, "MISSING_EXECUTION", None),
        ({"execution": 0}, 400, "MISSING_EXECUTION", None),
        ({"execution": False}, 400, "MISSING_EXECUTION", None),
        ({"execution": []}, 400, "EXECUTION_VALIDATION_FAILED", "actions"),
        ({"execution": {}}, 400, "EXECUTION_VALIDATION_FAILED", ""),
        ({"execution": 7}, 400, "EXECUTION_VALIDATION_FAILED", ""),
        ({"execution": plan(), "deviceId": 7}, 400, "INVALID_DEVICE_ID", "deviceId"),
        ({"execution": plan(), "deviceId": None}, 400, "INVALID_DEVICE_ID", "deviceId"),
        ({"execution": plan(), "receiverPackage": None}, 400, "INVALID_RECEIVER_PACKAGE", "receiverPackage"),
        ({"execution": plan(), "receiverPackage": 7}, 400, "INVALID_RECEIVER_PACKAGE", "receiverPackage"),
        ({"execution": plan(), "receiverPackage": " "}, 400, "INVALID_RECEIVER_PACKAGE", "receiverPackage"),
        ({"execution": plan(), "operatorPackage": ""}, 400, "INVALID_OPERATOR_PACKAGE", "operatorPackage"),
        ({"execution": plan(), "receiverPackage": "a.b", "operatorPackage": "a.c"}, 400, "INVALID_RECEIVER_PACKAGE", "receiverPackage"),
        ({"execution": plan({**HOME, "params": {"key": "enter"}})}, 400, "EXECUTION_VALIDATION_FAILED", "actions.0.params.key"),
        ({"execution": plan({"id": "x", "type": "fly"})}, 400, "EXECUTION_ACTION_UNSUPPORTED", "actions.0.type"),
        ({"execution": "text"}, 400, "EXECUTION_VALIDATION_FAILED", ""),
        ({"execution": plan(), "deviceId": "nobody-5554"}, 404, "DEVICE_NOT_FOUND", None),
        ({"execution": plan({"id": "t", "type": "enter_text", "params": {"matcher": {"role": "textfield"}, "text": "x" * 70_000}})}, 400, "EXECUTION_VALIDATION_FAILED", "actions.0.params.text"),
    ],
)  # fmt: skip
async def test_wrong_executions(client: httpx.AsyncClient, body: Any, status: int, code: str, path: str | None) -> None:
    response = await client.post("/execute", json=body)
    assert error_of(response) == (status, code)
    if path is not None:
        assert response.json()["error"]["details"]["path"] == path


@pytest.mark.parametrize(
    ("content", "headers", "expected"),
    [
        (b"", {}, (400, "INVALID_BODY")),
        (b"", JSON, (400, "INVALID_BODY")),
        (b"[]", JSON, (400, "INVALID_BODY")),
        (b"7", JSON, (400, "INVALID_BODY")),
        (b"{", JSON, (400, "INVALID_JSON")),
        (b'{"execution": NaN}', JSON, (400, "INVALID_JSON")),
        (b"\xff\xfe", JSON, (400, "INVALID_JSON")),
        (b"[" * 5_000, JSON, (400, "INVALID_JSON")),
        (b'{"execution": {}}', {"Content-Type": "text/plain"}, (400, "INVALID_BODY")),
        (b'{"execution": {}}', {}, (400, "INVALID_BODY")),
        (gzip.compress(b'{"execution": {}}', mtime=0), {**JSON, "Content-Encoding": "gzip"}, (400, "INVALID_BODY")),
        (b" " * 102_401, JSON, (413, "PAYLOAD_TOO_LARGE")),
    ],
)
async def test_wrong_bodies(
    client: httpx.AsyncClient, content: bytes, headers: dict[str, str], expected: tuple[int, str]
) -> None:
    assert error_of(await client.post("/execute", content=content, headers=headers)) == expected


@pytest.mark.parametrize(
    "path", ["/observe/snapshot", "/screenshot", "/verbs/device_wake", "/skills/a.b/run", "/android/emulators/create"]
)
async def test_a_body_is_not_ignored_for_its_type(client: httpx.AsyncClient, path: str) -> None:
    """``curl -d`` sends JSON as a form: without its arguments, a request would act on another device or with defaults."""
    response = await client.post(path, content=b'{"deviceId": "one"}', headers={"Content-Type": "application/x-www-form-urlencoded"})  # fmt: skip
    assert error_of(response) == (400, "INVALID_BODY")
    assert response.json()["error"]["hint"] == "Send it with the header Content-Type: application/json."


@pytest.mark.parametrize(
    ("path", "more"), [("/execute", {}), ("/execute/many", {"devices": "all"}), ("/execute?validateOnly=true", {}), ("/execute/many?validateOnly=true", {"devices": "all"})]
)  # fmt: skip
async def test_what_is_only_validated_is_not_sent(client: httpx.AsyncClient, path: str, more: dict[str, str]) -> None:
    body = {"execution": plan(command="only-validated"), **more} | ({} if "?" in path else {"validateOnly": True})
    answer = (await client.post(path, json=body)).json()
    assert (answer["ok"], answer["validated"], answer["execution"]["commandId"]) == (True, True, "only-validated")
    assert (await client.get("/history/only-validated")).status_code == 404


async def test_head_is_get_without_a_body(client: httpx.AsyncClient) -> None:
    for path, status in (("/healthz", 200), ("/devices", 200), ("/history/nobody", 404), ("/execute", 405), ("/events", 405)):  # fmt: skip
        response = await client.head(path)
        assert (response.status_code, response.content) == (status, b"")
        assert response.headers["content-type"] == "application/json"
    assert (await client.put("/healthz")).headers["allow"] == "GET, HEAD"


async def test_a_body_that_does_not_say_its_length_is_counted(client: httpx.AsyncClient) -> None:

    async def endless() -> Any:
        for _ in range(200):
            yield b" " * 1_024

    response = await client.post("/execute", content=endless(), headers=JSON)
    assert error_of(response) == (413, "PAYLOAD_TOO_LARGE")
    assert (await client.get("/healthz")).status_code == 200


async def test_a_large_execution_is_refused(client: httpx.AsyncClient) -> None:
    texts = [{"id": f"t{n}", "type": "wait_for_node", "params": {"matcher": {"textEquals": "x" * 500, "textContains": "y" * 500, "resourceId": "z" * 500}}} for n in range(48)]  # fmt: skip
    assert error_of(await client.post("/execute", json={"execution": plan(*texts)})) == (413, "PAYLOAD_TOO_LARGE")


async def test_bad_artifacts_and_entries_are_warnings(serve: Serve, tmp_path: Path) -> None:
    made = spoiled_registry(tmp_path / "root")
    server = await serve(env={"CLAWPERATOR_SKILLS_REGISTRY": made.path})
    for path in ("/skills", "/skills/a.b"):
        assert (await server.client.get(path)).json()["warnings"] == made.warnings
    ran = (await server.client.post("/skills/a.b/run")).json()
    assert (ran["ok"], ran["output"]) == (True, "ran\n")
    assert {warning["code"] for warning in ran["warnings"]} == {"ARTIFACT_INVALID", "SKILL_VALIDATION_FAILED"}
    os.unlink(made.place("a.b", "skills/a.b/scripts/run.sh"))
    assert error_of(await server.client.post("/skills/a.b/run")) == (400, "SKILL_SCRIPT_NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "NOT_FOUND")),
        ("GET", "/nothing/", (404, "NOT_FOUND")),
        ("GET", "/devices//", (404, "NOT_FOUND")),
        ("GET", "/execute/", (405, "METHOD_NOT_ALLOWED")),
        ("GET", "/skills?keyword=a&keyword=b", (400, "INVALID_PARAMETER")),
        ("GET", "/skills?app=a&app=a", (400, "INVALID_PARAMETER")),
        ("GET", "/history?limit=1&limit=2", (400, "INVALID_PARAMETER")),
        ("GET", "/events?follow=a&type=tree&follow=b", (400, "INVALID_PARAMETER")),
        ("GET", "/doctor?deviceId=a&deviceId=b", (400, "INVALID_PARAMETER")),
        ("POST", "/execute?validateOnly=true&validateOnly=false", (400, "INVALID_PARAMETER")),
        ("POST", "/screenshot?inline=base64&inline=", (400, "INVALID_PARAMETER")),
        ("POST", "/execute?validateonly=true", (400, "INVALID_PARAMETER")),
        ("POST", "/verbs/device_wake?validateOnly=true", (400, "INVALID_PARAMETER")),
        ("GET", "/healthz?_=1", (200, "")),
        ("GET", "/execute", (405, "METHOD_NOT_ALLOWED")),
        ("PUT", "/devices", (405, "METHOD_NOT_ALLOWED")),
        ("GET", "/events?type=nothing", (400, "INVALID_PARAMETER")),
        ("GET", "/history?limit=none", (400, "INVALID_PARAMETER")),
        ("GET", "/history/nobody", (404, "HISTORY_NOT_FOUND")),
        ("GET", "/skills", (500, "REGISTRY_READ_FAILED")),
        ("GET", "/android/emulators/a%20b", (400, "INVALID_NAME")),
        ("POST", "/android/emulators/..%2fx/start", (404, "NOT_FOUND")),
        ("GET", "/devices/nobody/snapshot", (404, "DEVICE_NOT_FOUND")),
        ("POST", "/observe/screenshot?inline=hex", (400, "INVALID_PARAMETER")),
    ],
)
async def test_wrong_requests(client: httpx.AsyncClient, method: str, path: str, expected: tuple[int, str]) -> None:
    response = await client.request(method, path)
    if expected[0] == 200:
        assert response.json()["ok"] is True
        return
    assert error_of(response) == expected
    assert not re.search("Input should|unable to", response.json()["error"]["message"])
    if expected[0] == 405:
        assert response.headers["allow"]


async def test_a_repeated_key_is_named(client: httpx.AsyncClient) -> None:
    error = (await client.get("/skills?keyword=a&keyword=b")).json()["error"]
    assert error["message"] == "'keyword' appears 2 times"
    assert error["details"] == {"path": "keyword"}
    assert error["hint"]


async def test_keys_that_may_be_repeated_are_taken(client: httpx.AsyncClient) -> None:
    types = "/events?type=devices&type=result&device=a&device=b"
    async with client.stream("GET", types) as stream:
        assert stream.status_code == 200


@pytest.mark.parametrize("path", ["/devices", "/healthz", "/openapi.json", "/history", "/events/schema"])
async def test_a_trailing_slash_is_the_same_route(client: httpx.AsyncClient, path: str) -> None:
    plain, slashed = await client.get(path), await client.get(f"{path}/")
    assert (plain.status_code, slashed.status_code) == (200, 200)
    assert plain.json().keys() == slashed.json().keys()
    checked = await client.post("/execute/?validateOnly=true", json={"execution": plan()})
    assert checked.json()["validated"] is True


async def test_the_second_of_two_at_once_is_refused(serve: Serve) -> None:
    served = await serve()
    first = asyncio.create_task(served.execute(nap(1_500), command="first"))
    while not (await served.client.get("/locks")).json()["locks"]:
        pass
    second = await served.execute(command="second")
    assert error_of(second) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
    assert second.json()["error"]["details"]["inFlightCommandId"] == "first"
    assert second.json()["error"]["retryable"] is True
    patient = await served.client.post("/execute", json={"execution": plan(command="third"), "waitMs": 60_000})
    assert first.done()
    assert patient.json()["ok"] is True
    assert (await first).json()["ok"] is True


@pytest.mark.usefixtures("impatient")
async def test_a_device_that_settles_says_when_to_retry(serve: Serve) -> None:
    served = await serve(faults=[{"kind": "silence"}])
    assert (await served.execute(timeout_ms=1_000)).status_code == 504
    refused = await served.execute()
    assert error_of(refused) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
    assert 0 < refused.json()["error"]["details"]["retryAfterMs"] <= 2_000
    assert refused.headers["Retry-After"] in ("1", "2")


@pytest.mark.parametrize("wait", [-1, 600_001, "1", True, None, 1.5])
async def test_a_wait_out_of_bounds_is_refused(client: httpx.AsyncClient, wait: object) -> None:
    for route in ("/execute", "/observe/snapshot"):
        refused = await client.post(route, json={"execution": plan(), "waitMs": wait})
        assert error_of(refused) == (400, "INVALID_BODY")
        assert refused.json()["error"]["details"]["path"] == "waitMs"


@pytest.mark.usefixtures("impatient")
async def test_silence_is_a_gateway_timeout(serve: Serve) -> None:
    served = await serve(faults=[{"kind": "silence"}])
    response = await served.execute(timeout_ms=1_000)
    assert error_of(response) == (504, "RESULT_ENVELOPE_TIMEOUT")
    assert response.json()["deviceId"] == served.serial
    assert response.json()["error"]["broadcastDispatchStatus"] == "sent"


async def test_observing_needs_no_body(serve: Serve, tmp_path: Path) -> None:
    served = await serve()
    for path, kind in (
        ("/observe/snapshot", "snapshot_ui"),
        ("/snapshot", "snapshot_ui"),
        ("/observe/screenshot", "take_screenshot"),
    ):
        answer = (await served.client.post(path)).json()
        step = answer["envelope"]["stepResults"][0]
        assert (step["actionType"], step["success"]) == (kind, True)
        assert answer["envelope"]["commandId"].startswith(("serve-snap-", "serve-shot-"))
    inline = (await served.client.post("/observe/screenshot?inline=base64", json={"path": "one.png"})).json()
    data = inline["envelope"]["stepResults"][0]["data"]
    assert data["path"] == str(tmp_path / ".clawperator" / "screenshots" / "one.png")
    picture = base64.b64decode(data["base64"])
    assert picture.startswith(b"\x89PNG")
    assert picture == await asyncio.to_thread(Path(data["path"]).read_bytes)


async def test_the_flat_aliases_speak_of_the_operator(client: httpx.AsyncClient) -> None:
    body = {"operatorPackage": "com.example.absent"}
    assert error_of(await client.post("/snapshot", json=body)) == (500, "OPERATOR_NOT_INSTALLED")
    assert error_of(await client.post("/observe/snapshot", json=body)) == (500, "RECEIVER_NOT_INSTALLED")


async def test_a_live_tree_is_sent_once(serve: Serve) -> None:
    served = await serve()
    path = f"/devices/{served.serial}/snapshot"
    first = await served.client.get(path, params={"view": "interactive", "maxBytes": 4_000})
    assert first.json()["changed"] is True
    assert len(json.dumps(first.json()["view"])) < 5_000
    digest = first.json()["digest"]
    again = (await served.client.get(path, params={"since": digest, "maxAgeMs": 60_000})).json()
    assert (again["changed"], again["digest"], "view" in again) == (False, digest, False)
    for tag in (first.headers["etag"], f'"other", W/{first.headers["etag"]}'):  # a proxy that compresses weakens it
        tagged = await served.client.get(
            path, params={"view": "interactive", "maxAgeMs": 60_000}, headers={"If-None-Match": tag}
        )
        assert tagged.status_code == 304
    executions = (await served.client.get("/history")).json()["count"]
    assert executions == 1  # all but the first were answered from what was known


async def test_a_tree_of_before_an_action_is_not_the_screen(serve: Serve) -> None:
    served = await serve()
    path, recent = f"/devices/{served.serial}/snapshot", {"maxAgeMs": 60_000}

    async def executions() -> int:
        return int((await served.client.get("/history")).json()["count"])

    await served.client.get(path)
    key = {"id": "key", "type": "press_key", "params": {"key": "home"}}
    await served.execute(key)
    before = await executions()
    await served.client.get(path, params=recent)
    assert await executions() == before + 1, "it is read again, however young the other one is"
    await served.execute(key, {"id": "look", "type": "snapshot_ui"})
    await served.client.get(path, params=recent)
    assert await executions() == before + 2, "the last step of the plan has read it"


async def test_matching_and_suggesting_agree(client: httpx.AsyncClient) -> None:
    found = (await client.post("/match", json={"selector": {"textEquals": "Shop"}})).json()
    assert found["count"] == 1
    node = found["matches"][0]
    suggested = (await client.post("/suggest", json={"node": node["path"], "maxAgeMs": 60_000})).json()
    best = suggested["candidates"][0]
    checked = (await client.post("/match", json={"selector": best["selector"], "maxAgeMs": 60_000})).json()
    assert [match["path"] for match in checked["matches"]] == [node["path"]]
    absent = await client.post("/suggest", json={"node": "9/9/9", "maxAgeMs": 60_000})
    assert error_of(absent) == (404, "NODE_NOT_FOUND")
    nothing = (await client.post("/match", json={"selector": {"textEquals": "Nowhere"}, "maxAgeMs": 60_000})).json()
    assert nothing["count"] == 0
    assert nothing["explain"]["verdict"]
    elsewhere = {"selector": {"textEquals": "Shop"}, "container": {"textEquals": "Shop"}, "maxAgeMs": 60_000}
    outside = (await client.post("/match", json=elsewhere)).json()
    assert (outside["count"], outside["explain"]["verdict"]) == (0, "container removes the last 1")
    whole = {"selector": {"role": "button"}, "within": {"textEquals": "Shop"}, "nth": 99, "maxAgeMs": 60_000}
    assert (await client.post("/match", json=whole)).json()["count"] >= 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"selector": {}},
        {"selector": {"colour": "red"}},
        {"selector": 7},
        {"selector": {"textEquals": "a"}, "limit": 0},
        {"selector": {"textEquals": "a"}, "container": {"colour": "red"}},
        {"selector": {"textEquals": "a"}, "nth": -1},
    ],
)
async def test_wrong_matchers(client: httpx.AsyncClient, body: Any) -> None:
    status, _ = error_of(await client.post("/match", json=body))
    assert status == 400


async def test_the_openapi_document_says_what_carries_retry_after(client: httpx.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    for status in ("423", "429", "503"):
        assert "Retry-After" in paths["/execute"]["post"]["responses"][status]["headers"]
    assert "headers" not in paths["/execute"]["post"]["responses"]["408"]


async def test_a_verbose_server_lists_its_routes(serve: Serve) -> None:
    served = await serve("--verbose", wait=False)
    await served.client.get("/healthz")
    assert {"GET /devices", "POST /snapshot", "DELETE /android/emulators/{name}"} <= {*served.errors}
    assert served.errors[-1].startswith("GET /healthz 200 ")


async def test_the_openapi_document_names_every_route(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    documented = {
        "/devices", "/execute", "/observe/snapshot", "/observe/screenshot", "/skills", "/skills/{skill_id}", "/skills/{skill_id}/run",
        "/android/emulators", "/android/emulators/running", "/android/emulators/{name}", "/android/emulators/create",
        "/android/emulators/{name}/start", "/android/emulators/{name}/stop", "/android/provision/emulator", "/events", "/healthz",
        "/metrics", "/doctor", "/history", "/match", "/suggest", "/devices/{device_id}/snapshot", "/devices/{device_id}/packages",
    }  # fmt: skip
    assert documented <= document["paths"].keys()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            errors = json.dumps(operation["responses"])
            assert method == "get" or "INVALID_PARAMETER" in errors, path
            for code in ("INVALID_JSON", "INVALID_BODY", "PAYLOAD_TOO_LARGE") if "requestBody" in operation else ():
                assert code in errors, path
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        name = reference.removeprefix("#/components/schemas/")
        assert name in document["components"]["schemas"], reference
    answer = document["paths"]["/history/{run}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    run = answer["properties"]["run"]  # in the same order in every process: clients are generated from it, and compared
    assert run["required"] == [name for name in run["properties"] if name in run["required"]]


async def test_schemas_are_those_of_the_command_line(client: httpx.AsyncClient) -> None:
    for name in ("execution", "error", "envelope"):
        assert (await client.get(f"/schemas/{name}")).json() == json_schema(name)
    assert error_of(await client.get("/schemas/nothing")) == (404, "NOT_FOUND")


async def test_metrics_count_what_was_asked(serve: Serve) -> None:
    served = await serve()
    await served.execute()
    await served.client.get("/nothing")
    text = (await served.client.get("/metrics")).text
    assert 'clawperator_http_requests_total{method="POST",route="/execute",status="200"} 1.0' in text
    assert 'clawperator_http_requests_total{method="GET",route="-",status="404"} 1.0' in text
    assert 'clawperator_executions_total{code="",status="success"} 1.0' in text
    assert "clawperator_devices 1.0" in text


async def test_a_failed_step_is_a_successful_transport_and_counted(serve: Serve) -> None:
    served = await serve(device={"generation": "0.5"})
    check = {"matcher": {"textEquals": "Dark theme"}, "validator": "temperature"}
    served.devices[0].ui.show("com.android.settings", "display")
    answered = await served.execute({"id": "a", "type": "read_text", "params": check})
    document = answered.json()
    assert (answered.status_code, document["ok"]) == (200, True)
    assert (document["outcome"]["status"], document["outcome"]["error"]["code"]) == ("partial", "VALIDATOR_MISMATCH")
    text = (await served.client.get("/metrics")).text
    assert 'clawperator_executions_total{code="VALIDATOR_MISMATCH",status="partial"} 1.0' in text


async def test_without_adb_the_devices_say_so(serve: Serve, tmp_path: Path) -> None:
    nowhere = {"ADB_PATH": str(tmp_path / "no-adb"), "ANDROID_ADB_SERVER_PORT": str(free_port())}
    served = await serve(env=nowhere, wait=False)
    assert error_of(await served.client.get("/devices")) == (500, "ADB_NOT_FOUND")
    assert (await served.client.get("/healthz")).json()["ok"] is True


async def test_the_doctor_gives_its_verdict(serve: Serve) -> None:
    served = await serve(operator={"installed": False})
    found = (await served.client.get("/doctor")).json()
    assert (found["ok"], found["ready"], found["verdict"]) == (False, False, "not_ready")
    assert found["summary"] == "Not ready: Operator not installed"


async def test_the_screen_after_a_plan_and_references_to_it(serve: Serve) -> None:
    served = await serve(speed=0, device={"generation": "0.5"})
    post = served.client.post
    opened = plan({"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}})
    first = (await post("/execute", json={"execution": opened, "then": "interactive", "brief": True})).json()
    assert first.keys() == {"ok", "succeeded", "outcome", "then"}
    shown = first["then"]
    row = next(node for node in nodes_of(shown) if node["role"] == "listitem" and node.get("click"))
    ref = {"ref": f"{row['ref']}@{shown['tree']}"}
    assert (await post("/match", json={"selector": ref})).json()["selector"] == row["selector"]
    assert (await post("/suggest", json={"selector": ref})).json()["node"]["role"] == "listitem"
    same = (await post("/observe/snapshot", json={"ifChanged": shown["tree"]})).json()
    assert same == {"ok": True, "unchanged": True, "tree": shown["tree"]}
    live = (await served.client.get(f"/devices/{served.serial}/snapshot", params={"since": shown["tree"]})).json()
    assert (live["changed"], live["tree"]) == (False, shown["tree"])
    click = plan({"id": "tap", "type": "click", "params": {"matcher": ref}})
    inner = (await post("/execute", json={"execution": click, "then": "compact", "maxBytes": 512})).json()
    assert inner["then"]["truncated"]["maxBytes"] == 512
    stale = await post("/execute", json={"execution": click})
    assert error_of(stale) == (409, "REF_STALE")
    for wrong in ({"then": "all"}, {"maxBytes": 1}, {"maxBytes": True}, {"brief": 1}):
        refused = await post("/execute", json={"execution": click, **wrong})
        assert error_of(refused) == (400, "INVALID_BODY")
    for wrong in ({"ifChanged": "7f3a"}, {"brief": "yes"}):
        assert error_of(await post("/observe/snapshot", json=wrong)) == (400, "INVALID_BODY")


async def test_one_execution_on_many_devices(serve: Serve) -> None:
    served = await serve(devices=3, faults=[{"kind": "disconnect", "step": 0, "command_id": "leave"}])
    client = served.client
    serials = [device.serial for device in served.devices]
    async with stream(client, type="execution") as events:
        done = (await client.post("/execute/many", json={"execution": plan(HOME), "devices": "all", "jobs": 2})).json()
        assert done["ok"] is True
        assert done["summary"] | {"durationMs": 0} == {
            "devices": 3,
            "succeeded": 3,
            "partial": 0,
            "failed": 0,
            "unknown": 0,
            "notRun": 0,
            "durationMs": 0,
        }
        assert sorted(row["deviceId"] for row in done["rows"]) == sorted(serials)
        assert {row["envelope"]["commandId"] for row in done["rows"]} == {"cmd-1"}
        seen = [(await events.next(EXECUTION)).data["deviceId"] for _ in serials]
        assert sorted(seen) == sorted(serials)
    left = (
        await client.post("/execute/many", json={"execution": plan(HOME, command="leave"), "devices": serials[0]})
    ).json()
    assert (left["ok"], left["rows"][0]["status"], left["rows"][0]["ok"]) == (False, "unknown", False)
    none = {"id": "x", "type": "click", "params": {"matcher": {"textEquals": "x"}, "retry": {"maxAttempts": 1}}}
    failed = await client.post("/execute/many", json={"execution": plan(none), "devices": serials[1]})
    assert "POST /match" in failed.json()["rows"][0]["outcome"]["error"]["hint"]


async def test_a_client_that_leaves_starts_no_other_device(serve: Serve) -> None:
    served = await serve(devices=3)
    body = {"execution": plan(nap(500)), "devices": "all", "jobs": 1}
    async with stream(served.client, type="execution") as events:
        asking = asyncio.create_task(served.client.post("/execute/many", json=body))
        async with asyncio.timeout(20):
            while not any(device.commands for device in served.devices):  # noqa: ASYNC110 -- the devices announce nothing
                await asyncio.sleep(0.01)
        asking.cancel()
        ended = (await events.next(EXECUTION)).data["result"]
        assert ended["envelope"]["status"] == "success", "what was sent ends by itself"
    await served.execute(HOME, device=served.devices[2].serial)
    assert [device.commands for device in served.devices] == [1, 0, 1]


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        ({"execution": plan()}, 400, "INVALID_BODY", "devices"),
        ({"execution": plan(), "devices": "all", "deviceId": "x"}, 400, "INVALID_BODY", "devices"),
        ({"execution": plan(), "devices": "all", "jobs": 0}, 400, "INVALID_BODY", "jobs"),
        ({"execution": plan(), "devices": "all", "failFast": 1}, 400, "INVALID_BODY", "failFast"),
        ({"execution": {"actions": []}, "devices": "all"}, 400, "EXECUTION_VALIDATION_FAILED", ""),
        ({"execution": plan(), "devices": "tag:x"}, 404, "DEVICE_TAG_UNKNOWN", None),
        ({"execution": plan(), "devices": " "}, 400, "USAGE", None),
        ({"execution": plan(), "devices": "nobody"}, 404, "DEVICE_NOT_FOUND", None),
        ({"execution": {"executions": []}, "devices": "all"}, 400, "EXECUTION_VALIDATION_FAILED", None),
    ],
)
async def test_many_devices_are_refused_before_any_is_used(
    client: httpx.AsyncClient, body: dict[str, Any], status: int, code: str, path: str | None
) -> None:
    response = await client.post("/execute/many", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert response.json()["error"]["hint"] != "Send a JSON object.", "one was sent"
    if path:
        assert response.json()["error"]["details"]["path"] == path


async def test_verbs_are_those_of_the_command_line(serve: Serve) -> None:
    served = await serve()

    async def verb(name: str, code: int = 200, /, **body: Any) -> Any:
        answer = await served.client.post(f"/verbs/{name}", json=body)
        assert answer.status_code == code, answer.text
        return answer.json() if code == 200 else answer.json()["error"]

    served.devices[0].ui.show("com.android.settings", "display")
    dark: dict[str, Any] = {"selector": {"textEquals": "Dark theme"}, "checked": True}
    first = await verb("set_checked", **dark, then="compact")
    assert first["result"] == {"changed": True, "checked": True}
    assert first["then"]["changed"] is True
    again = await verb("set_checked", **dark, brief=True)
    assert (again["result"], "envelope" in again) == ({"changed": False, "checked": True}, False)
    assert (await verb("input_key", key="BACK"))["outcome"]["steps"][0]["type"] == "input_key"
    assert (await verb("device_info"))["app"] == "com.android.settings"
    assert (await verb("wait_gone", selector={"textEquals": "nowhere"}))["result"] == {"gone": True}
    rows = (await served.client.get("/history", params={"limit": 10})).json()["runs"]
    assert len(rows) == 4, "device_info is no execution"
    wrong: tuple[tuple[str, dict[str, Any], int, str, str | None], ...] = (
        ("no_such_verb", {}, 404, "NOT_FOUND", None),
        ("set_checked", {"selector": {"textEquals": "x"}}, 400, "INVALID_PARAMETER", "checked"),
        ("set_checked", {**dark, "checked": "yes"}, 400, "INVALID_PARAMETER", "checked"),
        ("set_checked", {**dark, "uri": "https://example.org"}, 400, "INVALID_PARAMETER", "uri"),
        ("set_checked", {**dark, "wat": 1}, 400, "INVALID_PARAMETER", "wat"),
        ("device_wake", {"then": "none"}, 400, "INVALID_PARAMETER", "then"),
        ("click", {"selector": {"textEquals": "x"}, "then": "all"}, 400, "INVALID_BODY", "then"),
        ("click", {"selector": {"text": "x"}}, 400, "EXECUTION_VALIDATION_FAILED", "selector"),
        ("click", {"selector": {"ref": "e1"}}, 400, "EXECUTION_VALIDATION_FAILED", "selector.ref"),
        ("scroll", {"container": {}}, 400, "EXECUTION_VALIDATION_FAILED", "container"),
        ("input_tap", {"point": {"x": 99_999, "y": 1}}, 400, "EXECUTION_VALIDATION_FAILED", "point"),
        ("input_swipe", {"point": {"x": 1, "y": 1}}, 400, "INVALID_PARAMETER", "to"),
        ("input_drag", {"point": {"x": 1, "y": 1}, "to": {"x": 1}}, 400, "INVALID_PARAMETER", "to.y"),
        ("app_clear", {"applicationId": "no package"}, 400, "EXECUTION_VALIDATION_FAILED", "applicationId"),
        ("open_app", {"applicationId": "com..shop"}, 400, "EXECUTION_VALIDATION_FAILED", "applicationId"),
    )
    for name, body, status, code, path in wrong:
        error = await verb(name, status, **body)
        assert (error["code"], error.get("details", {}).get("path")) == (code, path), (name, body)
    meant = {
        "snapshot_ui": "Use POST /observe/snapshot.",
        "screenshot": "Use POST /observe/screenshot.",
        "match": "Use POST /match.",
        "apps": "Use GET /devices/{device_id}/apps.",
        "tap": "Did you mean 'click'?",
    }
    assert {name: (await verb(name, 404))["hint"] for name in meant} == meant
    assert (await verb("input_tap", 400, point=[1, 2]))["message"] == "'point' must be an object"


@pytest.mark.parametrize(
    ("path", "field", "hint"),
    [
        ("/execute", "deviceid", "Did you mean 'deviceId'?"),
        ("/observe/snapshot", "view", "Known fields: deviceId, "),
        ("/match", "explian", "Did you mean 'explain'?"),
    ],
)
async def test_a_misspelt_field_is_not_ignored(serve: Serve, path: str, field: str, hint: str) -> None:
    served = await serve()
    given: dict[str, Any] = {"execution": {"actions": []}} if path == "/execute" else {}
    answer = await served.client.post(path, json={**given, field: "x"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]["path"]) == (400, "INVALID_BODY", field)
    assert error["hint"].startswith(hint)


async def test_the_backend_of_a_request(serve: Serve) -> None:
    served, look = await serve(speed=0), {"id": "look", "type": "snapshot_ui"}
    refused = await served.client.post("/execute", json={"execution": plan(look), "backend": "stock"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "UNBIND_REQUIRED")
    assert refused.json()["error"]["backend"] == "stock"
    body = {"execution": plan(look), "backend": "stock", "allowUnbind": True}
    done = (await served.client.post("/execute", json=body)).json()
    assert (done["backend"], done["warnings"][0]["code"]) == ("stock", "SERVICE_REBOUND")
    where = f"/devices/{done['deviceId']}/snapshot?backend=stock&allowUnbind=true"
    assert (await served.client.get(where)).json()["changed"] is True
    wrong = await served.client.post("/execute", json={"execution": plan(look), "backend": "adb"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "INVALID_BODY")


async def test_what_a_tree_cannot_show_is_in_every_answer_with_a_tree(serve: Serve) -> None:
    served = await serve(speed=0, start={"package": "com.example.shop"}, faults=[{"kind": "unseen", "what": "canvas"}])
    look = {"execution": plan({"id": "look", "type": "snapshot_ui"})}
    for route, body in (("/execute", look), ("/observe/snapshot", {}), ("/snapshot", {})):
        document = (await served.client.post(route, json=body)).json()
        (step,) = document["envelope"]["stepResults"]
        assert [spot["kind"] for spot in step["data"]["blind"]] == ["canvas"], route
    short = (await served.client.post("/observe/snapshot", json={"brief": True})).json()
    assert "canvas" in json.dumps(short)


async def test_verified_snapshots_and_other_displays(serve: Serve) -> None:
    hidden = {"kind": "unseen", "what": "other_display"}
    served = await serve(speed=0, start={"package": "com.example.shop"}, faults=[hidden])
    seen = (await served.client.post("/observe/snapshot", json={"verify": True})).json()
    (step,) = seen["envelope"]["stepResults"]
    assert step["data"]["blind"][0]["kind"] == "other_display"
    device = f"/devices/{served.serial}"
    view = (await served.client.get(f"{device}/snapshot", params={"verify": True, "view": "compact"})).json()["view"]
    assert view["blind"][0]["kind"] == "other_display"
    other = step["data"]["verified"]["displays"][0]
    pictures = [(await served.client.get(f"{device}/screen.png?display={at}")).content for at in (0, other)]
    assert pictures[0] != pictures[1]
    saved = (await served.client.post("/observe/screenshot?inline=base64", json={"display": other})).json()
    assert base64.b64decode(saved["envelope"]["stepResults"][0]["data"]["base64"]) == pictures[1]
    tap = {"point": {"x": 5, "y": 5}, "display": other}
    tapped = (await served.client.post("/verbs/input_tap", json=tap)).json()
    assert tapped["result"]["sent"] == f"input -d {other} tap 5 5"
    absent = await served.client.post("/verbs/input_tap", json={**tap, "display": 77})
    assert absent.json()["error"]["code"] == "EXECUTION_VALIDATION_FAILED"


async def test_ping_needs_no_token_and_version_does(serve: Serve, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("t" * 32 + "\n")
    tokens.chmod(0o600)
    served = await serve("--token-file", str(tokens), token="t" * 32)
    nobody = {"Authorization": ""}
    pong = await served.client.get("/ping", headers=nobody)
    assert (pong.status_code, pong.json()["ok"]) == (200, True)
    assert (await served.client.get("/version", headers=nobody)).status_code == 401
    told = (await served.client.get("/version")).json()
    assert told == {"ok": True, "version": __version__, "operatorGenerations": list(OPERATOR_RELEASES)}
    paths = (await served.client.get("/openapi.json")).json()["paths"]
    assert {"/ping", "/version"} <= paths.keys()


async def test_apps_are_listed_and_opened_by_what_they_are_called(serve: Serve) -> None:
    served = await serve()
    rows = (await served.client.get(f"/devices/{served.serial}/apps", params={"search": "settings"})).json()["apps"]
    assert [(row["applicationId"], row["label"], row["derivedName"]) for row in rows] == [
        ("com.android.settings", None, "Settings")
    ]
    opened = (await served.client.post("/verbs/open_app", json={"applicationId": "Settings"})).json()
    assert (opened["ok"], opened["result"]["applicationId"]) == (True, "com.android.settings")
    unknown = (await served.client.post("/verbs/open_app", json={"applicationId": "Play Store"})).json()
    assert unknown["outcome"]["error"]["code"] == "APP_NOT_FOUND"
    assert "GET /devices/{device_id}/apps" in unknown["outcome"]["error"]["hint"]


async def test_a_short_id_means_the_one_id_of_the_screen_that_ends_so(serve: Serve) -> None:
    """As on the command line; what several ids end with is refused, and a plan stays exact."""
    served = await serve(speed=0, start={"package": "com.example.shop"})
    short, whole = {"resourceId": "search_bar"}, "com.example.shop:id/search_bar"
    for verb in ("read_text", "wait_for_node", "input_tap"):
        answer = (
            await served.client.post(f"/verbs/{verb}", json={"selector": short, "brief": verb == "input_tap"})
        ).json()
        assert (answer["succeeded"], answer.get("resolvedIds")) == (True, {"search_bar": whole}), answer
    plan = {"actions": [{"id": "a", "type": "read_text", "params": {"matcher": short}}]}
    exact = (await served.client.post("/execute", json={"execution": plan})).json()
    assert exact["outcome"]["error"]["code"] == "NODE_NOT_FOUND"
    await served.client.post("/verbs/close_app", json={"applicationId": "com.example.shop"})
    await served.client.post("/verbs/press_key", json={"key": "home"})
    same = (await served.client.post("/verbs/read_text", json={"selector": short})).json()
    assert (same["succeeded"], "resolvedIds" in same) == (False, False)
