"""``match``, ``suggest``, ``diff`` and the views of ``inspect ui``: on saved dumps, and once on a simulated device."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.app.cli.command import Answer
from clawperator.app.cli.commands import observe
from clawperator.app.cli.output import encode
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.hierarchy import views
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.serialise import hierarchy_xml, render_node
from clawperator.engine.hierarchy.tree import parse
from tests.app.cli.test_cli_end_to_end import HOMEPAGE, SERIAL, SETTINGS, SHAPE, device, simulate
from tests.view_lines import lines_of, nodes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.app.cli.conftest import Cli

__all__ = ["device", "simulate"]  # fixtures

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
CALENDAR = str(DATA / "simple-calendar-month.xml")
CHAT = str(DATA / "nora-chat-chat.xml")
EMPTY = str(DATA / "derived-empty-hierarchy-self-closed.xml")
CUT = str(DATA / "malformed" / "derived-two-dumps-in-one-file.xml")
SEARCH = "com.simplemobiletools.calendar:id/search"
HOSTILE = "\x9b31m[bold]x[/]\u202e é 漢 🦾"


def button(text: str, top: int, **attributes: object) -> Any:
    own = {"class": "android.widget.Button", "text": text, "bounds": (0, top, 100, top + 50), "clickable": True}
    return render_node({**own, **attributes})


def screen(*children: Any) -> str:
    return hierarchy_xml(render_node({"class": "android.widget.FrameLayout", "bounds": (0, 0, 100, 1000)}, children))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A screen with two equal buttons, one of them below the edge, and a row whose label takes no click itself."""
    label = render_node({"class": "android.widget.TextView", "text": "Wi-Fi 50%", "bounds": (0, 300, 50, 350)})
    row = render_node(
        {"class": "android.widget.LinearLayout", "bounds": (0, 300, 100, 350), "clickable": True}, [label]
    )
    path = tmp_path / "screen.xml"
    path.write_text(screen(button("OK", 0), button("OK", 100), button("Away", 2000), row), encoding="utf-8")
    return path


