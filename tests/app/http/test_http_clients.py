"""Clients that are generated from the OpenAPI document call every route and read every error; linters accept the document."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from clawperator.app.serve.answers import status_of
from clawperator.engine.errors import EngineError, ErrorCode
from tests.app.http.conftest import Served, plan, start
from tests.engine.skills.made import made_registry
from tests.sdk.tree import FakeSdk
from tests.support import patience

pytestmark = [pytest.mark.adb, pytest.mark.ci, pytest.mark.timeout(600)]

SKILL = "com.example.app.look"
TYPESCRIPT = Path(__file__).parent / "typescript"
PYTHON_CONFIG = """
post_hooks: []
content_type_overrides:
  image/png: application/octet-stream
  application/xml: text/plain
"""
NOT_CALLED_BY_PYTHON = {"streamEvents"}
"""The generated function reads an answer to its end, which a stream does not have."""


@pytest.fixture
async def served(sdk: FakeSdk, tmp_path: Path) -> AsyncIterator[Served]:
    """A server before the real adb server and the stand-ins for Google's SDK tools; no device is there yet."""
    registry = made_registry(tmp_path / "root", {SKILL: {"run.sh": '#!/bin/sh\necho "$@"\n'}})
    async with AsyncExitStack() as stack:
        folders = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
        env = {**sdk.env, **folders, "CLAWPERATOR_SKILLS_REGISTRY": registry.path}
        yield await start(stack, (), env, ())


async def document_of(served: Served) -> dict[str, Any]:
    document: dict[str, Any] = (await served.client.get("/openapi.json")).json()
    return document


