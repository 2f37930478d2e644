"""``skills``: listing, validating and creating skills. Uses no device."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import REGISTRY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.values import text_value
from clawperator.app.cli.skills_registry import EXAMPLE, registry
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.engine.skills.registry import Registry

LANGUAGES = ("js", "py", "sh")


def _answer(document: dict[str, Any], found: Registry, **how: Any) -> Answer:
    """The answer with the errors of the registry's entries, if any."""
    return Answer(document | ({"warnings": found.warnings} if found.left_out else {}), **how)


class List(Command):
    usage = "[--registry <file|builtin>] [options]"
    notes = (
        "The registry is --registry, else CLAWPERATOR_SKILLS_REGISTRY, else skills/skills-registry.json in this folder, else\n"
        "the registry from `skills install`. Parent folders are not searched. --registry builtin lists the built-in skills."
    )
    examples = ("", "--registry builtin --output pretty")
    flags = (REGISTRY_FLAG,)

    def run(self, options: Options) -> Answer:
        found = registry(options)
        document = {"skills": found.skills, "count": len(found.skills)}
        return _answer(document, found, view="skills.skills", data=(found, found.skills))


class Get(Command):
    usage = "<id> [--registry <file|builtin>] [options]"
    examples = (f"{EXAMPLE} --registry builtin",)
    flags = (Word("id", "exact skill id", suggest="skills"), REGISTRY_FLAG)

    def run(self, options: Options) -> Answer:
        if options.id is None:
            raise self.missing("<id>", example=EXAMPLE)
        found = registry(options)
        entry = found.get(options.id)
        from clawperator.engine.skills.describe import described

        inputs = described(found, entry)
        return _answer({"skill": entry, **inputs}, found, view="skills.skill", data=(found, entry, inputs))


