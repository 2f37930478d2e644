// Calls every route of the server at argv[2] through types that were generated from its OpenAPI document, and prints
// what was called and the codes of the errors. argv[3] is a skill's id.
import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./api.js";

type Failure = components["schemas"]["failure"];
type Code = components["schemas"]["error"]["code"];

const [, , baseUrl = "", skill_id = ""] = process.argv;
const client = createClient<paths>({ baseUrl });
const called = new Set<string>();
const codes: Record<string, Code> = {};
const noting: Middleware = {
  onRequest({ request, schemaPath }) {
    called.add(`${request.method} ${schemaPath}`);
    return undefined;
  },
};
client.use(noting);

/** The answer of a call that has to succeed. */
async function good<T>(call: Promise<{ data?: T; error?: Failure }>): Promise<T> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

/** Note the code of a call that has to fail. */
async function bad(name: string, call: Promise<{ data?: unknown; error?: Failure }>): Promise<void> {
  const { error } = await call;
  if (error === undefined) throw new Error(`${name} succeeded`);
  if (error.ok !== false || typeof error.error.message !== "string") throw new Error(JSON.stringify(error));
  codes[name] = error.error.code;
}

const execution: components["schemas"]["execution"] = {
  commandId: "from-typescript",
  taskId: "task",
  source: "tests",
  expectedFormat: "android-ui-automator",
  timeoutMs: 10_000,
  actions: [{ id: "home", type: "press_key", params: { key: "home" } }],
  mode: "direct",
};

await good(client.GET("/healthz"));
await good(client.GET("/ping"));
await good(client.GET("/version"));
await good(client.GET("/schemas/{name}", { params: { path: { name: "execution" } } }));
await good(client.GET("/metrics", { parseAs: "text" }));
await good(client.GET("/events/schema"));
const stream = await good(client.GET("/events", { params: { query: { type: ["devices"] } }, parseAs: "stream" }));
await stream?.cancel();

const up = await good(client.POST("/android/provision/emulator", { body: {} }));
const [device_id, name] = [up.serial, up.avdName];
await good(client.GET("/android/emulators"));
await good(client.GET("/android/emulators/running"));
await good(client.GET("/android/emulators/{name}", { params: { path: { name } } }));
await good(client.GET("/devices"));
await good(client.GET("/doctor", { params: { query: { deviceId: device_id } } }));
await good(client.GET("/locks"));

const done = await good(client.POST("/execute", { body: { execution, deviceId: device_id } }));
if (!("envelope" in done) || done.envelope.status !== "success") throw new Error(JSON.stringify(done));
await good(client.POST("/execute/many", { body: { execution: { ...execution, commandId: "many" }, devices: device_id } }));
await good(client.POST("/execute", { params: { query: { validateOnly: true } }, body: { execution } }));
await good(
  client.POST("/verbs/{verb}", { params: { path: { verb: "press_key" } }, body: { key: "home", then: "none", brief: true } }),
);
await good(client.POST("/observe/snapshot", { body: { deviceId: device_id } }));
await good(client.POST("/observe/screenshot", { body: {}, params: { query: { inline: "base64" } } }));
await good(
  client.GET("/devices/{device_id}/snapshot", { params: { path: { device_id }, query: { view: "interactive" } } }),
);
await good(client.GET("/devices/{device_id}/screen.png", { params: { path: { device_id } }, parseAs: "blob" }));
await good(client.GET("/devices/{device_id}/packages", { params: { path: { device_id } } }));
await good(client.GET("/devices/{device_id}/apps", { params: { path: { device_id } } }));
await good(client.POST("/match", { body: { selector: { textEquals: "Shop" }, maxAgeMs: 60_000 } }));
await good(client.POST("/suggest", { body: { selector: { textEquals: "Shop" }, maxAgeMs: 60_000 } }));

const runs = await good(client.GET("/history", { params: { query: { limit: 50, total: true } } }));
if (!runs.count) throw new Error("nothing in the history");
await good(client.GET("/history/{run}", { params: { path: { run: "from-typescript" } } }));
await bad("getTree", client.GET("/history/trees/{digest}", { params: { path: { digest: "none" } }, parseAs: "text" }));
await good(client.GET("/audit"));

await good(client.GET("/skills", { params: { query: {} } }));
await good(client.GET("/skills/{skill_id}", { params: { path: { skill_id } } }));
await good(
  client.POST("/skills/{skill_id}/run", { params: { path: { skill_id } }, body: { args: ["a", 1, true] } }),
);

await bad("listDevices", client.GET("/devices", { headers: { Origin: "https://evil.example" } }));
await bad("execute", client.POST("/execute", { body: { execution, deviceId: "absent" } }));
await bad("runSkill", client.POST("/skills/{skill_id}/run", { params: { path: { skill_id: "com.example.absent" } } }));
await bad("startEmulator", client.POST("/android/emulators/{name}/start", { params: { path: { name: "absent" } } }));
await bad("getHealth", client.GET("/healthz", { headers: { Origin: "https://evil.example" } }));

await good(client.POST("/android/emulators/{name}/stop", { params: { path: { name } } }));
await good(client.POST("/android/emulators/{name}/start", { params: { path: { name } } }));
await good(client.POST("/android/emulators/{name}/stop", { params: { path: { name } } }));
await good(client.DELETE("/android/emulators/{name}", { params: { path: { name } } }));
await good(client.POST("/android/emulators/create", { body: { name: "second" } }));

console.log(JSON.stringify({ called: [...called], codes }));
