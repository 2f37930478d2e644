"""Every route × every capability: what a profile does not allow is refused by the engine, whichever route asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clawperator.engine.config.policy import CAPABILITIES
from tests.app.cli.conftest import Cli, cli, lonely, warm_runtime
from tests.app.http.conftest import HOME, Serve, plan

__all__ = ["cli", "lonely", "warm_runtime"]

SKILL = "com.android.settings.overview"
OWNER = "owner-token-of-thirty-two-letters"
NEEDS_NOTHING = {
    "/healthz",
    "/health",
    "/ping",
    "/version",
    "/metrics",
    "/openapi.json",
    "/schemas/{name}",
    "/events/schema",
    "/skills",
    "/skills/{skill_id}",
}
"""Routes that show documents of the product, and nothing of a device."""


class Asked(NamedTuple):
    """A request that needs each of ``needs``."""

    method: str
    route: str
    needs: tuple[str, ...]
    body: dict[str, Any] | None = None
    query: str = ""
    verb: str = ""

    def path(self, serial: str) -> str:
        names = {"{device_id}": serial, "{skill_id}": SKILL, "{name}": "no-such-avd", "{run}": "1", "{verb}": self.verb}
        path = self.route.replace("{digest}", "0" * 64)
        for name, value in names.items():
            path = path.replace(name, value)
        return path + self.query


def does(action: str, **params: Any) -> dict[str, Any]:
    return {"execution": plan({"id": "a", "type": action, "params": params})}


NODE = {"textEquals": "nowhere"}
ASKED = (
    Asked("POST", "/execute", ("observe",), does("snapshot_ui")),
    Asked("POST", "/execute", ("navigate",), does("open_app", applicationId="com.example.shop")),
    Asked("POST", "/execute", ("click",), does("click", matcher=NODE)),
    Asked("POST", "/execute", ("long_click",), does("click", matcher=NODE, clickType="long_click")),
    Asked("POST", "/execute", ("type_text",), does("enter_text", matcher=NODE, text="a")),
    Asked("POST", "/execute", ("input",), {"execution": plan(HOME)}),
    Asked("POST", "/execute/many", ("input",), {"execution": plan(HOME), "devices": "all"}),
    Asked("POST", "/execute", ("record",), does("start_recording")),
    Asked("POST", "/execute", ("observe", "write_files"), does("take_screenshot", path="a.png")),
    *(
        Asked("POST", "/verbs/{verb}", needs, body, verb=verb)
        for verb, needs, body in (
            ("click", ("click",), {"selector": NODE}),
            ("set_text", ("observe", "type_text"), {"selector": NODE, "text": "a"}),
            ("read_rows", ("observe",), {"container": NODE, "fields": {"a": "b"}}),
            ("input_swipe", ("input", "navigate", "click"), {"point": {"x": 1, "y": 2}, "to": {"x": 3, "y": 4}}),
            ("swipe", ("navigate", "click"), {"point": {"x": 1, "y": 2}, "to": {"x": 3, "y": 4}, "durationMs": 10}),
            ("query_ui", ("observe",), {"selector": NODE}),
            ("media_pause", ("click",), {"applicationId": "com.example.shop"}),
            ("input_key", ("input", "type_text"), {"key": "a"}),
            ("input_key", ("input", "click"), {"key": "66"}),
            ("press_key", ("input", "navigate"), {"key": "home"}),
            ("app_clear", ("app",), {"applicationId": "com.example.shop"}),
            ("device_wake", ("input",), {}),
            ("device_info", ("observe",), {}),
        )
    ),
    Asked("POST", "/observe/snapshot", ("observe",)),
    Asked("POST", "/observe/screenshot", ("observe",)),
    Asked("POST", "/observe/screenshot", ("write_files",), {"path": "b.png"}),
    Asked("POST", "/snapshot", ("observe",)),
    Asked("POST", "/screenshot", ("observe",)),
    Asked("GET", "/devices/{device_id}/snapshot", ("observe",)),
    Asked("GET", "/devices/{device_id}/screen.png", ("observe",)),
    Asked("GET", "/devices/{device_id}/packages", ("observe",)),
    Asked("GET", "/devices/{device_id}/apps", ("observe",)),
    Asked("POST", "/match", ("observe",), {"selector": NODE}),
    Asked("POST", "/suggest", ("observe",), {"selector": NODE}),
    Asked("GET", "/events", ("observe",)),
    Asked("GET", "/history", ("observe",)),
    Asked("GET", "/history/{run}", ("observe",)),
    Asked("GET", "/history/trees/{digest}", ("observe",)),
    Asked("GET", "/audit", ("observe",)),
    Asked("POST", "/skills/{skill_id}/run", ("run_skill",)),
    Asked("POST", "/android/emulators/create", ("manage_emulators",)),
    Asked("POST", "/android/emulators/{name}/start", ("manage_emulators",)),
    Asked("POST", "/android/emulators/{name}/stop", ("manage_emulators",)),
    Asked("DELETE", "/android/emulators/{name}", ("manage_emulators",)),
    Asked("POST", "/android/provision/emulator", ("manage_emulators",)),
    Asked("GET", "/android/emulators/{name}", ("observe",)),
    Asked("GET", "/android/emulators", ("observe",)),
    Asked("GET", "/android/emulators/running", ("observe",)),
    Asked("GET", "/devices", ("observe",)),
    Asked("GET", "/locks", ("observe",)),
    Asked("GET", "/doctor", ("observe",)),
    Asked("GET", "/doctor", ("observe",), query="?backend=stock"),
)


def policy() -> str:
    """One profile per capability that denies just that."""
    tables = "".join(
        f'[profiles.no-{name}.capabilities]\nallow = {list(CAPABILITIES)}\ndeny = ["{name}"]\n' for name in CAPABILITIES
    )
    return f"version = 1\n[profiles.default]\n{tables}"


def token(capability: str) -> str:
    return f"token-without-{capability}-{'x' * 20}"


async def test_every_route_refuses_what_its_caller_may_not(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    (tmp_path / "config" / "clawperator" / "policy.toml").write_text(policy())
    tokens = tmp_path / "tokens"
    lines = [f"{token(name)} without-{name} no-{name}" for name in CAPABILITIES]
    tokens.write_text("\n".join([f"{OWNER} owner", *lines, ""]))
    tokens.chmod(0o600)
    registry = {"CLAWPERATOR_SKILLS_REGISTRY": "builtin"}
    served = await serve("--token-file", str(tokens), token=OWNER, env=registry)
    paths = (await served.client.get("/openapi.json")).json()["paths"]
    assert set(paths) <= {asked.route for asked in ASKED} | NEEDS_NOTHING, "a route without a row"
    for asked in ASKED:
        for capability in asked.needs:
            answer = await served.client.request(
                asked.method,
                asked.path(served.serial),
                json=asked.body,
                headers={"Authorization": f"Bearer {token(capability)}"},
            )
            error = answer.json().get("error", answer.text)
            assert "code" in error, asked
            reported = (answer.status_code, error["code"], error["details"].get("capability"))
            assert reported == (403, "CAPABILITY_DENIED", capability), (asked, error)
    audit = (await served.client.get("/audit", params={"limit": 200})).json()["entries"]
    assert {entry["event"] for entry in audit} == {"refused"}, "nothing of what was refused was sent"


NO_FILES = f'version = 1\n[profiles.default.capabilities]\nallow = {list(CAPABILITIES)}\ndeny = ["write_files"]\n'


async def test_no_folder_is_made_for_a_picture_that_is_refused(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    (tmp_path / "config" / "clawperator" / "policy.toml").write_text(NO_FILES)
    served = await serve()
    for route, body in (
        ("/observe/screenshot", {"path": "a.png"}),
        ("/execute", does("take_screenshot", path="a.png")),
    ):
        refused = await served.client.post(route, json=body)
        assert refused.json()["error"]["code"] == "CAPABILITY_DENIED"
    assert not (tmp_path / ".clawperator" / "screenshots").exists()


@pytest.mark.parametrize("words", ["serve", "mcp --http"])
def test_a_token_file_is_not_made_without_the_capability(cli: Cli, tmp_path: Path, words: str) -> None:
    file, tokens = tmp_path / "policy.toml", tmp_path / "new" / "tokens"
    file.write_text(NO_FILES)
    refused = cli(*words.split(), "--port", "auto", "--token-file", str(tokens), "--policy", str(file))
    assert refused.document["code"] == "CAPABILITY_DENIED"
    assert not tokens.parent.exists()
