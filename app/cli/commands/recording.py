"""``record``: recordings of user actions, fetched, parsed, drafted as recipes, and replayed."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.flat_profile import Flat, flat_error
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS, RESULT_FLAGS
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.app.cli.parsing.values import invalid, json_object
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clawperator.engine import Engine
    from clawperator.engine.recordings.records import Recording
    from clawperator.engine.recordings.replay import ReplayReport, StepReport
    from clawperator.engine.recordings.replay_script import ReplayScript

STEPS = ".steps.json"
RECIPE = ".recipe.md"
FOLDER = "./recordings/"
_LONGEST_SHOWN = 160


class _Switch(Command):
    """Base of ``start`` and ``stop``, which are executions of one action."""

    usage = "[--session-id <name>] [options]"
    examples = ("", "--session-id checkout")
    flags = (
        Flag("--session-id", "<name>", "name the recording: letters, digits, _ and - [a generated name]"),
        *RESULT_FLAGS,
    )
    action = ""
    timeout_ms = 0
    own_payload = True

    def run(self, options: Options) -> Answer:
        from clawperator.app.cli.execution import execute
        from clawperator.engine.executions.build import single

        params = {"sessionId": options.session_id}
        return execute(single(self.action.replace("_", "-"), self.action, params, timeout_ms=self.timeout_ms), options)


class Start(Flat, _Switch):
    notes = "Typed text is recorded, too. It requires Operator 0.3.2 or newer."
    action = "start_recording"
    timeout_ms = 10_000


class Stop(Flat, _Switch):
    notes = "The recording stays on the device; fetch it with record pull. It requires Operator 0.3.2 or newer."
    action = "stop_recording"
    timeout_ms = 15_000


class Pull(Command):
    usage = "[--session-id <name>] [--out <folder>] [options]"
    notes = f"Without --session-id, fetches the last stopped recording. Saves it as {FOLDER}<name>.ndjson, readable only by you."
    examples = ("", "--session-id checkout --out /tmp/recordings")
    flags = (
        Flag("--session-id", "<name>", "fetch this recording [the last stopped one]"),
        Flag("--out", "<folder>", f"save it in this folder [{FOLDER}]", file=True),
    )

    def run(self, options: Options) -> Answer:
        from clawperator.app.cli.session import run
        from clawperator.engine.recordings.pull import pull

        folder = _path("--out", options.out) or FOLDER
        if options.session_id is not None and not options.session_id:
            raise invalid("--session-id value must not be blank")
        try:
            pulled = run(options, lambda engine: pull(engine, folder, session_id=options.session_id or ""))
        except EngineError as exc:
            raise flat_error(exc) from exc
        return Answer(pulled.to_dict(), view="skill_runs.recording_pulled")


class Parse(Command):
    usage = "--input <file.ndjson> [--out <file>] [options]"
    notes = f"Writes the step log beside the recording, as <name>{STEPS}, and lists the steps on stderr. Does not use a device."
    examples = ("--input recordings/checkout.ndjson",)
    flags = (
        Flag("--input", "<file>", "read this recording", file=True),
        Flag("--out", "<file>", f"write the step log to this file [<name>{STEPS}]", file=True),
    )

    def run(self, options: Options) -> Answer:
        source = _input(self, options)
        target = _path("--out", options.out) or _beside(source, STEPS)
        from clawperator.app.cli.output import encode
        from clawperator.engine.recordings.reader import read_file
        from clawperator.engine.recordings.step_log import step_log, summary

        log = step_log(read_file(source))
        _write(options, target, encode(log, indent=2) + b"\n")
        for step in log["steps"]:
            diagnostics.note(summary(step)[:_LONGEST_SHOWN])
        document: dict[str, Any] = {"ok": True, "outputFile": target, "stepCount": len(log["steps"])}
        if warnings := log.get("_warnings"):
            document["warnings"] = warnings
        return Answer(document, view="skill_runs.recording_parsed")


class Draft(Command):
    usage = "--input <file> [--out <file.recipe.md>] [--id <recipe id>] [options]"
    notes = (
        "Creates a recipe from a recording (.ndjson) or, with less detail, from a step log (.steps.json). Typed and personal texts become\n"
        "inputs; each side effect gets a verification: what appeared on the next screen. The result lists the remaining tasks and\n"
        "the recorded input values except passwords. Review the draft before you use it. Does not use a device."
    )
    examples = (
        "--input recordings/checkout.ndjson",
        "--input checkout.ndjson --id com.example.shop.checkout --android-api 34",
    )
    flags = (
        Flag("--input", "<file>", "read this recording or step log", file=True),
        Flag("--out", "<file>", f"write the recipe to this new file [<name>{RECIPE}]", file=True),
        Flag("--id", "<id>", "set the recipe id [<application id>.recorded]"),
        Flag("--app-version", "<name>", "set the recorded app version"),
        Flag("--app-version-code", "<n>", "set the recorded app version code", bounds=(0, 2**53)),
        Flag("--android-api", "<n>", "set the device's API level", bounds=(1, 10_000)),
        switch("--overwrite", "replace an existing file"),
    )

    def run(self, options: Options) -> Answer:
        import os
        import re

        source = _input(self, options)
        target = _path("--out", options.out) or _beside(source, RECIPE)
        if options.id is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", options.id):
            raise invalid("--id must be letters, digits, dots, _ and -", "--id")
        from clawperator.engine.recordings.recipe_draft import RecipeMetadata, draft
        from clawperator.engine.skills.blocked_terms import load_blocked

        facts = RecipeMetadata(
            recipe_id=options.id or "",
            app_version=options.app_version or "",
            app_version_code=options.app_version_code or 0,
            android_api=options.android_api or 0,
        )
        drafted = draft(_recording(source), facts, load_blocked(os.environ))
        _write(options, target, drafted.text.encode(), replace=options.overwrite)
        document: dict[str, Any] = {
            "ok": True,
            "outputFile": target,
            "recipeId": drafted.recipe_id,
            "stepCount": len(drafted.steps),
            "inputs": [
                {"name": each.name, "why": each.why, **({} if each.secret else {"recorded": each.value})}
                for each in drafted.plan.inputs
            ],
        }
        if drafted.warnings:
            document["warnings"] = list(drafted.warnings)
        return Answer(document, view="skill_runs.recording_drafted")


class Replay(Command):
    usage = "--input <file> [--from <step>] [--vars <json>] [options]"
    notes = (
        "Replays a recording (.ndjson), a step log or a recipe (.md) one step at a time. If the screen differs,\n"
        "it stops with REPLAY_DIVERGED: the expected and the actual screen, the three nearest elements, and how to continue.\n"
        "--from takes a step id or number. --vars sets inputs as a JSON object; a recording includes its recorded inputs.\n"
        "A recording with events that no step can repeat is refused; --allow-partial replays the rest, and the result lists what\n"
        "was omitted."
    )
    examples = (
        "--input recordings/checkout.ndjson",
        "--input recordings/checkout.ndjson --from click_add_to_cart",
        '--input checkout.recipe.md --vars \'{"query":"tea"}\'',
    )
    flags = (
        Flag("--input", "<file>", "replay this recording, step log or recipe", file=True),
        Flag("--from", "<step>", "start with this step [the first]"),
        Flag("--vars", "<json>", "set input values with one JSON object [{}]"),
        switch("--allow-partial", "replay also a recording with events that no step can repeat, and exit with 0"),
        HISTORY_FLAG,
        *POLICY_FLAGS,
    )

    def run(self, options: Options) -> Answer:
        source = _input(self, options)
        given = json_object("--vars", options.vars, "vars") or {}
        script = _script(source, given, options)
        from clawperator.app.cli.session import run
        from clawperator.engine.recordings.replay import ReplayOptions, replay

        start = str(getattr(options, "from") or "")
        script.position(start)  # a wrong step is refused before adb is used

        def on_step(step: StepReport) -> None:
            if options.verbose:
                progress = f"{step.number}/{len(script.steps)} {step.id}"
                diagnostics.note(f"{progress}: {step.status}, {step.duration_ms:.0f} ms")

        how = ReplayOptions(timeout_ms=options.timeout_ms, allow_partial=options.allow_partial)

        async def use(engine: Engine) -> ReplayReport:
            return await replay(engine, script, how, start=start, on_step=on_step)

        try:
            found = run(options, use).to_dict()
            return Answer(
                found,
                view="skill_runs.replayed",
                status=found["outcome"]["status"],
                allow_partial=options.allow_partial,
            )
        except EngineError as exc:
            _add_resume_command(exc, source, options)
            raise


def _add_resume_command(error: EngineError, source: str, options: Options) -> None:
    """Add the command line that resumes, if the error names a step."""
    step = error.details.get("resume")
    if not isinstance(step, str):
        return
    if not step:
        error.hint = "That was the last step. Check its effect; no steps remain."
        error.details["resume"] = {"step": ""}
        return
    import shlex

    from clawperator.engine.text.suggestions import command_line

    words = ["--input", source, "--from", step, *(["--vars", options.vars] if options.vars else [])]
    words += ["--allow-partial"] if options.allow_partial else []
    device = str(error.extra.get("deviceId") or options.device_id or "")
    plain = f"clawperator record replay {shlex.join(words)}"
    line = command_line("record replay", device, *words) if device else plain
    error.details["resume"] = {"step": step, "command": line}
    if error.code is ErrorCode.REPLAY_DIVERGED:
        after = error.details.get("phase") == "after"
        then = "the step was done; continue with the next one" if after else "continue with it"
        error.hint = f"Check details.nearest, bring the device to the expected screen, then {then}: {line}"


def _script(source: str, given: Mapping[str, Any], options: Options) -> ReplayScript:
    from clawperator.engine.recordings.replay_script import script_of_compiled, script_of_plan

    if not source.lower().endswith(".md"):
        from clawperator.engine.recordings.recipe_draft import planned

        wrong = next((name for name, value in given.items() if not isinstance(value, str) or not value.strip()), None)
        if wrong is not None:
            raise invalid(f"--vars: {wrong} must be a text that is not blank", f"vars.{wrong}")
        return script_of_plan(planned(_recording(source)), given)
    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.skills.recipe.compile import compile_recipe
    from clawperator.engine.skills.recipe.source import read_source

    try:
        text = _read(source, ErrorCode.RECIPE_PARSE_FAILED).decode()
    except UnicodeDecodeError as exc:
        reason = f"it is not UTF-8 at byte {exc.start}"
        raise EngineError(ErrorCode.RECIPE_PARSE_FAILED, f"{source}: {reason}", details={"file": source}) from exc
    compiled = compile_recipe(text, given, file=source, profile=load_profile(resolve_settings(options)))
    return script_of_compiled(compiled, str(read_source(text, source).frontmatter.value["application_id"]))


def _recording(source: str) -> Recording:
    """Read a recording (many lines), or what a step log (one object) keeps of one."""
    from clawperator.engine.recordings.reader import read_file
    from clawperator.engine.recordings.step_log import read_step_log

    if source.lower().endswith(".json"):
        return read_step_log(_read(source, ErrorCode.RECORDING_PARSE_FAILED), source)
    return read_file(source)


def _input(command: Command, options: Options) -> str:
    source = _path("--input", options.input)
    if source is None:
        raise command.missing("--input <file>", ErrorCode.MISSING_ARGUMENT)
    return source


def _path(flag: str, text: str | None) -> str | None:
    import os

    if text is None:
        return None
    if not text.strip() or "\0" in text:
        raise invalid(f"{flag} value must not be blank", flag)
    return os.path.expanduser(text)


def _beside(source: str, suffix: str) -> str:
    """The path of a file made from ``source``: the same with another ending."""
    for ending in (".ndjson", STEPS) if suffix == RECIPE else (".ndjson",):
        if source.endswith(ending):
            return source.removesuffix(ending) + suffix
    return source + suffix


def _read(path: str, code: ErrorCode) -> bytes:
    from clawperator.engine.files.regular import read_file
    from clawperator.engine.recordings.reader import MAX_FILE_BYTES

    try:
        return read_file(path, MAX_FILE_BYTES)
    except OSError as exc:
        hint = "Pass a file written by `clawperator record pull` or `record parse`."
        raise EngineError(code, f"{path}: {exc.strerror or exc}", hint=hint, details={"file": path}) from exc


def _write(options: Options, path: str, data: bytes, *, replace: bool = True) -> None:
    """Write a file for this user only: it may hold typed text. Raises ``EngineError`` as ``Guard.write_file`` does."""
    from clawperator.app.cli.settings import policy_guard

    hint = "" if replace else "Choose another --out, or pass --overwrite."
    policy_guard(options).write_file(path, data, replace=replace, hint=hint)
