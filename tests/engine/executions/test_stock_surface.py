"""The stock backend's surface over a shell that answers from a list: dumps of real devices, text, and damaged output."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.device import ShellResult
from clawperator.engine.adb.shell_session import ShellSession
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.backends import stock, stock_dumps
from clawperator.engine.executions.backends.stock_dumps import Dumps
from clawperator.engine.executions.backends.stock_surface import StockSurface
from clawperator.engine.executions.backends.stock_text import SELECTS_ALL, typed_pieces, typing
from clawperator.engine.executions.keys import PIECE, SHORT
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.runtime.payload import read_plan

XIAOMI = (
    b"java.io.FileNotFoundException: /data/system/theme_config/theme_compatibility.xml: open failed: ENOENT (No such file or directory)\n"
    + b"\tat miui.content.res.ThemeCompatibilityLoader.getVersion(ThemeCompatibilityLoader.java:108)\n" * 40
)
"""What Java programs print on Xiaomi's phones, and go on."""
HEAD = b"cur=1080x2340\nrotation=0\nclawperator-dump:\n"


class FakeShell:
    """Answers each script with the next result, and keeps the scripts."""

    def __init__(self, *answers: ShellResult | bytes) -> None:
        self.answers = list(answers)
        self.scripts: list[str] = []

    async def run(self, script: str, **_: Any) -> ShellResult:
        self.scripts.append(script)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, ShellResult) else ShellResult(answer, b"", 0)


def surface(shell: FakeShell, *, sdk: int = 34, dumps: Dumps | None = None) -> StockSurface:
    async def same() -> ShellSession:
        return cast("ShellSession", shell)

    return StockSurface(same, lambda *_: None, sdk, dumps or Dumps("/data/local/tmp/clawperator-0.xml"))


async def step(shown: StockSurface, kind: str = "click", **params: Any) -> None:
    """Begin a step, so that the surface knows its action."""
    plan = {"commandId": "c", "taskId": "t", "source": "s", "actions": [{"id": "s", "type": kind, "params": params}]}
    await shown.begin(read_plan(plan, "0.5").steps[0])


def field(text: str, *, password: str = "false", focused: str = "false") -> bytes:
    return (
        f'<hierarchy rotation="0"><node class="android.widget.EditText" text="{text}" password="{password}" '
        f'focused="{focused}" bounds="[0,100][1080,200]" /></hierarchy>'
    ).encode()


async def test_dumps_of_real_devices_are_read_behind_warnings(corpus: Path) -> None:
    read = 0
    for file in sorted((corpus / "hierarchies").glob("*.xml")):
        data = file.read_bytes()
        try:
            expected = parse(data)
        except EngineError:
            continue
        if b"</hierarchy>" not in data or not expected.nodes:
            continue
        output = HEAD + b"WARNING: linker: unused DT entry\nUI hierchary dumped to: /data/local/tmp/x.xml\n" + data
        tree = await surface(FakeShell(output)).dump()
        assert tree is not None, file.name
        assert [node.attributes for node in tree.nodes] == [node.attributes for node in expected.nodes], file.name
        read += 1
    assert read > 100


@pytest.mark.parametrize(
    ("stderr", "exit_code", "code"),
    [
        (b"ERROR: null root node returned by UiTestAutomationBridge.\n", 0, ""),
        (b"ERROR: could not get idle state.\n", 0, "UI_NOT_IDLE"),
        (XIAOMI + b"ERROR: null root node returned by UiTestAutomationBridge.\n", 1, ""),
        (XIAOMI + b"ERROR: could not get idle state.\n", 0, "UI_NOT_IDLE"),
        (b"Killed \n", 137, "BACKEND_UNAVAILABLE"),
        (
            b"java.lang.IllegalStateException: UiAutomationService android.accessibilityservice already registered!",
            0,
            "BACKEND_UNAVAILABLE",
        ),
        (b"sh: uiautomator: inaccessible or not found", 127, "BACKEND_UNAVAILABLE"),
        (b"WARNING: linker: libvendor.so has text relocations\nSegmentation fault \n", 139, "BACKEND_UNAVAILABLE"),
        (b"UI hierchary dumped to: /data/local/tmp/clawperator-0.xml\n", 0, "BACKEND_UNAVAILABLE"),
    ],
)
async def test_what_uiautomator_says_instead_of_a_tree(stderr: bytes, exit_code: int, code: str) -> None:
    shell = FakeShell(*[ShellResult(HEAD, stderr, exit_code)] * 2)
    shown = surface(shell)
    await step(shown, "snapshot_ui")
    if not code:
        assert await shown.dump() is None
        return
    with pytest.raises(EngineError) as refused:
        await shown.dump()
    assert refused.value.code == code
    once = code == "UI_NOT_IDLE" or b"already" in stderr or exit_code == 127
    assert len(shell.scripts) == (1 if once else 2)


