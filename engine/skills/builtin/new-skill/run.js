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
    : named.match(/"[^"]*"|'[^']*'|[^\s"']+/g).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  return words[0].endsWith(".js") ? [process.execPath, ...words] : words;
}

main().catch((error) => {
  console.error(`@id@: ${error.message}`);
  process.exitCode = 1;
});
