"""The ZIP archives that users pass on."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterable
from typing import NamedTuple


class BundleFile(NamedTuple):
    """One file of a bundle; ``about`` describes it."""

    name: str
    about: str
    text: str


def zipped(files: Iterable[BundleFile], folder: str = "") -> bytes:
    """Return an archive of ``files`` below ``folder``, each readable for its owner only."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(folder + file.name, time.localtime()[:6])
            entry.external_attr = 0o100600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.text.encode(errors="backslashreplace"))
    return buffer.getvalue()


def listing(files: Iterable[BundleFile]) -> list[str]:
    """Return the lines of a README that name ``files``."""
    return [f"  {file.name:<16}{file.about}" for file in files]