class TestMatch:
    def test_one_node(self, cli: Cli) -> None:
        run = cli("match", "--id", SEARCH, "--snapshot", CALENDAR)
        assert (run.exit_code, run.err) == (0, "")
        document = run.document
        (month,) = document["snapshot"].pop("blind")
        assert (month["kind"], month["certainty"], month["where"]["ref"]) == ("canvas", "possible", "e20")
        assert document == {
            "ok": True,
            "snapshot": {"file": CALENDAR, "package": "", "nodes": 65, "onScreen": 65},
            "selector": {"resourceId": SEARCH},
            "count": 1,
            "offScreen": 0,
            "matches": [
                {
                    "path": "0/0/0/0/0/0/1/0",
                    "class": "android.widget.TextView",
                    "role": "button",
                    "resourceId": SEARCH,
                    "contentDesc": "Search",
                    "bounds": [723, 138, 849, 264],
                    "clickable": True,
                    "taken": True,
                }
            ],
        }

    def test_what_limits_an_action_limits_the_matches(self, cli: Cli) -> None:
        row = '<node resource-id="x:id/row" bounds="[0,{0}][9,{1}]"><node text="{2}" bounds="[0,{0}][4,{1}]"/><node text="Like" bounds="[4,{0}][9,{1}]"/></node>'
        rows = row.format(0, 4, "Ann") + row.format(4, 9, "Bea")
        tree = f'<hierarchy><node class="x.ListView" scrollable="true" bounds="[0,0][9,9]">{rows}</node></hierarchy>'

        def taken(*words: str) -> tuple[int, list[str]]:
            document = cli("match", "--text", "Like", *words, "--snapshot", "-", stdin=tree.encode()).document
            return document["count"], [match["path"] for match in document["matches"] if match.get("taken")]

        bea = json.dumps({"resourceId": "x:id/row", "descendant": {"textEquals": "Bea"}})
        assert taken() == (2, ["0/0/1"])
        assert taken("--container", bea) == (1, ["0/1/1"])
        assert taken("--in", "Bea") == (1, ["0/1/1"])
        assert taken("--nth", "1") == (2, ["0/1/1"])
        strict = cli(
            "match", "--text", "Like", "--strict", "--snapshot", "-", "--output", "pretty", stdin=tree.encode()
        )
        assert "an action fails: NODE_AMBIGUOUS, 2 nodes on screen match the matcher" in strict.out
        wrong = cli("match", "--text", "Like", "--in", "{}", "--snapshot", "-", stdin=tree.encode()).document
        assert (wrong["details"]["path"], wrong["message"][:5]) == ("within", "--in:")

    def test_it_finds_what_the_engine_finds(self, cli: Cli) -> None:
        selector = {"textContains": "e", "role": "button"}
        found = cli("match", "--selector", json.dumps(selector), "--snapshot", CALENDAR).document
        expected = find_all(parse(Path(CALENDAR).read_bytes()), Matcher.from_fields(selector))
        assert [node["path"] for node in found["matches"]] == [node.path for node in expected]

    def test_the_device_takes_the_first_and_says_nothing(self, cli: Cli, dump: Path) -> None:
        found = cli("match", "--text", "OK", "--snapshot", str(dump)).document
        assert [node.get("taken") for node in found["matches"]] == [True, None]
        assert found["warnings"] == [
            {
                "code": "MATCHER_AMBIGUOUS",
                "path": "selector",
                "message": "2 nodes match: the device uses the first without a warning",
            }
        ]

    def test_where_a_click_lands(self, cli: Cli, dump: Path) -> None:
        (label,) = cli("match", "--text-contains", "wi-fi", "--snapshot", str(dump)).document["matches"]
        assert (label["clickable"], label["clickTarget"]) == (False, "0/3")

    def test_warnings_of_the_contract(self, cli: Cli, dump: Path) -> None:
        (percent,) = cli("match", "--text", "Wi-Fi 50%", "--snapshot", str(dump)).document["warnings"]
        assert (percent["code"], percent["path"]) == ("MATCHER_PERCENT", "selector.textEquals")
        (role,) = cli("match", "--role", "android.widget.Button", "--snapshot", str(dump)).document["warnings"]
        assert (role["code"], role["path"]) == ("ROLE_UNKNOWN", "selector.role")

    def test_what_is_inferred_is_marked(self, cli: Cli, dump: Path) -> None:
        assert "approximate" not in cli("match", "--text", "OK", "--snapshot", str(dump)).document
        away = cli("match", "--text", "Away", "--snapshot", str(dump)).document
        assert (away["count"], away["offScreen"], away["approximate"]) == (0, 1, True)
        assert "1 of the matches count as off the screen" in away["approximateBecause"][0]
        role = cli("match", "--role", "container", "--snapshot", str(dump)).document
        assert (role["count"], role["approximate"]) == (2, True)

    def test_nothing_found_is_an_answer_that_explains_itself(self, cli: Cli, dump: Path) -> None:
        run = cli("match", "--text", "ok", "--role", "button", "--snapshot", str(dump))
        assert (run.exit_code, run.document["count"], run.document["matches"]) == (0, 0, [])
        explain = run.document["explain"]
        assert explain["verdict"] == "textEquals removes the last 3"
        assert explain["fields"] == [
            {"field": "role", "alone": 3, "together": 3},
            {"field": "textEquals", "alone": 0, "together": 0},
        ]
        nearest = explain["nearest"][0]
        assert nearest["node"]["path"] == "0/0"
        assert [field["ok"] for field in nearest["fields"]] == [True, False]
        assert nearest["fields"][1]["reason"].startswith("only letter case differs")

    def test_explain_on_demand(self, cli: Cli, dump: Path) -> None:
        assert "explain" not in cli("match", "--text", "OK", "--snapshot", str(dump)).document
        assert cli("match", "--text", "OK", "--explain", "--snapshot", str(dump)).document["explain"]["verdict"] == ""

    def test_a_limit_is_reported(self, cli: Cli) -> None:
        cut = cli("match", "--role", "button", "--limit", "2", "--snapshot", CALENDAR).document
        assert (cut["count"], len(cut["matches"])) == (4, 2)
        assert cut["truncated"] == {
            "shown": 2,
            "total": 4,
            "hint": "The rest is not listed. Use --limit 4 for all.",
        }
        assert "truncated" not in cli("match", "--role", "button", "--limit", "4", "--snapshot", CALENDAR).document

    def test_stdin(self, cli: Cli) -> None:
        run = cli("match", "--id", SEARCH, "--snapshot", "-", stdin=Path(CALENDAR).read_bytes())
        assert (run.document["count"], run.document["snapshot"]["file"]) == (1, "-")

    def test_a_damaged_dump_is_labelled(self, cli: Cli) -> None:
        run = cli("match", "--text", "x", "--snapshot", CUT)
        assert run.exit_code == 0
        assert run.document["snapshot"]["recovered"] == "only the first of several documents was read"

    def test_an_empty_tree(self, cli: Cli) -> None:
        run = cli("match", "--text", "x", "--snapshot", EMPTY)
        assert (run.exit_code, run.document["count"]) == (0, 0)
        assert run.document["explain"]["verdict"] == "nothing is on the screen"

    def test_for_eyes(self, cli: Cli, dump: Path) -> None:
        run = cli("match", "--text", "OK", "--snapshot", str(dump), "--output", "pretty")
        assert run.out.splitlines()[:2] == [
            '2 matches  {"textEquals": "OK"}',
            "warning: 2 nodes match: the device uses the first without a warning",
        ]
        assert "used   0/0    button   Button   OK" in run.out
        none = cli("match", "--text", "Away", "--snapshot", str(dump), "--output", "pretty").out
        assert none.startswith("0 matches, 1 off screen  ≈ approximate")
        assert "no match: all matches are off the screen: 1" in none
        assert "[NO] its bounds [0,2000][100,2050] lie outside the screen 100x1000" in none


