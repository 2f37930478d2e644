"""``clawperator devices``, and every verb on a device that cannot be used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.app.cli.conftest import Plug

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

SERIAL = "emulator-5554"
MATCHER = '{"textEquals":"x"}'
VERBS = (
    ("observe", "snapshot"),
    ("observe", "screenshot"),
    ("inspect", "ui"),
    ("action", "click", "--selector", MATCHER),
    ("snapshot",),
    ("back",),
    ("packages", "list"),
    ("operator", "status"),
    ("operator", "crash-log"),
    ("grant-device-permissions",),
    ("version", "--check-compat"),
)


@pytest.fixture(params=[("unauthorized", "DEVICE_UNAUTHORIZED"), ("offline", "DEVICE_OFFLINE")], ids=str)
def unusable(request: pytest.FixtureRequest, plug: Plug) -> tuple[str, str]:
    state, code = request.param
    plug(device={"state": state})
    return state, code


@pytest.mark.parametrize("chosen", [(), ("--device-id", SERIAL)], ids=["any", "chosen"])
def test_every_verb_says_why_a_device_cannot_be_used(
    cli: Cli, unusable: tuple[str, str], chosen: tuple[str, ...]
) -> None:
    state, code = unusable
    for verb in VERBS:
        run = cli(*verb, *chosen)
        assert (run.exit_code, run.document["code"]) == (1, code), verb
        assert run.document["message"].startswith(f"Device {SERIAL} is {state}"), verb
        assert run.document["hint"], verb


def test_json_says_what_pretty_says(cli: Cli, plug: Plug) -> None:
    plug()
    (device,) = cli("devices", "--json").document["devices"]
    shown = cli("devices", "--output", "pretty").out
    bare = cli("devices", "--format", "array")
    refused = cli("devices", "--format", "array", "--discover")
    assert list(device)[:2] == ["serial", "state"]
    assert {"model", "product", "transportId"} <= device.keys()
    for key in ("serial", "state", "model", "product"):
        assert str(device[key]) in shown
    assert (bare.exit_code, json.loads(bare.out)) == (0, [device])
    assert refused.document["code"] == "USAGE"


def test_array_is_a_format_of_devices_only(cli: Cli) -> None:
    refused = cli("packages", "list", "--format", "array")
    assert refused.document["message"] == "--format must be one of: json, pretty"
