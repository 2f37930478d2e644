"""``skills``: what the registry holds, whether it is right, and how a new skill begins. Nothing here touches a device."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.skills.registry import Registry

LANGUAGES = ("js", "py", "sh")
_EXAMPLE = "com.example.shop.search"


def add_registry_flag(parser: Parser) -> None:
    """The flag that names the registry; without it, the environment and the usual places do (skills.md#where-it-is-looked-for)."""
    parser.value(
        "--registry",
        metavar="<file|builtin>",
        about="use this registry file, or builtin for the built-in skills",
        suggest=("builtin",),
        file=True,
    )


def registry(options: Namespace) -> Registry:
    """The registry that the command line, the environment or a usual place names. Raises ``REGISTRY_READ_FAILED``.

    stderr says which one it is where only the working folder chose it.
    """
    import os

    from clawperator.app.cli import diagnostics
    from clawperator.engine.skills.registry import open_registry

    found = open_registry(os.environ, text_value("--registry", options.registry))
    if found.source == "cwd":
        diagnostics.note(f"Using the skills registry in this folder: {found.path}")
    return found


def answer(document: dict[str, Any], found: Registry, **how: Any) -> Answer:
    """The answer with what is wrong with the registry's entries, where something is."""
    return Answer(document | ({"warnings": found.warnings} if found.left_out else {}), **how)


class List(Command):
    usage = "[--registry <file|builtin>] [options]"
    notes = (
        "The registry is --registry, else CLAWPERATOR_SKILLS_REGISTRY, else skills/skills-registry.json in this folder, else\n"
        "the registry from `skills install`. Parent folders are not searched. --registry builtin lists the built-in skills."
    )
    examples = ("", "--registry builtin --output pretty")

    def configure(self, parser: Parser) -> None:
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        found = registry(options)
        document = {"skills": found.skills, "count": len(found.skills)}
        return answer(document, found, view="skills", data=(found, found.skills))


class Get(Command):
    usage = "<id> [--registry <file|builtin>] [options]"
    examples = (f"{_EXAMPLE} --registry builtin",)

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="exact skill id", suggest="skills")
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        if options.id is None:
            raise _usage("skills get requires <id>", f"clawperator skills get {_EXAMPLE}")
        found = registry(options)
        entry = found.get(options.id)
        return answer({"skill": entry}, found, view="skill", data=(found, entry))


class Search(Command):
    usage = "[<keyword>] [--app <id>] [--intent <intent>] [--keyword <text>] [--registry <file|builtin>] [options]"
    notes = (
        "All criteria must match. A keyword is part of the id, the summary, the application id or one of the skill's\n"
        "keywords, ignoring case; app and intent are exact. Without matches, the list is empty (exit code 0)."
    )
    examples = ("thermostat", "--app com.example.shop --intent search", "--keyword weather --output pretty")

    def configure(self, parser: Parser) -> None:
        parser.word("word", about="keyword")
        parser.value("--app", metavar="<id>", about="list only skills for this application id")
        parser.value("--intent", metavar="<intent>", about="list only skills with this intent")
        parser.value("--keyword", metavar="<text>", about="list only skills that contain this text")
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        if options.word is not None and options.keyword is not None:
            raise _usage("pass the keyword as an argument OR with --keyword, not both", f"{self._called} thermostat")
        keyword = options.word if options.keyword is None else options.keyword
        if keyword is not None and not keyword.strip():
            raise _usage("the keyword must not be blank", f"{self._called} thermostat")
        app, intent = text_value("--app", options.app), text_value("--intent", options.intent)
        if app is None and intent is None and keyword is None:
            raise _usage("skills search requires --app, --intent or a keyword", f"{self._called} thermostat")
        from clawperator.engine.skills.search import search

        opened = registry(options)
        found = search(opened, app=app, intent=intent, keyword=keyword)
        return answer({"skills": found, "count": len(found)}, opened, view="skills", data=(opened, found))

    @property
    def _called(self) -> str:
        return f"clawperator {self.words}"