@pytest.mark.parametrize(
    "died",
    [
        ShellResult(HEAD, b"Killed \n", 137),
        ShellResult(HEAD, b"ERROR: null root node returned by UiTestAutomationBridge.\n", 0),
        HEAD + b"UI hierchary dumped to: /data/local/tmp/clawperator-0.xml\n",
        HEAD + b"UI hierchary dumped to: /data/local/tmp/x.xml\n<?xml version='1.0'?><hierarchy><node text=\"a\"",
        HEAD,
    ],
    ids=["killed", "no root", "empty", "cut", "silent"],
)
async def test_a_dump_that_died_is_read_once_more(died: ShellResult | bytes) -> None:
    shell = FakeShell(died, HEAD + field("there"))
    shown = surface(shell)
    await step(shown, "snapshot_ui")
    tree = await shown.dump()
    assert tree is not None
    assert tree.nodes[0].text == "there"
    assert len(shell.scripts) == 2


async def test_a_tree_behind_a_stack_trace_and_exit_1_is_a_tree() -> None:
    shell = FakeShell(ShellResult(HEAD + field("there"), XIAOMI, 1))
    shown = surface(shell)
    await step(shown, "snapshot_ui")
    assert await shown.dump() is not None
    assert len(shell.scripts) == 1


async def test_input_that_prints_what_means_nothing_was_sent() -> None:
    shown = surface(FakeShell(b"", ShellResult(b"", XIAOMI, 0)))
    await step(shown, matcher={"textEquals": "a"})
    assert await shown.press(1, 2, 100)
    assert shown.steps["s"].sent == ["input tap 1 2"]


async def test_a_dump_without_its_end_is_no_tree() -> None:
    with pytest.raises(EngineError) as refused:
        await surface(FakeShell(*[HEAD + field("a").removesuffix(b"</hierarchy>")] * 2)).dump()
    assert (refused.value.code, refused.value.details["reason"]) == ("HIERARCHY_MALFORMED", "truncated")


async def test_a_wait_goes_on_while_the_screen_moves() -> None:
    shown = surface(FakeShell(ShellResult(HEAD, b"ERROR: could not get idle state.\n", 0)))
    await step(shown, "wait_for_node", matcher={"textEquals": "a"}, timeoutMs=20_000)
    assert await shown.dump() is None


async def test_a_tree_is_read_once_until_something_is_sent_or_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = FakeShell(HEAD + field("one"), b"", HEAD + field("two"), HEAD + field("three"))
    shown = surface(shell)
    await step(shown, "scroll_until")
    assert [tree.nodes[0].text for tree in (await shown.dump(), await shown.dump()) if tree] == ["one", "one"]
    await shown.swipe(1, 2, 3, 4, 250)
    assert [tree.nodes[0].text for tree in (await shown.dump(), await shown.dump()) if tree] == ["two", "two"]
    await step(shown, "read_text", matcher={"role": "textfield"})
    assert await shown.dump() is not None, "the next step goes by the same tree"
    monkeypatch.setattr(stock_dumps, "FRESH_SECONDS", 0)
    tree = await shown.dump()
    assert tree is not None
    assert tree.nodes[0].text == "three"


