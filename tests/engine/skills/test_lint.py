"""The lints, one by one: what triggers each, on which line, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.config.policy import DEFAULT, Profile
from clawperator.engine.config.policy import Rules as Allowed
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.blocked_terms import BlockedTerms, read_terms
from clawperator.engine.skills.lint import SEVERITIES, Finding, LintRules, has_errors, lint_skill, lint_text
from clawperator.engine.skills.registry import Registry, load_registry
from tests.engine.skills.made import made_registry
from tests.support import table

TODAY = date(2026, 3, 1)
NOTHING = BlockedTerms()
FILE = "skills/x/artifacts/x.recipe.md"

HEAD = """\
---
recipe_id: com.example.app.lamp-on
recipe_version: 1.0.0
recipe_type: action
application_id: com.example.app
summary: Switch one lamp on and confirm it.
frameworks: [views]
session_policy: fresh
app_build: {version_name: "2.4", version_code: 240}
tested_on: {android_api: 34, device_model: Pixel, locale: en-US, last_verified_at: 2026-02-01}
compatibility: {min_version_code: 1, max_version_code: 300}
known_quirks: [none]
failure_modes: [none]
maintainers: [team]
tags: [lamp]
risk_level: medium
capabilities: [observe, navigate, click, toggle]
inputs:
  - {name: lamp_label, type: string, required: true, default: ""}
