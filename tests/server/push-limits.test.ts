import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { chainOf, type PushServer, runMany, startPush, Watcher } from "./push-rig.ts";
import { closeOf, frameHead, frameOf, opcodes, openRaw, textFrame } from "./raw-socket.ts";
import { until } from "../support/until.ts";

/** What the server holds of answers that were not read, at most, while the flood goes on. */
async function flood(server: PushServer, socket: Socket, frames: Buffer, times: number): Promise<number> {
  let heldMax = 0;
  const look = setInterval(() => {
    for (const { bufferedAmount } of server.app.websocketServer.clients) heldMax = Math.max(heldMax, bufferedAmount);
  }, 1);
  socket.on("error", () => undefined);
  for (let each = 0; each < times && !socket.destroyed; each++) {
    // The server may stop reading, or cut it.
    if (!socket.write(frames))
      for (let waited = 0; socket.writableNeedDrain && !socket.destroyed && waited < 400; waited++) await delay(5);
  }
  clearInterval(look);
  return heldMax;
}

const noLimit = { messagesMax: 1e9 };

describe("a client that does not read", () => {
  test("is cut when too many answers wait for it", async (t) => {
    const server = await startPush(t, { socketLimits: { ...noLimit, unreadBytesMax: 64 * 1024 } });
    const socket = await openRaw(server);
    socket.pause();
    // Each is answered with an error of 100 bytes.
    const heldMax = await flood(server, socket, Buffer.concat(Array<Buffer>(1000).fill(textFrame("x"))), 200);
    assert.ok(heldMax < 512 * 1024, `${heldMax} bytes were kept`);
    const { code, reason } = await closeOf(socket);
    assert.deepEqual({ code, reason }, { code: 4008, reason: "too slow: 65536 bytes of answers were not read" });
    await until(() => server.app.websocketServer.clients.size === 0);
  });

  test("is not sent pongs without end", async (t) => {
    const server = await startPush(t, { socketLimits: noLimit });
    const socket = await openRaw(server);
    socket.pause();
    const pings = Buffer.concat(Array<Buffer>(1000).fill(frameOf(opcodes.ping, "p".repeat(100))));
    const heldMax = await flood(server, socket, pings, 300);
    assert.ok(heldMax < 6 * 1024 * 1024, `${heldMax} bytes were kept`);
    socket.destroy();
  });
});

describe("a client that sends more than it may", () => {
  for (const [what, frame] of [
    ["messages", textFrame('{"type":"ping"}')],
    ["pings", frameOf(opcodes.ping, "x")],
    ["pongs", frameOf(opcodes.pong, "")],
  ] as const) {
    test(`of ${what} is cut, and told why`, async (t) => {
      const server = await startPush(t);
      const socket = await openRaw(server);
      const closed = closeOf(socket);
      socket.write(Buffer.concat(Array<Buffer>(5000).fill(frame)));
      assert.deepEqual(await closed, {
        code: 4029,
        reason: "too many messages: 1000 within 10 s are allowed",
      });
      await until(() => server.app.websocketServer.clients.size === 0);
    });
  }

  test("is cut by the head of a frame that is too large", async (t) => {
    const server = await startPush(t);
    const socket = await openRaw(server);
    const closed = closeOf(socket);
    socket.write(frameHead(opcodes.text, 15 * 1024 * 1024));
    assert.equal((await closed).code, 1009);
  });

  test("keeps what is allowed", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    for (let each = 0; each < 400; each++) watcher.say({ type: "ping" });
    await watcher.until(() => watcher.messages.length === 400);
    await watcher.close();
  });
});

describe("subscriptions with a cursor of long ago", () => {
  const cursor = "000000000000:1:1";

  test("that are given up at once leave nothing to be read", async (t) => {
    const server = await startPush(t);
    await runMany(server.engine, chainOf("chain", 1), 30);
    const list = server.engine.listWorkflowInstances.bind(server.engine);
    let lists = 0;
    const held = Promise.withResolvers<void>();
    server.engine.listWorkflowInstances = async (...given) => {
      lists++;
      await held.promise;
      return await list(...given);
    };
    const watcher = await Watcher.open(server);
    for (let each = 0; each < 400; each++) {
      watcher.say({ type: "subscribe", id: `s${each}`, all: true, cursor });
      watcher.say({ type: "unsubscribe", id: `s${each}` });
    }
    await watcher.until(() => watcher.messages.filter(({ type }) => type === "unsubscribed").length === 400);
    assert.equal(server.feed.catchUps, 0);
    assert.equal(server.feed.followers, 0);
    held.resolve();
    await watcher.subscribe({ all: true, cursor }, "kept");
    await watcher.until(() => watcher.changes.length === 30);
    // The first, one that those who came meanwhile would have shared, and that of the one who stayed.
    assert.ok(lists <= 3, `the list was read ${lists} times`);
    await watcher.close();
  });

  test("are brought up a few at a time, and all of them in the end", async (t) => {
    const server = await startPush(t);
    await runMany(server.engine, chainOf("chain", 1), 10);
    const watcher = await Watcher.open(server);
    const other = await Watcher.open(server);
    let most = 0;
    const list = server.engine.listWorkflowInstances.bind(server.engine);
    server.engine.listWorkflowInstances = async (...given) => {
      most = Math.max(most, server.feed.catchUps);
      return await list(...given);
    };
    for (let each = 0; each < 50; each++) watcher.say({ type: "subscribe", id: `s${each}`, all: true, cursor });
    await other.subscribe({ workflow: "chain", cursor });
    await watcher.until(() => watcher.changes.length === 500);
    await other.until(() => other.changes.length === 10);
    assert.ok(most <= 8, `${most} were brought up at a time`);
    assert.equal(server.feed.catchUps, 0);
    await watcher.close();
    await other.close();
  });

  test("of a client that takes nothing are dropped in the end", async (t) => {
    const server = await startPush(t, { limits: { heldBytes: -1, catchUpMsMax: 50 } });
    await runMany(server.engine, chainOf("chain", 1), 10);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ all: true, cursor });
    await watcher.until(() => watcher.closed !== undefined);
    assert.equal(watcher.closed?.code, 4008);
    assert.match(watcher.closed.reason, /^too slow: 10 missed changes not taken; reconnect with cursor/);
    assert.equal(server.feed.catchUps, 0);
  });
});

describe("open connections", () => {
  test("of one token are counted, sockets and streams together", async (t) => {
    const server = await startPush(t, { connectionLimits: { perCallerMax: 2 } });
    const first = await Watcher.open(server);
    const stream = new AbortController();
    const events = await fetch(`${server.url}/api/events?all`, { signal: stream.signal });
    assert.equal(events.status, 200);
    const second = await Watcher.open(server);
    await second.until(() => second.closed !== undefined);
    assert.deepEqual(second.closed, { code: 4013, reason: '"local" holds 2 open connections, as many as it may' });
    const refused = await fetch(`${server.url}/api/events?all`);
    assert.equal(refused.status, 429);
    assert.equal(((await refused.json()) as { code: string }).code, "RATE_LIMITED");
    await first.close();
    const third = await Watcher.open(server);
    await third.subscribe({ all: true });
    await third.close();
    stream.abort();
  });
});