async def test_a_retry_and_a_second_snapshot_read_the_tree_again() -> None:
    shell = FakeShell(HEAD + field("one"), HEAD + field("two"), HEAD + field("three"))
    dumps = Dumps("/data/local/tmp/clawperator-0.xml")
    shown = surface(shell, dumps=dumps)
    await step(shown, "read_text", matcher={"role": "textfield"})
    trees = [await shown.dump()]
    await stock._Clock(dumps).sleep(0)
    trees.append(await shown.dump())
    assert [tree.nodes[0].text for tree in trees if tree] == ["one", "two"]
    assert await shown.snapshot("a") is not None
    assert len(shell.scripts) == 2, "the first snapshot shows what was read"
    assert await shown.snapshot("b") is not None
    assert len(shell.scripts) == 3


async def typed(shell: FakeShell, text: str, *, sdk: int = 34) -> StockSurface:
    shown = surface(shell, sdk=sdk)
    await step(shown, "enter_text", matcher={"role": "textfield"}, text=text)
    tree = await shown.dump()
    assert tree is not None
    assert await shown.set_text(tree.nodes[0], text)
    return shown


def password(text: str, *, focused: str = "true") -> bytes:
    return HEAD + field(text, password="true", focused=focused)


@pytest.mark.parametrize(("after", "sdk"), [("••••••••", 34), ("•••••••1", 34), ("", 25)])
async def test_a_password_is_verified_by_its_focus_and_its_length(after: str, sdk: int) -> None:
    shell = FakeShell(password("••••"), password(after))
    shown = await typed(shell, "secret 1", sdk=sdk)
    done = shown.steps["s"]
    assert done.facts["verified"] == ("true" if after else "false")
    assert "only its focus" in done.facts["note"] or after
    assert not any("secret" in sent for sent in done.sent)


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ("•••••", "the field has 5 characters, not the 8"),
        ("Password", "the field has no characters, not the 8"),  # its hint, as long as what was typed
        ("", "the field has 0 characters, not the 8"),
    ],
)
async def test_a_password_of_another_length_did_not_arrive(after: str, words: str) -> None:
    with pytest.raises(EngineError, match=words) as refused:
        await typed(FakeShell(password(""), password(after)), "secret 1")
    assert refused.value.code == "TEXT_NOT_DELIVERED"
    assert "secret" not in str(refused.value)


async def test_a_password_that_the_maker_s_settings_block_is_no_success() -> None:
    said = b"java.lang.SecurityException: Injecting to another application requires INJECT_EVENTS permission\n"
    shell = FakeShell(password(""), ShellResult(b"", said, 0))
    with pytest.raises(EngineError, match="typing broke off: java") as refused:
        await typed(shell, "secret 1")
    assert "USB debugging (Security settings)" in refused.value.hint


@pytest.mark.parametrize("sdk", [28, 32, 34])
async def test_the_focus_is_read_between_the_tap_and_one_script_that_replaces_types_and_reads(sdk: int) -> None:
    taken = HEAD + field("old", focused="true")
    shell = FakeShell(HEAD + field("old"), b"", taken, HEAD + field("new one", focused="true"))
    shown = await typed(shell, "new one", sdk=sdk)
    _, tap, _, script = shell.scripts
    assert tap.index("exit 113") < tap.index("input tap 540 150")
    assert script.index("exit 113") < script.index("input text new%sone")
    assert ("input keycombination" in script) == (sdk >= 33)
    assert script.count("KEYCODE_FORWARD_DEL") == 3
    assert shown.steps["s"].facts["verified"] == "true"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HEAD + field("ne", focused="true"), "the field has 2 characters"),
        (HEAD + b'<hierarchy rotation="0"><node class="android.view.View" /></hierarchy>', "the field is gone"),
        (ShellResult(HEAD, b"ERROR: null root node returned\n", 0), "cannot be read back"),
        (ShellResult(b"", b"Killed\n", 1), "typing broke off"),
    ],
)
async def test_text_that_did_not_arrive_is_an_error(answer: ShellResult | bytes, words: str) -> None:
    with pytest.raises(EngineError, match=words) as refused:
        await typed(FakeShell(HEAD + field("old", focused="true"), answer, answer), "new")
    assert refused.value.code == "TEXT_NOT_DELIVERED"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("", "Abc", "the field has 3 characters in other capitals: the keyboard or the app changes them"),
        ("", "a-b-c", "the field has 5 characters for the 3 that were typed: the app formats them"),
        ("", "ab", "the field has 2 characters, the first of the 3 that were typed: it may take no more"),
        ("+44", "+44abc", "the field has 6 characters, with the 3 that were typed among them: it could not be emptied"),
        ("", "abd", "the field has 3 characters, as many as were typed, but others: the keyboard or the app changes"),
        ("", "", "the field has 0 characters, not the 3 that were typed"),
        ("", "something", "the field has 9 characters, not the 3 that were typed"),
    ],
)
async def test_how_a_field_differs_from_what_was_typed_is_said(before: str, after: str, words: str) -> None:
    shell = FakeShell(HEAD + field(before, focused="true"), HEAD + field(after, focused="true"))
    with pytest.raises(EngineError) as refused:
        await typed(shell, "abc")
    assert refused.value.code == "TEXT_NOT_DELIVERED"
    assert words in refused.value.message
    assert "abc" not in refused.value.message