class TestSuggest:
    def test_by_point_path_and_selector(self, cli: Cli) -> None:
        answers = [
            cli("suggest", *way, "--snapshot", CALENDAR).document
            for way in (("--at", "786,201"), ("--node", "0/0/0/0/0/0/1/0"), ("--id", SEARCH), ("--desc", "Search"))
        ]
        assert all(answer == answers[0] for answer in answers)
        assert answers[0]["node"]["resourceId"] == SEARCH
        best = answers[0]["candidates"][0]
        assert (best["selector"], best["matches"], best["unique"], best["kind"]) == (
            {"resourceId": SEARCH}, 1, True, "direct",
        )  # fmt: skip
        assert best["why"]
        assert "advice" not in answers[0]

    def test_several_nodes_with_the_text(self, cli: Cli, dump: Path) -> None:
        answer = cli("suggest", "--text", "OK", "--snapshot", str(dump)).document
        assert answer["node"]["path"] == "0/0"
        assert answer["others"] == {"count": 1, "paths": ["0/1"]}
        assert answer["candidates"][0]["unique"] is False
        assert answer["advice"]

    def test_a_row_is_reached_through_its_label(self, cli: Cli, dump: Path) -> None:
        (first, *_) = cli("suggest", "--node", "0/3", "--snapshot", str(dump)).document["candidates"]
        assert (first["kind"], first["selector"]) == ("tap-through", {"textContains": "Wi-Fi"})

    def test_a_node_off_the_screen(self, cli: Cli, dump: Path) -> None:
        answer = cli("suggest", "--text", "Away", "--snapshot", str(dump)).document
        assert answer["node"]["onScreen"] is False
        assert "off" in answer["candidates"][0]["flags"]

    def test_a_limit_is_reported(self, cli: Cli, dump: Path) -> None:
        answer = cli("suggest", "--text", "OK", "--limit", "1", "--snapshot", str(dump)).document
        assert len(answer["candidates"]) == 1
        assert answer["truncated"]["shown"] == 1 < answer["truncated"]["total"]

    def test_for_eyes(self, cli: Cli, dump: Path) -> None:
        shown = cli("suggest", "--text", "OK", "--snapshot", str(dump), "--output", "pretty").out.splitlines()
        assert shown[0] == 'button "OK" at 0/0'
        assert shown[1] == "the first of 2 matches; others: 0/1"
        assert shown[3].startswith("[WARN]   2")


