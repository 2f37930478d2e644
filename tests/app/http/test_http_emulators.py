"""The virtual devices over HTTP, with the stand-ins for Google's SDK tools and the real adb server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.app.http.conftest import start
from tests.app.http.test_http_contract import error_of
from tests.sdk.tree import FakeSdk

pytestmark = pytest.mark.adb


async def test_from_nothing_and_back(sdk: FakeSdk, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        env = {**sdk.env, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        client = (await start(stack, (), env, ("--no-history",))).client
        assert (await client.get("/android/emulators")).json() == {"ok": True, "avds": []}
        assert (await client.get("/android/emulators/nobody")).json()["exists"] is False
        assert error_of(await client.post("/android/emulators/nobody/start")) == (404, "EMULATOR_NOT_FOUND")
        for wrong in ({"apiLevel": "35"}, {"playStore": 1}, {"name": 7}):
            assert error_of(await client.post("/android/emulators/create", json=wrong)) == (400, "INVALID_BODY")

        up = (await client.post("/android/provision/emulator")).json()
        name = up["avdName"]
        assert (up["ok"], up["created"], up["started"], up["booted"]) == (True, True, True, True)
        assert (await client.post("/android/provision/emulator")).json()["reused"] is True
        (running,) = (await client.get("/android/emulators/running")).json()["devices"]
        assert (running["avdName"], running["serial"]) == (name, up["serial"])
        assert error_of(await client.post(f"/android/emulators/{name}/start")) == (409, "EMULATOR_ALREADY_RUNNING")
        assert error_of(await client.delete(f"/android/emulators/{name}")) == (409, "EMULATOR_ALREADY_RUNNING")

        assert (await client.post(f"/android/emulators/{name}/stop")).json() == {
            "ok": True,
            "avdName": name,
            "stopped": True,
        }
        assert error_of(await client.post(f"/android/emulators/{name}/stop")) == (404, "EMULATOR_NOT_RUNNING")
        again = (await client.post(f"/android/emulators/{name}/start")).json()
        assert (again["ok"], again["avdName"], again["booted"]) == (True, name, True)
        await client.post(f"/android/emulators/{name}/stop")
        assert (await client.delete(f"/android/emulators/{name}")).json() == {
            "ok": True,
            "avdName": name,
            "deleted": True,
        }
        assert error_of(await client.delete(f"/android/emulators/{name}")) == (404, "EMULATOR_NOT_FOUND")
        made = (await client.post("/android/emulators/create", json={"name": "second"})).json()
        assert (made["ok"], made["name"], made["exists"]) == (True, "second", True)
