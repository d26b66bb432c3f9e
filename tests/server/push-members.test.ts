import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { InProcessBus } from "../../src/cluster/in-process-bus.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import type { MemberEvent } from "../../src/index.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { until } from "../support/until.ts";
import { type PushServer, startPush, Watcher } from "./push-rig.ts";

const happened: readonly MemberEvent[] = [
  { type: "joined", member: "b1", address: "b" },
  { type: "suspected", member: "b1", address: "b", silentMs: 10_000 },
  { type: "returned", member: "b1", address: "b" },
  { type: "shard-opened", member: "a1", shard: 3 },
  { type: "lost", member: "b1", address: "b" },
  { type: "left", member: "c1", address: "c" },
];
const told = ["b1 joined", "b1 unreachable", "b1 reachable", "b1 removed", "c1 exited"];

/** Two members, each a server, and a function that connects a remote worker to the second and lets it leave. */
async function twoServers(t: TestContext): Promise<{ first: PushServer; visit: () => Promise<void> }> {
  const store = new MemoryStore();
  const bus = new InProcessBus({ clock: systemClock });
  const start = (name: string): Promise<PushServer> => {
    const cluster = { name, shards: 4, bus };
    return startPush(t, { engine: { storage: store.connect(), cluster, remoteWorkers: true } });
  };
  const [first, second] = [await start("a"), await start("b")];
  await until(() => [first, second].every(({ engine }) => engine.members().length === 2));
  const visit = async (): Promise<void> => {
    const listener = second.engine.acceptWorker({ send: () => undefined, close: () => undefined });
    listener.receive(
      JSON.stringify({
        type: "Hello",
        worker: "w",
        slots: 1,
        jobs: [],
        running: [],
        results: [],
        sequence: 1,
        lastGrant: 0,
        lastWelcome: "",
      }),
    );
    listener.receive(JSON.stringify({ type: "Leaving" }));
    await until(() => second.engine.listWorkers().every(({ isRemote }) => !isRemote));
  };
  return { first, visit };
}

const toldOfWorkers = ["connected at b", "gone at b"];
const textOfNews = ({ event, member }: { readonly event: string; readonly member: string }): string =>
  `${event} at ${member.split(":")[0] ?? ""}`;

describe("12.2 what happens to the workers of other members is pushed", () => {
  test("12.2 over a WebSocket", { timeout: 60_000 }, async (t) => {
    const { first, visit } = await twoServers(t);
    const watcher = await Watcher.open(first);
    await watcher.subscribe({ members: true }, "m");
    await visit();
    const heard = (): string[] =>
      watcher.messages
        .filter(({ type, id }) => type === "worker" && id === "m")
        .map((message) => textOfNews(message as unknown as { event: string; member: string }));
    await watcher.until(() => heard().length === 2);
    assert.deepEqual(heard(), toldOfWorkers);
    await watcher.close();
  });

  test("12.2 as server-sent events", { timeout: 60_000 }, async (t) => {
    const { first, visit } = await twoServers(t);
    const gone = new AbortController();
    const answer = await fetch(`${first.url}/api/events?members=true`, { signal: gone.signal });
    await visit();
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes("gone")) break;
    }
    const events = [...text.matchAll(/^event: worker\ndata: (.*)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { event: string; member: string },
    );
    assert.deepEqual(events.map(textOfNews), toldOfWorkers);
    gone.abort();
  });
});

describe("13.3 what happens to members is pushed", () => {
  test("over a WebSocket, until it is unsubscribed", async (t) => {
    const memberListeners = new Set<(event: MemberEvent) => void>();
    const server = await startPush(t, { memberListeners });
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ members: true }, "m");
    for (const event of happened) for (const listener of memberListeners) listener(event);
    const heard = (): string[] =>
      watcher.messages
        .filter(({ type }) => type === "member")
        .map((message) => message as unknown as { id: string; member: string; event: string })
        .map(({ id, member, event }) => `${id} ${member} ${event}`);
    await watcher.until(() => heard().length === told.length);
    assert.deepEqual(
      heard(),
      told.map((line) => `m ${line}`),
    );
    watcher.say({ type: "unsubscribe", id: "m" });
    await watcher.until(() => memberListeners.size === 0);
    watcher.say({ type: "subscribe", id: "n", members: true, all: true });
    await watcher.until(() => watcher.messages.some(({ type, id }) => type === "error" && id === "n"));
    await watcher.close();
  });

  test("as server-sent events, until the client has gone", async (t) => {
    const memberListeners = new Set<(event: MemberEvent) => void>();
    const server = await startPush(t, { memberListeners });
    const gone = new AbortController();
    const answer = await fetch(`${server.url}/api/events?members=true`, { signal: gone.signal });
    for (const event of happened) for (const listener of memberListeners) listener(event);
    let text = "";
    for await (const chunk of answer.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString();
      if (text.includes("exited")) break;
    }
    const events = [...text.matchAll(/^event: member\ndata: (.*)$/gm)].map(
      ([, data = ""]) => JSON.parse(data) as { member: string; event: string },
    );
    assert.deepEqual(
      events.map(({ member, event }) => `${member} ${event}`),
      told,
    );
    gone.abort();
    while (memberListeners.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const both = await fetch(`${server.url}/api/events?members=true&all=true`);
    assert.equal(both.status, 400);
  });
});