def hinted(text: str, hint: str | None) -> bytes:
    mark = b"" if hint is None else f' hint="{hint}"'.encode()
    return HEAD + field(text, focused="true").replace(b" password=", mark + b" password=")


@pytest.mark.parametrize(
    ("before", "after", "verified"),
    [
        (("Email", "Email"), ("Email", "Email"), "false"),  # an empty field shows its hint
        (("Email", None), ("Email", None), "false"),  # the dump does not say whether that is one
        (("Email", ""), ("Email", ""), "true"),
        (("Name", "Name"), ("Email", "Name"), "true"),
        (("", None), ("Email", None), "true"),
    ],
)
async def test_a_text_that_is_the_hint_is_not_verified(
    before: tuple[str, str | None], after: tuple[str, str | None], verified: str
) -> None:
    shown = await typed(FakeShell(hinted(*before), hinted(*after)), "Email")
    assert shown.steps["s"].facts["verified"] == verified


async def test_a_protected_space_is_a_space() -> None:
    shown = await typed(FakeShell(HEAD + field("", focused="true"), HEAD + field("a\u00a0b", focused="true")), "a b")
    assert shown.steps["s"].facts["verified"] == "true"
    assert "Unicode form" in shown.steps["s"].facts["note"]


def two_fields(first: str, second: str) -> bytes:
    """The second one has the focus."""
    rows = (
        f'<node class="android.widget.EditText" text="{text}" focused="{focused}" bounds="[0,{top}][1080,{top + 99}]" />'
        for text, focused, top in ((first, "false", 100), (second, "true", 300))
    )
    return f'<hierarchy rotation="0">{"".join(rows)}</hierarchy>'.encode()


async def test_nothing_is_typed_where_the_tap_left_the_focus_in_another_field() -> None:
    shell = FakeShell(HEAD + two_fields("", ""), b"", HEAD + two_fields("", ""))
    with pytest.raises(EngineError, match="has the focus; nothing was typed") as refused:
        await typed(shell, "new")
    assert refused.value.code == "TEXT_NOT_DELIVERED"
    assert not any("input text" in script for script in shell.scripts)


async def test_text_that_another_field_got_did_not_arrive() -> None:
    before, after = two_fields("x", "").replace(b'"true"', b'"false"'), two_fields("x", "new")
    focused = before.replace(b'focused="false"', b'focused="true"', 1)
    with pytest.raises(EngineError, match=r"has 1 characters, not the 3.*at \[0,300\].* now holds 3") as refused:
        await typed(FakeShell(HEAD + focused, HEAD + after), "new")
    assert refused.value.code == "TEXT_NOT_DELIVERED"


@pytest.mark.parametrize("node", ['class="android.widget.TextView"', 'class="android.widget.EditText" enabled="false"'])
async def test_nothing_is_sent_for_a_node_that_takes_no_text(node: str) -> None:
    shell = FakeShell(
        HEAD + f'<hierarchy rotation="0"><node {node} text="old" bounds="[0,0][9,9]" /></hierarchy>'.encode()
    )
    with pytest.raises(AssertionError):
        await typed(shell, "new")
    assert len(shell.scripts) == 1


