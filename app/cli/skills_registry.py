"""The skills registry that a command line chooses."""

from __future__ import annotations

from clawperator.app.cli.parsing.values import text_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options
    from clawperator.engine.skills.registry import Registry

EXAMPLE = "com.example.shop.search"
"""A skill for the examples of help texts."""


def registry(options: Options) -> Registry:
    """Return the registry of ``REGISTRY_FLAG``, the environment or a usual place (skills.md#where-it-is-looked-for).

    Logs its path if the working folder chose it. Raises ``REGISTRY_READ_FAILED``.
    """
    import os

    from clawperator.app.cli import diagnostics
    from clawperator.engine.skills.registry import open_registry

    found = open_registry(os.environ, text_value("--registry", options.registry))
    if found.source == "cwd":
        diagnostics.note(f"Using the skills registry in this folder: {found.path}")
    return found
