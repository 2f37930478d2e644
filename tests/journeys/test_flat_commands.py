"""The flat commands as whole processes on a simulated device behind the real adb, and scripts as skills of both generations
are written: they find the program by a variable, read one JSON document, and take another exit code than 0 for a failure."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import CLI, Ran, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SETTINGS = "com.android.settings"
SHOP = "com.example.shop"
PACKAGE = "com.clawperator.operator"


class Ended(Ran):
    @property
    def step(self) -> dict[str, Any]:
        """The data of the one step."""
        (step,) = self.document["envelope"]["stepResults"]
        assert step["success"] is True
        data: dict[str, Any] = step["data"]
        return data


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n")


Run = Callable[..., Awaitable[Ended]]


def runner(bench: Any) -> Run:
    """``run(*arguments)``: the real program, with the one device that there is."""

    async def run(*arguments: str, stdin: bytes = b"") -> Ended:
        return Ended(*await ran(*CLI, *arguments, env=bench.env, stdin=stdin))

    return run


def plan(*actions: dict[str, Any], timeout_ms: int = 5_000) -> dict[str, Any]:
    return {
        "commandId": "flat-1",
        "taskId": "flat",
        "source": "tests",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": [{"id": f"s{number}", **action} for number, action in enumerate(actions, 1)],
    }


# -- every command


async def test_shopping_by_flat_commands(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.5"})
    run = runner(bench)
    field = ("--id", f"{SHOP}:id/search_src_text")
    opened = await run("open", SHOP)
    assert opened.exit_code == 0
    assert list(opened.document)[:5] == ["ok", "envelope", "deviceId", "terminalSource", "isCanonicalTerminal"]
    assert opened.step == {"application_id": SHOP}
    assert (await run("wait", "--id", f"{SHOP}:id/deals_list", "--timeout", "5000")).exit_code == 0
    assert (await run("tap", "--id", f"{SHOP}:id/search_bar")).exit_code == 0
    assert (await run("fill", "Coffee mug", *field)).step["text"] == "Coffee mug"
    assert (await run("click", "--desc", "Search")).exit_code == 0
    titles = await run("read", "--id", f"{SHOP}:id/product_title", "--all", "--json")
    assert json.loads(titles.step["text"]) == ['Coffee mug "Monday"']
    assert (await run("back")).step == {"key": "back"}
    closed = await run("close", SHOP)
    assert (closed.exit_code, closed.step) == (0, {"application_id": SHOP})
    assert (await run("snapshot")).step["foreground_package"] != SHOP


@pytest.mark.ci
async def test_scrolling_waiting_and_reading_beside_a_label(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.5"}, start={"package": SETTINGS})
    run = runner(bench)
    assert (await run("scroll", "down")).step["direction"] == "down"
    back_up = await run("scroll-until", "up", "--text", "Network & internet")
    assert (back_up.exit_code, back_up.step["termination_reason"]) == (0, "TARGET_FOUND")
    found = await run(
        "scroll-until", "--text-contains", "About", "--click", "--container-id", f"{SETTINGS}:id/recycler_view"
    )
    assert (found.exit_code, found.step["click_after"]) == (0, "true")
    value = await run("read-kv", "--label", "Android version")
    assert (value.exit_code, value.step["label"]) == (0, "Android version")
    assert (await run("press", "home")).exit_code == 0
    assert (await run("sleep", "5")).step == {"duration_ms": "5"}
    late = await run("wait-for-nav", "--app", SETTINGS, "--timeout", "200")
    assert late.exit_code == 1
    assert late.document["envelope"]["error"] == "Step wait-for-nav (wait_for_navigation) failed: NAVIGATION_TIMEOUT"


# -- the profile


@pytest.mark.ci
async def test_a_failed_step_fails_the_envelope_only_here(connect: Connect) -> None:
    bench = await connect(faults=[{"kind": "truncated_dump"}])
    run = runner(bench)
    flat, classic = await run("snapshot"), await run("observe", "snapshot")
    assert (flat.exit_code, classic.exit_code) == (1, 1)
    assert (flat.document["envelope"]["status"], classic.document["envelope"]["status"]) == ("failed", "success")
    assert flat.document["envelope"]["error"] == "Step snap (snapshot_ui) failed: SNAPSHOT_EXTRACTION_FAILED"
    assert "SNAPSHOT" in flat.err.upper()


@pytest.mark.ci
async def test_closing_an_app_works_here_and_is_reported_raw_there(connect: Connect) -> None:
    bench = await connect(start={"package": SETTINGS})
    run = runner(bench)
    payload = json.dumps(plan({"type": "close_app", "params": {"applicationId": SETTINGS}}))
    flat, classic = await run("exec", payload), await run("execute", payload)
    assert (flat.exit_code, flat.step) == (0, {"application_id": SETTINGS})
    (step,) = classic.document["envelope"]["stepResults"]
    assert (classic.exit_code, step["success"], step["data"]["error"]) == (0, False, "UNSUPPORTED_RUNTIME_CLOSE")


@pytest.mark.ci
async def test_a_hasty_snapshot_is_remarked_only_here(connect: Connect) -> None:
    bench = await connect(start={"package": SETTINGS})
    run = runner(bench)
    look = json.dumps(plan({"type": "tap", "params": {"matcher": {"textEquals": "Display"}}}, {"type": "snapshot"}))
    flat, classic = await run("exec", "-", stdin=look.encode()), await run("execute", look)
    assert "settled" in flat.document["envelope"]["stepResults"][1]["data"]["warn"]
    assert "warn" not in classic.document["envelope"]["stepResults"][1]["data"]


@pytest.mark.parametrize(
    ("scenario", "package"),
    [
        ({"operator": {"installed": False}}, PACKAGE),
        ({"faults": [{"kind": "broadcast_failure"}]}, PACKAGE),
        ({}, "a.b"),
    ],
    ids=["before", "at dispatch", "chosen"],
)
@pytest.mark.ci
async def test_who_is_missing_is_called_operator(connect: Connect, scenario: dict[str, Any], package: str) -> None:
    bench = await connect(**scenario)
    run = runner(bench)
    flat = await run("snapshot", "--operator-package", package)
    classic = await run("observe", "snapshot", "--receiver-package", package)
    assert (flat.exit_code, flat.document["code"]) == (1, "OPERATOR_NOT_INSTALLED")
    assert (classic.exit_code, classic.document["code"]) == (1, "RECEIVER_NOT_INSTALLED")
    assert "receiverPackage" not in flat.out
    assert flat.document.get("operatorPackage") == classic.document.get("receiverPackage")


async def test_pictures_go_where_skills_put_them(connect: Connect, tmp_path: Path) -> None:
    """To the same place again, and over the empty file that mktemp made; nothing else is lost."""
    bench = await connect()
    run = runner(bench)
    picture, empty, letter = (tmp_path / name for name in ("screen.png", "made", "letter.txt"))
    empty.touch()
    letter.write_text("Dear reader", encoding="utf-8")
    for path in (picture, picture, empty):
        taken = await run("screenshot", "--path", str(path))
        assert (taken.exit_code, taken.step["path"]) == (0, str(path))
        assert is_picture(path)
    refused = await run("screenshot", "--path", str(letter))
    assert (refused.exit_code, letter.read_text(encoding="utf-8")) == (1, "Dear reader")
    assert (await run("screenshot", "--path", str(letter), "--overwrite")).exit_code == 0


# -- scripts of both generations

NODE_05 = """
const { execFileSync } = require('node:child_process');
const fs = require('node:fs'), os = require('node:os'), path = require('node:path');
const bin = process.env.CLAWPERATOR_BIN || 'clawperator';
const [device] = process.argv.slice(2);
const pkg = process.env.CLAWPERATOR_OPERATOR_PACKAGE || 'com.clawperator.operator';
const call = (...args) => JSON.parse(bin.endsWith('.js')
  ? execFileSync(process.execPath, [bin, ...args], { encoding: 'utf8' })
  : execFileSync(bin, args, { encoding: 'utf8' }));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'skill-'));
