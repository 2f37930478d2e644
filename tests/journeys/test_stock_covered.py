"""What lies over a node on the stock backend, through the real adb: a keyboard, windows of others, nodes of the same tree."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.executions import build, shell_input, verbs
from tests.journeys.conftest import Connect
from tests.journeys.test_stock_backend import SHOP, on, plan
from tests.support import varied

pytestmark = pytest.mark.adb

SECRET = "hunter2-secret"
ANDROIDS = [26, 29, 30, 31, 33, 35]


def by_id(name: str) -> dict[str, str]:
    return {"resourceId": f"{SHOP}:id/{name}"}


@varied("sdk", ANDROIDS, always=2)
async def test_a_password_under_the_keyboard_is_typed_into_no_other_field(connect: Connect, sdk: int) -> None:
    bench = await connect(**on(SHOP, "sign_in", device={"sdk": sdk}))
    assert (await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")).succeeded
    assert bench.world.ui.keyboard_shown
    done = await bench.engine.execute(build.enter_text(by_id("password"), SECRET), backend="stock")
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "TEXT_NOT_DELIVERED"
    assert "keyboard" in done.outcome.error["message"]
    assert "nothing was sent" in done.outcome.error["message"]
    assert SECRET not in str(done.to_dict()["outcome"])
    assert (bench.world.ui.state["user"], bench.world.ui.state["password"]) == ("ann", "")
    assert (await bench.engine.execute(build.press_key("back"), backend="stock")).succeeded
    done = await bench.engine.execute(build.enter_text(by_id("password"), SECRET), backend="stock")
    assert done.succeeded
    assert done.envelope["stepResults"][0]["data"]["verified"] == "true"
    assert (bench.world.ui.state["user"], bench.world.ui.state["password"]) == ("ann", SECRET)


@pytest.mark.parametrize("how", ["click", "long_click", "focus"])
async def test_what_is_under_the_keyboard_is_not_clicked(connect: Connect, how: str) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    assert (await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")).succeeded
    target = by_id("password" if how == "focus" else "sign_in")
    done = await bench.engine.execute(plan(("click", {"matcher": target, "clickType": how})), backend="stock")
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "NODE_NOT_CLICKABLE"
    assert "The keyboard lies over the node" in done.outcome.error["message"]
    assert bench.world.ui.state["user"] == "ann", "no key of the keyboard was tapped"
    assert "signed_in" not in bench.world.ui.state


async def test_the_part_that_the_keyboard_leaves_visible_is_tapped(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    assert (await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")).succeeded
    done = await bench.engine.execute(build.click(by_id("forgot")), backend="stock")
    assert done.succeeded
    assert bench.world.ui.state["forgot"] is True
    assert bench.world.ui.state["user"] == "ann"


async def test_a_point_is_tapped_as_asked_and_the_answer_says_what_it_hit(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    assert (await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")).succeeded
    done = await bench.engine.execute(build.click(point={"x": 54, "y": 1500}), backend="stock")
    assert done.succeeded
    assert done.envelope["stepResults"][0]["data"]["hit"] == "the keyboard"
    assert bench.world.ui.state["user"] == "annq"


async def test_a_gesture_at_a_node_does_not_hit_the_keyboard(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    assert (await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")).succeeded
    for gesture in (
        shell_input.gesture("tap", matcher=by_id("sign_in")),
        shell_input.gesture("long_press", matcher=by_id("sign_in")),
        shell_input.gesture("swipe", matcher=by_id("sign_in"), to=(500, 300)),
    ):
        done = await bench.engine.execute(gesture, backend="stock")
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == "NODE_NOT_CLICKABLE"
    assert bench.world.ui.state["user"] == "ann"


async def test_set_and_submit_stop_before_a_key(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    assert (await bench.engine.execute(verbs.set_text(by_id("username"), "ann"), backend="stock")).succeeded
    for composed in (
        verbs.set_text(by_id("password"), SECRET),
        verbs.submit(by_id("password"), text=SECRET),
        plan(("enter_text", {"matcher": by_id("password"), "text": SECRET, "submit": True})),
    ):
        done = await bench.engine.execute(composed, backend="stock")
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == "TEXT_NOT_DELIVERED"
    assert (bench.world.ui.state["user"], bench.world.ui.state["password"]) == ("ann", "")


async def test_a_password_that_is_set_is_verified(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    done = await bench.engine.execute(verbs.set_text(by_id("password"), SECRET), backend="stock")
    assert done.facts == {"changed": True, "verified": True}


async def test_a_list_scrolls_above_the_keyboard(connect: Connect) -> None:
    bench = await connect(**on("com.android.settings"))
    window = {"kind": "window_over", "title": "InputMethod", "bounds": [0, 1000, 1080, 2400]}
    bench = await connect(**on("com.android.settings", faults=[window]))
    done = await bench.engine.execute(plan(("scroll", {"direction": "down"})), backend="stock")
    assert done.succeeded
    data = done.envelope["stepResults"][0]["data"]
    assert data["scroll_outcome"] == "moved"
    assert int(data["dispatched"].split()[3]) < 1000, "the finger starts above it"


@pytest.mark.parametrize("sdk", ANDROIDS)
@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("com.example.player/com.example.player.PipActivity", "com.example.player"),
        ("NotificationShade", "the notification shade"),
        ("Toast", "a toast"),
        ("Application Not Responding: com.android.settings", "Application Not Responding"),
    ],
)
async def test_a_window_of_another_program_takes_no_tap(connect: Connect, sdk: int, title: str, named: str) -> None:
    over = {"kind": "window_over", "title": title, "bounds": [0, 0, 1080, 2400]}
    bench = await connect(**on("com.android.settings", device={"sdk": sdk}, faults=[over]))
    before = bench.world.ui.window().screen.activity
    for action in (("click", {"matcher": {"textEquals": "Battery"}}), ("scroll", {"direction": "down"})):
        done = await bench.engine.execute(plan(action), backend="stock")
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == "NODE_NOT_CLICKABLE"
        assert named in done.outcome.error["message"].replace("The n", "the n").replace("A t", "a t")
    assert bench.world.ui.window().screen.activity == before


async def test_the_shade_over_an_app_gets_neither_touch_nor_key(connect: Connect) -> None:
    bench = await connect(**on(SHOP, "sign_in", faults=[{"kind": "unseen", "what": "other_window"}]))
    typed = await bench.engine.execute(build.enter_text(by_id("username"), "ann"), backend="stock")
    tapped = await bench.engine.execute(build.click(by_id("forgot")), backend="stock")
    for done, code in ((typed, "TEXT_NOT_DELIVERED"), (tapped, "NODE_NOT_CLICKABLE")):
        assert done.outcome.error is not None
        assert done.outcome.error["code"] == code
        assert "notification shade" in done.outcome.error["message"]
    assert bench.world.ui.state["user"] == ""


async def test_focus_that_moves_between_the_check_and_the_keys_is_reported_without_the_secret(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    ui = bench.world.ui
    typed = bench.world.input.type_text

    def elsewhere(text: str) -> None:
        name = next(node for node in ui.window().nodes if node.view.id == "username")
        ui.focus(name)
        typed(text)

    monkeypatch.setattr(bench.world.input, "type_text", elsewhere)
    done = await bench.engine.execute(build.enter_text(by_id("password"), SECRET), backend="stock")
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "TEXT_NOT_DELIVERED"
    assert f"the field {SHOP}:id/username now holds {len(SECRET)} characters" in done.outcome.error["message"]
    assert SECRET not in str(done.to_dict()["outcome"])


async def test_a_keyboard_that_opens_between_the_tree_and_the_tap_is_seen(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(**on(SHOP, "sign_in"))
    ui = bench.world.ui
    seen: Any = bench.world.accessibility.readable_window

    def opens() -> Any:
        window = seen()
        ui.focus(next(node for node in ui.window().nodes if node.view.id == "username"))
        return window

    monkeypatch.setattr(bench.world.accessibility, "readable_window", opens)
    done = await bench.engine.execute(build.click(by_id("sign_in")), backend="stock")
    assert done.outcome.error is not None
    assert done.outcome.error["code"] == "NODE_NOT_CLICKABLE"
    assert ui.state["user"] == ""


@pytest.mark.parametrize("sdk", [28, 34])
async def test_an_app_that_is_still_starting_is_waited_for(connect: Connect, sdk: int) -> None:
    bench = await connect(**on("com.android.settings", device={"sdk": sdk}), speed=1.0)
    assert (await bench.engine.execute(build.press_key("home"), backend="stock")).succeeded
    steps = ("open_app", {"applicationId": SHOP}), ("click", {"matcher": by_id("search_bar")})
    done = await bench.engine.execute(plan(*steps), backend="stock")
    assert done.succeeded, done.outcome.error
    scroll = ("open_app", {"applicationId": "com.android.settings"}), ("scroll", {"direction": "down"})
    done = await bench.engine.execute(plan(*scroll), backend="stock")
    assert done.succeeded, done.outcome.error
