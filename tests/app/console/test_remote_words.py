"""Whose devices these are, and what is said while they are not known."""

from __future__ import annotations

import pytest

from clawperator.app.console.chips import header_chips
from clawperator.app.console.empty_states import no_device_state
from clawperator.app.console.messages import DevicesUpdate
from clawperator.app.console.session import Session
from clawperator.widgets.format.symbols import UNICODE
from tests.app.console.support import DEVICE, MovableClock

LOST = "the server at http://lab:3000 does not respond"


def header(session: Session, *, narrow: bool = False) -> list[str]:
    chips = header_chips(session, UNICODE, narrow=narrow)
    return ["".join(text for text, _ in chip.spans) for chip in chips]


def remote_session(*news: DevicesUpdate) -> Session:
    session = Session(MovableClock().clock, remote="lab:3000")
    for one in news:
        session.absorb(one)
    return session


@pytest.mark.parametrize(
    ("news", "first"),
    [
        ((), "◌ asking the server"),
        ((DevicesUpdate((), LOST),), "✗ server"),
        ((DevicesUpdate(()),), "no device"),
        ((DevicesUpdate((DEVICE,)),), "1 device: D chooses"),
    ],
)
def test_the_header_names_the_server_and_blames_it_instead_of_adb(news: tuple[DevicesUpdate, ...], first: str) -> None:
    session = remote_session(*news)
    assert header(session) == [first, "at lab:3000"]
    assert header(session, narrow=True) == [first, "remote"]


def test_the_name_of_a_server_is_escaped_as_anything_from_outside() -> None:
    session = Session(MovableClock().clock, remote="lab\x1b[31m:1")
    assert "\x1b" not in "".join(header(session))


def test_a_console_of_its_own_says_adb() -> None:
    session = Session(MovableClock().clock)
    assert header(session) == ["◌ asking adb"]
    session.absorb(DevicesUpdate((), "connection refused"))
    assert header(session) == ["✗ adb"]


def test_where_the_list_should_be_stands_why_there_is_none() -> None:
    session = Session(MovableClock().clock, remote="lab:3000")

    def words() -> str:
        state = no_device_state(session)
        return "" if state is None else " | ".join((state.reason, *state.steps))

    assert words() == "Querying lab:3000 for devices…"
    session.absorb(DevicesUpdate((), LOST))
    assert words() == f"The device list is unavailable: {LOST} | The console reconnects by itself."
    session.absorb(DevicesUpdate(()))
    assert words().startswith("No device at lab:3000 | ")
