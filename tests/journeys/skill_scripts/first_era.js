// As skills of the 0.3 era are written: <device id> [<receiver package>], one payload file, the nested commands.
const { execFileSync } = require("node:child_process");
const { existsSync, mkdtempSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { tmpdir } = require("node:os");

const [device = process.env.DEVICE_ID, receiver = process.env.RECEIVER_PKG] = process.argv.slice(2);

/** A path that exists is one word, anything else is split like a shell would; .js files are node's. */
function command() {
  const named = process.env.CLAWPERATOR_BIN || process.env.CLAW_BIN || "clawperator";
  if (existsSync(named)) return named.endsWith(".js") ? [process.execPath, named] : [named];
  return named.match(/'[^']*'|"[^"]*"|\S+/g).map((word) => word.replace(/^(['"])(.*)\1$/, "$2"));
}

function call(...words) {
  const [program, ...first] = command();
  return JSON.parse(execFileSync(program, [...first, ...words], { encoding: "utf8", maxBuffer: 1 << 26 }));
}

const file = join(mkdtempSync(join(tmpdir(), "skill-")), "execution.json");
const actions = [
  { id: "open", type: "open_app", params: { applicationId: "com.android.settings" } },
  { id: "title", type: "read", params: { matcher: { resourceId: "com.android.settings:id/homepage_title" } } },
  { id: "snap", type: "snapshot" },
];
const ids = { commandId: `first-era-${process.pid}`, taskId: "first-era", source: "skill" };
writeFileSync(file, JSON.stringify({ ...ids, expectedFormat: "android-ui-automator", timeoutMs: 30000, actions }));

const answer = call("execute", "--execution", file, "--device-id", device, "--receiver-package", receiver);
const steps = Object.fromEntries(answer.envelope.stepResults.map((step) => [step.id, step]));
if (answer.envelope.status !== "success" || !steps.snap.data.text.includes("<hierarchy")) process.exit(1);

let refused = "nothing";
try {
  const nowhere = JSON.stringify({ textEquals: "Nobody's text" });
  call("action", "click", "--selector", nowhere, "--device-id", device, "--receiver-package", receiver);
} catch (error) {
  refused = `${error.status}:${JSON.parse(error.stdout).envelope.errorCode}`; // a non-zero exit, and still one document
}
console.log(`RESULT|status=success|title=${steps.title.data.text}|refused=${refused}`);
console.log("✅ Read.");
