"""A console before a server in another process, and command lines beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from clawperator.app.client.engine import RemoteEngine
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.start import not_offered
from tests.app.console.support import FakeClipboard, MemoryStore
from tests.app.http.conftest import Served
from tests.support import CLI, ran

OPEN_SETTINGS = ("action", "open-app", "--app", "com.android.settings")
SETTINGS_SHOWN = ("action", "wait", "--app", "com.android.settings")
SNAPSHOT = ("observe", "snapshot")


async def beside(served: Served, *words: str) -> None:
    """A command line of another process, on the same device when that is free."""
    other = await ran(*CLI, *words, "--wait", "60000", env=served.env)
    assert other.exit_code == 0, other.out


@asynccontextmanager
async def console(url: str, token_file: str = "", *, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Any]:
    """A pilot of a console before that server, its first look over."""
    async with RemoteEngine(url, token_file=token_file, strict=False) as engine:
        app = ConsoleApp(
            engine,
            clipboard=FakeClipboard(),
            drafts=MemoryStore(),
            remote=engine.host,
            without=not_offered(engine.host),
        )
        async with app.run_test(size=size) as pilot:
            yield pilot


def port_of(served: Served) -> str:
    return served.url.rpartition(":")[2]


def package(pilot: Any) -> str:
    tree = pilot.app.session.trees.shown.tree
    return tree.package if tree is not None else ""


def notice_says(pilot: Any, words: str) -> bool:
    notice = pilot.app.session.last_notice
    return notice is not None and words in notice.text


def header(pilot: Any) -> str:
    chips = pilot.app.chips(narrow=False)
    return " ".join("".join(text for text, _ in chip.spans) for chip in chips)
