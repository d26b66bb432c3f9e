/**
 * A process that dies, or is stopped, at any commit of a story that uses everything code workflows have: the next one goes on, what
 * comes of it is the same, and the same activities were executed, none of them after its success was on record.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineWorkflow } from "../../src/authoring/code-workflow.ts";
import { hasCode } from "../../src/base/error.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { type Moment, outcomeOf, type Story } from "./code-crash-rig.ts";
import { chain } from "./workflows.ts";

const dag = chain("dag", "d1", "d2");

const child = defineWorkflow("child", async (ctx, name: string) => {
  await ctx.run("work", `${name} ${ctx.uuid()}`);
  await ctx.sleep(500);
  return { name, by: ctx.parentInstanceId };
});

const apart = defineWorkflow("apart", async (ctx) => await ctx.run("work", await ctx.waitForEvent("word")));

/** Every kind of step, in two generations. */
const everything = defineWorkflow("everything", async (ctx, round: number): Promise<unknown> => {
  if (round === 2) {
    const kept = await ctx.waitForEvent("kept");
    return { kept, chance: ctx.random(), generation: ctx.generation, last: await ctx.run("work", "last") };
  }
  let sum = 0;
  ctx.onUpdate("add", async (n: number) => (sum += (await ctx.run("work", n)) as number));
  ctx.setCustomStatus("begun");
  const id = ctx.startChild(apart, undefined, { instanceId: "apart", whenParentEnds: "leave" });
  const pair = await ctx.all([ctx.run("work", "a"), ctx.run("flaky", "b", { retryCount: 1 })]);
  await ctx.sleep(1000);
  const children = await ctx.all([
    ctx.callChild(child, "one"),
    ctx.callChild(child, "two", { instanceId: "second" }),
    ctx.callChild("dag", { who: "me" }),
  ]);
  await ctx
    .saga(async (saga) => {
      await saga.run("work", "book", { undo: async (what) => void (await saga.run("work", `undo ${String(what)}`)) });
      await saga.run("fails", "more");
    })
    .catch((error: unknown) => ctx.run("work", (error as Error).message));
  const way = ctx.patched("new way") ? "new" : "old";
  const word = await ctx.waitForEvent<string>("word", { timeoutMs: 3_600_000 });
  ctx.sendEvent(id, "word", { word, way, sum, pair, children });
  await ctx.run("work", `sent ${ctx.now() > 0}`);
  return await ctx.continueAsNew(2, { keepEvents: true });
});

/** Says it unless it was said before: whether an answer that did not come was that of something done. */
async function unlessRaised(engine: Engine, name: string, say: () => Promise<unknown>): Promise<void> {
  const { generation } = await engine.getWorkflowInstanceStatus("x");
  const history = await engine.getWorkflowInstanceHistory("x");
  const isRaised = history.some(({ events }) =>
    events.some((event) => event.type === "EventRaised" && event.name === name),
  );
  if (generation === 1 && !isRaised) await say();
}

async function started(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
  }
}

const wholeStory: Story = {
  workflows: [everything, child, apart, dag],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(everything, 1, { instanceId: "x" }));
    await unlessRaised(engine, "kept", () => engine.raiseEvent("x", "kept", "for later"));
    await unlessRaised(engine, "word", async () => {
      await engine.updateWorkflowInstance("x", "add", 5, { updateId: "five" });
      await engine.updateWorkflowInstance("x", "add", 6, { updateId: "six" });
      await engine.raiseEvent("x", "word", "hello");
    });
    const result = await engine.awaitWorkflowInstance<unknown>("x");
    return [result, await engine.awaitWorkflowInstance("apart"), await engine.awaitWorkflowInstance("second")];
  },
};

const polite = defineWorkflow("polite", async (ctx, name: string): Promise<void> => {
  await ctx.run("work", `begin ${name}`, { undo: async () => void (await ctx.run("work", `undo ${name}`)) });
  ctx.onCancel(async () => void (await ctx.run("flaky", `cancel ${name}`, { retryCount: 1 })));
  if (name === "parent") await ctx.callChild("polite", "child");
  await ctx.sleep(1000 * 3_600_000);
});

const cancelStory: Story = {
  workflows: [polite],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(polite, "parent", { instanceId: "x" }));
    await untilChanged(engine, async () => (await engine.listWorkflowInstances({ idPrefix: "x/1" })).length > 0);
    await engine.cancelWorkflowInstance("x", "enough").catch((error: unknown) => {
      if (!hasCode(error, "INSTANCE_STATE")) throw error;
    });
    return await Promise.all(
      ["x", "x/1"].map((id) => engine.awaitWorkflowInstance(id).catch((error: unknown) => (error as Error).message)),
    );
  },
};