class TestDiff:
    def test_the_same_dump(self, cli: Cli) -> None:
        run = cli("diff", CALENDAR, CALENDAR)
        assert (run.exit_code, run.document["equal"], run.document["changes"]) == (0, True, [])
        assert run.document["counts"] == {"added": 0, "removed": 0, "changed": 0, "moved": 0}

    def test_changes_in_document_order(self, cli: Cli, dump: Path, tmp_path: Path) -> None:
        later = tmp_path / "later.xml"
        later.write_text(screen(button("OK", 0), button("Cancel", 100), button("New", 200)), encoding="utf-8")
        answer = cli("diff", str(dump), str(later)).document
        assert (answer["equal"], answer["old"]["file"], answer["new"]["file"]) == (False, str(dump), str(later))
        assert answer["counts"] == {"added": 0, "removed": 1, "changed": 2, "moved": 0}
        assert answer["changes"] == [
            {"kind": "changed", "path": "0/1", "name": 'Button "Cancel"', "attributes": {"text": ["OK", "Cancel"]}},
            {
                "kind": "changed",
                "path": "0/2",
                "name": 'Button "New"',
                "attributes": {
                    "text": ["Away", "New"],
                    "bounds": ["[0,2000][100,2050]", "[0,200][100,250]"],
                },
            },
            {"kind": "removed", "path": "0/3", "name": 'LinearLayout "Wi-Fi 50%"', "nodes": 2},
        ]  # fmt: skip

    def test_one_of_them_from_stdin(self, cli: Cli) -> None:
        data = Path(CALENDAR).read_bytes()
        assert cli("diff", "-", CALENDAR, stdin=data).document["equal"] is True
        assert cli("diff", CALENDAR, "-", stdin=data).document["equal"] is True

    def test_a_limit_is_reported(self, cli: Cli) -> None:
        answer = cli("diff", CALENDAR, CHAT, "--limit", "1").document
        assert (len(answer["changes"]), answer["truncated"]["total"]) == (1, sum(answer["counts"].values()))

    def test_for_eyes(self, cli: Cli, dump: Path, tmp_path: Path) -> None:
        later = tmp_path / "later.xml"
        later.write_text(screen(button("OK", 50), button(HOSTILE, 100)), encoding="utf-8")
        run = cli("diff", str(dump), str(later), "--output", "pretty")
        shown = run.out.splitlines()
        assert shown[0] == "2 removed, 1 changed, 1 moved"
        assert shown[1:3] == ['⇕ Button "OK"  0/0', '    bounds: "[0,0][100,50]" → "[0,50][100,100]"']
        assert shown[3].startswith('~ Button "\\x9b31m[bold]x[/]\\u202e é')
        assert shown[-1] == '− LinearLayout "Wi-Fi 50%" and 1 inside  0/3'
        assert cli("diff", CHAT, CHAT, "--output", "pretty").out == "no differences\n"


class TestViews:
    def test_the_names_are_the_engine_s(self) -> None:
        assert observe.VIEWS == views.VIEWS

    @pytest.mark.parametrize("words", [("inspect", "ui"), ("observe", "snapshot")])
    @pytest.mark.parametrize("name", views.VIEWS)
    def test_a_saved_dump(self, cli: Cli, words: tuple[str, str], name: str) -> None:
        run = cli(*words, "--view", name, "--snapshot", CALENDAR)
        assert (run.exit_code, run.err) == (0, "")
        xml = Path(CALENDAR).read_text(encoding="utf-8")
        assert run.document == {
            "ok": True,
            "snapshot": {"file": CALENDAR},
            "view": views.view(parse(xml), name, xml),
        }

    @pytest.mark.parametrize("name", views.VIEWS)
    def test_the_bound_is_that_of_the_printed_bytes(self, cli: Cli, tmp_path: Path, name: str) -> None:
        path = tmp_path / "hostile.xml"
        path.write_text(screen(*(button(f"{n} {HOSTILE}", n) for n in range(90))), encoding="utf-8")
        for limit in range(600, 3000, 111):
            run = cli("inspect", "ui", "--view", name, "--max-bytes", str(limit), "--snapshot", str(path))
            printed = run.out.encode()
            view = printed[printed.index(b'"view":{') + len(b'"view":') : -len(b"}\n")]
            assert json.loads(view)["truncated"]["maxBytes"] == limit
            assert view == encode(json.loads(view))
            assert limit - 450 < len(view) <= limit

    def test_nothing_is_cut_silently(self, cli: Cli) -> None:
        cut = cli("inspect", "ui", "--view", "compact", "--max-bytes", "1000", "--snapshot", CALENDAR).document["view"]
        assert cut["truncated"]["shown"] == len(lines_of(cut)) < cut["truncated"]["total"]
        again = ("inspect", "ui", "--view", "compact", "--max-bytes", str(cut["truncated"]["bytes"]))
        assert "truncated" not in cli(*again, "--snapshot", CALENDAR).document["view"]

    def test_agents_pay_less(self, cli: Cli) -> None:
        contents = (
            ("full", "text"),
            ("interactive", "lines"),
            ("compact", "lines"),
        )  # what is around them depends on paths
        shown = [
            cli("inspect", "ui", "--view", name, "--snapshot", CALENDAR).document["view"][key] for name, key in contents
        ]
        full, interactive, compact = (len(json.dumps(content, separators=(",", ":"))) for content in shown)
        assert full > 8 * max(interactive, compact)

    @pytest.mark.parametrize("name", views.VIEWS)
    def test_for_eyes(self, cli: Cli, tmp_path: Path, name: str) -> None:
        path = tmp_path / "hostile.xml"
        path.write_text(screen(*(button(f"{n} {HOSTILE}", n) for n in range(40))), encoding="utf-8")
        line = ("inspect", "ui", "--view", name, "--max-bytes", "1500", "--snapshot", str(path), "--output", "pretty")
        shown = cli(*line).out
        assert shown.startswith(f"no package  100x1000  {name} of tree ")
        assert "\\x9b31m[bold]x[/]\\u202e" in shown
        assert " shown. The end is missing. Use --max-bytes " in shown.splitlines()[-1]
        assert "\x9b" not in shown


