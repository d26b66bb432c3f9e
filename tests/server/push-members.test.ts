import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MemberEvent } from "../../src/index.ts";
import { startPush, Watcher } from "./push-rig.ts";

const happened: readonly MemberEvent[] = [
  { type: "joined", member: "b1", address: "b" },
  { type: "suspected", member: "b1", address: "b", silentMs: 10_000 },
  { type: "returned", member: "b1", address: "b" },
  { type: "shard-opened", member: "a1", shard: 3 },
  { type: "lost", member: "b1", address: "b" },
  { type: "left", member: "c1", address: "c" },
];
const told = ["b1 joined", "b1 unreachable", "b1 reachable", "b1 removed", "c1 exited"];

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
