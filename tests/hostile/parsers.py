"""Every parser of the engine and its faces as functions of bytes, with the inputs to begin with and the errors that it documents.

``test_parser_fuzzing`` walks the source: what reads and is not reached from here fails it.
"""

from __future__ import annotations

import io
import json
import math
import os
import tempfile
import zlib
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from pydantic import ValidationError
from starlette.requests import Request

from clawperator.app.cli.parsing import values
from clawperator.app.client import wire
from clawperator.app.console.inspect import pictures
from clawperator.app.console.text_files import read_text
from clawperator.app.console.user_themes import read_theme
from clawperator.app.http import bodies
from clawperator.app.mcp import messages, stdio
from clawperator.app.mcp.tools import TOOLS
from clawperator.app.mcp.tools.observe import _fitted
from clawperator.app.serve.tokens import open_tokens
from clawperator.engine.adb import accessibility as bound_services
from clawperator.engine.adb import (
    addresses,
    batch,
    displays,
    failures,
    mdns,
    pairing,
    parse,
    presence,
    protocol,
    reachability,
    secure_list,
    sync,
)
from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.end_mark import EndMark
from clawperator.engine.bundles import run_bundle
from clawperator.engine.config import environment, policy_file, settings, settings_file
from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.contracts import envelope, generation, pattern, skill, strict_json
from clawperator.engine.diagnostics import safe_logs
from clawperator.engine.doctor import accessibility, adb_servers, device_health, host, readiness
from clawperator.engine.doctor.check import Check, manual
from clawperator.engine.doctor.junit import junit_xml
from clawperator.engine.emulators import avds, image, manager, tool_errors
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import apps, compatibility, log_stream, shell_input
from clawperator.engine.executions.matcher_check import checked_matcher
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.executions.screenshot import CaptureError, _png
from clawperator.engine.executions.validate import validate
from clawperator.engine.filters import grammar, pattern_cost
from clawperator.engine.follow.saved_dumps import read_dump
from clawperator.engine.hierarchy import nodes, queries, selectors, tree, views
from clawperator.engine.hierarchy.diff import compare
from clawperator.engine.history import compression, row_builders
from clawperator.engine.history.store import History
from clawperator.engine.logcat import lines as log_lines
from clawperator.engine.logcat import progress, text, users
from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.operator import (
    apk,
    axml,
    crash_parser,
    grants,
    package_choice,
    zip_index,
)
from clawperator.engine.process.output import BoundedOutput, LineSplitter, TerminalLines
from clawperator.engine.recordings import reader, step_log
from clawperator.engine.recordings.recipe_draft import draft
from clawperator.engine.runtime import payload
from clawperator.engine.simulator import scenario, shell_syntax
from clawperator.engine.skills import (
    blocked_terms,
    compiled_json,
    frames,
    git,
    lint,
    literals,
    outputs,
    registry,
    variables,
)
from clawperator.engine.skills.json_template import compile_template, template_inputs
from clawperator.engine.skills.recipe import patterns, source, yaml_bounded
from clawperator.engine.skills.recipe.compile import compile_recipe
from clawperator.engine.skills.registry import search
from clawperator.engine.skills.skill_result import read_skill_result, result_rows
from clawperator.engine.skills.validation import validate_all
from clawperator.engine.text import redact
from clawperator.engine.text.junit import xml_text
from tests.engine.operator import apks
from tests.hostile import seeds as own
from tests.hostile.fuzzing import Parser
from tests.hostile.seeds import PACKAGE, SERIAL
from tests.support import end_mark

MARK = EndMark()
MARK_LINE = end_mark(MARK.echo())

LONGEST_READ = 64 * 1024
"""What a conversation with adb may ask for at once: so much is collected in memory before it is looked at."""


# -- how bytes get into a reader


def text_of(*readers: Callable[[str], object]) -> list[Callable[[bytes], object]]:
    """Readers of text: bytes that are no UTF-8 come to them as they come from a device."""

    def read(reader: Callable[[str], object], data: bytes) -> None:
        drained(reader(data.decode(errors="replace")))

    return [partial(read, reader) for reader in readers]


def json_of(*readers: Callable[[Any], object]) -> list[Callable[[bytes], object]]:
    """Readers of a JSON value; text that is no JSON is no input of theirs."""

    def read(reader: Callable[[Any], object], data: bytes) -> None:
        try:
            value = strict_json.parse_json(data)
        except EngineError:
            return
        drained(reader(value))

    return [partial(read, reader) for reader in readers]