class TestRefusals:
    FILE = ("--snapshot", CALENDAR)

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (("match", *FILE), "USAGE", "match requires --selector <json> or selector flags"),
            (("match", "--selector", "[", *FILE), "EXECUTION_VALIDATION_FAILED", "--selector must be valid JSON"),
            (("match", "--selector", "{}", *FILE), "EXECUTION_VALIDATION_FAILED", "--selector: `selector` must have at least one field"),
            (("match", "--selector", '{"txt":"a"}', *FILE), "EXECUTION_VALIDATION_FAILED", "--selector: `selector` has an unknown key: 'txt'"),
            (("match", "--selector", '{"role":5}', *FILE), "EXECUTION_VALIDATION_FAILED", "--selector: "),
            (("match", "--text", "x" * 513, *FILE), "EXECUTION_VALIDATION_FAILED", "--text: "),
            (("match", "--text", "a", "--selector", "{}", *FILE), "EXECUTION_VALIDATION_FAILED", "use --selector OR --text, not both"),
            (("match", "--text", "a", "--limit", "0", *FILE), "EXECUTION_VALIDATION_FAILED", "--limit must be an integer in [1, "),
            (("match", "--text", "a", "--device-id", "e", *FILE), "USAGE", "use --snapshot OR --device-id, not both"),
            (("match", "--text", "a", "--operator-package", "e", *FILE), "USAGE", "use --snapshot OR --operator-package, not both"),
            (("match", "--text", "a", "--snapshot", "no.xml"), "EXECUTION_VALIDATION_FAILED", "Failed to read the saved UI tree no.xml: No such file"),
            (("match", "--text", "a", "--snapshot", "/"), "EXECUTION_VALIDATION_FAILED", "Failed to read the saved UI tree /: Is a directory"),
            (("match", "--text", "a", "--snapshot", "-"), "EXECUTION_VALIDATION_FAILED", "Failed to read the saved UI tree on stdin: it is empty"),
            (("suggest", *FILE), "USAGE", "suggest requires --at <x>,<y>, --node <path> or a selector"),
            (("suggest", "--at", "1,2", "--node", "0", *FILE), "EXECUTION_VALIDATION_FAILED", "use --at OR --node, not several"),
            (("suggest", "--at", "1,2", "--text", "a", *FILE), "EXECUTION_VALIDATION_FAILED", "use --at OR --text, not several"),
            (("suggest", "--at", "12", *FILE), "EXECUTION_VALIDATION_FAILED", "--at must be <x>,<y>"),
            (("suggest", "--at", "1.5,2", *FILE), "EXECUTION_VALIDATION_FAILED", "--at must be <x>,<y>"),
            (("suggest", "--at", "١,٢", *FILE), "EXECUTION_VALIDATION_FAILED", "--at must be <x>,<y>"),
            (("suggest", "--at", "9999,5", *FILE), "EXECUTION_VALIDATION_FAILED", "--at 9999,5 is outside the screen of 1080x2400 pixels"),
            (("suggest", "--at=-1,5", *FILE), "EXECUTION_VALIDATION_FAILED", "--at -1,5 is outside the screen"),
            (("suggest", "--node", "0/a", *FILE), "EXECUTION_VALIDATION_FAILED", "--node must be a path"),
            (("suggest", "--node", "0/0/77", *FILE), "NODE_NOT_FOUND", "No node of the UI tree has the path 0/0/77"),
            (("suggest", "--text", "nowhere", *FILE), "NODE_NOT_FOUND", "No node of the UI tree matches the selector"),
            (("suggest", "--at", "5,5", "--snapshot", EMPTY), "NODE_NOT_FOUND", "The UI tree has no nodes"),
            (("suggest", "--node", "0", "--snapshot", EMPTY), "NODE_NOT_FOUND", "The UI tree has no nodes"),
            (("suggest", "--text", "a", "--snapshot", EMPTY), "NODE_NOT_FOUND", "The UI tree has no nodes"),
            (("diff",), "USAGE", "diff requires <old> <new>"),
            (("diff", CALENDAR), "USAGE", "diff requires <old> <new>"),
            (("diff", CALENDAR, CHAT, EMPTY), "USAGE", f"unexpected argument '{EMPTY}'"),
            (("diff", "-", "-"), "USAGE", "only one of the two dumps can come from stdin"),
            (("diff", CALENDAR, "no.xml"), "EXECUTION_VALIDATION_FAILED", "Failed to read the saved UI tree no.xml"),
            (("inspect", "ui", "--view", "tiny"), "USAGE", "--view must be one of: full, interactive, compact"),
            (("inspect", "ui", "--max-bytes", "511", *FILE), "EXECUTION_VALIDATION_FAILED", "--max-bytes must be an integer in [512, "),
            (("inspect", "ui", "--max-bytes", "many"), "EXECUTION_VALIDATION_FAILED", "--max-bytes must be an integer in [512, "),
            (("inspect", "ui", "--view", "compact", "--max-snapshot-bytes", "9"), "USAGE", "--max-snapshot-bytes cuts the text of a whole tree"),
            (("inspect", "ui", "--device-id", "e", *FILE), "USAGE", "use --snapshot OR --device-id, not both"),
        ],
        ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
    )  # fmt: skip
    def test_refused(self, cli: Cli, arguments: Sequence[str], code: str, message: str) -> None:
        for fmt in ("json", "pretty"):
            run = cli(*arguments, "--output", fmt)
            assert (run.exit_code, run.err) == (1, "")
            assert code in run.out
            assert "Traceback" not in run.out
        refused = cli(*arguments).document
        assert refused["code"] == code
        assert refused["message"].startswith(message)

    def test_a_typo_in_a_selector_gets_its_correction_and_its_place(self, cli: Cli) -> None:
        refused = cli("match", "--selector", '{"textEqual":"a"}', *self.FILE).document
        assert refused["hint"] == "Did you mean 'textEquals'?"
        assert refused["details"] == {
            "path": "selector",
            "issues": [
                {"path": "selector", "message": "`selector` has an unknown key: 'textEqual'"},
                {"path": "selector", "message": "`selector` must have at least one field"},
            ],
        }

    def test_a_path_that_ends_too_deep_names_what_there_is(self, cli: Cli) -> None:
        details = cli("suggest", "--node", "0/0/77/3", *self.FILE).document["details"]
        assert details == {"deepest": "0/0"}

    def test_a_selector_that_finds_nothing_says_what_comes_nearest(self, cli: Cli) -> None:
        details = cli("suggest", "--desc", "search", *self.FILE).document["details"]
        assert details["nearest"][0]["node"]["contentDesc"] == "Search"

    def test_which_of_two_dumps_is_damaged(self, cli: Cli) -> None:
        broken = str(DATA / "malformed" / "derived-empty-file.xml")
        refused = cli("diff", CALENDAR, broken).document
        assert (refused["code"], refused["details"]["file"]) == ("HIERARCHY_MALFORMED", broken)


