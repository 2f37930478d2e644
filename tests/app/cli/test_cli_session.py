"""SIGINT at awkward moments."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from clawperator.app.cli import session
from clawperator.engine import Engine, EngineError, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.app.cli.conftest import Cli

OPTIONS = SimpleNamespace(
    log_level=None,
    device_id=None,
    receiver_package=None,
    verbose=False,
    wait=None,
    backend=None,
    allow_unbind=False,
    compressed=False,
)
pytestmark = pytest.mark.usefixtures("lonely")


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


async def wait(_: Engine) -> None:
    press_ctrl_c()
    await asyncio.sleep(30)


def status(caught: pytest.ExceptionInfo[EngineError]) -> object:
    return caught.value.to_dict()["broadcastDispatchStatus"]


def test_nothing_was_dispatched() -> None:
    with pytest.raises(EngineError) as caught:
        session.run(OPTIONS, wait)
    assert status(caught) == "not_sent"


def test_the_answer_was_there_already() -> None:
    async def use(_: Engine) -> str:
        press_ctrl_c()
        return "answer"

    assert session.run(OPTIONS, use, settings_source=slow_to_leave) == "answer"


def test_before_the_engine_was_there() -> None:
    @asynccontextmanager
    async def settings_source() -> AsyncIterator[Settings]:
        press_ctrl_c()
        await asyncio.sleep(30)
        yield Settings.resolve()

    with pytest.raises(EngineError) as caught:
        session.run(OPTIONS, wait, settings_source=settings_source)
    assert status(caught) == "not_sent"


def test_twice() -> None:
    async def stubborn(_: Engine) -> None:
        try:
            await wait(_)
        finally:
            press_ctrl_c()
            await asyncio.sleep(30)

    with pytest.raises(EngineError) as caught:
        session.run(OPTIONS, stubborn)
    assert status(caught) == "error: unknown"


def test_a_background_job_does_not_listen() -> None:
    async def use(_: Engine) -> str:
        press_ctrl_c()
        await asyncio.sleep(0)
        return "answer"

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert session.run(OPTIONS, use) == "answer"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.cold
def test_an_unforeseen_exception_is_one_document(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(session, "run", broken)
    run = cli("packages", "list", "--log-level", "info")
    assert (run.exit_code, run.err) == (1, "")
    assert (run.document["code"], run.document["message"]) == ("UNKNOWN", "ZeroDivisionError")
    reported = cli("packages", "list", "--verbose")
    assert reported.document["code"] == "UNKNOWN"
    assert "ZeroDivisionError" in reported.err
    assert "Traceback" in reported.err


@pytest.mark.cold
def test_a_fault_inside_an_execution_is_reported_with_its_place(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(Engine, "validate", broken)
    run = cli("observe", "snapshot")
    assert (run.exit_code, run.err) == (1, "")
    assert (run.document["code"], run.document["message"]) == ("UNKNOWN_RUNTIME_ERROR", "ZeroDivisionError: oops")
    assert run.document["executionId"]
    assert "Traceback" in cli("observe", "snapshot", "--verbose").err


@asynccontextmanager
async def slow_to_leave() -> AsyncIterator[Settings]:
    yield Settings.resolve()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
