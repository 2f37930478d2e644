#!/usr/bin/env node
// Searches the shop and prints the products on the first page.
//
//   search.js [device-id] --query <text>
//
// One execution does it all: nobody else can act on the device between two steps of it.

const SHOP = "com.example.shop";

async function main() {
  const { device, options } = readArguments(process.argv.slice(2), ["--query"]);
  const query = (options.query ?? "").trim();
  if (!query) throw new Error("--query <text> is missing");

  const steps = await execute(device, [
    { id: "close", type: "close_app", params: { applicationId: SHOP } },
    { id: "open", type: "open_app", params: { applicationId: SHOP } },
    // The bar on the first screen is a decoy: it only leads to the field.
    { id: "bar", type: "wait_for_node", params: { matcher: { resourceId: `${SHOP}:id/search_bar` } } },
    { id: "decoy", type: "click", params: { matcher: { resourceId: `${SHOP}:id/search_bar` } } },
    { id: "settle", type: "sleep", params: { durationMs: 500 } },
    { id: "type", type: "enter_text", params: { matcher: { resourceId: `${SHOP}:id/search_src_text` }, text: query } },
    { id: "go", type: "click", params: { matcher: { resourceId: `${SHOP}:id/search_go_btn` } } },
    { id: "results", type: "wait_for_node", params: { matcher: { textContains: "Results for" } } },
    { id: "screen", type: "snapshot_ui" },
  ]);

  const texts = textsById(steps.get("screen").data.text);
  const titles = texts.get(`${SHOP}:id/product_title`) ?? [];
  const prices = texts.get(`${SHOP}:id/price`) ?? [];
  const products = titles.map((name, at) => ({ name, price: prices[at] ?? null }));
  for (const { name, price } of products) console.log(`RESULT|name=${name}|price=${price ?? ""}`);
  console.log(`[Clawperator-Skill-Result] ${JSON.stringify({ query, products })}`);
  console.log(`✅ Products for “${query}”: ${products.length}`);
}

// The texts on a screen by the resource id of their nodes, from top to bottom.
function textsById(xml) {
  const found = new Map();
  for (const [node] of xml.matchAll(/<node(?:\s+[\w-]+="[^"]*")*/g)) {
    const attributes = new Map([...node.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, unescape(value)]));
    const id = attributes.get("resource-id");
    if (id && attributes.get("text")) found.set(id, [...(found.get(id) ?? []), attributes.get("text")]);
  }
  return found;
}

function unescape(text) {
  const named = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name) return named[name] ?? whole;
    return String.fromCodePoint(decimal ? Number(decimal) : Number.parseInt(hex, 16));
  });
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

// Runs the actions as one execution, and returns its steps by id. Nothing is quoted: no shell is involved.
async function execute(device, actions) {
  const { spawnSync } = await import("node:child_process");
  const { randomUUID } = await import("node:crypto");
  const id = `skill-${randomUUID()}`;
  const expectedFormat = "android-ui-automator";
  const input = JSON.stringify({ commandId: id, taskId: id, source: "com.example.shop.search", expectedFormat, timeoutMs: 60000, actions });
  const [program, ...words] = await commandLine();
  words.push("exec", "-", ...(device ? ["--device", device] : []));
  const done = spawnSync(program, words, { input, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (done.error) throw done.error;
  const answer = JSON.parse(done.stdout);
  if (!answer.envelope) throw new Error(`${answer.code}: ${answer.message}`);
  const failed = answer.envelope.stepResults.find((step) => !step.success);
  if (failed) throw new Error(`step ${failed.id} failed: ${failed.data.message ?? failed.data.error}`);
  if (answer.envelope.status !== "success") throw new Error(answer.envelope.error);
  return new Map(answer.envelope.stepResults.map((step) => [step.id, step]));
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
  console.error(`shop search: ${error.message}`);
  process.exitCode = 1;
});