const careful = defineWorkflow("careful", async (ctx) => {
  const seen = [await ctx.run("work", 1)];
  await ctx.waitForEvent("go");
  seen.push(await ctx.run("work", 2), await ctx.run("work", 3));
  return seen;
});

/** Paused and resumed, and forked when it is through. */
const pausedStory: Story = {
  workflows: [careful],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(careful, undefined, { instanceId: "x" }));
    const allowed = async (order: Promise<void>): Promise<void> =>
      await order.catch((error: unknown) => {
        if (!hasCode(error, "INSTANCE_STATE")) throw error;
      });
    await unlessRaised(engine, "go", async () => {
      await allowed(engine.pauseWorkflowInstance("x"));
      await engine.raiseEvent("x", "go");
    });
    await allowed(engine.resumeWorkflowInstance("x"));
    const result = await engine.awaitWorkflowInstance<unknown>("x");
    await started(() => engine.forkWorkflowInstance("x", { fromTask: 1, instanceId: "fork" }));
    return [result, await engine.awaitWorkflowInstance("fork")];
  },
};

const restless = defineWorkflow("restless", async (ctx, n: number): Promise<unknown> => {
  if (n % 8 !== 0) return await ctx.continueAsNew(n + 1, { keepEvents: true });
  await ctx.run("work", n);
  if (n < 24) return await ctx.continueAsNew(n + 1, { keepEvents: true });
  return [ctx.generation, await ctx.waitForEvent("go")];
});

const restlessStory: Story = {
  workflows: [restless],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(restless, 1, { instanceId: "x" }));
    // Once too often does no harm: it takes the first.
    if ((await engine.getWorkflowInstanceStatus("x")).status === "Running") await engine.raiseEvent("x", "go", "gone");
    return await engine.awaitWorkflowInstance("x");
  },
};

const brief = defineWorkflow("brief", (ctx, n: number) => ctx.run("work", `brief ${n}`));
const patient = defineWorkflow("patient", async (ctx, name: string) => {
  ctx.undo(async () => void (await ctx.run("work", `undo ${name}`)));
  await ctx.waitForEvent("never");
});

/** Children that are asked for in the reaction in which their parent begins anew, and that end with it or not. */
const prolific = defineWorkflow("prolific", async (ctx, n: number): Promise<unknown> => {
  ctx.startChild(brief, n, { instanceId: `brief-${n}`, whenParentEnds: "leave" });
  if (n === 1) ctx.startChild(patient, "stopped", { instanceId: "stopped" });
  if (n === 2) ctx.startChild(patient, "asked", { instanceId: "asked", whenParentEnds: "cancel" });
  if (n < 3) return await ctx.continueAsNew(n + 1);
  return await ctx.run("work", await ctx.waitForEvent("end"));
});

const prolificStory: Story = {
  workflows: [brief, patient, prolific],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(prolific, 1, { instanceId: "x" }));
    const ids = ["brief-1", "brief-2", "brief-3"];
    await untilChanged(engine, async () => (await engine.listWorkflowInstances()).length === 6);
    if ((await engine.getWorkflowInstanceStatus("x")).status === "Running") await engine.raiseEvent("x", "end", "bye");
    const failure = (error: unknown): string => (error as Error).message;
    const ended = ["stopped", "asked"].map((id) => engine.awaitWorkflowInstance(id).catch(failure));
    return await Promise.all([...["x", ...ids].map((id) => engine.awaitWorkflowInstance(id)), ...ended]);
  },
};

/** Begins anew after every second update, and races them against events and time. */
const entity = defineWorkflow("entity", async (ctx, { total }: { total: number }): Promise<unknown> => {
  let sum = total;
  let answered = 0;
  const isFull = Promise.withResolvers<void>();
  ctx.onUpdate("add", async (n: number) => {
    sum += (await ctx.run("work", n)) as number;
    if (++answered === 2) isFull.resolve();
    return sum;
  });
  for (;;) {
    const first = await ctx.race([isFull.promise, ctx.waitForEvent("end"), ctx.sleep(60_000).then(() => "tick")]);
    if (first === undefined) return await ctx.continueAsNew({ total: sum }, { keepEvents: true });
    if (first !== "tick") return [sum, first];
  }
});

