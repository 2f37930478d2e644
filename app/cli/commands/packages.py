"""``packages list``."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser


class ListPackages(Command):
    usage = "[--third-party] [options]"
    examples = ("--third-party", "--device-id emulator-5554")

    def configure(self, parser: Parser) -> None:
        parser.switch("--third-party", about="leave out what came with the system")

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.session import run

        packages = run(options, lambda engine: engine.packages(third_party=options.third_party))
        return Answer({"packages": packages}, view="packages")