def object_of(*readers: Callable[[dict[str, Any]], object]) -> list[Callable[[bytes], object]]:
    def read(reader: Callable[[dict[str, Any]], object], value: object) -> None:
        if isinstance(value, dict):
            drained(reader(value))

    return json_of(*(partial(read, reader) for reader in readers))


def part_of(*readers: Callable[[BatchOutput], object]) -> list[Callable[[bytes], object]]:
    def read(reader: Callable[[BatchOutput], object], data: bytes) -> None:
        reader(BatchOutput(data, 0))

    return [partial(read, reader) for reader in readers]


def file_of(*readers: Callable[[str], object]) -> list[Callable[[bytes], object]]:
    """Readers of a file, which only its user may read; what they leave behind goes with it."""

    def read(reader: Callable[[str], object], data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "skills", "input")
            os.mkdir(os.path.dirname(path))
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as stream:
                stream.write(data)
            drained(reader(path))

    return [partial(read, reader) for reader in readers]


def stream_of(make: Callable[[], Any], *, pieces: int = 97) -> Callable[[bytes], object]:
    """A reader that is fed piece by piece, as a connection gives them."""

    def read(data: bytes) -> None:
        reader = make()
        for at in range(0, len(data), pieces):
            drained(reader.feed(data[at : at + pieces]))
        if hasattr(reader, "finish"):
            drained(reader.finish())

    return read


def talk_of(conversation: Callable[[], Generator[bytes | int, bytes, object]]) -> Callable[[bytes], object]:
    """A conversation with an adb server that answers with these bytes and then hangs up."""

    def read(data: bytes) -> None:
        talk, at = conversation(), 0
        try:
            step = next(talk)
            while True:
                if isinstance(step, bytes):
                    step = next(talk)
                    continue
                assert 0 < step <= LONGEST_READ, f"{step} bytes are asked for at once"
                if at + step > len(data):
                    raise failures.broken("the adb server closed the connection")
                at += step
                step = talk.send(data[at - step : at])
        except StopIteration:
            pass

    return read


def request_of(*models: type[bodies.Body]) -> list[Callable[[bytes], object]]:
    """Readers of the body of an HTTP request."""

    def read(model: type[bodies.Body], data: bytes) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
        finished(model.of(Request(scope, receive)))

    return [partial(read, model) for model in models]


def body_of(model: type[bodies.Body]) -> bytes:
    """A body of which ``model`` knows all fields."""
    known = {field.alias for field in model.model_fields.values()}
    return json.dumps({name: value for name, value in own.BODY.items() if name in known}).encode()


def finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def drained(value: object) -> object:
    """Generators are read to their end, or they would have read nothing."""
    return list(value) if isinstance(value, Iterator) else value


# -- readers that need more than one call


