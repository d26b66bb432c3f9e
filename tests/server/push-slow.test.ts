import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Engine, Workflow } from "../../src/index.ts";
import { chainOf, fanOf, nameOf, runMany, startPush, Watcher } from "./push-rig.ts";
import { openRaw, textFrame } from "./raw-socket.ts";

/** Starts and ends so many, which tells of all their tasks each time. */
async function startAndEnd(engine: Engine, workflow: Workflow, count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    const { instanceId } = await engine.submitWorkflow(workflow, { maxConcurrentTasks: 1 });
    await engine.terminateWorkflowInstance(instanceId);
  }
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
    assert.equal(server.feed.followers, 2);
    await startAndEnd(server.engine, fanOf("fan", 2000), 60);
    await fast.until(() => fast.changes.filter(({ status }) => status === "Terminated").length === 60);
    assert.ok(fast.messages.every(({ type }) => type !== "skipped"));
    assert.equal(new Set(fast.changes.map(nameOf)).size, fast.changes.length);
    for (let waited = 0; server.feed.followers > 1 && waited < 100; waited++) await delay(50);
    assert.equal(server.feed.followers, 1);
    let tail = Buffer.alloc(0);
    slow.resume();
    // The last frame: close, with the code and the reason.
    while (!tail.includes("too slow")) {
      const [chunk] = (await once(slow, "data")) as [Buffer];
      tail = Buffer.concat([tail, chunk]).subarray(-140);
    }
    const reason = tail.toString().slice(tail.toString().indexOf("too slow"));
    assert.match(reason, /^too slow: 4194304 bytes behind; reconnect with cursor [\w:]+$/);
    assert.equal(tail.readUInt16BE(tail.indexOf("too slow") - 2), 4008);
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
