// @nats-io/transport-node and @nats-io/jetstream: Core, request-reply, a queue group, a stream, a pull consumer with every
// kind of acknowledgement.
import { createRequire } from "node:module";

const require = createRequire(process.env.TERN_NODE_MODULES + "/");
const { connect, headers, nanos } = require("@nats-io/transport-node");
const { AckPolicy, jetstream, jetstreamManager, JetStreamApiError } = require("@nats-io/jetstream");

const nc = await connect({ servers: process.argv[2] });

async function core() {
  const sub = nc.subscribe("greet.*", { max: 1 });
  const h = headers();
  h.set("Lang", "en");
  nc.publish("greet.joe", "hello", { headers: h });
  for await (const m of sub) console.log("core", m.subject, m.string(), m.headers.get("Lang"));

  nc.subscribe("service", { callback: (err, m) => m.respond("re:" + m.string()) });
  console.log("request", (await nc.request("service", "one")).string());
  try {
    await nc.request("nobody", "");
  } catch (problem) {
    console.log("no responders", problem.constructor.name);
  }

  const got = [0, 0, 0];
  for (const n of [0, 1, 2]) nc.subscribe("jobs", { queue: "workers", callback: () => got[n]++ });
  for (let n = 0; n < 60; n++) nc.publish("jobs", `${n}`);
  await nc.flush();
  console.log("queue group", got[0] + got[1] + got[2], got.every((n) => n > 0));
}

async function streams() {
  const manager = await jetstreamManager(nc);
  const js = jetstream(nc);
  await manager.streams.add({ name: "ORDERS", subjects: ["orders.>"] });
  for (let n = 1; n <= 6; n++) {
    const ack = await js.publish(`orders.${n}`, `order ${n}`, { msgID: `id-${n}` });
    console.log("stored", ack.stream, ack.seq, ack.duplicate);
  }
  const again = await js.publish("orders.1", "order 1", { msgID: "id-1" });
  console.log("duplicate", again.seq, again.duplicate);
  try {
    await js.publish("orders.1", "x", { expect: { lastSequence: 3 } });
  } catch (problem) {
    console.log("refused", problem instanceof JetStreamApiError, problem.code, problem.message);
  }
  const info = await manager.streams.info("ORDERS");
  console.log("stream", info.state.messages, info.state.first_seq, info.state.last_seq, info.state.bytes);
  const stored = await manager.streams.getMessage("ORDERS", { seq: 3 });
  console.log("message 3", stored.subject, stored.string());

  await manager.consumers.add("ORDERS", { durable_name: "work", ack_policy: AckPolicy.Explicit, max_deliver: 3 });
  const consumer = await js.consumers.get("ORDERS", "work");
  const take = async (count) => {
    const all = [];
    for await (const m of await consumer.fetch({ max_messages: count, expires: 3000 })) all.push(m);
    return all;
  };
  const [one, two, three, four, five, six] = await take(6);
  one.ack();
  console.log("confirmed", await two.ackAck());
  three.nak();
  four.term("spoiled");
  five.working();
  six.nak(50);
  const [now] = await take(1);
  console.log("redelivered", now.subject, now.info.deliveryCount);
  await now.ackAck();
  const [later] = await take(1);
  console.log("redelivered later", later.subject, later.info.deliveryCount, later.info.pending);
  await later.ackAck();
  await five.ackAck();
  const state = await consumer.info();
  console.log("consumer", state.num_ack_pending, state.num_pending, state.num_redelivered, state.ack_floor.stream_seq);

  // The streaming face: several messages, then stop.
  for (let n = 7; n <= 9; n++) await js.publish(`orders.${n}`, `order ${n}`);
  const seen = [];
  const messages = await consumer.consume({ max_messages: 10 });
  for await (const m of messages) {
    seen.push(m.seq);
    m.ack();
    if (seen.length === 3) break;
  }
  console.log("consumed", seen.join(","));
  await nc.flush();
  console.log("purged", (await manager.streams.purge("ORDERS")).purged);
  console.log("deleted", await manager.consumers.delete("ORDERS", "work"), await manager.streams.delete("ORDERS"));
}

await core();
await streams();
await nc.drain();
console.log("drained");