@pytest.mark.usefixtures("device")
class TestLive:
    def test_match(self, cli: Cli) -> None:
        cli("action", "open-app", "--app", SETTINGS)
        cli("action", "wait", "--id", HOMEPAGE)
        run = cli("match", "--id", HOMEPAGE)
        assert (run.exit_code, run.err) == (0, "")
        assert run.document["snapshot"]["deviceId"] == SERIAL
        assert run.document["snapshot"]["executionId"]
        assert (run.document["snapshot"]["package"], run.document["count"]) == (SETTINGS, 1)

    def test_views_and_a_suggestion_that_the_device_agrees_with(self, cli: Cli) -> None:
        run = cli("inspect", "ui", "--view", "interactive")
        assert (run.exit_code, run.err) == (0, "")
        assert list(run.document)[:7] == SHAPE
        (step,) = run.document["envelope"]["stepResults"]
        assert "text" not in step["data"]
        seen = step["data"]["view"]
        addressed = next(
            node for node in nodes_of(seen) if node["selector"] and "click" not in node and "click" in node["can"]
        )
        suggested = cli("suggest", "--ref", f"{addressed['ref']}@{seen['tree']}").document
        assert suggested["candidates"][0]["selector"] == addressed["selector"]
        waited = cli("action", "wait", "--selector", json.dumps(addressed["selector"]))
        assert (waited.exit_code, waited.document["ok"]) == (0, True)
        cut = cli("inspect", "ui", "--view", "compact", "--max-bytes", "600", "--output", "pretty").out
        assert " shown. The end is missing" in cut

    def test_answers_can_be_saved_and_asked_later(self, cli: Cli) -> None:
        answer = cli("observe", "snapshot").out.encode()
        live, saved = (
            cli("match", "--role", "button").document,
            cli("match", "--role", "button", "--snapshot", "-", stdin=answer).document,
        )
        assert saved["snapshot"]["file"] == "-"
        assert (saved["count"], saved["matches"]) == (live["count"], live["matches"])

    def test_the_full_view_is_the_snapshot(self, cli: Cli) -> None:
        texts = [
            cli("inspect", "ui", *flags).document["envelope"]["stepResults"][0]["data"]
            for flags in ((), ("--view", "full"))
        ]
        assert texts[0].keys() == texts[1].keys()
        assert texts[0]["text"] == texts[1]["text"]
        bounded = cli("inspect", "ui", "--max-bytes", "5000").document["envelope"]["stepResults"][0]["data"]
        assert "text" not in bounded
        assert bounded["view"]["truncated"]["maxBytes"] == 5000


