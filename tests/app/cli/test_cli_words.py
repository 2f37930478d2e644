"""Help, versions and the way a command line is taken apart."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from clawperator.app.cli.command import build_parser, load
from clawperator.app.cli.command_table import COMMANDS, GROUPS
from clawperator.app.cli.help import TOPICS, error_text, help_text, wrapped
from clawperator.app.cli.parsing.lookup import find_command
from clawperator.app.cli.parsing.parser import read
from clawperator.app.cli.parsing.suggest import closest_command, closest_flag, edit_distance
from clawperator.engine.errors import EngineError
from clawperator.engine.text.guide import CLI_GUIDE
from clawperator.engine.version import OPERATOR_RELEASES, __version__
from tests.support import table

if TYPE_CHECKING:
    from types import SimpleNamespace

    from tests.app.cli.conftest import Cli


def options(line: str) -> SimpleNamespace:
    words, rest, after = find_command(line.split())
    return read(build_parser(load(words)), words, rest, after)


class TestHelp:
    @pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",), ("--json",)])
    def test_full_help(self, cli: Cli, arguments: tuple[str, ...]) -> None:
        run = cli(*arguments)
        assert (run.exit_code, run.err) == (0, "")
        assert run.out.startswith("clawperator drives Android devices")
        flat = cli("help", "flat").out
        full = run.out.partition("More help:")[0]
        for words, (_, summary) in COMMANDS.items():
            first = words.partition(" ")[0]
            named = f"  {words} " in full or f"{first} …" in full or re.search(rf"(more:|,)\s+{words}[,\n]", full)
            assert bool(named) != (f"  {words} " in flat), f"{words} is in one of the two"
            if f"  {words} " in full + flat:
                assert summary in " ".join((full + flat).split())

    def test_the_full_help_is_a_page_of_short_commands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        text = help_text("")
        assert text.count("\n") <= 60
        rows = [line.split()[0] for line in text.split("\n") if line.startswith("  ")]
        assert {"click", "type", "open", "read", "wait", "screenshot", "snapshot"} <= {*rows}
        assert not {"action", "observe", "inspect", "exec"} & {*rows}

    def test_options_of_every_command_are_one_topic(self, cli: Cli) -> None:
        options = cli("help", "options").out
        assert "--device-id, --device <serial>" in options
        assert "CLAWPERATOR_DEVICE_ID" in options
        assert "--device-id" not in cli("help", "action", "click").out

    def test_error_codes_are_explained(self, cli: Cli) -> None:
        assert "  NODE_NOT_FOUND  " in cli("help", "errors").out
        text = cli("help", "errors", "node_not_found").out
        assert text.startswith("NODE_NOT_FOUND\n\nNo node on screen satisfies")
        assert "HTTP status: 200" in text

    @pytest.mark.parametrize("words", COMMANDS)
    def test_topic_help_is_the_same_by_every_way(self, cli: Cli, words: str) -> None:
        topic = cli(*words.split(), "--help")
        assert (topic.exit_code, topic.err) == (0, "")
        assert topic.out.startswith(f"usage: clawperator {words} ")
        assert COMMANDS[words][1] in " ".join(topic.out.split())
        assert cli("help", *words.split()) == topic
        assert cli("--help", *words.split()) == topic

    @pytest.mark.parametrize("group", GROUPS)
    def test_group_help(self, cli: Cli, group: str) -> None:
        run = cli(group, "--help")
        assert run.exit_code == 0
        assert "".join(run.out.split()).startswith("".join(f"usage:clawperator{GROUPS[group]}".split()))
        assert cli("help", group) == run

    @pytest.mark.parametrize("columns", [60, 80, 120])
    def test_help_fits_the_terminal(self, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
        """All of it but examples, which stay lines to copy, and a word that is longer."""
        monkeypatch.setenv("COLUMNS", str(columns))
        for topic in (*COMMANDS, *GROUPS, *TOPICS, ""):
            prose = help_text(topic).partition("\nexamples:")[0].split("\n")
            assert [line for line in prose if len(line) > columns and len(line.split()) > 1] == [], topic
        assert max(map(len, error_text("NODE_NOT_FOUND").split("\n"))) <= columns
        assert max(map(len, wrapped(CLI_GUIDE).split("\n"))) <= columns

    def test_examples_are_command_lines_that_work(self) -> None:
        """As far as they can be tried without a device: every example parses."""
        import shlex

        for words in COMMANDS:
            command = load(words)
            for example in command.examples:
                line = shlex.split(example.partition(" <")[0].partition(" >")[0])
                found, rest, after_dashes = find_command([*words.split(), *line])
                assert found == words
                read(build_parser(command), words, rest, after_dashes)

    def test_help_after_the_dashes_belongs_to_someone_else(self, cli: Cli) -> None:
        assert cli("devices", "--", "--help").document["code"] == "USAGE"


class TestVersion:
    @pytest.mark.parametrize(
        "arguments", [("--version",), ("-V",), ("--version", "--json"), ("devices", "-V"), ("--json", "--version")]
    )
    def test_bare_text(self, cli: Cli, arguments: tuple[str, ...]) -> None:
        assert cli(*arguments) == (0, f"{__version__}\n", "")

    def test_json(self, cli: Cli) -> None:
        assert cli("version") == (
            0,
            f'{{"cliVersion":"{__version__}","operatorGenerations":{json.dumps(list(OPERATOR_RELEASES), separators=(",", ":"))}}}\n',
            "",
        )

    def test_pretty(self, cli: Cli) -> None:
        assert cli("version", "--output", "pretty") == (
            0,
            f"clawperator {__version__}, for Operator 0.3, 0.5, 0.9, 0.10, 0.12 and 1.0\n",
            "",
        )

    def test_a_doubtful_line_is_no_version(self, cli: Cli) -> None:
        assert cli("--version", "--bogus").exit_code == 1


class TestWords:
    @pytest.mark.parametrize(
        "line",
        [
            "--device-id emu observe snapshot --receiver-package p --timeout-ms 2000",
            "observe --device emu snapshot --operator-package=p --timeout 2e3 --no-daemon",
            "observe snapshot --device-id=emu --receiver-package p --timeout=2000 --json",
        ],
    )
    def test_global_options_stand_anywhere(self, line: str) -> None:
        chosen = options(line)
        assert (chosen.device_id, chosen.receiver_package, chosen.timeout_ms) == ("emu", "p", 2000)

    def test_a_command_word_can_be_a_value(self) -> None:
        assert find_command(["--device-id", "devices", "devices"]) == ("devices", ["--device-id", "devices"], [])

    def test_reserved_words_extend_a_command_only_where_words_stand(self) -> None:
        assert find_command(["execute", "best-effort"])[0] == "execute best-effort"
        assert find_command(["execute", "--execution", "best-effort"])[0] == "execute"

    def test_what_follows_two_dashes_is_kept_apart(self) -> None:
        assert find_command(["devices", "--json", "--", "--x", "--"]) == ("devices", ["--json"], ["--x", "--"])

    def test_values_that_start_with_a_dash_need_an_equals_sign(self) -> None:
        assert options("action type --selector={} --text=--submit").text == "--submit"
        assert options("execute --execution -").execution == "-"
        assert options("action type --text=--").text == "--"
        assert options("action type --text=").text == ""

    def test_no_abbreviations(self) -> None:
        """What many commands share is one flag: each name is cut once, on the first command that has it."""
        tried = set[str]()
        for words in COMMANDS:
            parser = build_parser(load(words))
            for name in [name for name in parser.flags if name not in tried]:
                tried.add(name)
                if name[:-1].startswith("--") and name[:-1] not in (*parser.flags, "--"):
                    with pytest.raises(EngineError, match="unrecognized flag"):
                        read(parser, words, [name[:-1]])

    def test_no_two_commands_share_a_flag_and_disagree_about_its_values(self) -> None:
        """A value flag here and a switch there would make habits dangerous."""
        counts: dict[str, int] = {}
        for words in COMMANDS:
            for name, flag in build_parser(load(words)).flags.items():
                assert counts.setdefault(name, flag.count) == flag.count, name


class TestSuggestions:
    @table(
        ("left", "right", "distance"),
        [("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)],
    )
    def test_edit_distance(self, left: str, right: str, distance: int) -> None:
        assert edit_distance(left, right) == distance
        assert edit_distance(right, left) == distance

    def test_thresholds(self) -> None:
        assert closest_command("dvc", ["devices"]) == ""
        assert closest_command("devce", ["devices"]) == "devices"
        assert closest_flag("--jsno", ["--json"]) == "--json"
        assert closest_flag("--js", ["--json"]) == ""
        assert closest_command("x", []) == closest_flag("--x", []) == ""