class Search(Command):
    usage = "[<keyword>] [--app <id>] [--intent <intent>] [--keyword <text>] [--registry <file|builtin>] [options]"
    notes = (
        "All criteria must match. A keyword is part of the id, the summary, the application id or one of the skill's\n"
        "keywords, ignoring case; app and intent are exact. Without matches, the list is empty (exit code 0)."
    )
    examples = ("thermostat", "--app com.example.shop --intent search", "--keyword weather --output pretty")
    flags = (
        Word("word", "keyword"),
        Flag("--app", "<id>", "list only skills for this application id"),
        Flag("--intent", "<intent>", "list only skills with this intent"),
        Flag("--keyword", "<text>", "list only skills that contain this text"),
        REGISTRY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        if options.word is not None and options.keyword is not None:
            raise self.usage_error("pass the keyword as an argument OR with --keyword, not both")
        keyword = options.word if options.keyword is None else options.keyword
        if keyword is not None and not keyword.strip():
            raise self.usage_error("the keyword must not be blank")
        app, intent = text_value("--app", options.app), text_value("--intent", options.intent)
        if app is None and intent is None and keyword is None:
            raise self.missing("--app, --intent or a keyword")
        from clawperator.engine.skills.registry import search

        opened = registry(options)
        found = search(opened, app=app, intent=intent, keyword=keyword)
        return _answer({"skills": found, "count": len(found)}, opened, view="skills.skills", data=(opened, found))


class ForApp(Command):
    usage = "<application id> [--registry <file|builtin>] [options]"
    notes = "The same as skills search --app. Without a skill for the app, the list is empty (exit code 0)."
    examples = ("com.example.shop", "com.example.shop --output pretty")
    flags = (Word("app", "application id"), REGISTRY_FLAG)

    def run(self, options: Options) -> Answer:
        app = text_value("<application id>", options.app)
        if app is None:
            raise self.missing("<application id>")
        from clawperator.engine.skills.registry import search

        opened = registry(options)
        found = search(opened, app=app)
        return _answer({"skills": found, "count": len(found)}, opened, view="skills.skills", data=(opened, found))


class Validate(Command):
    usage = "<id> | --all [--dry-run] [--registry <file|builtin>] [options]"
    notes = (
        "Checks that the entry matches its schema, that all files exist, and that skill.json matches the registry. With --dry-run,\n"
        "it also validates every artifact as an execution, with placeholders. --all reports every invalid skill."
    )
    examples = (f"{EXAMPLE} --dry-run --registry builtin", "--all --dry-run")
    flags = (
        Word("id", "skill id", suggest="skills"),
        switch("--all", "check every skill and the registry itself"),
        switch("--dry-run", "validate the artifacts as executions as well"),
        REGISTRY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        if (options.id is None) is not options.all:
            raise self.missing("<id> or --all", example=f"{EXAMPLE} --dry-run")
        from clawperator.engine.skills import validation

        opened = registry(options)
        if options.all:
            return Answer(validation.validate_all(opened, dry_run=options.dry_run), view="skills.skills_valid")
        return Answer(validation.validate_skill(opened, options.id, dry_run=options.dry_run), view="skills.skill_valid")


class New(Command):
    usage = "<id> [--summary <text>] [--lang js|py|sh] [--registry <file>] [options]"
    notes = (
        "The id is the application id, a dot, and the intent. Creates the folder with SKILL.md, skill.json and a script that\n"
        "opens the app and reads its screen, and adds the skill to the registry, by default a new skills/skills-registry.json here."
    )
    examples = (
        "com.example.app.read-status --summary 'Read the status line.'",
        "com.example.app.read-status --lang py",
    )
    flags = (
        Word("id", "<applicationId>.<intent>"),
        Flag("--summary", "<text>", "describe the skill in one sentence"),
        Flag("--lang", "|".join(LANGUAGES), "write the script in this language", choices=LANGUAGES, default="js"),
        REGISTRY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        if options.id is None:
            raise self.missing("<id>", ErrorCode.MISSING_ARGUMENT, example="com.example.app.read-status")
        summary = text_value("--summary", options.summary)
        from clawperator.app.cli.settings import policy_guard
        from clawperator.engine.skills.scaffold import make_skill

        explicit, guard = text_value("--registry", options.registry), policy_guard(options)
        created = make_skill(os.environ, explicit, options.id, guard=guard, summary=summary, lang=options.lang)
        return Answer(created, view="skills.skill_created")


class Index(Command):
    usage = "[--check] [--generated-at <time>] [--registry <file>] [options]"
    notes = (
        "Regenerates the registry and skills/generated/ from every skills/**/skill.json. generatedAt is kept if nothing\n"
        "changes; --generated-at, else SOURCE_DATE_EPOCH, sets it. --check writes nothing and exits with 1 if a file differs."
    )
    examples = ("", "--check", "--generated-at 2026-03-01T00:00:00Z")
    flags = (
        switch("--check", "compare without writing"),
        Flag("--generated-at", "<time>", "set generatedAt, ISO 8601 with a time zone [unchanged]"),
        REGISTRY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        from clawperator.engine.skills import index
        from clawperator.engine.skills.registry import BUILTIN, find_registry

        path, source = find_registry(os.environ, explicit=text_value("--registry", options.registry))
        root = os.path.dirname(os.path.dirname(path))
        if options.check:
            at = index.chosen_time(options.generated_at, {})  # SOURCE_DATE_EPOCH must not make an index stale
            differences = index.check_index(root, generated_at=at)
            document = {
                "ok": not differences,
                "registryPath": path,
                "differences": [difference._asdict() for difference in differences],
            }
            return Answer(document, view="skills.index_checked", failed=bool(differences))
        if source == BUILTIN:
            raise EngineError(ErrorCode.USAGE, "The built-in skills are read-only", hint="Choose another registry.")
        from clawperator.app.cli.settings import policy_guard

        at = index.chosen_time(options.generated_at, os.environ)
        written = index.write_index(root, guard=policy_guard(options), generated_at=at)
        return Answer(written.to_dict(), view="skills.index_written")
