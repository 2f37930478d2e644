"""The site of the documentation: ``sphinx-build -W docs site``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Clawperator"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Clawperator"
html_extra_path = ["llms.txt"]
suppress_warnings = ["myst.header"]
exclude_patterns = ["site"]


def whole_text(app: Sphinx, _: object) -> None:
    """Write llms-full.txt: the pages that llms.txt lists, in one file for language models."""
    source = Path(app.srcdir)
    index = (source / "llms.txt").read_text(encoding="utf-8")
    pages = (source / name for name in re.findall(r"\]\(([\w/-]+\.md)\)", index))
    texts = [index, *(page.read_text(encoding="utf-8") for page in pages)]
    (Path(app.outdir) / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", whole_text)