async def test_submit_presses_enter_behind_the_text() -> None:
    shell = FakeShell(HEAD + field("", focused="true"), HEAD + field("new", focused="true"), b"")
    shown = await typed(shell, "new")
    tree = parse(field("new"))
    assert await shown.click(tree.nodes[0])
    assert shell.scripts[2].endswith("input keyevent KEYCODE_ENTER")
    assert shown.steps["s"].sent[-1] == "input keyevent KEYCODE_ENTER"


async def test_a_display_that_changed_gets_no_text() -> None:
    shown = surface(FakeShell(HEAD + field("old"), ShellResult(b"", b"", 113)))
    await step(shown, "enter_text", matcher={"role": "textfield"}, text="new")
    tree = await shown.dump()
    assert tree is not None
    assert not await shown.set_text(tree.nodes[0], "new")
    assert not shown.steps["s"].sent


def test_a_literal_percent_s_is_typed_in_two_pieces() -> None:
    assert typed_pieces("a %s b%%s") == ["a%s%", "s%sb%%", "s"]


@pytest.mark.parametrize(
    ("output", "started"),
    [
        (ShellResult(b"No activity found\n", b"", 113), False),
        (ShellResult(b"android/com.android.internal.app.ResolverActivity\n", b"", 113), None),
        (ShellResult(b"cmd: Can't find service: package\n", b"", 113), None),
        (
            ShellResult(
                b"Starting: Intent { cmp=a.b/.C }\n",
                b"Error type 3\nError: Activity class {a.b/.C} does not exist.\n",
                1,
            ),
            False,
        ),
        (
            ShellResult(
                b"Starting: Intent { cmp=a.b/.C }\n",
                b"java.lang.SecurityException: Permission Denial: starting\n\tat x.y\n",
                0,
            ),
            None,
        ),
        (
            ShellResult(
                b"Starting: Intent { cmp=a.b/.C }\n",
                b"Warning: Activity not started because the current activity is being kept for the user.\n",
                0,
            ),
            None,
        ),
        (
            ShellResult(
                b"Starting: Intent { dat=https://a.b/?q=Error: }\n",
                b"Warning: Activity not started, its current task\n",
                0,
            ),
            True,
        ),
    ],
)
async def test_starting_an_app_ends_with_what_android_printed(output: ShellResult, *, started: bool | None) -> None:
    shown = surface(FakeShell(output))
    await step(shown, "open_app", applicationId="a.b")
    if started is None:
        with pytest.raises(
            EngineError,
            match=r"failed: (java.lang.SecurityException: Permission|cmd: Can't|android/com|Warning: Activity not)",
        ):
            await shown.launch("a.b")
    else:
        assert await shown.launch("a.b") is started


def test_a_service_is_back_only_if_it_is_seen() -> None:
    before = stock._State(34, "a/.B", None, running=("A", "B"))
    assert not stock._is_back(stock._State(34), before)
    assert not stock._is_back(stock._State(34, "a/.B", None, running=("A",)), before)
    assert stock._is_back(stock._State(34, "a/.B", None, running=("A", "B")), before)
    assert stock._is_back(stock._State(34, "a/.B", bound=True, running=("A",)), before)


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=700),
    st.text(max_size=1_200),
    st.sampled_from([26, 30, 33]),
)
def test_the_pieces_of_keys_are_the_text_and_bounded(text: str, before: str, sdk: int) -> None:
    tree = parse(
        f'<hierarchy><node class="android.widget.EditText" text="{"x" * len(before)}" bounds="[0,0][9,9]" /></hierarchy>'
    )
    if sdk < SELECTS_ALL and len(before) > 1_000:
        return
    pieces = typing(tree.nodes[0], text, sdk, "", None).pieces
    words = [value for keys in pieces for value in keys.values.values() if isinstance(value, str)]
    assert "".join(word.replace("%s", " ") for word in words) == text
    assert sum(keys.typed for keys in pieces) == len(text)
    assert all(keys.presses <= (PIECE if pieces[1:] else SHORT) for keys in pieces)
    presses = [value for keys in pieces for value in keys.values.values() if not isinstance(value, str)]
    assert sum(map(len, presses)) == 2 * min(len(before), 1_000)