class Validate(Command):
    usage = "<id> | --all [--dry-run] [--registry <file|builtin>] [options]"
    notes = (
        "Checks that the entry matches its schema, that all files exist, and that skill.json matches the registry. With --dry-run,\n"
        "it also validates every artifact as an execution, with placeholders. --all reports every invalid skill."
    )
    examples = (f"{_EXAMPLE} --dry-run --registry builtin", "--all --dry-run")

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="skill id", suggest="skills")
        parser.switch("--all", about="check every skill and the registry itself")
        parser.switch("--dry-run", about="also validate the artifacts as executions")
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        if (options.id is None) is not options.all:
            raise _usage("skills validate requires <id> or --all", f"{self._called} {_EXAMPLE} --dry-run")
        from clawperator.engine.skills import validation

        opened = registry(options)
        if options.all:
            return Answer(validation.validate_all(opened, dry_run=options.dry_run), view="skills_valid")
        return Answer(validation.validate_skill(opened, options.id, dry_run=options.dry_run), view="skill_valid")

    @property
    def _called(self) -> str:
        return f"clawperator {self.words}"


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

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="<applicationId>.<intent>")
        parser.value("--summary", metavar="<text>", about="describe the skill in one sentence")
        parser.value(
            "--lang", metavar="|".join(LANGUAGES), choices=LANGUAGES, about="write the script in this language [js]"
        )
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        if options.id is None:
            raise EngineError(
                ErrorCode.MISSING_ARGUMENT,
                "skills new requires <id>",
                extra={"example": "clawperator skills new com.example.app.read-status"},
            )
        summary = text_value("--summary", options.summary)
        import os

        from clawperator.app.cli.context import guard
        from clawperator.engine.skills.scaffold import make_skill

        explicit, lang = text_value("--registry", options.registry), options.lang or LANGUAGES[0]
        made = make_skill(os.environ, explicit, options.id, guard=guard(options), summary=summary, lang=lang)
        return Answer(made, view="skill_made")


class Index(Command):
    usage = "[--check] [--generated-at <time>] [--registry <file>] [options]"
    notes = (
        "Regenerates the registry and skills/generated/ from every skills/**/skill.json. generatedAt is kept if nothing\n"
        "changes; --generated-at, else SOURCE_DATE_EPOCH, sets it. --check writes nothing and exits with 1 if a file differs."
    )
    examples = ("", "--check", "--generated-at 2026-03-01T00:00:00Z")

    def configure(self, parser: Parser) -> None:
        parser.switch("--check", about="compare without writing")
        parser.value("--generated-at", metavar="<time>", about="set generatedAt, ISO 8601 with a time zone")
        add_registry_flag(parser)

    def run(self, options: Namespace) -> Answer:
        import os

        from clawperator.engine.skills import index
        from clawperator.engine.skills.registry import BUILTIN, find_registry

        path, source = find_registry(os.environ, explicit=text_value("--registry", options.registry))
        root = os.path.dirname(os.path.dirname(path))
        if options.check:
            at = index.chosen_time(options.generated_at, {})  # what a build sets must not make a good index stale
            differences = index.check_index(root, generated_at=at)
            document = {
                "ok": not differences,
                "registryPath": path,
                "differences": [difference.to_dict() for difference in differences],
            }
            return Answer(document, view="index_checked", failed=bool(differences))
        if source == BUILTIN:
            raise EngineError(ErrorCode.USAGE, "The built-in skills are read-only", hint="Choose another registry.")
        from clawperator.app.cli.context import guard

        at = index.chosen_time(options.generated_at, os.environ)
        return Answer(index.write_index(root, guard=guard(options), generated_at=at).to_dict(), view="index_written")


def _usage(message: str, example: str) -> EngineError:
    return EngineError(ErrorCode.USAGE, message, extra={"example": example})
