"""``history``: the recorded runs, read from their file. Light commands: no event loop, nothing of adb."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress

from clawperator.app.cli import confirmation, diagnostics, output
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import CONFIRMATION_FLAGS, limit_flag
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.values import duration, invalid
from clawperator.app.cli.settings import guard_of
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from clawperator.engine.config.settings import Settings
    from clawperator.engine.filters.grammar import Filter, Term
    from clawperator.engine.history.records import RunRecord, TreeRecord
    from clawperator.engine.history.store import History

_PRUNING = "remove runs from the history"
_EVENTS = ("execute", "allowed", "result", "refused", "compile")
_FILTER_FLAGS = (
    Flag("--filter", "<words>", "list only matching runs, such as 'status:failed src:openclaw'"),
    Flag("--since", "<age>", "list only runs newer than this, such as 30m, 2h or 7d"),
)


class ListRuns(Command):
    usage = "[--filter <words>] [--since <age>] [--limit <n>] [--before <number>] [options]"
    notes = (
        "Newest first. A filter consists of words and key:value terms that must all match; ! negates a term:\n"
        '  wifi "two words" status:failed src:openclaw !dev:emulator\n'
        "  code:NODE_NOT_FOUND age:<2h re:/menu-\\d+/\n"
        "Keys: cmd task src status code type step dev age pid text. --device-id lists the runs of one device only.\n"
        "If hasMore is true, pass --before with the last number to list older runs."
    )
    examples = ("", "--since 2h --filter status:failed", "--limit 10 --output pretty", "--before 120")
    flags = (
        *_FILTER_FLAGS,
        limit_flag("runs", 50, 10_000),
        Flag("--before", "<number>", "list runs older than this one", bounds=(1, 2**62)),
    )

    def run(self, options: Options) -> Answer:
        where = _filter(options)
        with open_history(options) as history:
            found = history.runs(where, limit=options.limit + 1, before=options.before)
            total = history.count(where)
        document = {
            "ok": True,
            "executions": [run.to_dict() for run in found[: options.limit]],
            "total": total,
            "hasMore": len(found) > options.limit,
        }
        return Answer(document, view="history.runs")


class Show(Command):
    usage = "<run> [--tree <stepId|digest>] [options]"
    notes = "Identify a run by number, executionId or commandId (the newest match); last is the newest run. --tree prints one of its UI trees in full."
    examples = ("last", "124 --output pretty", "124 --tree snap --output pretty")
    flags = (
        Word("run", "number, executionId, commandId or last", suggest="runs"),
        Flag("--tree", "<stepId|digest>", "print the UI tree of this step or with this digest"),
    )

    def run(self, options: Options) -> Answer:
        if options.run is None:
            raise self.missing("a number, executionId or commandId")
        with open_history(options) as history:
            record = history.find(options.run)
            if options.tree is None:
                return Answer({"ok": True, "execution": record.to_dict()}, view="history.run")
            tree = _tree(record, options.tree, history.path)
            text = history.tree(tree.digest)
        named = {key: value for key, value in record.to_dict().items() if key in ("number", "executionId", "commandId")}
        facts = {"stepId": tree.step_id, "at": tree.at, "digest": tree.digest, "complete": tree.complete, "text": text}
        from clawperator.engine.hierarchy import blind
        from clawperator.engine.hierarchy.tree import parse

        with suppress(EngineError):  # the text stands for itself
            facts |= blind.field(parse(text, recover=True))
        return Answer({"ok": True, **named, "tree": facts}, view="history.run_tree")


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
    flags = (
        Word("run", "number, executionId or commandId (with --bundle)", suggest="runs"),
        *_FILTER_FLAGS,
        Flag("--to", "<file>", "write to this new file, readable only by you [stdout]", file=True),
        switch("--force", "replace an existing --to file"),
        Flag("--bundle", "<file>", "write one run to this new ZIP file", file=True),
        switch("--safe", "mask screen texts and omit UI trees"),
    )

    def run(self, options: Options) -> Answer | int:
        if options.run is not None or options.bundle is not None:
            return _bundle(options)
        where, chosen = _filter(options), _settings(options)
        with _open_permitted(chosen) as history:
            runs = _exported(history, where, safe=options.safe or chosen.safe_logs)
            if options.to is not None:
                path = os.path.abspath(os.path.expanduser(options.to))
                written = _write_lines(chosen, path, runs, replace=options.force)
                left_out = _warn(history)
                found = {"ok": True, "path": path, **written, **({"leftOut": left_out} if left_out else {})}
                return Answer(found, view="history.exported")
            for run in runs:
                output.print_json(run)
            _warn(history)
        return 0


class Audit(Command):
    usage = "[--event <event>] [--limit <n>] [--before <number>] [--jsonl] [options]"
    notes = (
        "Newest first. execute: a device accepted an execution; allowed: another operation was permitted; result: how either ended;\n"
        "refused: the policy, a rule of the server or a lock denied it (rule); compile: an artifact of a skill became an execution,\n"
        "or failed to (code). Each entry names the caller (caller, profile), the origin (face, peer), the operation (operation,\n"
        "actionTypes) and the outcome, and has no text of a screen. --device-id lists the entries of one device only. If hasMore is\n"
        "true, pass --before with the last number to list older entries."
    )
    examples = ("", "--event refused --output pretty", "--limit 1000 --jsonl")
    flags = (
        Flag("--event", "<event>", f"list only entries of this kind: {', '.join(_EVENTS)} [all]", choices=_EVENTS),
        limit_flag("entries", 50, 10_000),
        Flag("--before", "<number>", "list entries older than this one", bounds=(1, 2**62)),
        switch("--jsonl", "print one JSON document per entry and line"),
    )

    def run(self, options: Options) -> Answer | int:
        with open_history(options) as history:
            found = history.audit(
                options.limit + 1,
                options.before,
                events=(options.event,) if options.event else (),
                device_id=_device(options) or "",
            )
        entries = [entry.to_dict() for entry in found[: options.limit]]
        if options.jsonl:
            for entry in entries:
                output.print_json(entry)
            return 0
        return Answer({"ok": True, "audit": entries, "hasMore": len(found) > options.limit}, view="history.audit")


class Prune(Command):
    usage = "[--older-than <age>] [--max-megabytes <n>] [--all [--yes]] [options]"
    notes = (
        "Deletes the oldest runs and the data that only they use. Without flags, it applies the limits of the settings, which also\n"
        "happens automatically. --all asks for confirmation; without a terminal, it needs --yes. Active runs are never deleted."
    )
    examples = ("", "--older-than 7d", "--max-megabytes 100", "--all --yes")
    flags = (
        Flag("--older-than", "<age>", "delete runs older than this, such as 7d or 12h [from the settings]"),
        Flag(
            "--max-megabytes",
            "<n>",
            "delete the oldest runs until the history fits this size [from the settings]",
            bounds=(0, 10**9),
        ),
        switch("--all", "delete everything, including the audit"),
        *CONFIRMATION_FLAGS,
    )

    def run(self, options: Options) -> Answer:
        older_than, megabytes = duration("--older-than", options.older_than), options.max_megabytes
        if options.all and not (older_than is None and megabytes is None):
            raise EngineError(ErrorCode.USAGE, "use --all OR bounds, not both")
        chosen = _settings(options)
        if older_than is None and megabytes is None:
            older_than, megabytes = chosen.history_days * 86_400.0, chosen.history_megabytes
        from clawperator.engine.config.policy import WRITE_FILES

        guard = guard_of(chosen)
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
        return Answer(document, view="history.pruned")


# -- the history


def _settings(options: Options) -> Settings:
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings

    return Settings.resolve({"device_id": options.device_id}, file=settings_path())


def _device(options: Options) -> str | None:
    """Return the serial of ``--device-id``, which may be an alias."""
    return _settings(options).device_id if options.device_id else None


def open_history(options: Options) -> History:
    """Open the history to read it. Raises ``EngineError`` where the policy does not allow that."""
    return _open_permitted(_settings(options))


def _open_permitted(chosen: Settings) -> History:
    guard_of(chosen).permit("observe", "read the history")
    return _open(chosen)


def _open(chosen: Settings) -> History:
    """Open the history; a missing file is an empty history and is not created."""
    from clawperator.engine.history.store import History

    history = History.open(chosen.history_path, create=False)
    _warn(history)
    return history


def _warn(history: History) -> int:
    """Log the remarks of the history and return their number."""
    count = len(history.remarks)
    while history.remarks:
        diagnostics.warn(history.remarks.pop(0))
    return count


def _filter(options: Options) -> Filter:
    """The filter of ``--filter``, ``--since`` and ``--device-id``. Raises ``EngineError`` where it cannot be parsed."""
    from clawperator.engine.filters.grammar import HISTORY, Filter, parse_filter

    given = parse_filter(options.filter or "", HISTORY)
    if given.problem:
        raise invalid(f"--filter: {given.problem} (column {given.column + 1})", "--filter")
    since = duration("--since", options.since)
    return Filter(given.text, (*given.terms, *_flag_terms(since, _device(options))))


def _flag_terms(since: float | None, device_id: str | None) -> Iterator[Term]:
    import re

    from clawperator.engine.filters.grammar import Term

    if since is not None:
        yield Term(False, "age", "since", seconds=since, comparison="<")
    if device_id is not None:
        from clawperator.engine.history.filter_sql import PHONE

        names = "|".join(map(re.escape, _names(device_id)))
        yield Term(False, PHONE, device_id, re.compile(rf"\A(?:{names})\Z"))


def _names(device_id: str) -> set[str]:
    """Return a device and what else it is recorded as, if it is connected: its serial, and its phone where that may have several."""
    from clawperator.engine.adb import blocking
    from clawperator.engine.adb.phones import ASK_SECONDS, IDENTITY_SCRIPT, identity_of, suspects

    names = {device_id}
    try:
        listed = blocking.devices(start=False, timeout=ASK_SECONDS)
        entry = next((entry for entry in listed if entry.is_named(device_id)), None)
        if entry is None:
            return names
        names.add(entry.serial)
        if entry in suspects(listed):
            output, _, _ = blocking.shell(entry.serial, ["sh", "-c", IDENTITY_SCRIPT], timeout=ASK_SECONDS)
            names.add(identity_of(output.decode(errors="replace"), entry.serial))
    except EngineError:
        return names
    return names - {""}


def _tree(record: RunRecord, key: str, path: str) -> TreeRecord:
    """The newest tree of the step ``key``, else the one whose digest begins with it."""
    of_step = [tree for tree in record.trees if tree.step_id == key]
    found = of_step or [tree for tree in record.trees if tree.digest.startswith(key.lower())]
    if not found:
        known = [tree.step_id or tree.digest[:12] for tree in record.trees]
        raise EngineError(
            ErrorCode.HISTORY_NOT_FOUND,
            f"Run {record.summary.number} has no tree {key}",
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


def _bundle(options: Options) -> Answer:
    """Write one run as a ZIP file. Raises ``EngineError`` (USAGE, HISTORY_NOT_FOUND)."""
    if options.run is None or options.bundle is None:
        message = "history export requires a run together with --bundle <file>"
        example = {"example": "clawperator history export 124 --bundle run.zip"}
        raise EngineError(ErrorCode.USAGE, message, extra=example)
    if not (options.to is None and options.filter is None and options.since is None):
        raise EngineError(ErrorCode.USAGE, "use a run with --bundle OR --filter, --since and --to, not both")
    from clawperator.engine.bundles import run_bundle

    path, chosen = os.path.abspath(os.path.expanduser(options.bundle)), _settings(options)
    safe = options.safe or chosen.safe_logs
    with _open_permitted(chosen) as history:
        run = history.find(options.run).to_dict()
        for tree in () if safe else run["trees"]:
            tree["text"] = history.tree(tree["digest"])
    written = run_bundle.write(path, run, safe=safe, guard=guard_of(chosen))
    document = {"ok": True, "path": path, "executions": 1, "files": written.files, "bytes": written.bytes}
    return Answer(document, view="history.exported")


def _write_lines(chosen: Settings, path: str, runs: Iterator[Mapping[str, Any]], *, replace: bool) -> dict[str, int]:
    """Write each run as a line. Raises ``EngineError`` as ``Guard.new_file`` does."""
    written = size = 0
    hint = "" if replace else "Pass --force to replace a file."
    with guard_of(chosen).new_file(path, replace=replace, what="--to", hint=hint) as stream:
        for run in runs:
            size += stream.write(output.encode(run) + b"\n")
            written += 1
    return {"executions": written, "bytes": size}
