"""``history``: what ran on the devices of this machine, read from its file. Light commands: no event loop, nothing of adb."""

from __future__ import annotations

import os
from contextlib import nullcontext

from clawperator.app.cli import confirmation, diagnostics, output
from clawperator.app.cli.command import Command
from clawperator.app.cli.context import FACE
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import duration, integer, invalid
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.filters.grammar import Filter, Term
    from clawperator.engine.history.records import RunRecord, TreeRecord
    from clawperator.engine.history.store import History

_PAGE = 50
_PRUNING = "remove runs from the history"
_MOST = 10_000


class ListRuns(Command):
    usage = "[--filter <words>] [--since <age>] [--limit <n>] [--before <number>] [options]"
    notes = (
        "Newest first. A filter consists of words and key:value terms that must all match; ! negates a term:\n"
        '  wifi "two words" status:failed src:openclaw !dev:emulator code:NODE_NOT_FOUND age:<2h re:/menu-\\d+/\n'
        "Keys: cmd task src status code type step dev age pid text. --device-id lists the runs of one device only.\n"
        "If hasMore is true, pass --before with the last number to list older runs."
    )
    examples = ("", "--since 2h --filter status:failed", "--limit 10 --output pretty", "--before 120")

    def configure(self, parser: Parser) -> None:
        _add_filter_flags(parser)
        parser.value("--limit", metavar="<n>", about=f"list at most n runs [{_PAGE}]")
        parser.value("--before", metavar="<number>", about="list runs older than this one")

    def run(self, options: Namespace) -> Answer:
        limit = integer("--limit", options.limit, 1, _MOST) or _PAGE
        before = integer("--before", options.before, 1, 2**62)
        where = _filter(options)
        with open_history(options) as history:
            found = history.runs(where, limit=limit + 1, before=before)
            total = history.count(where)
        document = {
            "ok": True,
            "executions": [run.to_dict() for run in found[:limit]],
            "total": total,
            "hasMore": len(found) > limit,
        }
        return Answer(document, view="runs")


