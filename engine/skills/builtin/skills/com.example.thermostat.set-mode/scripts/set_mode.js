#!/usr/bin/env node
// Sets a room's mode and makes sure that the thermostat took it.
//
//   set_mode.js [device-id] --room <name> --mode Heat|Cool|Off
//
// A click that was sent is not yet a mode that was set. What counts is what the app shows afterwards.

const APP = "com.example.thermostat";
const MODES = ["Heat", "Cool", "Off"];

async function main() {
  const { device, options } = readArguments(process.argv.slice(2), ["--room", "--mode"]);
  const { mode, room } = options;
  if (!room) throw new Error("--room <name> is missing");
  if (!MODES.includes(mode)) throw new Error(`--mode must be one of ${MODES.join(", ")}`);

  const tile = { resourceId: `${APP}:id/tile_label`, textEquals: room };
  const shown = { resourceId: "android:id/summary", textEquals: mode };
  await execute(device, [
    { id: "close", type: "close_app", params: { applicationId: APP } },
    { id: "open", type: "open_app", params: { applicationId: APP } },
    { id: "tile", type: "wait_for_node", params: { matcher: tile } },
    { id: "room", type: "click", params: { matcher: tile } },
    { id: "page", type: "wait_for_node", params: { matcher: { resourceId: `${APP}:id/room_page` } } },
    { id: "press", type: "click", params: { matcher: { resourceId: `${APP}:id/mode_${mode.toLowerCase()}` } } },
    { id: "shown", type: "wait_for_node", params: { matcher: shown } },
  ]);
  console.log(`RESULT|room=${room}|mode=${mode}|verified=true`);
  console.log(`[Clawperator-Skill-Result] ${JSON.stringify({ room, mode, verified: true })}`);
  console.log(`✅ ${room} is set to ${mode}`);
}

// `[device-id] --name value …`, each name one of `known`.
function readArguments(words, known) {
  const device = words[0]?.startsWith("-") ? undefined : words.shift();
  const options = {};
  while (words.length > 0) {
    const name = words.shift();
    if (!known.includes(name) || words.length === 0) throw new Error(`not understood: ${name}`);
    options[name.slice(2)] = words.shift();
  }
  return { device, options };
}

// Runs the actions as one execution; throws when a step of it did not come true. Nothing is quoted: no shell is involved.
async function execute(device, actions) {
  const { spawnSync } = await import("node:child_process");
  const { randomUUID } = await import("node:crypto");
  const id = `skill-${randomUUID()}`;
  const expectedFormat = "android-ui-automator";
  const input = JSON.stringify({ commandId: id, taskId: id, source: "com.example.thermostat.set-mode", expectedFormat, timeoutMs: 60000, actions });
  const [program, ...words] = await commandLine();
  words.push("exec", "-", ...(device ? ["--device", device] : []));
  const done = spawnSync(program, words, { input, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (done.error) throw done.error;
  const answer = JSON.parse(done.stdout);
  if (!answer.envelope) throw new Error(`${answer.code}: ${answer.message}`);
  const failed = answer.envelope.stepResults.find((step) => !step.success);
  if (failed) throw new Error(`step ${failed.id} failed: ${failed.data.message ?? failed.data.error}`);
  if (answer.envelope.status !== "success") throw new Error(answer.envelope.error);
}

// A program, a .js file, or a quoted command line (`skills run` sets the variable).
async function commandLine() {
  const { existsSync } = await import("node:fs");
  const named = process.env.CLAWPERATOR_BIN || "clawperator";
  const words = existsSync(named)
    ? [named]
    : named.match(/"[^"]*"|'[^']*'|[^\s"']+/g).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  return words[0].endsWith(".js") ? [process.execPath, ...words] : words;
}

main().catch((error) => {
  console.error(`set mode: ${error.message}`);
  process.exitCode = 1;
});
