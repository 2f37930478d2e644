"""Templates of the files of a new skill; ``@word@`` is replaced.

The scripts find the command line as published skills do (cli.md#commands): ``CLAWPERATOR_BIN`` is a program, a ``.js``
file or a quoted command line; the default is ``clawperator`` on PATH.
"""

from __future__ import annotations

SKILL_MD = """\
---
@frontmatter@---

# @id@

@summary@

## Use

```sh
clawperator skills run @id@ --device-id <serial>
```

## Steps

1. Restarts `@app@`, so that the script always begins on the same screen.
2. Takes a snapshot of the screen.
3. TODO: describe the next steps, and which line of the output contains the result.

## Output

`RESULT|key=value|…` is the result. The script exits with 0 only if the result was read from the screen.
"""

_JS = """\
#!/usr/bin/env node
// @id@: opens @app@ and reads its screen. Arguments: [device-id]

const APP = "@app@";

async function main() {
  const device = process.argv.slice(2).find((word) => !word.startsWith("-"));
  const steps = await execute(device, [
    { id: "close", type: "close_app", params: { applicationId: APP } },
    { id: "closed", type: "sleep", params: { durationMs: 1500 } },
    { id: "open", type: "open_app", params: { applicationId: APP } },
    { id: "opened", type: "sleep", params: { durationMs: 3000 } },
    { id: "screen", type: "snapshot_ui" },
  ]);
  const tree = steps.get("screen").data.text;
  // TODO: find the result in the tree, or add steps that read it (read_text, wait_for_node).
  console.log(`RESULT|app=${APP}|nodes=${tree.split("<node ").length - 1}`);
  console.log("✅ The screen was read.");
}

// Runs the actions as one execution, and returns its steps by id. No quoting is needed: no shell is involved.
async function execute(device, actions) {
  const { spawnSync } = await import("node:child_process");
  const { randomUUID } = await import("node:crypto");
  const id = `skill-${randomUUID()}`;
  const payload = {
    commandId: id,
    taskId: id,
    source: "@id@".slice(0, 64),
    expectedFormat: "android-ui-automator",
    timeoutMs: 60000,
    actions,
  };
  const [program, ...words] = await commandLine();
  words.push("exec", "-", ...(device ? ["--device", device] : []));
  const input = JSON.stringify(payload);
  const done = spawnSync(program, words, { input, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (done.error) throw done.error;
  const answer = JSON.parse(done.stdout);
  if (!answer.envelope) throw new Error(`${answer.code}: ${answer.message}`);
  const failed = answer.envelope.stepResults.find((step) => !step.success);
  if (failed) throw new Error(`step ${failed.id} failed: ${failed.data.message ?? failed.data.error}`);
  if (answer.envelope.status !== "success") throw new Error(answer.envelope.error);
  return new Map(answer.envelope.stepResults.map((step) => [step.id, step]));
}

async function commandLine() {
  const { existsSync } = await import("node:fs");
  const named = process.env.CLAWPERATOR_BIN || "clawperator";
  const words = existsSync(named)
    ? [named]
    : named.match(/"[^"]*"|'[^']*'|[^\\s"']+/g).map((word) => word.replace(/^(["'])(.*)\\1$/, "$2"));
  return words[0].endsWith(".js") ? [process.execPath, ...words] : words;
}

main().catch((error) => {
  console.error(`@id@: ${error.message}`);
  process.exitCode = 1;
});
"""

_PY = '''\
#!/usr/bin/env python3
"""@id@: opens @app@ and reads its screen. Arguments: [device-id]"""

import json
import os
import shlex
import subprocess
import sys
import uuid

APP = "@app@"


def main() -> None:
    device = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    steps = execute(
        device,
        [
            {"id": "close", "type": "close_app", "params": {"applicationId": APP}},
            {"id": "closed", "type": "sleep", "params": {"durationMs": 1500}},
            {"id": "open", "type": "open_app", "params": {"applicationId": APP}},
            {"id": "opened", "type": "sleep", "params": {"durationMs": 3000}},
            {"id": "screen", "type": "snapshot_ui"},
        ],
    )
    tree = steps["screen"]["data"]["text"]
    # TODO: find the result in the tree, or add steps that read it (read_text, wait_for_node).
    print(f"RESULT|app={APP}|nodes={tree.count('<node ')}")
    print("✅ The screen was read.")


def execute(device: str | None, actions: list[dict]) -> dict[str, dict]:
    """Run the actions as one execution and return its steps by id. No quoting is needed: no shell is involved."""
    command_id = f"skill-{uuid.uuid4()}"
    payload = {
        "commandId": command_id,
        "taskId": command_id,
        "source": "@id@"[:64],
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 60_000,
        "actions": actions,
    }
    words = [*command_line(), "exec", "-"]
    words += ["--device", device] if device else []
    done = subprocess.run(words, input=json.dumps(payload), capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "envelope" not in answer:
        sys.exit(f"@id@: {answer['code']}: {answer['message']}")
    envelope = answer["envelope"]
    for step in envelope["stepResults"]:
        if not step["success"]:
            sys.exit(f"@id@: step {step['id']} failed: {step['data'].get('message', step['data'].get('error'))}")
    if envelope["status"] != "success":
        sys.exit(f"@id@: {envelope['error']}")
    return {step["id"]: step for step in envelope["stepResults"]}


def command_line() -> list[str]:
    named = os.environ.get("CLAWPERATOR_BIN") or "clawperator"
    words = [named] if os.path.exists(named) else shlex.split(named)
    return ["node", *words] if words[0].endswith(".js") else words


if __name__ == "__main__":
    main()
'''

_SH = """\
#!/usr/bin/env bash
# @id@: opens @app@ and reads its screen. Arguments: [device-id]
set -euo pipefail

app="@app@"
device=()
if [[ -n "${1:-}" && "$1" != -* ]]; then device=(--device "$1"); fi

cli=("${CLAWPERATOR_BIN:-clawperator}")
if [[ ! -e "${cli[0]}" ]]; then IFS=" " read -r -a cli <<<"${cli[0]}"; fi
if [[ "${cli[0]}" == *.js ]]; then cli=(node "${cli[@]}"); fi

call() { "${cli[@]}" "$@" ${device[@]+"${device[@]}"}; }

call close "$app" >/dev/null
sleep 1.5
call open "$app" >/dev/null
sleep 3
answer=$(call snapshot)
# TODO: read the result, with `call read --id <resourceId>` for instance.
printf 'TEXT_BEGIN\\n%s\\nTEXT_END\\n' "$answer"
printf 'RESULT|app=%s\\n' "$app"
printf '✅ The screen was read.\\n'
"""

SCRIPTS = {"js": _JS, "py": _PY, "sh": _SH}
"""By language: restart the app and read its screen."""

_WRAPPER = """\
#!/usr/bin/env bash
# For callers that start shell scripts only.
set -euo pipefail
exec @runner@ "$(dirname "${BASH_SOURCE[0]}")/@script@" "$@"
"""

WRAPPER = {
    "js": _WRAPPER.replace("@runner@", "node"),
    "py": _WRAPPER.replace("@runner@", "python3"),
}
