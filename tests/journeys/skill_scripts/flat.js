// As current skills are written: the flat commands, device and package by their new names, everything as JSON.
const { spawnSync } = require("node:child_process");
const { existsSync, mkdtempSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { tmpdir } = require("node:os");

const device = process.argv[2] || process.env.CLAWPERATOR_DEVICE_ID;
const operator = process.env.CLAWPERATOR_OPERATOR_PACKAGE || "com.clawperator.operator";
const folder = mkdtempSync(join(tmpdir(), "skill-"));

function command() {
  const named = process.env.CLAWPERATOR_BIN || "clawperator";
  if (existsSync(named)) return named.endsWith(".js") ? [process.execPath, named] : [named];
  return named.match(/'[^']*'|"[^"]*"|\S+/g).map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));
}

function call(...words) {
  const [program, ...first] = command();
  const ran = spawnSync(program, [...first, ...words, "--device", device, "--operator-package", operator], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  const answer = JSON.parse(ran.stdout); // one document, whatever happened
  if (ran.status !== 0) throw Object.assign(new Error(`exit ${ran.status}`), { answer });
  return answer;
}

function exec(actions) {
  const file = join(folder, "execution.json");
  const ids = { commandId: `flat-${process.pid}`, taskId: "flat", source: "skill" };
  writeFileSync(file, JSON.stringify({ ...ids, expectedFormat: "android-ui-automator", timeoutMs: 30000, actions }));
  return Object.fromEntries(call("exec", file).envelope.stepResults.map((step) => [step.id, step]));
}

const opened = exec([
  { id: "close", type: "close_app", params: { applicationId: "com.android.settings" } },
  { id: "open", type: "open_app", params: { applicationId: "com.android.settings" } },
  { id: "seek", type: "scroll_and_click", params: { matcher: { textEquals: "Display" }, clickAfter: false } },
  { id: "settle", type: "sleep", params: { durationMs: 1 } },
]);
if (!opened.close.success) throw new Error("closing an app is a success on this surface");

const seen = call("--timeout", "60000", "--no-daemon", "snapshot", "--json").envelope.stepResults[0].data.text;
const bounds = /text="Display"[^>]*bounds="\[(\d+),(\d+)\]\[(\d+),(\d+)\]"/.exec(seen).slice(1).map(Number);
const middle = [(bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2].map((side) => String(Math.floor(side)));
const clicked = call("click", "--coordinate", ...middle).envelope.stepResults[0];

const picture = join(folder, "screen.png");
call("screenshot", "--path", picture);

let refused = "nothing";
try {
  exec([{ id: "none", type: "click", params: { matcher: { textEquals: "Nobody's text" }, retry: { maxAttempts: 1 } } }]);
} catch (error) {
  refused = error.answer.envelope.errorCode;
}
console.log(`SCREENSHOT|path=${picture}`);
console.log(`RESULT|status=success|clicked=${clicked.actionType}:${clicked.success}|refused=${refused}`);
console.log(`[Clawperator-Skill-Result] ${JSON.stringify({ device, at: middle })}`);
console.log("✅ Done.");