def operations(document: dict[str, Any]) -> dict[str, str]:
    """The operation ids by method and path."""
    return {
        f"{method.upper()} {path}": operation["operationId"]
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=patience(300), check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    assert "WARNING" not in done.stdout, done.stdout
    return done.stdout


class GeneratedClient:
    """The package that openapi-python-client makes: one module per operation."""

    def __init__(self, folder: Path, document: dict[str, Any], url: str) -> None:
        (folder / "openapi.json").write_text(json.dumps(document))
        (folder / "config.yaml").write_text(PYTHON_CONFIG)
        command = (sys.executable, "-m", "openapi_python_client", "generate", "--config", "config.yaml")
        run(*command, "--path", "openapi.json", "--output-path", "client", cwd=folder)
        sys.path.insert(0, str(folder / "client"))
        try:
            package = importlib.import_module("clawperator_client")
            self.models: Any = importlib.import_module("clawperator_client.models")
            self.modules: dict[str, Any] = {
                operation["operationId"]: importlib.import_module(
                    f"clawperator_client.api.{operation['tags'][0]}.{_snake(operation['operationId'])}"
                )
                for methods in document["paths"].values()
                for operation in methods.values()
            }
        finally:
            sys.path.remove(str(folder / "client"))
        self.client = package.Client(base_url=url, raise_on_unexpected_status=True, timeout=httpx.Timeout(60))
        self.called: set[str] = set()

    async def __call__(self, operation: str, body: dict[str, Any] | None = None, **arguments: Any) -> Any:
        """The parsed answer."""
        if body is not None:
            arguments["body"] = getattr(self.models, f"{operation[0].upper()}{operation[1:]}Body").from_dict(body)
        response = await self.modules[operation].asyncio_detailed(client=self.client, **arguments)
        self.called.add(operation)
        assert response.parsed is not None, response
        return response.parsed

    async def good(self, operation: str, body: dict[str, Any] | None = None, **arguments: Any) -> Any:
        parsed = await self(operation, body, **arguments)
        assert not isinstance(parsed, self.models.Failure), parsed
        return parsed

    async def code(self, operation: str, body: dict[str, Any] | None = None, **arguments: Any) -> str:
        parsed = await self(operation, body, **arguments)
        assert isinstance(parsed, self.models.Failure), parsed
        return str(parsed.error.code)


def _snake(name: str) -> str:
    return re.sub(r"(?=[A-Z])", "_", name).lower()


async def test_a_generated_python_client_calls_every_route_and_reads_every_error(
    served: Served, tmp_path: Path
) -> None:
    document = await document_of(served)
    api = await asyncio.to_thread(GeneratedClient, tmp_path, document, served.url)
    async with api.client:
        reads_every_error(api)
        await calls_every_route(api)
    assert api.called == set(operations(document).values()) - NOT_CALLED_BY_PYTHON


def reads_every_error(api: GeneratedClient) -> None:
    for module in api.modules.values():
        for code in ErrorCode:
            error = EngineError(code, "Because", details={"path": "a.0"}, extra={"deviceId": "d", "exitCode": 3})
            answer = httpx.Response(status_of(code), json=error.to_answer())
            read = module._build_response(client=api.client, response=answer).parsed
            assert (str(read.error.code), read.error.message, read.device_id) == (code.value, "Because", "d")
            assert (read.error.exit_code, read.error.retryable) == (3, code.retryable)


async def calls_every_route(api: GeneratedClient) -> None:
    await api.good("getHealth")
    await api.good("ping")
    await api.good("getVersion")
    await api.good("getMetrics")
    await api.good("getSchema", name="execution")
    await api.good("getEventSchemas")
    assert await api.code("observeSnapshot", {}) == "NO_DEVICES"
    up = await api.good("provisionEmulator", {})
    device, name = up.serial, up.avd_name
    assert [row.serial for row in (await api.good("listDevices")).devices] == [device]
    assert [(avd.name, avd.supported) for avd in (await api.good("listEmulators")).avds] == [(name, True)]
    assert [one.serial for one in (await api.good("listRunningEmulators")).devices] == [device]
    assert (await api.good("getEmulator", name=name)).exists is True
    assert {check.status.value for check in (await api.good("runDoctor", device_id=device)).checks} >= {"pass"}
    await api.good("listLocks")

    done = await api.good("execute", {"execution": plan(command="from-python"), "deviceId": device})
    assert (done.ok, done.envelope.status.value, done.device_id) == (True, "success", device)
    checked = await api.good("execute", {"execution": plan()}, validate_only=True)
    assert checked.execution.actions[0].params.key.value == "home"
    assert await api.code("execute", {"execution": plan(), "deviceId": "absent"}) == "DEVICE_NOT_FOUND"
    many = await api.good("executeMany", {"execution": plan(command="many"), "devices": device})
    assert (many.ok, many.summary["succeeded"]) == (True, 1)
    home = {"key": "home", "then": "compact", "brief": True, "deviceId": device}
    assert (await api.good("runVerb", home, verb="press_key")).outcome["status"] == "succeeded"
    assert (await api.good("runVerb", {}, verb="device_info"))["width"] > 0
    assert await api.code("runVerb", {"uri": "x"}, verb="device_info") == "INVALID_PARAMETER"
    await api.good("observeSnapshot", {"deviceId": device})
    await api.good("observeScreenshot", {}, inline="base64")
    await api.good("getSnapshot", device_id=device)
    assert (await api.good("getScreenshot", device_id=device)).payload.read().startswith(b"\x89PNG")
    assert "com.android.settings" in (await api.good("listPackages", device_id=device)).packages
    assert "com.android.settings" in str((await api.good("listApps", device_id=device)).apps)
    selector = {"selector": {"textEquals": "Shop"}, "maxAgeMs": 60_000}
    assert (await api.good("matchNodes", selector)).count == 1
    assert (await api.good("suggestSelectors", selector)).candidates

    assert (await api.good("listRuns", total=True)).count >= 3
    seen = await api.good("getRun", run="from-python")
    assert (seen.run.status.value, seen.run.outcome.status.value) == ("success", "succeeded")
    shot = await api.good("listRuns", filter_="action:snapshot_ui", limit=1)
    trees = (await api.good("getRun", run=str(shot.runs[0].number))).run["trees"]
    assert "<hierarchy" in await api.good("getTree", digest=trees[0]["digest"])
    assert (await api.good("listAudit")).count
    assert (await api.good("listSkills")).count == 1
    assert (await api.good("getSkill", skill_id=SKILL)).skill.id == SKILL
    assert (await api.good("runSkill", {"args": ["a", 1, True]}, skill_id=SKILL)).output == "a 1 true\n"
    assert await api.code("runSkill", {}, skill_id="com.example.absent") == "SKILL_NOT_FOUND"

    await api.good("stopEmulator", name=name)
    await api.good("startEmulator", name=name)
    await api.good("stopEmulator", name=name)
    await api.good("deleteEmulator", name=name)
    assert await api.code("deleteEmulator", name=name) == "EMULATOR_NOT_FOUND"
    assert (await api.good("createEmulator", {"name": "second"})).name == "second"


@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm (Debian: apt install npm)")
async def test_a_generated_typescript_client_calls_every_route(served: Served, tmp_path: Path) -> None:
    document = await document_of(served)
    folder = tmp_path / "typescript"
    shutil.copytree(TYPESCRIPT, folder)
    (folder / "openapi.json").write_text(json.dumps(document))
    await asyncio.to_thread(run, "npm", "install", "--no-audit", "--no-fund", cwd=folder)
    await asyncio.to_thread(run, "npx", "openapi-typescript", "openapi.json", "--output", "api.ts", cwd=folder)
    await asyncio.to_thread(run, "npx", "tsc", cwd=folder)
    said = json.loads(await asyncio.to_thread(run, "node", "built/client.js", served.url, SKILL, cwd=folder))
    assert set(said["called"]) == operations(document).keys()
    assert said["codes"] == {
        "getTree": "HISTORY_NOT_FOUND",
        "listDevices": "ORIGIN_NOT_ALLOWED",
        "execute": "DEVICE_NOT_FOUND",
        "runSkill": "SKILL_NOT_FOUND",
        "startEmulator": "EMULATOR_NOT_FOUND",
        "getHealth": "ORIGIN_NOT_ALLOWED",
    }
    report = await asyncio.to_thread(run, "npx", "redocly", "lint", "openapi.json", "--format=json", cwd=folder)
    assert json.loads(report)["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}


async def test_the_document_is_valid(served: Served) -> None:
    from openapi_spec_validator import validate  # a third of a second for every worker that only collects

    validate(await document_of(served))
