"""``record``: what is done on a device, as a file, as steps, as a recipe draft, and once more."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag, add_policy_flags, add_result_flags
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.flat_words import Flat
from clawperator.app.cli.parsing.values import integer, invalid, json_object
from clawperator.app.cli.recording_files import RECIPE, STEPS, beside, path_value, read_bytes, write_private
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.recordings.records import Recording
    from clawperator.engine.recordings.replay_script import ReplayScript

FOLDER = "./recordings/"
_START_MS = 10_000
_STOP_MS = 15_000
_LONGEST_SHOWN = 160


class _Switching(Command):
    """Base of ``start`` and ``stop``, which are executions of one action."""

    usage = "[--session-id <name>] [options]"
    examples = ("", "--session-id checkout")
    action = ""
    budget_ms = 0

    def configure(self, parser: Parser) -> None:
        parser.value("--session-id", metavar="<name>", about="name the recording: letters, digits, _ and -")
        add_result_flags(parser)

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.execution import execute
        from clawperator.engine.executions.build import single

        params = {"sessionId": options.session_id}
        return execute(single(self.action.replace("_", "-"), self.action, params, timeout_ms=self.budget_ms), options)


class _Start(_Switching):
    notes = "Typed text is recorded, too. It requires Operator 0.3.2 or newer."
    action = "start_recording"
    budget_ms = _START_MS


class _Stop(_Switching):
    notes = "The recording stays on the device; fetch it with record pull. It requires Operator 0.3.2 or newer."
    action = "stop_recording"
    budget_ms = _STOP_MS


class Start(Flat, _Start):
    pass


class Stop(Flat, _Stop):
    pass


class Pull(Command):
    usage = "[--session-id <name>] [--out <folder>] [options]"
    notes = f"Without --session-id, fetches the last stopped recording. Saves it as {FOLDER}/<name>.ndjson, readable only by you."
    examples = ("", "--session-id checkout --out /tmp/recordings")

    def configure(self, parser: Parser) -> None:
        parser.value("--session-id", metavar="<name>", about="fetch this recording")
        parser.value("--out", metavar="<folder>", about=f"save it in this folder [{FOLDER}]", file=True)

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.parsing.flat_words import flat_error
        from clawperator.app.cli.session import run
        from clawperator.engine import Engine
        from clawperator.engine.recordings.pull import pull

        folder = path_value("--out", options.out) or FOLDER
        if options.session_id is not None and not options.session_id:
            raise invalid("--session-id value must not be blank")

        async def use(engine: Engine) -> dict[str, object]:
            return (await pull(engine, folder, session_id=options.session_id or "")).to_dict()

        try:
            return Answer(run(options, use), view="recording_pulled")
        except EngineError as exc:
            raise flat_error(exc) from exc


class Parse(Command):
    usage = "--input <file.ndjson> [--out <file>] [options]"
    notes = f"Writes the step log beside the recording, as <name>{STEPS}, and lists the steps on stderr. Does not use a device."
    examples = ("--input recordings/checkout.ndjson",)

    def configure(self, parser: Parser) -> None:
        parser.value("--input", metavar="<file>", about="read this recording", file=True)
        parser.value("--out", metavar="<file>", about="write the step log to this file", file=True)

    def run(self, options: Namespace) -> Answer:
        source = _input(self, options)
        target = path_value("--out", options.out) or beside(source, STEPS)
        from clawperator.engine.recordings.reader import read_file
        from clawperator.engine.recordings.step_log import step_log, summary

        log = step_log(read_file(source))
        from clawperator.app.cli.output import encode

        write_private(options, target, encode(log, indent=2) + b"\n")
        for step in log["steps"]:
            diagnostics.note(summary(step)[:_LONGEST_SHOWN])
        document: dict[str, Any] = {"ok": True, "outputFile": target, "stepCount": len(log["steps"])}
        if warnings := log.get("_warnings"):
            document["warnings"] = warnings
        return Answer(document, view="recording_parsed")


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

    def configure(self, parser: Parser) -> None:
        parser.value("--input", metavar="<file>", about="read this recording or step log", file=True)
        parser.value("--out", metavar="<file>", about="write the recipe to this new file", file=True)
        parser.value("--id", metavar="<id>", about="set the recipe id [<application id>.recorded]")
        parser.value("--app-version", metavar="<name>", about="set the recorded app version")
        parser.value("--app-version-code", metavar="<n>", about="set the recorded app version code")
        parser.value("--android-api", metavar="<n>", about="set the device's API level")
        parser.switch("--overwrite", about="replace an existing file")

    def run(self, options: Namespace) -> Answer:
        import os
        import re

        source = _input(self, options)
        target = path_value("--out", options.out) or beside(source, RECIPE)
        if options.id is not None and not re.fullmatch(r"[A-Za-z0-9._-]{1,200}", options.id):
            raise invalid("--id must be letters, digits, dots, _ and -", "--id")
        from clawperator.engine.recordings.recipe_draft import RecipeMetadata, draft
        from clawperator.engine.skills.blocked_terms import load_blocked

        facts = RecipeMetadata(
            recipe_id=options.id or "",
            app_version=options.app_version or "",
            app_version_code=integer("--app-version-code", options.app_version_code, 0, 2**53) or 0,
            android_api=integer("--android-api", options.android_api, 1, 10_000) or 0,
        )
        made = draft(_recording(source), facts, load_blocked(os.environ))
        write_private(options, target, made.text.encode(), replace=options.overwrite)
        document: dict[str, Any] = {
            "ok": True,
            "outputFile": target,
            "recipeId": made.recipe_id,
            "stepCount": len(made.steps),
            "inputs": [
                {"name": each.name, "why": each.why, **({} if each.secret else {"recorded": each.value})}
                for each in made.plan.inputs
            ],
        }
        if made.warnings:
            document["warnings"] = list(made.warnings)
        return Answer(document, view="recording_drafted")


class Replay(Command):
    usage = "--input <file> [--from <step>] [--vars <json>] [options]"
    notes = (
        "Replays a recording (.ndjson), a step log or a recipe (.md) one step at a time. If the screen differs,\n"
        "it stops with REPLAY_DIVERGED: the expected and the actual screen, the three nearest elements, and how to continue.\n"
        "--from takes a step id or number. --vars sets inputs as a JSON object; a recording includes its recorded inputs."
    )
    examples = (
        "--input recordings/checkout.ndjson",
        "--input recordings/checkout.ndjson --from click_add_to_cart",
        '--input checkout.recipe.md --vars \'{"query":"tea"}\'',
    )

    def configure(self, parser: Parser) -> None:
        parser.value("--input", metavar="<file>", about="replay this recording, step log or recipe", file=True)
        parser.value("--from", metavar="<step>", about="start with this step")
        parser.value("--vars", metavar="<json>", about="set input values")
        add_history_flag(parser)
        add_policy_flags(parser)

    def run(self, options: Namespace) -> Answer:
        source = _input(self, options)
        given = json_object("--vars", options.vars, "vars") or {}
        script = _script(source, given, options)
        from clawperator.app.cli.session import run
        from clawperator.engine import Engine
        from clawperator.engine.recordings.replay import ReplayOptions, ReplayReport, StepReport, replay

        start = str(getattr(options, "from") or "")
        script.position(start)  # a wrong one is refused before any device is asked

        def tell(step: StepReport) -> None:
            if options.verbose:
                diagnostics.note(
                    f"{step.number}/{len(script.steps)} {step.id}: {step.status}, {step.duration_ms:.0f} ms"
                )

        async def use(engine: Engine) -> ReplayReport:
            return await replay(engine, script, ReplayOptions(timeout_ms=options.timeout_ms), start=start, tell=tell)

        try:
            report = run(options, use)
        except EngineError as exc:
            _say_how_to_go_on(exc, source, options)
            raise
        return Answer(report.to_dict(), view="replayed")


def _say_how_to_go_on(error: EngineError, source: str, options: Namespace) -> None:
    """The command line that resumes, where the error names a step."""
    step = error.details.get("resume")
    if not isinstance(step, str):
        return
    if not step:
        error.hint = "That was the last step. Check its effect; no steps remain."
        error.details["resume"] = {"step": ""}
        return
    from clawperator.engine.text.suggestions import command_line

    words = ["--input", source, "--from", step, *(["--vars", options.vars] if options.vars else [])]
    device = str(error.extra.get("deviceId") or options.device_id or "")
    line = command_line("record replay", device, *words) if device else _line(words)
    error.details["resume"] = {"step": step, "command": line}
    if error.code is ErrorCode.REPLAY_DIVERGED:
        done = (
            "the step was done; continue with the next one"
            if error.details.get("phase") == "after"
            else "continue with it"
        )
        error.hint = f"Check details.nearest, bring the device to the expected screen, then {done}: {line}"


def _line(words: list[str]) -> str:
    import shlex

    return f"clawperator record replay {shlex.join(words)}"


def _script(source: str, given: Mapping[str, Any], options: Namespace) -> ReplayScript:
    from clawperator.engine.recordings.replay_script import script_of_compiled, script_of_plan

    if not source.lower().endswith(".md"):
        from clawperator.engine.recordings.recipe_draft import planned

        wrong = next((name for name, value in given.items() if not isinstance(value, str) or not value.strip()), None)
        if wrong is not None:
            raise invalid(f"--vars: {wrong} must be a text that is not blank", f"vars.{wrong}")
        return script_of_plan(planned(_recording(source)), given)
    from clawperator.app.cli.context import settings
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.skills.recipe.compile import compile_recipe
    from clawperator.engine.skills.recipe.source import read_source

    text = read_bytes(source, ErrorCode.RECIPE_PARSE_FAILED).decode(errors="replace")
    compiled = compile_recipe(text, given, file=source, profile=load_profile(settings(options)))
    return script_of_compiled(compiled, str(read_source(text, source).frontmatter.value["application_id"]))


def _recording(source: str) -> Recording:
    """A recording, or what a step log tells of one: the one is many lines, the other one object that has steps."""
    from clawperator.engine.recordings.reader import read_file
    from clawperator.engine.recordings.step_log import read_step_log

    if source.lower().endswith(".json"):
        return read_step_log(read_bytes(source, ErrorCode.RECORDING_PARSE_FAILED), source)
    return read_file(source)


def _input(command: Command, options: Namespace) -> str:
    source = path_value("--input", options.input)
    if source is None:
        example = f"clawperator {command.words} {command.examples[0]}"
        message = f"{command.words} requires --input <file>"
        raise EngineError(ErrorCode.MISSING_ARGUMENT, message, extra={"example": example})
    return source