outputs: []
---
"""
LIST = """\
## Step 1: wait for the list
```yaml
id: list
type: wait_for_node
selector: {resource_id: "com.example.app:id/lamps", annotation: STRUCTURAL}
```
"""
PRESS = """\
## Step 2: switch it
```yaml
id: press
type: click
effect: toggle
selector: {resource_id: "com.example.app:id/lamp", text_equals: "${inputs.lamp_label}", annotation: USER_SPECIFIC}
confirm: {type: read_text, selector: {resource_id: "com.example.app:id/state"}, expect: {contains: "On"}}
```
"""
RECIPE = HEAD + LIST + PRESS


def lint(
    text: str,
    *,
    file: str = FILE,
    blocked: BlockedTerms = NOTHING,
    profile: Profile = DEFAULT,
) -> list[Finding]:
    return lint_text(text, file, LintRules(TODAY, profile, blocked))


def found(text: str, **rest: object) -> list[tuple[int, str]]:
    return [(finding.line, finding.code) for finding in lint(text, **rest)]  # type: ignore[arg-type]


def line_of(text: str, part: str) -> int:
    assert text.count(part) == 1
    return text[: text.index(part)].count("\n") + 1


def changed(*changes: tuple[str, str]) -> str:
    text = RECIPE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_good_recipe_has_no_findings() -> None:
    assert found(RECIPE) == []


ONE: Mapping[str, tuple[tuple[str, str], str]] = {
    "L-INPUT-DEFAULT-PII": (('default: ""', 'default: "Kitchen"'), "name: lamp_label"),
    "L-INDEX-TARGET": (
        ('{resource_id: "com.example.app:id/state"}', '{resource_id: "com.example.app:id/state", index_in_parent: 2}'),
        "index_in_parent",
    ),
    "L-NO-RESOURCE-ID": (('resource_id: "com.example.app:id/lamp", ', ""), "selector: {text_equals"),
    "L-ANNOTATION-USER": (('"${inputs.lamp_label}", annotation', '"Lamp", annotation'), '"Lamp"'),
    "L-PERCENT": (('contains: "On"}}', 'contains: "On"}}\nwait: {after_ms: 1}'), ""),
    "L-NO-WAIT-AFTER-OPEN": (
        ("id: list\ntype: wait_for_node", "id: list\ntype: read_text"),
        "type: read_text\nselector",
    ),
    "L-CAP-UNUSED": (("click, toggle]", "click, toggle, long_click]"), "capabilities:"),
    "L-STRAY-BLOCK": (("---\n## Step 1", "---\n```yaml\na: 1\n```\n## Step 1"), "```yaml\na: 1"),
    "L-MISSING-RECOMMENDED": (("risk_level: medium\n", ""), "recipe_id"),
    "L-STALE": (("2026-02-01", "2025-09-01"), "last_verified_at"),
}


@table("code", sorted(set(ONE) - {"L-PERCENT"}))
def test_each_lint(code: str) -> None:
    change, place = ONE[code]
    text = changed(change)
    assert (line_of(text, place), code) in found(text)
    assert code not in dict(map(reversed, found(RECIPE)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('"com.example.app:id/state"', '"com.example.app:id/100%"'), "confirm:"),
        (('"${inputs.lamp_label}"', '"50% ${inputs.lamp_label}"'), "50%"),
    ],
)
def test_percent_in_any_selector(change: tuple[str, str], line: str) -> None:
    text = changed(change)
    assert found(text) == [(line_of(text, line), "L-PERCENT")]


def test_percent_elsewhere_is_harmless() -> None:
    assert found(changed(('contains: "On"', 'contains: "100%"'), ("it.", "it at 100%."))) == []


def test_selectors_inside_of_selectors() -> None:
    nested = 'selector: {all_of: [{resource_id: "a:id/b"}, {any_of: [{text_equals: "5%", annotation: VARIABLE}, {class: Button}]}]}'
    text = changed(('selector: {resource_id: "com.example.app:id/lamps", annotation: STRUCTURAL}', nested))
    codes = {code for _, code in found(text)}
    assert {"L-PERCENT", "L-ANNOTATION-USER", "RECIPE_SELECTOR_UNSUPPORTED"} <= codes


@pytest.mark.parametrize("annotation", ["STRUCTURAL", "DERIVED"])
def test_literals_that_belong_to_the_app(annotation: str) -> None:
    change = (
        '"${inputs.lamp_label}", annotation: USER_SPECIFIC',
        f'"Lamp ${{inputs.lamp_label}}", annotation: {annotation}',
    )
    assert found(changed(change)) == []


def test_an_escaped_input_is_a_literal() -> None:
    codes = [code for _, code in found(changed(('"${inputs.lamp_label}"', '"$${inputs.lamp_label}"')))]
    assert codes == ["L-ANNOTATION-USER"]


@table("name", ["user_name", "address", "home_label", "email", "phone_number", "account", "contact"])
def test_inputs_that_name_someone(name: str) -> None:
    text = changed(
        ('{name: lamp_label, type: string, required: true, default: ""}', f"{{name: {name}, type: string, default: x}}")
    )
    assert "L-INPUT-DEFAULT-PII" in {code for _, code in found(text)}


@pytest.mark.parametrize(
    "item",
    [
        "{name: direction, type: string, default: down}",
        "{name: lamp_label, type: string, default: <label>}",
        "{name: room_count, type: integer, default: 3}",
        "{name: hostname, type: string, default: localhost}",
    ],
)
def test_inputs_that_do_not(item: str) -> None:
    text = changed(('{name: lamp_label, type: string, required: true, default: ""}', item))
    assert "L-INPUT-DEFAULT-PII" not in {code for _, code in found(text)}


@pytest.mark.parametrize(
    "changes",
    [
        [("risk_level: medium", "risk_level: medium\nsettle: {after_open_ms: 1000}")],
        [('selector: {resource_id: "com.example.app:id/lamps"', 'wait: {before_ms: 100}\nselector: {resource_id: "com.example.app:id/lamps"')],
        [("session_policy: fresh", "session_policy: resume_ok"), ("[observe, navigate,", "[observe,")],
    ],
)  # fmt: skip
def test_waiting_in_other_ways(changes: list[tuple[str, str]]) -> None:
    text = changed(("id: list\ntype: wait_for_node", "id: list\ntype: read_text"), *changes)
    assert found(text) == []


def test_opening_by_a_step() -> None:
    opening = "## Step 0: open\n```yaml\nid: open\ntype: open_app\n{}```\n"
    begun = changed(
        ("session_policy: fresh", "session_policy: resume_ok"),
        ("id: list\ntype: wait_for_node", "id: list\ntype: read_text"),
    )
    for wait, expected in (("", ["L-NO-WAIT-AFTER-OPEN"]), ("wait: {after_ms: 10}\n", [])):
        text = begun.replace("## Step 1", opening.replace("{}", wait) + "## Step 1")
        assert [code for _, code in found(text)] == expected


def test_stale_by_one_day() -> None:
    for day, expected in (("2025-09-02", []), ("2025-09-01", ["L-STALE"])):
        assert [code for _, code in found(changed(("2026-02-01", day)))] == expected


# -- policy


def test_capabilities_that_the_policy_forbids() -> None:
    no_clicks = Profile(name="careful", capabilities=Allowed(deny=("click",)))
    (finding,) = lint(RECIPE, profile=no_clicks)
    assert (finding.code, finding.severity, finding.line) == ("L-CAP-COMBO", "error", line_of(RECIPE, "capabilities:"))
    assert "careful" in finding.message
    other_apps = Profile(packages=Allowed(deny=("com.example.*",)))
    assert found(RECIPE, profile=other_apps) == [(line_of(RECIPE, "application_id"), "L-CAP-COMBO")]


def test_buying_is_no_low_risk() -> None:
    buying = (("effect: toggle", "effect: purchase"), ("click, toggle]", "click, purchase_risk]"))
    allowed = Profile(capabilities=Allowed())
    assert found(changed(*buying), profile=allowed) == []
    low = changed(*buying, ("risk_level: medium", "risk_level: low"))
    assert [code for _, code in found(low, profile=allowed)] == ["L-CAP-COMBO"]
    assert [code for _, code in found(changed(*buying))] == ["L-CAP-COMBO"]  # the default policy sells nothing


# -- literals


def test_literals_in_any_file_and_never_repeated() -> None:
    text = "#!/bin/sh\nSERIAL=emulator-5554\n\necho jane@example.com /home/jane +49 171 1234567\r\n"
    findings = lint(text, file="scripts/run.sh")
    assert [(finding.line, finding.code) for finding in findings] == [
        (2, "L-LITERAL-SERIAL"),
        (4, "L-LITERAL-EMAIL"),
        (4, "L-LITERAL-PATH"),
        (4, "L-LITERAL-PHONE"),
    ]
    said = " ".join(finding.message for finding in findings)
    assert not any(part in said for part in ("5554", "jane", "171"))


def test_literals_in_disguise() -> None:
    """YAML can write an address so that no pattern sees it in the text; what is compiled is what counts."""
    text = changed(
        ('"${inputs.lamp_label}", annotation: USER_SPECIFIC', '"jane\\u0040example.com", annotation: STRUCTURAL')
    )
    assert (line_of(text, "jane"), "L-LITERAL-EMAIL") in found(text)
    plain = changed(('"${inputs.lamp_label}", annotation: USER_SPECIFIC', '"jane@example.com", annotation: STRUCTURAL'))
    assert [code for _, code in found(plain)].count("L-LITERAL-EMAIL") == 1


def test_blocked_terms_are_named() -> None:
    findings = lint(
        "a\nLiving ROOM of anna\n", file="SKILL.md", blocked=read_terms(["# mine", "Bert", "Anna", "living room"])
    )
    assert [(finding.line, finding.code, finding.severity) for finding in findings] == [
        (2, "L-LITERAL-BLOCKED", "error")
    ] * 2
    said = " ".join(finding.message for finding in findings)
    assert "blocked term anna" in said
    assert "blocked term living room" in said


# -- broken recipes


@table(
    ("text", "code", "line"),
    [
        ("no front matter", "RECIPE_PARSE_FAILED", 1),
        (RECIPE.replace("type: click", "type: dance"), "RECIPE_STEP_UNSUPPORTED", line_of(RECIPE, "type: click")),
        (RECIPE.replace("recipe_type: action", "recipe_type: x"), "RECIPE_SCHEMA_INVALID", 4),
        (RECIPE.replace("confirm:", "x-confirm:"), "RECIPE_SCHEMA_INVALID", line_of(RECIPE, "confirm:")),
        pytest.param("x" * 300_000, "RECIPE_LIMIT_EXCEEDED", 1, id="too large"),
        (RECIPE + "\0", "RECIPE_PARSE_FAILED", RECIPE.count("\n") + 1),
    ],
)
def test_what_does_not_compile_is_a_finding(text: str, code: str, line: int) -> None:
    findings = lint(text)
    assert (line, code, "error") in [(finding.line, finding.code, finding.severity) for finding in findings]
    assert not any(finding.message.startswith(FILE) for finding in findings)


def test_only_recipes_are_read_as_such() -> None:
    assert found("no front matter", file="README.md") == []
    assert found("no front matter", file="X.RECIPE.MD") == [(1, "RECIPE_PARSE_FAILED")]


@given(st.text(max_size=200), st.integers(0, len(RECIPE)))
def test_any_text_gets_findings_and_no_exception(text: str, cut: int) -> None:
    for whole in (text, RECIPE[:cut] + text + RECIPE[cut:]):
        findings = lint(whole)
        assert findings == sorted(findings, key=lambda finding: (finding.line, finding.code, finding.message))
        assert all(finding.code in SEVERITIES or finding.code in ErrorCode.__members__ for finding in findings)
        assert findings == lint(whole)


def test_a_finding_as_a_document() -> None:
    (finding,) = lint("emulator-5554", file="a.sh")
    assert list(finding._asdict()) == ["file", "line", "code", "severity", "message"]
    assert has_errors([finding])
    assert not has_errors(lint(changed(("risk_level: medium\n", ""))))


# -- a skill's folder


@pytest.fixture
def made(tmp_path: Path) -> Registry:
    return made_registry(tmp_path, {"com.example.app.read": {"run.sh": "#!/bin/sh\n", "blob": b"\0emulator-5554"}})


def lint_made(made: Registry) -> list[tuple[str, int, str]]:
    findings = lint_skill(made, "com.example.app.read", LintRules(TODAY, DEFAULT, BlockedTerms()))
    return [(finding.file, finding.line, finding.code) for finding in findings]


def test_every_text_file_of_a_skill(made: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "skills/com.example.app.read"
    assert lint_made(made) == []
    (folder / "lib").mkdir()
    (folder / "lib/helper.js").write_text("// emulator-5554\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules/x.js").write_text("// emulator-5554\n")
    (folder / "big.txt").write_text("emulator-5554\n" * 200_000)
    (folder / "latin.txt").write_bytes(b"\xff emulator-5554\n")
    assert lint_made(made) == [
        ("skills/com.example.app.read/latin.txt", 1, "L-LITERAL-SERIAL"),
        ("skills/com.example.app.read/lib/helper.js", 1, "L-LITERAL-SERIAL"),
    ]


def test_links_that_lead_out_are_refused(made: Registry, tmp_path: Path) -> None:
    (tmp_path / "skills/com.example.app.read/passwd").symlink_to("/etc/passwd")
    with pytest.raises(EngineError) as caught:
        lint_made(made)
    assert (caught.value.code, caught.value.details["skillId"]) == (
        ErrorCode.REGISTRY_READ_FAILED,
        "com.example.app.read",
    )


def test_folders_and_files_that_are_not_there(made: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "skills/com.example.app.read"
    (folder / "gone").symlink_to("nowhere")
    with pytest.raises(EngineError) as caught:
        lint_made(made)
    assert "gone" in caught.value.message
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(EngineError) as caught:
        lint_made(made)
    assert caught.value.code is ErrorCode.REGISTRY_READ_FAILED
    with pytest.raises(EngineError) as caught:
        lint_skill(load_registry(made.path), "nobody", LintRules(TODAY, DEFAULT, BlockedTerms()))
    assert caught.value.code is ErrorCode.SKILL_NOT_FOUND
