"""A thermostat: a tile per zone, plus and minus, and the value to read back; one tile is an air conditioner."""

from __future__ import annotations

from typing import NamedTuple

from clawperator.engine.simulator.apps.effects import flip, go, go_back, nudge, put
from clawperator.engine.simulator.apps.view import (
    App,
    Scene,
    Screen,
    ViewSpec,
    column,
    icon_button,
    label,
    page,
    row,
    stack,
    toolbar,
)

PACKAGE = "com.example.thermostat"
STEP = 0.5
LOW, HIGH = 5.0, 30.0


class Room(NamedTuple):
    key: str
    name: str
    measured: str


ROOMS = (
    Room("living", "Living room", "20.7°C"),
    Room("bedroom", "Bedroom", "18.2°C"),
    Room("bath", "Bathroom", "22.4°C"),
)
_MODES = ("Heat", "Cool", "Off")


def _main(scene: Scene) -> Screen:
    tiles = [_tile(room, scene) for room in ROOMS]
    tiles.append(_ac_tile(scene))
    pairs = [row(*tiles[start : start + 2], height=176, gap=12) for start in range(0, len(tiles), 2)]
    weather = label("Outside -5.2°C", id="outside_temperature", desc="Outside temperature -5.2°C", height=44)
    return Screen(root=page(toolbar("My home"), column(weather, *pairs, id="tiles", weight=1, pad=16, gap=12)))


def _tile(room: Room, scene: Scene) -> ViewSpec:
    target = scene.state[f"{room.key}_target"]
    return column(
        label(room.name, id="tile_label", height=32, look="heading"),
        label(room.measured, id="tile_value", height=44, look="price"),
        label(f"Target {target:.1f}°C", id="tile_state", height=28),
        id="tile",
        desc=f"{room.name} tile",
        tap=go("room", room.key),
        pad=16,
        look="tile",
    )


def _ac_tile(scene: Scene) -> ViewSpec:
    on = scene.state["ac_on"]
    return column(
        label("AC", id="tile_label", height=32, look="heading"),
        label("On" if on else "Off", id="tile_value", height=44, look="price"),
        label("Cooling to 24.0°C" if on else "Tap to turn on", id="tile_state", height=28),
        id="tile",
        desc="AC tile",
        tap=flip("ac_on"),
        hold=go("ac"),
        selected=on,
        pad=16,
        look="tile",
    )


def _room(scene: Scene) -> Screen:
    room = next((room for room in ROOMS if room.key == scene.arg), ROOMS[0])
    key = f"{room.key}_target"
    dial = row(
        icon_button("Decrease temperature", nudge(key, -STEP, LOW, HIGH), id="minus", size=72),
        label(f"{scene.state[key]:.1f}°C", id="target_temperature", height=72, weight=1, look="price"),
        icon_button("Increase temperature", nudge(key, STEP, LOW, HIGH), id="plus", size=72),
        id="dial",
        height=96,
        gap=16,
    )
    facts = column(
        _fact("Target temperature", f"{scene.state[key]:.1f}°C"),
        _fact("Measured", room.measured),
        _fact("Mode", scene.state[f"{room.key}_mode"]),
        id="facts",
        gap=4,
    )
    body = column(dial, _modes(room, scene), facts, id="room_page", weight=1, pad=16, gap=16)
    return Screen(activity=".RoomActivity", root=page(toolbar(room.name, back=go_back), body))


def _modes(room: Room, scene: Scene) -> ViewSpec:
    key = f"{room.key}_mode"
    chips = [
        ViewSpec(kind="RadioButton", id=f"mode_{mode.lower()}", text=mode, tap=put(key, mode), height=40, look="chip",
             checkable=True, checked=scene.state[key] == mode)
        for mode in _MODES
    ]  # fmt: skip
    return row(*chips, kind="RadioGroup", id="modes", height=48, gap=8)


def _fact(name: str, value: str) -> ViewSpec:
    """A label with its value below: what ``read_key_value_pair`` is for."""
    texts = column(
        label(name, id="android:id/title", height=26, look="heading"),
        label(value, id="android:id/summary", height=26),
        kind="RelativeLayout",
    )
    return stack(texts, id="preference", height=56)


def _ac(scene: Scene) -> Screen:
    state = "On" if scene.state["ac_on"] else "Off"
    facts = column(_fact("State", state), _fact("Set point", "24.0°C"), _fact("Fan", "Auto"), weight=1, pad=16, gap=8)
    return Screen(activity=".AcActivity", root=page(toolbar("AC", back=go_back), facts))


THERMOSTAT = App(
    package=PACKAGE,
    label="Thermostat",
    version_name="2.3.1",
    version_code=231,
    state={f"{room.key}_target": 20.0 for room in ROOMS}
    | {f"{room.key}_mode": "Heat" for room in ROOMS}
    | {"ac_on": False},
    uris={"thermostat://room/": "room"},
    screens={"main": _main, "room": _room, "ac": _ac},
)
