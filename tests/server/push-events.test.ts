import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readMessage } from "../../src/server/push/client-message.ts";
import { chainOf, runMany, type PushServer, startPush } from "./push-rig.ts";

interface ServerEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: { instanceId?: string; status?: string; seq?: number; turn?: number };
}

/** Reads until an event satisfies, and ends. */
async function readUntil(
  server: PushServer,
  path: string,
  isLast: (event: ServerEvent) => boolean,
  headers: Record<string, string> = {},
): Promise<ServerEvent[]> {
  const answer = await fetch(`${server.url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  const events: ServerEvent[] = [];
  let text = "";
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      if (part.startsWith(":")) continue;
      const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1];
      const event = { event: field("event") ?? "", id: field("id"), data: JSON.parse(field("data") ?? "") as object };
      events.push(event);
      if (isLast(event)) return events;
    }
  }
  throw new Error("the stream ended first");
}

describe("server-sent events", () => {
  test("tell of changes, and go on where they were left", async (t) => {
    const server = await startPush(t);
    const first = readUntil(server, "/api/events?all", ({ data }) => data.status === "Success");
    while (server.feed.followers === 0) await new Promise(setImmediate);
    await runMany(server.engine, chainOf("chain", 2), 1);
    const heard = await first;
    assert.ok(heard.every(({ event }) => event === "change"));
    const middle = heard[0]?.id ?? "";
    await runMany(server.engine, chainOf("chain", 2), 1);
    let ends = 0;
    const isSecond = ({ data }: ServerEvent): boolean => data.status === "Success" && ++ends === 2;
    const back = await readUntil(server, "/api/events?all", isSecond, { "last-event-id": middle });
    assert.deepEqual(
      back.map(({ data }) => data.seq),
      back.map((_, index) => index + 2),
    );
  });

  test("tell of one instance or one workflow", async (t) => {
    const server = await startPush(t);
    const ofOne = readUntil(server, "/api/events?instanceId=mine", ({ data }) => data.status === "Success");
    const ofA = readUntil(server, "/api/events?workflow=a", ({ data }) => data.status === "Success");
    while (server.feed.followers < 2) await new Promise(setImmediate);
    await runMany(server.engine, chainOf("b", 1), 3);
    await (await server.engine.submitWorkflow(chainOf("a", 1), { instanceId: "mine" })).result();
    assert.deepEqual(
      (await ofOne).map(({ data }) => data.turn),
      [0, 1],
    );
    assert.ok((await ofA).every(({ data }) => data.instanceId === "mine"));
  });

  test("tell of an instance whose id is as long as ids may be", async (t) => {
    const server = await startPush(t);
    const instanceId = "i".repeat(512);
    const told = readUntil(server, `/api/events?instanceId=${instanceId}`, ({ data }) => data.status === "Success");
    while (server.feed.followers === 0) await new Promise(setImmediate);
    await server.engine.submitWorkflow(chainOf("chain", 1), { instanceId });
    assert.equal((await told).at(-1)?.data.instanceId, instanceId);
    const subscription = { type: "subscribe", id: "1", instanceId };
    assert.ok(!("problem" in readMessage(JSON.stringify(subscription))));
    assert.ok("problem" in readMessage(JSON.stringify({ ...subscription, instanceId: `${instanceId}i` })));
  });

  test("give the lines of an instance after a number", async (t) => {
    const asked: [string, number | undefined][] = [];
    const line = { level: "info", taskName: "t0", attempt: 1, at: 5, message: "hello\nworld", fields: {} } as const;
    const server = await startPush(t, {
      logs: {
        follow: (instanceId, listener, after) => {
          asked.push([instanceId, after]);
          setImmediate(() => listener({ ...line, number: 8 }));
          return () => asked.push(["stopped", undefined]);
        },
      },
    });
    await (await server.engine.submitWorkflow(chainOf("chain", 1), { instanceId: "mine" })).result();
    const lines = await readUntil(server, "/api/instance/mine/logs/stream?after=7", () => true);
    assert.deepEqual(lines[0], { event: "line", id: "8", data: { ...line, number: 8 } });
    while (asked.length < 2) await new Promise(setImmediate);
    assert.deepEqual(asked, [
      ["mine", 7],
      ["stopped", undefined],
    ]);
  });

  test("are refused in words", async (t) => {
    const server = await startPush(t);
    for (const [path, status] of [
      ["/api/events", 400],
      ["/api/events?all&workflow=a", 400],
      ["/api/events?all&cursor=nonsense", 400],
      ["/api/instance/nobody/logs/stream", 404],
    ] as const) {
      const answer = await fetch(`${server.url}${path}`);
      assert.equal(answer.status, status, path);
      const { message } = (await answer.json()) as { message: string };
      assert.ok(message.length > 10);
    }
  });

  test("end with the server", async (t) => {
    const server = await startPush(t);
    const answer = await fetch(`${server.url}/api/events?all`);
    await server.stop();
    const text = await answer.text();
    assert.match(text, /^: connected\n\nevent: end\ndata: .*stopping/);
  });
});