const file = path.join(folder, 'execution.json');
fs.writeFileSync(file, JSON.stringify({
  commandId: `skill-${Date.now()}`, taskId: 'overview', source: 'clawperator-skill',
  expectedFormat: 'android-ui-automator', timeoutMs: 30000, actions: [
    { id: 'close', type: 'close_app', params: { applicationId: 'com.android.settings' } },
    { id: 'open', type: 'open_app', params: { applicationId: 'com.android.settings' } },
    { id: 'settle', type: 'sleep', params: { durationMs: 20 } },
    { id: 'ready', type: 'wait_for_node', params: { matcher: { textEquals: 'Display' } } },
    { id: 'snap', type: 'snapshot' } ] }));
const ran = call('exec', file, '--device', device, '--operator-package', pkg);
for (const step of ran.envelope.stepResults) if (!step.success) throw new Error(`${step.id} ${step.actionType}`);
const snap = ran.envelope.stepResults.find((step) => step.id === 'snap');
if (snap.actionType !== 'snapshot_ui' || !snap.data.text.includes('<hierarchy')) throw new Error('no tree');
const now = call('--timeout', '60000', '--no-daemon', 'snapshot', '--device', device, '--operator-package', pkg, '--json');
if (!now.envelope.stepResults[0].data.text.includes('Display')) throw new Error('another tree');
const shot = path.join(folder, 'screen.png');
call('screenshot', '--device', device, '--operator-package', pkg, '--path', shot);
const [, x1, y1, x2, y2] = /text="Display"[^>]*bounds="\\[(\\d+),(\\d+)\\]\\[(\\d+),(\\d+)\\]"/.exec(now.envelope.stepResults[0].data.text);
const middle = (a, b) => String(Math.round((Number(a) + Number(b)) / 2));
call('click', '--coordinate', middle(x1, x2), middle(y1, y2), '--device', device, '--operator-package', pkg);
console.log(`RESULT|steps=${ran.envelope.stepResults.length}`);
console.log(`SCREENSHOT|path=${shot}`);
try { call('click', '--text', 'No such row', '--device', device); console.log('RESULT|missing=found'); }
catch (error) { console.log(`RESULT|missing=${error.status} ${JSON.parse(error.stdout).envelope.errorCode}`); }
"""

PYTHON_05 = """
import json, os, shlex, subprocess, sys, tempfile

