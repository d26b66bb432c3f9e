/** Spec §12.2: a client that reconnects misses nothing. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { sqlite } from "../../src/sqlite.ts";
import { chainOf, nameOf, noOp, pausing, type PushedChange, runMany, startPush, Watcher } from "./push-rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

/** The same chance every time. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe("a client that comes back", () => {
  test("at any moment under load misses nothing and hears nothing twice", async (t) => {
    const server = await startPush(t);
    const next = dice(7);
    const heard: PushedChange[] = [];
    const all = await Watcher.open(server);
    await all.subscribe({ all: true });
    const over = new AbortController();
    const comeAndGo = async (): Promise<void> => {
      let { cursor } = all.messages[0] ?? {};
      while (!over.signal.aborted || heard.length < all.changes.length) {
        const watcher = await Watcher.open(server);
        await watcher.subscribe({ all: true, cursor });
        await delay(next() * 8);
        await watcher.close();
        heard.push(...watcher.changes);
        ({ cursor } = watcher);
      }
    };
    const coming = comeAndGo();
    const ids = await runMany(server.engine, chainOf("chain", 3), 1500, 100);
    await all.until(() => all.changes.filter(({ status }) => status === "Success").length === ids.length);
    over.abort();
    await coming;
    assert.deepEqual(heard.map(nameOf), all.changes.map(nameOf));
    assert.equal(new Set(heard.map(nameOf)).size, heard.length);
    await all.close();
  });

  test("to one instance, over restarts and a short memory, has each of its turns exactly once", async (t) => {
    const file = temporaryFile(t);
    const options = { limits: { entriesMax: 5 }, engine: { storage: sqlite(file), jobs: [pausing] } };
    const next = dice(11);
    const heard: PushedChange[] = [];
    let { cursor }: { cursor?: string | undefined } = {};
    let server = await startPush(t, options);
    const listen = async (): Promise<void> => {
      const watcher = await Watcher.open(server);
      await watcher.subscribe({ instanceId: "mine", cursor });
      await delay(next() * 15);
      await watcher.close();
      heard.push(...watcher.changes);
      ({ cursor } = watcher);
    };
    await listen();
    await server.engine.submitWorkflow(chainOf("chain", 60, "pausing"), { instanceId: "mine" });
    for (let round = 0; round < 6; round++) {
      for (let each = 0; each < 8; each++) {
        await listen();
        await delay(next() * 15);
      }
      await server.stop();
      server = await startPush(t, { ...options, engine: { storage: sqlite(file), jobs: [pausing] } });
    }
    await server.engine.awaitWorkflowInstance("mine");
    while (heard.at(-1)?.status !== "Success") await listen();
    const turns = heard.filter(({ resync }) => resync === undefined).map(({ turn }) => turn);
    const history = await server.engine.getWorkflowInstanceHistory("mine");
    assert.deepEqual(
      turns,
      history.map(({ turn }) => turn),
    );
    assert.ok(
      heard.some(({ replayed }) => replayed),
      "some of it came from the history",
    );
  });

  test("to everything, after a restart, is told how all that may have changed stands", async (t) => {
    const file = temporaryFile(t);
    const first = await startPush(t, { engine: { storage: sqlite(file), jobs: [noOp] } });
    const watcher = await Watcher.open(first);
    await watcher.subscribe({ all: true });
    const seen = await runMany(first.engine, chainOf("seen", 1), 20);
    await watcher.until(() => watcher.changes.filter(({ status }) => status === "Success").length === 20);
    await watcher.close();
    const missed = await runMany(first.engine, chainOf("missed", 1), 20);
    await first.stop();
    const second = await startPush(t, { engine: { storage: sqlite(file), jobs: [noOp] } });
    const back = await Watcher.open(second);
    await back.subscribe({ all: true, cursor: watcher.cursor });
    await back.message("resync");
    await back.until(() => missed.every((id) => back.changes.some(({ instanceId }) => instanceId === id)));
    assert.ok(back.changes.every(({ resync, status }) => resync === true && status === "Success"));
    const later = await runMany(second.engine, chainOf("later", 1), 5);
    const hasEnded = (id: string): boolean =>
      back.changes.some(({ instanceId, status }) => instanceId === id && status === "Success");
    await back.until(() => later.every(hasEnded));
    // From there on, the new server knows where it stands.
    await back.close();
    const again = await Watcher.open(second);
    await again.subscribe({ all: true, cursor: back.cursor });
    const last = await runMany(second.engine, chainOf("last", 1), 5);
    await again.until(() => again.changes.filter(({ status }) => status === "Success").length === 5);
    assert.ok(again.changes.every(({ instanceId }) => last.includes(instanceId)));
    assert.equal(seen.length, 20);
    await again.close();
  });

  test("to an instance that is gone hears what comes", async (t) => {
    const server = await startPush(t);
    const watcher = await Watcher.open(server);
    await watcher.subscribe({ instanceId: "later", cursor: "0123456789ab:5:1000:3:900" });
    await watcher.message("resync");
    await (await server.engine.submitWorkflow(chainOf("chain", 1), { instanceId: "later" })).result();
    await watcher.until(() => watcher.changes.at(-1)?.status === "Success");
    assert.deepEqual(
      watcher.changes.map(({ turn }) => turn),
      [0, 1],
    );
    await watcher.close();
  });
});
