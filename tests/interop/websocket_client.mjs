// The official JavaScript client as browsers use it, over a WebSocket (core 8). The scheme follows the configuration.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { existsSync, readFileSync } from "node:fs";

const require = createRequire(process.env.TERN_NODE_MODULES + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { wsconnect, headers } = await load("@nats-io/nats-core");
const { jetstream, jetstreamManager } = await load("@nats-io/jetstream");

globalThis.WebSocket ??= (await load("ws")).default; // newer versions of node have their own

const secure = readFileSync("server.conf", "utf8").includes("tls {");
const url = `${secure ? "wss" : "ws"}://localhost:${process.env.WEBSOCKET_PORT}`;
console.log("certificates", existsSync("ca.pem"));

const nc = await wsconnect({ servers: url, name: "web" });
console.log("connected", nc.info.version, "port as dialled", nc.info.port == process.env.WEBSOCKET_PORT);

const sub = nc.subscribe("web.>", { max: 3 });
const h = headers();
h.set("A", "b");
nc.publish("web.small", "hello", { headers: h });
nc.publish("web.large", "x".repeat(500_000));
nc.publish("web.empty");
for await (const m of sub) {
  console.log(m.subject, m.data.length, m.headers?.get("A") ?? "no header");
}

nc.subscribe("echo", { callback: (_, m) => m.respond(m.data) });
const answers = await Promise.all([...Array(200).keys()].map((i) => nc.request("echo", String(i), { timeout: 10_000 })));
console.log("answers", answers.every((m, i) => m.string() === String(i)));
try {
  await nc.request("nobody", "", { timeout: 10_000 });
} catch (err) {
  console.log("no responders:", err.message);
}

const manager = await jetstreamManager(nc);
await manager.streams.add({ name: "WEB", subjects: ["js.>"] });
const ack = await jetstream(nc).publish("js.a", "stored");
console.log("stored", ack.stream, ack.seq);
console.log("read", (await manager.streams.getMessage("WEB", { seq: 1 })).string());

await nc.flush();
await nc.drain();
console.log("drained", nc.isClosed());
process.exit(0);
