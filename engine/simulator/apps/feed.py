"""An endless feed: scrolling loads more posts, with markup and emoji in their texts."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import flip, nudge
from clawperator.engine.simulator.apps.view import (
    App,
    Scene,
    Screen,
    ViewSpec,
    button,
    column,
    label,
    page,
    row,
    scroll_list,
    toolbar,
)

PACKAGE = "com.example.feed"
PER_PAGE = 15
_LIMIT = 1_000_000

_AUTHORS = ("Ada", "Björn", "Chiara", "Dmitri", "Emre", "Fatima", "Giulia 🌻", "Hiroshi", "Inês")
_TEXTS = (
    "Sunrise over the lake this morning. No filter!",
    "Two lines:\nthe second one starts here",
    "[bold]not markup[/bold], and <b>not</b> HTML & more",
    "Who else thinks that 100% of meetings could be e-mails?",
    "שלום עולם, text that runs the other way",
    "[TaskScope] looks like a log line, is a post",
    'Recipe: 3 eggs, 200 g flour, "a pinch" of salt',
    "Moved to a new flat 🏡📦🎉",
)


def _main(scene: Scene) -> Screen:
    count = int(scene.state["loaded"])
    posts = [_post(number, scene) for number in range(1, count + 1)]
    loading = ViewSpec(kind="ProgressBar", id="loading_more", desc="Loading more", height=48)
    more = nudge("loaded", PER_PAGE, 0, _LIMIT)
    return Screen(root=page(toolbar("Feed"), scroll_list(*posts, loading, id="feed_list", gap=10, pad=10, more=more)))


def _post(number: int, scene: Scene) -> ViewSpec:
    liked = bool(scene.state.get(f"liked_{number}"))
    author = _AUTHORS[number % len(_AUTHORS)]
    head = row(
        ViewSpec(kind="ImageView", id="avatar", desc=f"Photo of {author}", width=40, height=40, look="image"),
        column(
            label(author, id="author", height=24, look="heading"),
            label(f"#{number}", id="post_number", height=20),
            weight=1,
        ),
        height=44,
        gap=10,
    )
    text = label(_TEXTS[number % len(_TEXTS)], id="post_text", height=44 + 20 * (number % 3))
    like = button(
        "Liked" if liked else "Like", flip(f"liked_{number}"), id="like_button", height=40, selected=liked, look="chip"
    )
    return column(
        head, text, like, kind="androidx.cardview.widget.CardView", id="post_card", pad=12, gap=8, look="card"
    )


FEED = App(
    package=PACKAGE,
    label="Feed",
    version_name="10.1",
    version_code=1_010,
    state={"loaded": PER_PAGE},
    screens={"main": _main},
)
