import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, Workflow } from "../../src/index.ts";
import { chainOf, fanOf, nameOf, runMany, startPush, Watcher } from "./push-rig.ts";
import { frameOf, opcodes, openRaw, textFrame } from "./raw-socket.ts";

/** Starts and ends so many, which tells of all their tasks each time. */
async function startAndEnd(engine: Engine, workflow: Workflow, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    const { instanceId } = await engine.submitWorkflow(workflow, { maxConcurrentTasks: 1 });
    await engine.terminateWorkflowInstance(instanceId);
  }
}

/**
 * Code and reason of the close frame. The socket is read as soon as the server has dropped it: it is destroyed with all
 * that was not read if nobody answers the close frame within 30 seconds.
 */
async function closeFrameOnceDropped(
  socket: Socket,
  server: { readonly feed: { readonly followers: number } },
): Promise<{ code: number; reason: string }> {
  while (server.feed.followers > 1) await delay(50);
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  let tail = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-140);
    // A frame's head ends in the length of what follows: a code of two bytes, and the reason.
    const at = tail.indexOf("too slow") - 2;
    const end = at + (tail[at - 1] ?? 0);
    if (at < 1 || tail.length < end) return;
    closed.resolve({ code: tail.readUInt16BE(at), reason: tail.subarray(at + 2, end).toString() });
  });
  socket.on("close", () => closed.reject(new Error("it was cut before its close frame was read")));
  socket.resume();
  return await closed.promise;
}

describe("a slow client", () => {
  test("is dropped with its cursor, while a fast one hears everything", async (t) => {
    const server = await startPush(t);
    const fast = await Watcher.open(server);
    await fast.subscribe({ all: true });
    const slow = await openRaw(server);
    slow.write(textFrame(JSON.stringify({ type: "subscribe", id: "1", all: true })));
    await once(slow, "data");
    slow.pause();
    // Whoever does not answer pings is cut by the heartbeat, which is not what this is about.
    const pongs = setInterval(() => slow.write(frameOf(opcodes.pong, "")), 1000);
    assert.equal(server.feed.followers, 2);
    const closing = closeFrameOnceDropped(slow, server);
    await startAndEnd(server.engine, fanOf("fan", 2000), 60);
    await fast.until(() => fast.changes.filter(({ status }) => status === "Terminated").length === 60);
    assert.ok(fast.messages.every(({ type }) => type !== "skipped"));
    assert.equal(new Set(fast.changes.map(nameOf)).size, fast.changes.length);
    const { code, reason } = await closing;
    clearInterval(pongs);
    assert.equal(server.feed.followers, 1);
    assert.match(reason, /^too slow: 4194304 bytes behind; reconnect with cursor [\w:]+$/);
    assert.equal(code, 4008);
    const back = await Watcher.open(server);
    const cursor = /cursor ([\w:]+)$/.exec(reason)?.[1];
    await back.subscribe({ all: true, cursor });
    await back.until(() => nameOfLast(back) === nameOfLast(fast));
    const from = fast.changes.findIndex((change) => nameOf(change) === nameOf(back.changes[0] ?? change));
    assert.deepEqual(back.changes.map(nameOf), fast.changes.slice(from).map(nameOf));
    slow.destroy();
    await back.close();
    await fast.close();
  });

  test("that reads all it is given skips what the server cannot give, and is told so", async (t) => {
    const server = await startPush(t, { limits: { behindBytesMax: 20_000, lateMsMax: 0 } });
    const watcher = await Watcher.open(server);
    const { cursor } = await watcher.subscribe({ all: true });
    // More in one commit than it may be behind.
    const instances = Array.from({ length: 200 }, () => server.engine.submitWorkflow(chainOf("chain", 1)));
    await Promise.all((await Promise.all(instances)).map((run) => run.result()));
    const skipped = await watcher.message("skipped");
    assert.equal(typeof skipped.changes, "number");
    const skips = (): number => watcher.messages.filter(({ type }) => type === "skipped").length;
    for (let isHeard = false; !isHeard;) {
      const before = skips();
      const [quiet] = await runMany(server.engine, chainOf("quiet", 1), 1);
      // On a busy machine this one may be left out together with the others.
      const ends = (): boolean =>
        watcher.changes.some((each) => each.instanceId === quiet && each.status === "Success");
      await watcher.until(() => ends() || skips() > before);
      isHeard = ends();
    }
    // All that was told and all that was left out is all there was.
    const left = watcher.messages.map(({ type, changes }) => (type === "skipped" ? Number(changes) : 0));
    const last = watcher.changes.at(-1)?.seq ?? 0;
    assert.equal(left.reduce((sum, each) => sum + each) + watcher.changes.length, last);
    const again = await Watcher.open(server);
    await again.subscribe({ all: true, cursor: skipped.from ?? cursor });
    await again.until(() => again.changes.at(-1)?.seq === last);
    await again.close();
    await watcher.close();
  });
});

function nameOfLast({ changes }: Watcher): string | undefined {
  const last = changes.at(-1);
  return last && nameOf(last);
}

test("a thousand sockets that come and go leave nothing behind", async (t) => {
  const server = await startPush(t);
  for (let round = 0; round < 5; round++) {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => Watcher.open(server)));
    await Promise.all(
      sockets.map((socket, index) => socket.subscribe(index % 2 === 0 ? { all: true } : { instanceId: `i${index}` })),
    );
    assert.equal(server.feed.followers, 200);
    await runMany(server.engine, chainOf("chain", 1), 20);
    await Promise.all(sockets.map((socket) => socket.close()));
  }
  for (let waited = 0; server.feed.followers > 0 && waited < 100; waited++) await delay(20);
  assert.equal(server.feed.followers, 0);
  assert.equal(server.app.websocketServer.clients.size, 0);
});