const entityStory: Story = {
  workflows: [entity],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(entity, { total: 0 }, { instanceId: "x" }));
    if ((await engine.getWorkflowInstanceStatus("x")).status === "Running") {
      const answers: unknown[] = [];
      for (const n of [1, 2, 3, 4, 5]) {
        answers.push(await engine.updateWorkflowInstance("x", "add", n, { updateId: `u${n}` }));
      }
      assert.deepEqual(answers, [1, 3, 6, 10, 15]);
      await engine.raiseEvent("x", "end", "bye");
    }
    return await engine.awaitWorkflowInstance("x");
  },
};

async function untilChanged(engine: Engine, holds: () => Promise<boolean>): Promise<void> {
  const changed = Promise.withResolvers<void>();
  const stop = engine.subscribe(() => void holds().then((yes) => yes && changed.resolve(), changed.reject));
  if (!(await holds())) await changed.promise;
  stop();
}

const slowChild = defineWorkflow("slow-child", async (ctx) => {
  await ctx.run("work", "child", { undo: () => ctx.run("work", "undo child") });
  await ctx.waitForEvent("never");
});

/** Its time is up while a saga is undone. */
const late = defineWorkflow("late", { timeoutSeconds: 10 }, async (ctx) => {
  ctx.onCancel(() => ctx.run("work", "canceled"));
  await ctx.run("work", "outer", { undo: () => ctx.run("flaky", "undo outer", { retryCount: 1 }) });
  void ctx.callChild(slowChild, undefined, { instanceId: "called" }).catch(() => undefined);
  ctx.startChild(slowChild, undefined, { instanceId: "started", whenParentEnds: "cancel" });
  await ctx.saga(async (saga) => {
    await saga.run("work", "inner", { undo: () => saga.run("work", "undo inner") });
    saga.undo(() => saga.sleep(4000));
    await saga.sleep(8000);
    await saga.run("fails", "inner");
  });
});

const lateStory: Story = {
  workflows: [late, slowChild],
  tell: async (engine) => {
    await started(() => engine.startWorkflow(late, undefined, { instanceId: "x" }));
    const reasons: unknown[] = [];
    for (const id of ["x", "called", "started"]) {
      await engine.awaitWorkflowInstance(id).catch(() => undefined);
      const { status, reason } = await engine.getWorkflowInstanceStatus(id);
      reasons.push([status, reason]);
    }
    return reasons;
  },
};

const stories: Readonly<Record<string, Story>> = {
  "a story with every kind of step": wholeStory,
  "the same with next to nothing kept in memory": { ...wholeStory, idleMax: 1 },
  "cancel of a parent and its child": cancelStory,
  "pause, resume and fork": pausedStory,
  "generation after generation without a pause": restlessStory,
  "children that are started in the last reaction of a generation": prolificStory,
  "updates around new generations, and races": entityStory,
  "a timeout while a saga is undone": lateStory,
};

const endings: Readonly<Record<Moment, string>> = {
  before: "dies before",
  after: "dies after",
  stopped: "is stopped during",
};

for (const [name, story] of Object.entries(stories)) {
  describe(name, () => {
    for (const [moment, ends] of Object.entries(endings) as [Moment, string][]) {
      test(`comes to the same when the process ${ends} any one of its commits`, async (t) => {
        const calm = await outcomeOf(t, story);
        assert.equal(calm.lives, 1);
        for (let at = 1; at <= calm.commits; at++) {
          const { result, executed } = await outcomeOf(t, story, (commit) => (commit === at ? moment : undefined));
          assert.deepEqual(result, calm.result, `commit ${at}`);
          assert.deepEqual(executed, calm.executed, `commit ${at}`);
        }
        t.diagnostic(`${calm.commits} commits, ${calm.executed.length} attempts`);
      });
    }

    test("comes to the same when the process ends again and again", async (t) => {
      const calm = await outcomeOf(t, story);
      // After a crash each reaction takes two commits, and so does a cautious attempt: a life needs some to get on.
      for (const every of [9, 11, 13]) {
        for (const moment of Object.keys(endings) as Moment[]) {
          const { result, executed, lives } = await outcomeOf(t, story, (commit) =>
            commit % every === 0 ? moment : undefined,
          );
          assert.deepEqual(result, calm.result);
          assert.deepEqual(executed, calm.executed);
          assert.ok(lives > 1 || calm.commits < every);
        }
      }
    });
  });
}
