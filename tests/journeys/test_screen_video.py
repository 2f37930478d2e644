"""Live video of the screen: a scrcpy server that the user names, on a simulated device behind the real adb."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.engine import Engine, EngineError, ErrorCode
from clawperator.engine.executions.screen_video import MAX_SIDE, Frame, ScreenVideo, find_server
from clawperator.widgets.picture import ScreenPane
from clawperator.widgets.picture_view import PictureView
from tests.app.console.support import FakeClipboard, MemoryStore
from tests.app.console.support import until as until_shown

pytest.importorskip("av", reason="needs the extra 'video'")
pytestmark = [pytest.mark.adb, pytest.mark.timeout(120)]

DARK, LIGHT = (0x14, 0x13, 0x18), (0xF6, 0xF4, 0xFA)
"""The simulator's themes: the colour of an empty page."""


@pytest.fixture
def server_file(tmp_path: Path) -> Path:
    path = tmp_path / "scrcpy-server-v3.1"
    path.write_bytes(b"not looked at by the simulator")
    return path


def engine_of(bench: Any, path: Path, **settings: Any) -> Engine:
    return Engine(replace(bench.engine.settings, mirror_scrcpy_server=str(path), **settings))


async def next_frame(video: ScreenVideo, wanted: Callable[[Frame], bool]) -> Frame:
    while True:
        frame = await video.frame(1.0)
        if frame is not None and wanted(frame):
            return frame


async def end_of(video: Any, begun: Callable[[], object] = lambda: None) -> EngineError:
    """Why the video ended; ``begun`` is called when it is open."""
    try:
        async with asyncio.timeout(60), video as stream:
            begun()
            while True:
                await stream.frame(1.0)
    except EngineError as exc:
        return exc


def near(colour: Any, wanted: tuple[int, ...]) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(colour, wanted, strict=True))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 -- the simulated device announces nothing
            await asyncio.sleep(0.02)


def files_of(bench: Any) -> list[str]:
    return [name for name in bench.world.files.list("/data/local/tmp") if name.endswith(".jar")]


async def test_the_screen_is_seen_as_it_changes_and_nothing_is_left_on_the_device(
    connect: Any, server_file: Path
) -> None:
    bench = await connect()
    async with engine_of(bench, server_file) as engine:
        video = engine.screen_video(bench.serial)
        assert video is not None
        async with asyncio.timeout(60), video as stream:
            frame = await next_frame(stream, lambda frame: near(frame.image.getpixel((4, 900)), LIGHT))
            assert max(frame.image.size) == MAX_SIDE
            assert abs(frame.size[0] - 1_080) < 8
            assert frame.size[1] == 2_340
            assert (len(bench.world.scrcpy_servers), files_of(bench)) == (1, [])
            bench.world.ui.put_setting("system", "dark_theme", "1")
            bench.world.ui.changed()
            await next_frame(stream, lambda frame: near(frame.image.getpixel((4, 900)), DARK))
            assert stream.rate > 0
            bench.world.ui.put_setting("system", "accelerometer_rotation", "0")
            bench.world.ui.turn()
            turned = await next_frame(stream, lambda frame: frame.size[0] > frame.size[1])
            assert turned.size[0] == 2_340
        await until(lambda: not bench.world.scrcpy_servers)
        assert bench.world.sockets == {}


async def test_only_the_newest_frame_is_kept_and_the_others_are_counted(connect: Any, server_file: Path) -> None:
    bench = await connect()
    async with engine_of(bench, server_file) as engine:
        video = engine.screen_video(bench.serial)
        assert video is not None
        async with asyncio.timeout(60), video as stream:
            for theme in ("1", "0", "1"):
                bench.world.ui.put_setting("system", "dark_theme", theme)
                bench.world.ui.changed()
                decoded = stream.dropped
                await until(lambda decoded=decoded: stream.dropped > decoded)  # type: ignore[misc]
            await next_frame(stream, lambda frame: near(frame.image.getpixel((4, 900)), DARK))
            assert stream.dropped >= 3


@pytest.mark.parametrize(
    ("how", "message", "hint"),
    [
        ("version", "The scrcpy server has the version 2.4, not 3.1", 'Set scrcpy_version = "2.4" below [mirror]'),
        ("garbage", "The scrcpy server sent no H.264 video of up to 1,024 × 1,024 pixels", "version"),
        ("huge", "The scrcpy server sent no H.264 video of up to 1,024 × 1,024 pixels", "version"),
        ("dies", "The scrcpy server ended: [server] ERROR: Encoding error", "scrcpy server"),
    ],
)
async def test_a_server_that_fails_is_explained_and_ended(
    connect: Any, server_file: Path, how: str, message: str, hint: str
) -> None:
    bench = await connect(faults=[{"kind": "scrcpy", "how": how}])
    async with engine_of(bench, server_file) as engine:
        failure = await end_of(engine.screen_video(bench.serial))
        assert message in failure.message
        assert hint in (failure.hint or "")
    await until(lambda: not bench.world.scrcpy_servers)
    assert files_of(bench) == []


