"""``version``: of the product; with ``--check-compat`` also of the installed Operator."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.flat_words import for_both_surfaces
from clawperator.engine.contracts.aliases import ALIAS_TABLE_VERSION
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.version import OPERATOR_RELEASES, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


class Version(Command):
    usage = "[--check-compat [--strict-version]] [options]"
    notes = "--verbose adds the actions that each Operator generation supports."
    examples = ("", "--verbose --output pretty", "--check-compat", "--check-compat --strict-version")

    def configure(self, parser: Parser) -> None:
        parser.switch(
            "--check-compat", about="compare with the Operator app on the device; exit with 1 if incompatible"
        )
        parser.switch("--strict-version", about="require exactly the tested release, not only its major.minor")

    @for_both_surfaces
    def run(self, options: Namespace) -> Answer:
        if options.check_compat:
            return _compatibility(options)
        if options.strict_version:
            raise EngineError(ErrorCode.USAGE, "--strict-version requires --check-compat")
        versions: dict[str, object] = {"cliVersion": __version__, "operatorGenerations": list(OPERATOR_RELEASES)}
        if options.verbose:
            from clawperator.engine.contracts.generation import support_table

            versions["aliasTableVersion"] = ALIAS_TABLE_VERSION
            versions["actions"] = [row.to_dict() for row in support_table()]
        return Answer(versions, view="version")


def _compatibility(options: Namespace) -> Answer:
    from clawperator.app.cli.session import run

    finding = run(options, lambda engine: engine.compatibility(strict=options.strict_version))
    return Answer(finding.to_dict(), view="compatibility", failed=not finding.compatible)
