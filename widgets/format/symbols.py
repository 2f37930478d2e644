"""Every glyph of the console in two spellings: one cell each, none an emoji; and plain ASCII."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clawperator.widgets.models.status import Status


class Symbols(NamedTuple):
    """The glyphs of a terminal. ``UNICODE`` is the default; ``ASCII`` is for terminals without Unicode."""

    cursor: str = "▌"
    open: str = "▾"
    closed: str = "▸"
    chain: str = "⟩"
    more: str = "…"
    guide: str = "│"
    clickable: str = "◉"
    scrollable: str = "⇅"
    editable: str = "_"
    checked: str = "x"
    disabled: str = "⊘"
    offscreen: str = "∅"
    desc_open: str = "⟨"
    desc_close: str = "⟩"
    added: str = "+"
    changed: str = "~"
    removed: str = "−"
    moved: str = "⇕"
    approx: str = "≈"
    dot: str = "·"
    bar: str = "▇"
    bar_idle: str = "░"
    bar_run: str = "▒"
    bullet: str = "•"
    match: str = "◇"
    match_first: str = "◆"
    arrow: str = "→"
    thumb: str = "┃"
    track: str = "│"
    malformed: str = "▓"
    duplicate: str = "≋"
    late: str = "⇤"
    foreign: str = "⇢"
    gap: str = "⋯"
    dropped: str = "⋮"
    follow: str = "●"
    rule: str = "─"
    enter: str = "⏎"
    space: str = "␣"
    tab: str = "⇥"
    up: str = "↑"
    down: str = "↓"
    left: str = "←"
    right: str = "→"
    separator: str = "│"
    ascii: bool = False

    def sign(self, status: Status) -> str:
        return status.ascii_form if self.ascii else status.glyph


UNICODE = Symbols()

ASCII = Symbols(
    cursor=">",
    open="v",
    closed=">",
    chain=">",
    more="...",
    guide="|",
    clickable="*",
    scrollable="^",
    disabled="/",
    offscreen="0",
    desc_open="<",
    desc_close=">",
    removed="-",
    moved="^",
    approx="~",
    dot="-",
    bar="#",
    bar_idle=".",
    bar_run="=",
    bullet="*",
    match="o",
    match_first="@",
    arrow="->",
    thumb="#",
    track="|",
    malformed="%",
    duplicate="=",
    late="<",
    foreign=">",
    gap="...",
    dropped=":",
    follow="*",
    rule="-",
    enter="enter",
    space="space",
    tab="tab",
    up="up",
    down="down",
    left="left",
    right="right",
    separator="|",
    ascii=True,
)
