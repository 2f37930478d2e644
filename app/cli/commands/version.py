"""``version``: of the product; with ``--check-compat`` also of the installed Operator app."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.flat_profile import for_both_profiles
from clawperator.app.cli.parsing.flags import switch
from clawperator.engine.contracts.aliases import ALIAS_TABLE_VERSION
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.version import OPERATOR_RELEASES, __version__


class Version(Command):
    usage = "[--check-compat [--strict-version]] [options]"
    notes = "--verbose adds the actions that each Operator generation supports."
    examples = ("", "--verbose --output pretty", "--check-compat", "--check-compat --strict-version")
    flags = (
        switch("--check-compat", "compare with the Operator app on the device; exit with 1 if incompatible"),
        switch("--strict-version", "require exactly the tested release, not only its major.minor"),
    )

    @for_both_profiles
    def run(self, options: Options) -> Answer:
        if options.check_compat:
            return _compatibility(options)
        if options.strict_version:
            raise EngineError(ErrorCode.USAGE, "--strict-version requires --check-compat")
        versions: dict[str, object] = {"cliVersion": __version__, "operatorGenerations": list(OPERATOR_RELEASES)}
        if options.verbose:
            from clawperator.engine.contracts.generation import support_table

            versions["aliasTableVersion"] = ALIAS_TABLE_VERSION
            versions["actions"] = [row.to_dict() for row in support_table()]
        return Answer(versions, view="operator.version")


def _compatibility(options: Options) -> Answer:
    from clawperator.app.cli.session import run

    finding = run(options, lambda engine: engine.operator_app().compatibility(strict=options.strict_version))
    return Answer(finding.to_dict(), view="operator.compatibility", failed=not finding.compatible)