def test_without_a_device_there_is_an_error(cli: Cli) -> None:
    for line in (("match", "--text", "a"), ("suggest", "--at", "1,1"), ("inspect", "ui", "--view", "compact")):
        assert cli(*line).document["code"] == "ADB_NOT_FOUND"


@pytest.mark.parametrize(
    "line", [("match", "--text", "a"), ("suggest", "--node", "0"), ("inspect", "ui", "--view", "compact")]
)
@pytest.mark.cold
def test_a_device_that_gives_no_tree_answers_with_its_failed_execution(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...]
) -> None:
    step = {
        "id": "snap",
        "actionType": "snapshot_ui",
        "success": False,
        "data": {"error": "SNAPSHOT_EXTRACTION_FAILED"},
    }
    envelope = {"status": "failed", "commandId": "c", "stepResults": [step]}
    outcome = outcome_of([("snap", "snapshot_ui")], envelope=envelope).to_dict()
    document = {"ok": True, "envelope": envelope, "outcome": outcome, "deviceId": SERIAL, "executionId": "e"}
    taken = Answer(document, view="executions.execution", failed=True)
    monkeypatch.setattr("clawperator.app.cli.execution.execute", lambda *_: taken)
    run = cli(*line)
    assert (run.exit_code, run.document) == (1, document)
    assert "SNAPSHOT_EXTRACTION_FAILED" in cli(*line, "--output", "pretty").out


@pytest.mark.ci
def test_every_dump_of_the_corpus_gets_an_answer(cli: Cli, corpus: Path) -> None:
    paths = [str(path) for path in sorted((corpus / "hierarchies").rglob("*.xml"))[::6]]
    for old, new in pairwise(paths):
        for line in (
            ("match", "--role", "button", "--explain", "--snapshot", new),
            ("suggest", "--text-contains", "e", "--snapshot", new),
            ("inspect", "ui", "--view", "interactive", "--max-bytes", "4000", "--snapshot", new),
            ("diff", old, new, "--limit", "20"),
        ):
            answers = [cli(*line), cli(*line, "--output", "pretty")]
            assert answers[0].exit_code == answers[1].exit_code, line
            assert answers[0].document.get("code") in (None, "HIERARCHY_MALFORMED", "NODE_NOT_FOUND"), line