async def test_the_version_of_the_settings_wins(connect: Any, server_file: Path) -> None:
    bench = await connect(faults=[{"kind": "scrcpy", "how": "version"}])
    engine = engine_of(bench, server_file, mirror_scrcpy_version="2.4")
    async with engine, asyncio.timeout(60), engine.screen_video(bench.serial) as stream:  # type: ignore[union-attr]
        assert stream.version == "2.4"
        await next_frame(stream, lambda frame: True)


async def test_a_device_that_vanishes_ends_the_video(connect: Any, server_file: Path) -> None:
    bench = await connect()
    async with engine_of(bench, server_file) as engine:
        failure = await end_of(engine.screen_video(bench.serial), bench.world.disconnect)
        assert failure.code in (ErrorCode.DEVICE_SHELL_UNAVAILABLE, ErrorCode.DEVICE_NOT_FOUND)


async def test_policy_refuses_it_and_each_start_is_audited(connect: Any, server_file: Path, tmp_path: Path) -> None:
    bench = await connect()
    base = replace(bench.engine.settings, mirror_scrcpy_server=str(server_file), history_path=str(tmp_path / "h.db"))
    for settings in (replace(base, read_only=True), base):
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(Engine(settings, face="console"))
            async with asyncio.timeout(60):
                if settings.read_only:
                    with pytest.raises(EngineError) as refusal:
                        await stack.enter_async_context(engine.screen_video(bench.serial))  # type: ignore[arg-type]
                    assert refusal.value.code is ErrorCode.READ_ONLY
                    assert not bench.world.scrcpy_servers
                else:
                    await stack.enter_async_context(engine.screen_video(bench.serial))  # type: ignore[arg-type]
    with closing(sqlite3.connect(tmp_path / "h.db")) as db:
        rows = db.execute("SELECT * FROM audit ORDER BY 1").fetchall()
    events = [next(word for word in row if word in ("refused", "allowed", "result")) for row in rows]
    assert events == ["refused", "allowed", "result"]
    assert all("run a scrcpy server on the device" in row for row in rows)


async def test_without_a_file_nothing_is_started(connect: Any, tmp_path: Path) -> None:
    bench = await connect()
    assert bench.engine.screen_video(bench.serial) is None
    with pytest.raises(EngineError, match=r"scrcpy server .*gone cannot be read"):
        find_server(str(tmp_path / "gone"))
    (tmp_path / "scrcpy-server").write_bytes(b"x")
    with pytest.raises(EngineError) as unknown:
        find_server(str(tmp_path / "scrcpy-server"))
    assert unknown.value.code is ErrorCode.SETTINGS_INVALID
    assert find_server(str(tmp_path / "scrcpy-server"), "2.7").version == "2.7"


@pytest.mark.parametrize("how", ["", pytest.param("dies", marks=pytest.mark.ci)])
async def test_the_console_mirrors_the_video_and_a_tap_on_it_hits_the_node_there(
    connect: Any, server_file: Path, how: str
) -> None:
    """The frames are a third of the screen's size. A video that ends is replaced by screenshots, and the pane says so."""
    faults = [{"kind": "scrcpy", "how": how}] if how else []
    bench = await connect(start={"package": "com.android.settings"}, faults=faults)
    async with engine_of(bench, server_file) as engine:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
        async with app.run_test(size=(200, 60)) as pilot:
            await until_shown(pilot, lambda: app.session.report.ended and app.session.trees.shown)
            pane, view = app.screen.query_one(ScreenPane), app.screen.query_one(PictureView)
            while pane.mode != "picture":
                await pilot.press("s")
            await pilot.press("f")
            if how:
                await until_shown(pilot, lambda: pane.words().plain.startswith("no video: live screenshot"))
                await until_shown(
                    pilot, lambda: any("scrcpy server ended" in notice.text for notice in app.session.notices)
                )
                return
            await until_shown(pilot, lambda: pane.words().plain.startswith("live scrcpy 3.1, "))
            node = next(node for node in app.session.trees.shown.tree.nodes if node.text == "Network & internet")  # type: ignore[union-attr]
            frame = view.frame()
            assert frame is not None
            x, y = node.bounds.center
            place = int(frame.margin + x / frame.across), int(y / frame.down)
            await pilot.click(PictureView, offset=place, times=2)
            await until_shown(pilot, lambda: isinstance(app.screen, DispatchDialog))
            await until(lambda: not bench.world.scrcpy_servers)  # a dialog stops the mirror
            await pilot.press("enter")
            await until_shown(pilot, lambda: bench.world.ui.front.frames[-1].screen == "network")
            await until_shown(pilot, lambda: bench.world.scrcpy_servers)
    await until(lambda: not bench.world.scrcpy_servers)


async def test_without_the_decoder_nothing_is_sent_to_the_device(
    connect: Any, server_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect()
    monkeypatch.setitem(sys.modules, "av", None)
    async with engine_of(bench, server_file) as engine:
        failure = await end_of(engine.screen_video(bench.serial))
    assert (failure.code, failure.hint) == (
        ErrorCode.HOST_DEPENDENCY_MISSING, "Install it: pip install 'clawperator[video]'"
    )  # fmt: skip
    assert files_of(bench) == []