def look_at(dump: bytes) -> None:
    """Everything that is asked of a tree."""
    found = tree.parse(dump, recover=True)
    some = [found.nodes[at] for at in range(0, len(found.nodes), max(1, len(found.nodes) // 4))]
    for name in ("full", "interactive", "compact"):
        json.dumps(views.view(found, name, dump.decode(errors="replace")))
    json.dumps(views.changes(tree.build([], rotation=0), found, "", dump.decode(errors="replace")))
    views.as_text(found)
    views.as_json(found)
    for node in some:
        queries.suggestions(found, [node], limit=3)
        best = selectors.Selectors(found).best(node)
        if best is not None:
            queries.matches(found, best, limit=3, explain=True)
    compare(found, tree.build([], rotation=0))


def log_entries(data: bytes) -> None:
    for entry in text.parse_text(data):
        assert entry.time >= 0 or math.isnan(entry.time)
        assert isinstance(entry.message, str)


def operator_log(data: bytes) -> None:
    log = OperatorLog(command_id="cmd")
    log.feed(text.parse_text(data))
    log.expire(1e12)
    log.finish()


def reported(document: dict[str, Any]) -> None:
    """What an execution's answer says of an envelope, whose form ``envelope`` has made sure of."""
    whole = {"commandId": "", "taskId": "", "status": "success", "error": None, **document}
    try:
        read = envelope.parse_envelope(json.dumps(whole))
    except ValueError:
        return
    outcome_of([("r", "read_text"), ("s", "snapshot_ui")], (), read.to_dict()).to_dict()


def filtered(line: str) -> None:
    found = grammar.parse_filter(line)
    for term in found.terms:
        term.found_in("a" * 2_000)


def history_file(path: str) -> None:
    """Everything that is read of a history, and one more run written into it."""
    with History.open(path) as history:
        for run in history.runs():
            run.to_dict()
            with suppress(EngineError):
                history.find(run.number).to_dict()
        list(history.export())
        [row.to_dict() for row in history.audit()]
        history.prune(older_than=0)


def write_ahead(path: str) -> None:
    """What a process that died has noted becomes a row, or goes."""
    os.mkdir(f"{path}.db.begun")
    os.rename(path, f"{path}.db.begun/execution-999999999")
    with History.open(f"{path}.db") as history:
        [run.to_dict() for run in history.runs()]
        [row.to_dict() for row in history.audit()]
    assert os.listdir(f"{path}.db.begun") == []


def remote_answer(kind: type[wire.Wire], data: bytes) -> None:
    with suppress(ValidationError):
        wire.read(kind, data)


def skill_registry(path: str) -> None:
    found = registry.load_registry(path)
    search(found, keyword="shop")
    with suppress(EngineError):
        validate_all(found)


def screenshot(data: bytes) -> None:
    for picture in (data, with_checksums(data)):
        pictures.read_picture(picture, SERIAL, 1.0)
        with suppress(EngineError, CaptureError):
            _fitted(_png(picture), 64)


def with_checksums(data: bytes) -> bytes:
    """The PNG file with the checksum that each chunk should have: without it nothing behind the first change is read."""
    made, at = data[:8], 8
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        body = data[at + 4 : end]
        made += data[at : at + 4] + body + zlib.crc32(body).to_bytes(4, "big")
        at = end + 4
    return made + data[at:]


def shell_words(data: bytes) -> None:
    try:
        shell_syntax.parse(data.decode(errors="replace"))
    except shell_syntax.ShellSyntaxError:
        return


def skill_output(data: bytes) -> None:
    lines, kept = LineSplitter(), BoundedOutput(100, 100)
    for at in range(0, len(data), 97):
        drained(lines.add(data[at : at + 97]))
        kept.add(data[at : at + 97])
    drained(lines.end())
    assert len(kept.beginning) + len(kept.ending) <= 200


def reported_result(text: str) -> None:
    """What a skill says of itself, by any id."""
    with suppress(EngineError):
        if (result := read_skill_result(text, "a.b")) is not None:
            list(result_rows(result))


def exported(value: str) -> None:
    """What a device said goes into every place of a run that is exported."""
    run = {
        "commandId": value,
        "payload": {"actions": [{"id": value, "params": {"text": value}}]},
        "envelope": {"stepResults": [{"id": "s", "data": {"text": value}}], "error": value},
        "lines": [{"at": 1.5, "kind": value, "text": value, "fields": {value[:20]: value}}, {"at": math.nan, "kind": "", "text": "", "fields": {}}],
        "trees": [{"digest": value[:16], "text": value}],
        "message": value,
    }  # fmt: skip
    for is_safe in (True, False):
        for file in run_bundle.files(run, safe=is_safe):
            file.text.encode(errors="backslashreplace")
    redact.Redactor(home="/home/u", user="u", host="h", serials=[SERIAL]).value(run)
    compression.unpack(compression.pack(run))
    compression.unpack_text(compression.pack_text(value))


def drafted(data: bytes) -> None:
    draft(reader.read_recording(io.BytesIO(data)))


def junit(value: str) -> None:
    checks = [Check("device.screen", "fail", value, detail=value, guidance=(value,), fix=manual(value))]
    ET.fromstring(junit_xml(checks, ["device.screen", "x"], device_id=value, package=value, at=1.0))
    ET.fromstring(f"<x>{escape(xml_text(value))}</x>")


def mcp_call(message: dict[str, Any]) -> None:
    tool = TOOLS.get(str(message.get("name")))
    arguments = message.get("arguments")
    if tool is not None and isinstance(arguments, dict):
        tool.validate(arguments)


def mcp_lines(path: str) -> None:
    with open(path, "rb") as stream:
        assert all(len(line) <= stdio.MAX_LINE + 65_536 for line in stdio._split(stream.fileno()))


def tool_said(data: bytes) -> None:
    kept, lines = BoundedOutput(0, 1_000), TerminalLines()
    kept.add(data)
    assert all((*lines.add(data), *lines.add(b"\n")))
    tool_errors.known_error(kept.ending)


# -- the table

BODIES: tuple[type[bodies.Body], ...] = (
    bodies.Execution, bodies.Snapshot, bodies.Screenshot, bodies.Match, bodies.Suggestion, bodies.SkillRun, bodies.Avd,
)  # fmt: skip
RULES = lint.LintRules(date(2026, 1, 1), DEFAULT, blocked_terms.BlockedTerms(("secret",)))
LOGS = own.files("logcat/*.txt")
DEVICE = own.files("device/*.txt")
RECIPES = own.built_in("*.recipe.md")
TEMPLATE = json.dumps(own.EXECUTION).replace("Weather", "{{QUERY}}").encode()

PARSERS: dict[str, Parser] = {
    "hierarchy": Parser([look_at], own.files("hierarchies/*.xml", "hierarchies/malformed/*")),
    "saved-dump": Parser(file_of(read_dump), [*own.files("hierarchies/derived*.xml", "field/07*/*"), json.dumps({"envelope": own.ENVELOPE}).encode()]),
    "tree-questions": Parser(text_of(queries.read_point, queries.read_path, nodes.decode_bounds), own.lines_of("10,20", "0/1/2", "[0,0][10,20]")),
    "logcat-text": Parser([log_entries, operator_log, stream_of(text.TextLogParser), stream_of(log_lines.LogLineSplitter)], LOGS),
    "logcat-binary": Parser([stream_of(BinaryLogParser)], [own.log_records()]),
    "logcat-words": Parser([*text_of(progress.read_progress, safe_logs.mask_line), users.uid_of], own.lines_of("[TaskScope] stage_start id=click:a type=click", "u0_a123", "1000")),
    "crashes": Parser([crash_parser.from_log, *text_of(crash_parser.from_dropbox)], own.files("logcat/crash*", "logcat/derived*", "device/tombstone*")),
    "envelope": Parser(text_of(envelope.parse_envelope), [json.dumps(own.ENVELOPE).encode()], (ValueError,)),
    "outcome": Parser(object_of(reported), [json.dumps(own.ENVELOPE).encode()]),
    "masking": Parser(object_of(safe_logs.mask_document, safe_logs.mask_payload, safe_logs.mask_envelope, row_builders.denial), [json.dumps(value).encode() for value in (own.ENVELOPE, own.EXECUTION, own.BODY)]),
    "shell-v2": Parser([stream_of(protocol.ShellDecoder)], [protocol.shell_packet(1, b"out") + protocol.shell_packet(2, b"err") + protocol.shell_packet(3, b"\0")]),
    "adb-server": Parser(
        [
            talk_of(lambda: protocol.query("host:version")),
            talk_of(lambda: protocol.select_device(SERIAL)),
            talk_of(lambda: protocol.select_device_v1(SERIAL)),
        ],
        own.ANSWERS,
    ),
    "adb-sync": Parser(
        [
            talk_of(lambda: sync.sync_stat("/a")),
            talk_of(sync.sync_next_chunk),
            talk_of(sync.sync_finish),
        ],
        own.SYNC,
    ),
    "adb-words": Parser(
        text_of(
            presence.parse_devices, mdns.parse_services, mdns.split_endpoint, mdns.discovery_problem, failures.refusal,
            reachability.connect_outcome, lambda said: reachability.connect_refusal(said, SERIAL), addresses.parse_endpoint,
            lambda said: pairing.pair_outcome(said, "a:1", "123456"), pairing.check_code, protocol.encode_request,
            lambda said: protocol.server_address({"ADB_SERVER_SOCKET": said}), lambda said: shell_input.parse_screen_size(said, SERIAL),
        ),
        [*own.files("device/adb-*.txt"), *own.lines_of("connected to 10.0.0.1:5555", "Successfully paired to 10.0.0.1:37 [guid=adb-x]", "tcp:[::1]:5037",
                "10.0.0.1:5555", "a tcp:1 tcp:2", "Physical size: 1080x2340")],
    ),
    "device-words": Parser(
        text_of(
            parse.parse_getprop, parse.parse_wm_size, parse.parse_wm_density, parse.parse_packages, parse.parse_package_uids, parse.parse_sdk, parse.parse_user_states,
            partial(parse.parse_dumpsys_version, package=PACKAGE), parse.parse_install_result, partial(parse.parse_failure, exit_code=0), parse.refusal_hint, log_stream.why_silent,
            bound_services.parse_accessibility, accessibility.clients, secure_list.entries, displays.parse_displays,
            lambda said: compatibility.judge(PACKAGE, *[BatchOutput(said.encode(errors="replace"), 0)] * 2),
        ),
        DEVICE,
    ),
    "launcher-apps": Parser(text_of(apps.parse_apps), [own.LAUNCHER_APPS]),
    "device-checks": Parser(
        [
            lambda data: batch._split(data, MARK, 2, SERIAL),
            *part_of(
                lambda part: accessibility.enabled(part, part, SERIAL, PACKAGE), lambda part: accessibility.bound(part, part, part, SERIAL, PACKAGE),
                lambda part: accessibility.ui_automation(part, part.text, SERIAL, PACKAGE), lambda part: device_health.screen(part, part, SERIAL),
                lambda part: device_health.log_buffer(part, SERIAL), lambda part: device_health.clock(part, 1.7e9),
                lambda part: readiness.apk_presence(PACKAGE, part, part, SERIAL), lambda part: readiness.version_compatibility(PACKAGE, part, part),
                readiness.value_of, partial(readiness.switched_on, "dev_options"), grants.settings_value, lambda part: package_choice.installed(part, SERIAL),
            ),
        ],
        [*DEVICE, f"out{MARK_LINE}0\nmore{MARK_LINE}1\n".encode(), b"mWakefulness=Awake", b"mShowingLockscreen=true", b"main: ring buffer is 5 MiB (1 MiB consumed)", b"1700000000"],
    ),
    "host-words": Parser(
        text_of(
            host.node_version, host.git_presence, host.java_version, partial(host.adb_presence, "adb"), lambda said: host.adb_version(said, 41),
            lambda said: adb_servers.server_of(1, said.split("\0")), generation.lacking_words, git.reason, junit,
        ),
        own.lines_of("Version 35.0.2-12147458", "v20.1.0", 'openjdk version "17.0.9"', "adb\0-L\0tcp:5037\0fork-server\0server"),
    ),
    "emulators": Parser(
        [
            tool_said,
            *text_of(manager.listed_names, avds.checked_name, lambda said: image.is_listed("a;b", said), lambda said: avds.avd_folder("/a", "b", avds.parse_ini(said)), lambda said: avds.describe("a", avds.parse_ini(said), avds.parse_ini(said), ["x86_64"])),
            *file_of(avds.read_ini, lambda path: avds.read_avd(os.path.dirname(path), "input", ["x86_64"])),
        ],
        [*own.files("avd/*", "device/avd*", "device/emulator*"), b"Pixel_7"],
    ),
    "execution": Parser(
        [*json_of(validate, partial(validate, profile="flat"), compiled_json.read_compiled, checked_matcher, environment.wait_limit), strict_json.parse_json],
        [json.dumps(value).encode() for value in (own.EXECUTION, own.COMPILED, own.NODE, 500)],
    ),
    "operator-payload": Parser(text_of(partial(payload.read_payload, generation="0.3"), partial(payload.read_payload, generation="0.5")), [json.dumps(value).encode() for value in (own.EXECUTION, own.ONE_CLICK)], (payload.PayloadError,)),
    "filters": Parser(text_of(filtered, pattern_cost.cost_of, pattern.pattern_complaint, patterns.pattern_problem, lambda said: outputs.search(said, "a" * 2_000)), own.lines_of('app:shop -status:failed age:<5m re:/a+b/ "two words"', "re:(a|b)*c{1,3}", r"(?i)\d+ °C$")),
    "numbers": Parser(
        text_of(
            settings.package_name, lambda said: values.number("--x", said), lambda said: values.duration("--x", said),
            lambda said: values.integer("--x", said, 0, 99), values.timeout_ms, lambda said: values.json_object("--x", said, "x"), variables.parse_vars,
            *(lambda said, kind=kind: outputs.convert(said, kind) for kind in ("integer", "number", "boolean", "string")),
        ),
        own.lines_of("com.clawperator.operator", "1.5", "30m",
            "5", '{"A":"1"}', "true"),
    ),
    "zoned-time": Parser(text_of(skill.zoned), own.lines_of("2026-01-01T00:00:00Z"), (ValueError,)),
    "settings": Parser([*text_of(settings_file.examine), *file_of(settings_file.load, settings.read_settings_file, settings_file.read)], [own.SETTINGS]),
    "policy": Parser([*text_of(policy_file.examine), *file_of(policy_file.load, policy_file.read)], [own.POLICY]),
    "scenario": Parser([scenario.parse_scenario, *file_of(scenario.load_scenario)], [own.SCENARIO]),
    "simulated-shell": Parser([shell_words], own.lines_of('a=1; if [ -f x ]; then echo "$a" > /x 2>&1; fi', "for i in 1 2; do cat <<E\nx\nE\ndone")),
    "tokens": Parser(file_of(open_tokens), own.lines_of("0123456789abcdef0123456789abcdef owner\n# x\nabcdefghijklmnopqrstuvwxyz0123456 ci ci\n")),
    "registry": Parser(file_of(skill_registry), own.built_in("skills-registry.json")),
    "skill-index": Parser([*object_of(lambda entry: registry.leaves(str(entry.get("path")))), git.paths], own.built_in("generated/*.json")),
    "recipe": Parser(
        [*text_of(source.read_source, lambda said: compile_recipe(said, {"query": "x", "QUERY": "x"})), lambda data: lint.lint_bytes(data, "a.recipe.md", RULES)],
        RECIPES,
    ),
    "recipe-yaml": Parser(text_of(yaml_bounded.load), [own.SCENARIO, *RECIPES], (yaml_bounded.YamlError,)),
    "lint": Parser([lambda data: lint.lint_bytes(data, "a.py", RULES), *text_of(literals.literals, lambda said: lint.lint_text(said, "SKILL.md", RULES))], own.built_in("*.md")),
    "blocked-terms": Parser(file_of(lambda path: blocked_terms.load_blocked({}, path)), own.lines_of("# names\nElm Street\nJosé\n")),
    "template": Parser(text_of(template_inputs, lambda said: compile_template(said, {"QUERY": "x"}, "a.b", "c")), [TEMPLATE]),
    "skill-output": Parser([skill_output, *text_of(frames.parse_frames, frames.kind_of, reported_result)], own.lines_of('[Clawperator-Skill-Result]\n{"contractVersion":"1.0.0","status":"success"}\n', "RESULT|status=success|value=21\nTEXT_BEGIN\na\nTEXT_END\nSCREENSHOT|path=/tmp/a.png")),
    "recording": Parser([lambda data: reader.read_recording(io.BytesIO(data)), *file_of(reader.read_file), drafted], [own.RECORDING]),
    "step-log": Parser([step_log.read_step_log], [json.dumps(step_log.step_log(reader.read_recording(io.BytesIO(own.RECORDING)))).encode()]),
    "exports": Parser(text_of(exported, redact.without_messages), [b'File "/home/u/x.py", line 3, in f\nValueError: secret', *LOGS[:3]]),
    "history-file": Parser(file_of(history_file), [own.history()]),
    "history-ahead": Parser(file_of(write_ahead), [json.dumps(own.NOTE).encode()]),
    "remote-engine": Parser(
        [partial(remote_answer, kind) for kind in wire.Wire.__subclasses__()],
        [json.dumps(value).encode() for value in (own.ENVELOPE, {"ok": True, "envelope": own.ENVELOPE, "deviceId": SERIAL})],
    ),
    "theme": Parser(file_of(lambda path: read_theme(Path(path))), [own.THEME]),
    "draft": Parser(file_of(lambda path: read_text(Path(path))), [json.dumps(own.EXECUTION).encode()], (ValueError,)),
    "http-body": Parser(request_of(*BODIES), list(map(body_of, BODIES))),
    "mcp": Parser([*object_of(mcp_call), *file_of(mcp_lines), messages.refusal], [json.dumps(call).encode() for call in own.CALLS]),
    "apk": Parser([apk.facts_of, *file_of(apk.read_apk)], [apks.apk(), apks.apk(apks.manifest(utf8=True), stored=True)], (EngineError, zip_index.ZipError)),
    "axml": Parser([lambda data: drained(axml.elements(data))], [apks.manifest(), apks.manifest(utf8=True, nameless=True)], (axml.AxmlError,)),
    "screenshot": Parser([screenshot], [own.png()]),
}  # fmt: skip