def call(*args):
    done = subprocess.run([*shlex.split(os.environ["CLAWPERATOR_BIN"]), *args], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{args[0]} failed: {done.stdout}")
    return json.loads(done.stdout)

device = os.environ["CLAWPERATOR_DEVICE_ID"]
where = ("--device", device, "--operator-package", os.environ["CLAWPERATOR_OPERATOR_PACKAGE"])
plan = {"commandId": "py-1", "taskId": "py", "source": "clawperator-skill", "expectedFormat": "android-ui-automator",
        "timeoutMs": 20000, "actions": [{"id": "o", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
                                        {"id": "snap", "type": "snapshot"}]}
with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump(plan, file)
    file.flush()
    envelope = call("exec", file.name, *where)["envelope"]
print("RESULT|ids=" + ",".join(step["id"] for step in envelope["stepResults"]))
tree = call("snapshot", *where, "--json", "--timeout", "60000")["envelope"]["stepResults"][0]["data"]["text"]
print("TEXT_BEGIN", tree.count("<node") > 10, "TEXT_END")
"""

BASH_03 = """
set -euo pipefail
device="$1"
file="$(mktemp)"
cat > "$file" <<JSON
{"commandId":"sh-$$","taskId":"sh","source":"clawperator-skill","expectedFormat":"android-ui-automator","timeoutMs":20000,
 "actions":[{"id":"open","type":"open_app","params":{"applicationId":"com.android.settings"}},
            {"id":"title","type":"read","params":{"matcher":{"resourceId":"com.android.settings:id/homepage_title"}}},
            {"id":"snap","type":"snapshot"}]}
JSON
out="$($CLAW_BIN execute --execution "$file" --device-id "$device" --receiver-package "$RECEIVER_PKG")"
case "$out" in *'"terminalSource":"clawperator_result","isCanonicalTerminal":true'*) ;; *) exit 3 ;; esac
case "$out" in *'"id":"title","actionType":"read_text","success":true,"data":{"text":"Settings"'*) echo "RESULT|title=Settings" ;; esac
if $CLAW_BIN execute --execution '{"commandId":"x"}' --device-id "$device" > /dev/null; then exit 4; fi
echo "✅ done"
"""


@pytest.mark.ci
async def test_a_node_script_of_the_newer_generation(connect: Connect, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    bench = await connect(device={"generation": "0.5"})
    program = tmp_path / "clawperator"
    program.write_text(f'#!/bin/sh\nexec {" ".join(CLI)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    script = tmp_path / "overview.js"
    script.write_text(NODE_05, encoding="utf-8")
    env = {
        **bench.env,
        "CLAWPERATOR_BIN": str(program),
        "CLAWPERATOR_OPERATOR_PACKAGE": PACKAGE,
        "TMPDIR": str(tmp_path),
    }
    done = await ran(node, str(script), bench.serial, env=env)
    assert done.exit_code == 0, done.err
    steps, shot, missing = done.out.splitlines()
    assert (steps, missing) == ("RESULT|steps=5", "RESULT|missing=1 NODE_NOT_FOUND")
    assert is_picture(Path(shot.removeprefix("SCREENSHOT|path=")))


@pytest.mark.ci
async def test_a_python_script_that_is_given_a_quoted_command(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    script = tmp_path / "overview.py"
    script.write_text(PYTHON_05, encoding="utf-8")
    env = {
        **bench.env,
        "CLAWPERATOR_BIN": " ".join(f"'{word}'" for word in CLI),
        "CLAWPERATOR_OPERATOR_PACKAGE": PACKAGE,
        "CLAWPERATOR_DEVICE_ID": bench.serial,
    }
    done = await ran(sys.executable, str(script), env=env)
    assert (done.exit_code, done.out, done.err) == (0, "RESULT|ids=o,snap\nTEXT_BEGIN True TEXT_END\n", "")


async def test_a_shell_script_of_the_older_generation(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(device={"generation": "0.3"})
    script = tmp_path / "title.sh"
    script.write_text(BASH_03, encoding="utf-8")
    env = {**bench.env, "CLAW_BIN": " ".join(CLI), "RECEIVER_PKG": PACKAGE, "PATH": os.environ["PATH"]}
    done = await ran("bash", str(script), bench.serial, env=env)
    assert (done.exit_code, done.out) == (0, "RESULT|title=Settings\n✅ done\n"), done.err


# -- apps by name


async def test_apps_are_listed_and_opened_by_what_they_are_called(connect: Connect) -> None:
    bench = await connect()
    run = runner(bench)
    listed = {row["applicationId"]: row for row in (await run("apps")).document["apps"]}
    assert (listed[SETTINGS]["label"], listed[SETTINGS]["derivedName"]) == (None, "Settings"), "it is in its resources"
    assert listed[SHOP]["label"] == "Shop"
    (found,) = (await run("apps", "--search", "SETT")).document["apps"]
    assert found == listed[SETTINGS]

    opened = await run("open", "settings", "--then", "compact")
    assert (opened.exit_code, opened.document["result"]["applicationId"]) == (0, SETTINGS)
    assert opened.step["application_id"] == SETTINGS
    assert SETTINGS in json.dumps(opened.document["then"])
    by_id = await run("open", SETTINGS)
    assert "result" not in by_id.document, "an id is not looked up"

    near = await run("open", "Sho")
    error = near.document["outcome"]["error"]
    assert (near.exit_code, error["code"], error["details"]["nearest"][0]["applicationId"]) == (
        1,
        "APP_NOT_FOUND",
        SHOP,
    )
    bench.world.ui.apps[SHOP] = replace(bench.world.ui.apps[SHOP], label="Settings")
    several = await run("open", "Settings", "--backend", "stock")
    error = several.document["outcome"]["error"]
    assert (several.exit_code, error["code"]) == (1, "APP_NOT_FOUND")
    assert [row["applicationId"] for row in error["details"]["candidates"]] == [SETTINGS, SHOP]


async def test_an_app_that_is_found_by_its_name_must_be_allowed(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    policy = tmp_path / "policy.toml"
    policy.write_text('version = 1\n[profiles.default.packages]\ndeny = ["com.android.settings"]\n')
    bench.env["CLAWPERATOR_POLICY"] = str(policy)
    run = runner(bench)
    denied = await run("open", "Settings")
    assert (denied.exit_code, denied.document["code"]) == (1, "PACKAGE_DENIED")
    assert denied.document["details"]["package"] == SETTINGS
    assert (await run("open", "Shop")).document["result"]["applicationId"] == SHOP
