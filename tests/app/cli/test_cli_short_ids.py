"""``--id`` takes the part after ``:id/``, as views print it, where the screen has one such id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clawperator.engine.errors import EngineError
from clawperator.engine.executions.short_ids import full_id
from clawperator.engine.hierarchy.tree import parse

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli, Plug

SHOP = "com.example.shop:id"


def tree(*ids: str) -> str:
    nodes = "".join(
        f'<node index="{at}" text="x" resource-id="{each}" class="a.B" package="p" bounds="[0,{at * 9}][9,{at * 9 + 9}]" />'
        for at, each in enumerate(ids)
    )
    return f'<hierarchy rotation="0"><node class="a.C" package="p" bounds="[0,0][99,99]">{nodes}</node></hierarchy>'


@pytest.mark.parametrize(
    ("ids", "full"),
    [
        (("p:id/title",), "p:id/title"),
        (("p:id/title", "p:id/title"), "p:id/title"),
        (("title", "p:id/title"), ""),  # a test tag is an id as it is
        (("p:id/subtitle", "p:id/title2"), ""),
        ((), ""),
    ],
)
def test_the_id_that_is_meant(ids: tuple[str, ...], full: str) -> None:
    assert full_id(parse(tree(*ids)), "title", "--id") == (full or "title")


def test_several_ids_that_end_alike() -> None:
    with pytest.raises(EngineError, match="--container-id title is the end of 2 ids") as caught:
        full_id(parse(tree("p:id/title", "android:id/title")), "title", "--container-id")
    assert caught.value.details == {"path": "--container-id", "candidates": ["p:id/title", "android:id/title"]}


def test_every_kind_of_verb_takes_it_and_says_what_it_took(cli: Cli, plug: Plug) -> None:
    plug(device={"generation": "0.10"})
    cli("open", "com.example.shop")
    bar, deals = {"search_bar": f"{SHOP}/search_bar"}, {"deals_list": f"{SHOP}/deals_list"}
    for words, ids in (
        (("read", "--id", "search_bar"), bar),
        (("action", "wait", "--id", "search_bar"), bar),
        (("wait-for-nav", "--id", "search_bar", "--timeout", "2000"), bar),
        (("scroll", "up", "--container-id", "deals_list"), deals),
        (("input", "tap", "--id", "search_bar"), bar),
    ):
        run = cli(*words)
        assert (run.exit_code, run.document.get("resolvedIds")) == (0, ids), (words, run.out)
    typed = cli("type", "-", "--id", "search_src_text", stdin=b"tea")
    assert typed.exit_code == 0, typed.out
    whole = cli("read", "--id", f"{SHOP}/search_bar", "--brief").document
    assert "resolvedIds" not in whole


def test_an_id_that_the_screen_does_not_have_stays_as_it_is(cli: Cli, plug: Plug) -> None:
    plug()
    error = cli("read", "--id", "nowhere").document["outcome"]["error"]
    assert error["message"] == 'no node with id "nowhere"'


def test_a_wrong_command_line_is_refused_before_the_screen_is_read(cli: Cli) -> None:
    assert cli("click", "--id", "a", "--long", "--focus").document["message"] == "use --long OR --focus, not both"
    assert cli("wait", "--id", "a", "--timeout", "0").document["details"]["path"] == "--timeout"
