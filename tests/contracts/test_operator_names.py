"""Names and releases of the Operator app have one home each; everything else derives from it, the documents included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from clawperator.engine.contracts.operator_identity import BRANDS, OPERATOR_BRANDS, OPERATOR_PACKAGES, newest_of
from clawperator.engine.operator.local_apks import TESTED_URLS
from clawperator.engine.runtime.plan import Generation
from clawperator.engine.simulator.scenario import OperatorProfile
from clawperator.engine.version import OPERATOR_RANGES, OPERATOR_RELEASES
from clawperator.widgets.format.devices import variant

ROOT = Path(__file__).parents[2]
HOMES = ("engine/contracts/operator_identity.py", "engine/version.py")
DOMAINS = "|".join(brand.domain for brand in OPERATOR_BRANDS)
NAMES = re.compile(
    rf"com\.(?:{DOMAINS})\.operator|(?:{DOMAINS})\.com\b|app\.(?:{DOMAINS})\.operator|(?:{DOMAINS})\.(?:operator\.|activity)"
    rf"|\[(?:{'|'.join(BRANDS)})-(?:Result|Command|Publication)"
)
RELEASES = re.compile("|".join(rf"(?<![\d.]){re.escape(release)}(?![\d.])" for release in OPERATOR_RELEASES.values()))
ALLOWED = {
    "app/cli/commands/app_actions.py": "the help of drag, which must not import the table of features",
    "engine/simulator/scenario.py": "the packages that a scenario may name: the type below is compared with the table",
    "engine/simulator/operator_log.py": "classes in the stack traces that the app logs",
}
SEMANTICS = ("engine/runtime/", "engine/simulator/")
"""What each generation does; the generation is its argument."""
FEATURES = (
    "engine/verbs/__init__.py",
    "engine/verbs/catalogue.py",
    "engine/contracts/generation.py",
    "engine/contracts/matcher.py",
)
"""Since when there is each action, parameter and value: they are the table of features."""
HOST = ("engine/executions/selection.py", "engine/executions/backends/stock.py")
"""The plan language of the runtime that the host itself uses."""


def texts() -> Iterator[tuple[str, str]]:
    """The strings of the product, but for docstrings."""
    for part in ("engine", "app", "widgets"):
        for path in sorted((ROOT / part).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if "/builtin/" in place or place in HOMES:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                    yield place, node.value


@pytest.fixture(scope="module")
def strings() -> list[tuple[str, str]]:
    return list(texts())


def test_no_other_module_spells_a_name_or_a_release(strings: list[tuple[str, str]]) -> None:
    found = [(place, text[:80]) for place, text in strings if NAMES.search(text) or RELEASES.search(text)]
    assert [each for each in found if each[0] not in (*ALLOWED, *FEATURES)] == []


def test_generations_are_named_where_features_and_semantics_are(strings: list[tuple[str, str]]) -> None:
    newer = set(OPERATOR_RELEASES) - {"1.0"}  # which is also the version of other things
    found = {place for place, text in strings if text in newer and not place.startswith((*SEMANTICS, *FEATURES, *HOST))}
    assert found == set()


def test_types_of_names_are_the_table() -> None:
    assert get_args(Generation) == tuple(OPERATOR_RELEASES)
    assert get_args(OperatorProfile.model_fields["package"].annotation) == ("", *OPERATOR_PACKAGES)
    assert [variant(package) for package in OPERATOR_PACKAGES] == ["release", "debug"] * len(OPERATOR_BRANDS)
    assert [newest_of(brand) for brand in OPERATOR_BRANDS] == ["0.12", "1.0"]


@pytest.mark.parametrize("page", ["README.md", "docs/reference/doctor.md"])
def test_documents_name_the_supported_releases(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    names = (("{}.{}".format(*first), "{}.{}".format(*last)) for first, last in OPERATOR_RANGES)
    words = [first if first == last else f"{first} to {last}" for first, last in names]
    assert re.search(f"{', '.join(map(re.escape, words[:-1]))},? and {re.escape(words[-1])}", text)


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/drive-a-phone.md"])
def test_documents_name_the_places_of_downloads_and_what_was_tested(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for brand, url in zip(reversed(OPERATOR_BRANDS), TESTED_URLS, strict=True):
        assert brand.newest_url in text
        assert url.rpartition("/operator/")[2] in text
