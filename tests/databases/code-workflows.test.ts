/** Code workflows on real servers: through restarts, from one member to another, with values of every size. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, defineWorkflow, Engine } from "../../src/index.ts";
import { storeAt } from "./database-stores.ts";
import { newDatabase, type ServerKind } from "./databases.ts";
import { quickTimings } from "./steady-load.ts";

const child = defineWorkflow("child", async (ctx, text: string) => {
  await ctx.sleep(50);
  return (await ctx.run("echo", text)) as string;
});

/** Two generations, each with large values and small ones; what cannot be stored as it is in every server is among them. */
const awkward = '\u0000 "quoted" \\ ÄÖ😀 \ud800';
const large = `${"x".repeat(100_000)}${awkward}`;

const story = defineWorkflow("story", async (ctx, text: string): Promise<unknown> => {
  let updates = 0;
  ctx.onQuery("updates", () => updates);
  ctx.onUpdate("count", () => ++updates);
  const [echoed, fromChild] = await ctx.all([ctx.run("echo", text), ctx.callChild(child, text)]);
  ctx.setCustomStatus({ text: awkward });
  const event = await ctx.waitForEvent<string>("word");
  if (ctx.generation === 1) return await ctx.continueAsNew(text, { keepEvents: true });
  const same = echoed === text && fromChild === text && event === text;
  return { same, text, chance: ctx.random() };
});

const echo = defineJob("echo", (params: unknown) => params);

async function member(t: TestContext, kind: ServerKind, url: string, name: string): Promise<Engine> {
  const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const engine = new Engine({
    storage: storeAt(kind, url),
    jobs: [echo],
    workflows: [story, child],
    cluster: { name, shards: 4, timings: quickTimings },
    logger: silent,
    idleMax: 2,
  });
  await engine.start();
  t.after(() => (engine.health.status === "stopped" ? undefined : engine.stop()));
  return engine;
}

for (const kind of ["postgres", "mysql"] as const) {
  describe(kind, () => {
    test("a story of two generations, with a restart in the middle", async (t) => {
      const url = await newDatabase(kind, t);
      const first = await member(t, kind, url, "first");
      const handle = await first.startWorkflow(story, large, { instanceId: "s" });
      await handle.raiseEvent("word", large);
      assert.equal(await handle.update("count"), 1);
      await first.stop();
      const second = await member(t, kind, url, "second");
      await second.raiseEvent("s", "word", large);
      const { same, text } = await second.awaitWorkflowInstance<{ same: boolean; text: string }>("s");
      assert.equal(same, true);
      assert.equal(text, large);
      assert.deepEqual((await second.getWorkflowInstanceStatus("s")).customStatus, { text: awkward });
      const [begin] = await second.getWorkflowInstanceHistory("s");
      assert.equal(begin?.events[0]?.type, "InstanceContinued");
      assert.equal(await second.purgeWorkflowInstances({ instanceId: "s", recursive: true }), 2);
    });

    test("many instances, while their shards move from member to member", async (t) => {
      const url = await newDatabase(kind, t);
      const first = await member(t, kind, url, "first");
      const ids = Array.from({ length: 30 }, (_, n) => `m${n}`);
      await Promise.all(ids.map((id) => first.startWorkflow(story, id, { instanceId: id })));
      const second = await member(t, kind, url, "second");
      await Promise.all(ids.map((id) => second.raiseEvent(id, "word", id)));
      await sleep(300);
      await first.stop();
      await Promise.all(ids.map((id) => second.raiseEvent(id, "word", id)));
      const results = ids.map((id) => second.awaitWorkflowInstance<{ same: boolean; text: string }>(id));
      for (const [n, { same, text }] of (await Promise.all(results)).entries()) {
        assert.deepEqual([same, text], [true, ids[n]]);
      }
    });

    test("cancel undoes what was done", async (t) => {
      const url = await newDatabase(kind, t);
      const engine = await member(t, kind, url, "only");
      const undone: string[] = [];
      engine.registerJobFunction("undo", (what: string) => void undone.push(what));
      const polite = defineWorkflow("polite", async (ctx) => {
        await ctx.run("echo", 1, { undo: async () => void (await ctx.run("undo", ctx.instanceId)) });
        await ctx.sleep(3_600_000);
      });
      await engine.registerWorkflow(polite);
      const handle = await engine.startWorkflow(polite, undefined, { instanceId: "p" });
      while ((await handle.getStatus()).tasks[0]?.status !== "Success") await sleep(5);
      await handle.cancel("enough");
      await assert.rejects(handle.result(), /instance "p" was terminated: enough/);
      assert.deepEqual(undone, ["p"]);
    });
  });
}

function ignore(): void {}
