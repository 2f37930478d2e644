"""What a tree cannot show: the findings in every capture of the corpus, and what each fact adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.blind import EXPLANATIONS, KINDS, REMEDIES, Facts, blind_spots, facts_of_step
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.hierarchy.views import view
from tests.support import table

DIALOG = "other_window e0 (likely)"
FOUND = {
    "android-app-compatibility-dialog.xml": [DIALOG],
    "clash-of-clans-unity-surface-u2-display-id.xml": ["canvas e3 (possible)"],  # a game
    "cm-security-confirm-report-success.xml": [DIALOG],
    "cm-security-finish.xml": ["canvas e9 (possible)"],  # a drawn result
    "cm-security-scan.xml": ["canvas e6 (possible)"],  # a drawn radar that is one button
    "crossnavi-compose-dialog-japanese.xml": [DIALOG],
    "currency-converter-welcome.xml": [DIALOG],
    "deepeye-music-home-after-fix.xml": ["webview_empty e24 (likely)"],
    "derived-deep-400-levels.xml": ["canvas e399 (possible)"],  # containers only
    "derived-rotation-2-ivi-driving.xml": [DIALOG],
    "derived-windows-dump-keyguard-over-app-divider.xml": ["other_window e49 (certain)", DIALOG],
    "derived-windows-dump-statusbar-ime-app.xml": ["other_window e13 (certain)"],  # the keyboard's
    "droidmate-fixture-nexus7-home-screen.xml": ["canvas e7 (possible)"],  # an empty page of the launcher
    "expense-manager-expense-calc.xml": [DIALOG],
    "expense-manager-expense-set-date.xml": [DIALOG],
    "fitai-rn-current.xml": ["canvas e6 (possible)"],  # React Native before its first frame
    "fitai-rn-launcher.xml": [DIALOG],
    "fitai-rn-tmp.xml": ["canvas e12 (possible)"],  # a page that loads
    "fitai-rn-window.xml": [DIALOG],
    "flutter-ide-final.xml": ["canvas e15 (possible)"],  # a terminal
    "ivi-en-vehicle-settings-appium-source.xml": [DIALOG],
    "ivi-ko-connections.xml": [DIALOG],
    "ivi-ko-digital-key-dialog-newline.xml": [DIALOG],
    "ivi-ko-drag-icons-hint-appium-source.xml": [DIALOG],
    "ivi-ko-driving-scrolled.xml": [DIALOG],
    "ivi-ko-hipass-scrolled-appium-source.xml": [DIALOG],
    "ivi-ko-lights-scrolled.xml": [DIALOG],
    "ivi-ko-lock-scrolled.xml": [DIALOG],
    "ivi-ko-profile-equalizer.xml": [DIALOG],
    "ivi-ko-side-mirror-popup-appium-source.xml": [DIALOG],
    "ivi-ko-sound-scrolled.xml": [DIALOG],
    "ivi-ko-voice-assistant-appium-source.xml": [DIALOG],
    "lockscreen-may-11.xml": [DIALOG],
    "malformed/derived-duplicate-attribute.xml": ["truncated (certain)"],
    "malformed/derived-truncated-after-complete-node.xml": ["truncated e63 (certain)"],
    "malformed/derived-truncated-in-attribute-value.xml": ["truncated e50 (certain)"],
    "malformed/derived-truncated-in-tag-name.xml": ["truncated e75 (certain)"],
    "malformed/derived-truncated-inside-utf8-character.xml": [DIALOG, "truncated e55 (certain)"],
    "philo-tv-advertisement-overlay.xml": ["canvas e13 (likely)"],  # a video
    "picsart-apply-effect.xml": ["canvas e88 (possible)"],  # the edited picture
    "picsart-saveas-popup.xml": [DIALOG],
    "picsart-stretch-tool-popup.xml": [DIALOG, "webview_empty e10 (likely)"],
    "pluct-permission-onboarding-emoji.xml": [DIALOG],
    "rhmsoft-file-manager-new-dir-popup.xml": [DIALOG],
    "simple-calendar-month.xml": ["canvas e20 (possible)"],  # a month whose days are drawn
}
"""By capture; all others have none."""

PAGE = """<hierarchy rotation="0"><node class="android.widget.FrameLayout" package="a.b" bounds="[0,0][1000,2000]">
<node class="android.widget.TextView" text="Title" package="a.b" bounds="[0,0][1000,200]" />{}</node></hierarchy>"""
BLANK = """<hierarchy rotation="0"><node class="android.widget.FrameLayout" package="a.b" bounds="[0,0][1000,2000]" /></hierarchy>"""


def leaf(cls: str, bounds: str = "[0,200][1000,2000]", **attributes: str) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<node class="{cls}" package="a.b" bounds="{bounds}"{more} />'


def lines(xml: str, facts: Facts = Facts()) -> list[str]:  # noqa: B008 - immutable
    return [spot.line for spot in blind_spots(parse(xml, recover=True), facts)]


def test_every_finding_in_the_corpus(corpus: Path) -> None:
    found: dict[str, list[str]] = {}
    folder = corpus / "hierarchies"
    for path in sorted(folder.rglob("*.xml")):
        try:
            tree = parse(path.read_bytes(), recover=True)
        except EngineError:
            continue
        if spots := blind_spots(tree):
            found[path.relative_to(folder).as_posix()] = [spot.line for spot in spots]
    assert found == FOUND


@table(
    ("inside", "expected"),
    [
        (leaf("android.webkit.WebView"), ["webview_empty e2 (likely)"]),
        (leaf("android.webkit.WebView", content_desc="Terms"), []),
        (leaf("android.webkit.WebView", "[0,200][1000,260]"), []),
        (leaf("android.view.SurfaceView"), ["canvas e2 (likely)"]),
        (leaf("android.view.View", resource_id="a.b:id/unity_surface"), ["canvas e2 (likely)"]),
        (leaf("android.view.View"), ["canvas e2 (possible)"]),
        (leaf("android.view.View", "[0,200][1000,500]"), []),
        (leaf("android.view.View", resource_id="a.b:id/page_background"), []),
        (leaf("android.widget.ImageView"), []),
        (leaf("android.widget.FrameLayout"), []),
        (leaf("android.view.View") + leaf("android.widget.TextView", text="Long text"), []),
        (leaf("android.view.TextureView") + leaf("android.widget.TextView", text="0:15"), ["canvas e2 (likely)"]),
    ],
)
def test_areas_without_text(inside: str, expected: list[str]) -> None:
    assert lines(PAGE.format(inside)) == expected


@table(
    ("facts", "expected"),
    [
        (Facts(secure=True, black=True), "secure_window (certain)"),
        (Facts(black=True), "secure_window (likely)"),
        (Facts(keyboard=True), "other_window (certain)"),
        (Facts(overlay="c.d"), "other_window (certain)"),
        (Facts(displays=(2,)), "other_display (certain)"),
        (Facts(focus="c.d"), "stale_cache (likely)"),
        (Facts(blank=(2, 3)), "stale_cache (possible)"),
        (Facts(blank=(2, 2)), ""),
        (Facts(blank=(2, 4)), ""),
        (Facts(blank=(4, 4), secure=True), "secure_window (certain)"),
        (Facts(screen=(1_000, 2_000)), ""),
        (Facts(screen=(1_000, 4_000)), "other_window e0 (likely)"),
        (Facts(cut_lines=2), "truncated (certain)"),
        (Facts(settled=False), "busy (certain)"),
        (Facts(focus="a.b", sdk=36), ""),
    ],
)
def test_facts_about_a_page_with_text(facts: Facts, expected: str) -> None:
    assert lines(PAGE.format(""), facts) == [expected] * bool(expected)


@table(
    ("bounds", "expected"),
    [
        ("[96,0][2340,1080]", []),  # beside a cutout, in landscape
        ("[0,0][2208,1080]", []),  # beside a navigation bar
        ("[0,0][1170,1080]", [DIALOG]),
        ("[1170,0][2340,1080]", [DIALOG]),
        ("[700,80][1640,1000]", [DIALOG]),
        ("[600,0][1740,1080]", ["other_window e0 (possible)"]),  # or letterboxed
    ],
)
def test_a_window_that_covers_a_part_of_the_screen(bounds: str, expected: list[str]) -> None:
    shown = leaf("android.widget.TextView", bounds, text="Title")
    assert lines(f'<hierarchy rotation="1">{shown}</hierarchy>', Facts(screen=(2_340, 1_080))) == expected


def test_a_window_without_text_may_be_hidden_from_the_service_on_android_14() -> None:
    hidden = "accessibility_data_sensitive e0 (possible)"
    assert lines(BLANK) == ["canvas e0 (possible)"]  # its version is not known
    assert lines(BLANK, Facts(sdk=33)) == ["canvas e0 (possible)"]
    assert lines(BLANK, Facts(sdk=34)) == [hidden, "canvas e0 (possible)"]
    assert lines(BLANK, Facts(sdk=34, accessibility_tool=True)) == ["canvas e0 (possible)"]


def test_a_finding_as_data() -> None:
    answer = view(parse(PAGE.format(leaf("android.webkit.WebView"))), "compact", "")
    assert answer["blind"] == [
        {
            "kind": "webview_empty",
            "certainty": "likely",
            "seen": "WebView without children",
            "where": {"ref": "e2", "bounds": [0, 200, 1000, 2000]},
            "remedy": REMEDIES["webview_empty"],
        }
    ]
    assert "blind" not in view(parse(PAGE.format("")), "compact", "")
    assert set(REMEDIES) == set(EXPLANATIONS) == set(KINDS)


def test_facts_of_a_snapshots_step() -> None:
    assert facts_of_step({"has_overlay": "true", "overlay_package": "c.d"}).overlay == "c.d"
    assert facts_of_step({"has_overlay": "false"}) == Facts()


@pytest.mark.parametrize("xml", [leaf("a.View") * 3_000, leaf("a.View", text="x") * 3_000 + leaf("a.View") * 3_000])
def test_a_large_tree_has_at_most_four_findings_of_a_kind(xml: str) -> None:
    assert len(blind_spots(parse(PAGE.format(xml)))) <= 4


def test_nothing_at_all() -> None:
    assert lines("<hierarchy rotation='0' />") == []
