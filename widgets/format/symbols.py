"""Every glyph the console draws, in two spellings: one cell each, none an emoji; and plain ASCII."""

from __future__ import annotations

from typing import NamedTuple


class Symbols(NamedTuple):
    """One spelling of the glyphs. ``UNICODE`` is the default; ``ASCII`` serves terminals that cannot draw it."""

    cursor: str
    open: str
    closed: str
    chain: str
    more: str
    guide: str
    clickable: str
    scrollable: str
    editable: str
    checked: str
    disabled: str
    offscreen: str
    desc_open: str
    desc_close: str
    added: str
    changed: str
    removed: str
    moved: str
    approx: str
    dot: str
    bar: str
    bar_idle: str
    bar_run: str
    bullet: str
    match: str
    match_first: str
    arrow: str
    thumb: str
    track: str
    malformed: str
    duplicate: str
    late: str
    foreign: str
    gap: str
    dropped: str
    follow: str
    rule: str
    enter: str
    space: str
    tab: str
    up: str
    down: str
    left: str
    right: str
    separator: str
    ascii: bool


UNICODE = Symbols(
    cursor="▌",
    open="▾",
    closed="▸",
    chain="⟩",
    more="…",
    guide="│",
    clickable="◉",
    scrollable="⇅",
    editable="_",
    checked="x",
    disabled="⊘",
    offscreen="∅",
    desc_open="⟨",
    desc_close="⟩",
    added="+",
    changed="~",
    removed="−",
    moved="⇕",
    approx="≈",
    dot="·",
    bar="▇",
    bar_idle="░",
    bar_run="▒",
    bullet="•",
    match="◇",
    match_first="◆",
    arrow="→",
    thumb="┃",
    track="│",
    malformed="▓",
    duplicate="≋",
    late="⇤",
    foreign="⇢",
    gap="⋯",
    dropped="⋮",
    follow="●",
    rule="─",
    enter="⏎",
    space="␣",
    tab="⇥",
    up="↑",
    down="↓",
    left="←",
    right="→",
    separator="│",
    ascii=False,
)

ASCII = Symbols(
    cursor=">",
    open="v",
    closed=">",
    chain=">",
    more="...",
    guide="|",
    clickable="*",
    scrollable="^",
    editable="_",
    checked="x",
    disabled="/",
    offscreen="0",
    desc_open="<",
    desc_close=">",
    added="+",
    changed="~",
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