class Show(Command):
    usage = "<run> [--tree <stepId|digest>] [options]"
    notes = "Identify a run by number, executionId or commandId (the newest match). --tree prints one of its UI trees in full."
    examples = ("124", "124 --output pretty", "124 --tree snap --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.word("run", about="number, executionId or commandId", suggest="runs")
        parser.value("--tree", metavar="<stepId|digest>", about="print the UI tree of this step or with this digest")

    def run(self, options: Namespace) -> Answer:
        if options.run is None:
            message = "history show requires a number, executionId or commandId"
            raise EngineError(ErrorCode.USAGE, message, extra={"example": "clawperator history show 124"})
        with open_history(options) as history:
            record = history.find(options.run)
            if options.tree is None:
                return Answer({"ok": True, "execution": record.to_dict()}, view="run")
            tree = _tree(record, options.tree, history.path)
            text = history.tree(tree.digest)
        named = {key: value for key, value in record.to_dict().items() if key in ("number", "executionId", "commandId")}
        facts = {"stepId": tree.step_id, "at": tree.at, "digest": tree.digest, "complete": tree.complete, "text": text}
        return Answer({"ok": True, **named, "tree": facts}, view="run_tree")


class Export(Command):
    usage = "[<run> --bundle <file>] [--filter <words>] [--since <age>] [--to <file>] [--safe] [options]"
    notes = (
        "Writes JSON Lines, oldest first: one complete run per line, including UI trees.\n"
        "With a run and --bundle, it writes that run as a new ZIP file with its payload, envelope, log lines, trees and versions as\n"
        "files. Identify the run by number, executionId or commandId.\n"
        "--safe removes everything that was read from or typed into a screen: it masks texts and omits trees. The setting\n"
        "safe_logs has the same effect."
    )
    examples = (
        "--since 1d --to runs.jsonl",
        "--filter status:failed --safe",
        "--safe > runs.jsonl",
        "124 --bundle run.zip --safe",
    )

    def configure(self, parser: Parser) -> None:
        parser.word("run", about="number, executionId or commandId (with --bundle)", suggest="runs")
        _add_filter_flags(parser)
        parser.value("--to", metavar="<file>", about="write to this new file, readable only by you", file=True)
        parser.switch("--force", about="replace an existing --to file")
        parser.value("--bundle", metavar="<file>", about="write one run to this new ZIP file", file=True)
        parser.switch("--safe", about="mask screen texts and omit UI trees")

    def run(self, options: Namespace) -> Answer | int:
        if options.run is not None or options.bundle is not None:
            return _bundle(options)
        where, chosen = _filter(options), _settings(options)
        _permit_looking(chosen)
        with _open(chosen) as history:
            runs = _exported(history, where, safe=options.safe or chosen.safe_logs)
            if options.to is not None:
                path = os.path.abspath(os.path.expanduser(options.to))
                return Answer(
                    {"ok": True, "path": path, **_write_lines(chosen, path, runs, replace=options.force)},
                    view="exported",
                )
            for run in runs:
                output.print_json(run)
        return 0


class Prune(Command):
    usage = "[--older-than <age>] [--max-megabytes <n>] [--all [--yes]] [options]"
    notes = (
        "Deletes the oldest runs and the data that only they use. Without flags, it applies the limits of the settings, which also\n"
        "happens automatically. --all asks for confirmation; without a terminal, it needs --yes. Active runs are never deleted."
    )
    examples = ("", "--older-than 7d", "--max-megabytes 100", "--all --yes")

    def configure(self, parser: Parser) -> None:
        parser.value("--older-than", metavar="<age>", about="delete runs older than this, such as 7d or 12h")
        parser.value("--max-megabytes", metavar="<n>", about="delete the oldest runs until the history fits this size")
        parser.switch("--all", about="delete everything, including the audit")
        confirmation.configure(parser)

    def run(self, options: Namespace) -> Answer:
        older_than = duration("--older-than", options.older_than)
        megabytes = integer("--max-megabytes", options.max_megabytes, 0, 10**9)
        if options.all and not (older_than is None and megabytes is None):
            raise EngineError(ErrorCode.USAGE, "use --all OR bounds, not both")
        chosen = _settings(options)
        if older_than is None and megabytes is None:
            older_than, megabytes = chosen.history_days * 86_400.0, chosen.history_megabytes
        from clawperator.engine.config.policy import WRITE_FILES
        from clawperator.engine.guard import Guard

        guard = Guard(chosen, FACE)
        guard.permit(WRITE_FILES, _PRUNING)
        with _open(chosen) as history:
            if options.all:
                question = f"Delete all {history.count()} runs in {history.path}?"
                confirmation.confirm(options, question, refusal="history prune --all deletes everything")
            with guard.acting(WRITE_FILES, _PRUNING) if os.path.exists(history.path) else nullcontext():
                done = history.prune(older_than=older_than, megabytes=megabytes, everything=options.all)
            kept = history.count()
        document = {
            "ok": True,
            "removed": done.runs,
            "trees": done.trees,
            "kept": kept,
            "bytesBefore": done.bytes_before,
            "bytesAfter": done.bytes_after,
        }
        return Answer(document, view="pruned")


def _add_filter_flags(parser: Parser) -> None:
    parser.value("--filter", metavar="<words>", about="list only matching runs, such as 'status:failed src:openclaw'")
    parser.value("--since", metavar="<age>", about="list only runs newer than this, such as 30m, 2h or 7d")


# -- the history


def _settings(options: Namespace) -> Settings:
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings

    return Settings.resolve({"device_id": options.device_id}, file=settings_path())


def open_history(options: Namespace) -> History:
    """The history for showing it. Raises ``EngineError`` where the policy does not allow to look."""
    chosen = _settings(options)
    _permit_looking(chosen)
    return _open(chosen)


def _open(chosen: Settings) -> History:
    """The history for looking at it: where there is none, it is empty and stays so."""
    from clawperator.engine.history.store import History

    history = History.open(chosen.history_path, create=False)
    for remark in history.remarks:
        diagnostics.warn(remark)
    return history


def _filter(options: Namespace) -> Filter:
    """What ``--filter``, ``--since`` and ``--device-id`` ask for. Raises ``EngineError`` where the filter cannot be read."""
    from clawperator.engine.filters.grammar import Filter, parse_filter

    asked = parse_filter(options.filter or "")
    if asked.problem:
        raise invalid(f"--filter: {asked.problem} (column {asked.column + 1})", "--filter")
    since = duration("--since", options.since)
    return Filter(asked.text, (*asked.terms, *_flag_terms(since, options.device_id)))


def _flag_terms(since: float | None, device_id: str | None) -> Iterator[Term]:
    import re

    from clawperator.engine.filters.grammar import Term

    if since is not None:
        yield Term(False, "age", "since", seconds=since, comparison="<")
    if device_id is not None:
        yield Term(False, "dev", device_id, re.compile(rf"\A{re.escape(device_id)}\Z"))


def _tree(record: RunRecord, key: str, path: str) -> TreeRecord:
    """The newest tree of that step, else the one whose digest begins so."""
    of_step = [tree for tree in record.trees if tree.step_id == key]
    named = [tree for tree in record.trees if tree.digest.startswith(key.lower())]
    found = of_step or named
    if not found:
        known = [tree.step_id or tree.digest[:12] for tree in record.trees]
        message = f"Run {record.summary.number} has no tree {key}"
        raise EngineError(
            ErrorCode.HISTORY_NOT_FOUND,
            message,
            hint="details.trees lists the available ones." if known else "",
            details={"trees": known, "path": path},
        )
    return found[-1]


# -- export


def _exported(history: History, where: Filter, *, safe: bool) -> Iterator[Mapping[str, Any]]:
    if not safe:
        yield from history.export(where)
        return
    from clawperator.engine.history.masking import without_texts

    for run in history.export(where, trees=False):
        yield without_texts(run)


def _bundle(options: Namespace) -> Answer:
    """One run as a ZIP. Raises ``EngineError`` (USAGE, HISTORY_NOT_FOUND)."""
    if options.run is None or options.bundle is None:
        message = "history export requires a run together with --bundle <file>"
        raise EngineError(
            ErrorCode.USAGE, message, extra={"example": "clawperator history export 124 --bundle run.zip"}
        )
    if not (options.to is None and options.filter is None and options.since is None):
        raise EngineError(ErrorCode.USAGE, "use a run with --bundle OR --filter, --since and --to, not both")
    from clawperator.engine.bundles import run_bundle
    from clawperator.engine.guard import Guard

    path, chosen = os.path.abspath(os.path.expanduser(options.bundle)), _settings(options)
    _permit_looking(chosen)
    safe = options.safe or chosen.safe_logs
    with _open(chosen) as history:
        run = history.find(options.run).to_dict()
        for tree in () if safe else run["trees"]:
            tree["text"] = history.tree(tree["digest"])
    written = run_bundle.write(path, run, safe=safe, guard=Guard(chosen, FACE))
    document = {"ok": True, "path": path, "executions": 1, "files": written.files, "bytes": written.bytes}
    return Answer(document, view="exported")


def _permit_looking(chosen: Settings) -> None:
    """What was seen is for those who may look."""
    from clawperator.engine.guard import Guard

    Guard(chosen, FACE).permit("observe", "read the history")


def _write_lines(chosen: Settings, path: str, runs: Iterator[Mapping[str, Any]], *, replace: bool) -> dict[str, int]:
    """Write each run as a line. Raises ``EngineError`` as ``Guard.new_file`` does."""
    from clawperator.engine.guard import Guard

    written = size = 0
    hint = "" if replace else "Pass --force to replace a file."
    with Guard(chosen, FACE).new_file(path, replace=replace, what="--to", hint=hint) as stream:
        for run in runs:
            size += stream.write(output.encode(run) + b"\n")
            written += 1
    return {"executions": written, "bytes": size}
