/** Spec §8.1 and §3.8: children of either kind, under code and under DAGs. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, StepFailed, TaskBuilder, type WorkflowContext } from "../../src/index.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, says, startEngine, task, taskOf, workflow, untilInstance } from "./rig.ts";

const double = defineWorkflow("double", async (ctx, n: number) => {
  await ctx.run("note", `double ${n}`);
  return n * 2;
});
const waits = defineWorkflow("waits", async (ctx, name: string) => {
  ctx.undo(async () => void (await ctx.run("note", `undo ${name}`)));
  ctx.onCancel(async () => void (await ctx.run("note", `cancel ${name}`)));
  return await ctx.waitForEvent("go");
});

describe("8.1 children that are code", () => {
  test("8.1 are awaited, with their input and their output, and know their parent", async (t) => {
    const child = defineWorkflow(
      "child",
      async (ctx, n: number) => await Promise.resolve([n, ctx.parentInstanceId, ctx.instanceId]),
    );
    const parent = defineWorkflow("parent", async (ctx) => ctx.all([1, 2].map((n) => ctx.callChild(child, n))));
    const rig = await CodeRig.start(t, { workflows: [child, parent] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    assert.deepEqual(await handle.result(), [
      [1, "p", "p/0"],
      [2, "p", "p/1"],
    ]);
    const view = await handle.getStatus();
    assert.deepEqual(
      view.tasks.map(({ name, kind, status, childInstanceId }) => [name, kind, status, childInstanceId]),
      [
        ["child", "nested", "Success", "p/0"],
        ["child", "nested", "Success", "p/1"],
      ],
    );
    assert.equal((await rig.engine.getWorkflowInstanceStatus("p/0")).parentInstanceId, "p");
  });

  test("8.1 go on through restarts, theirs and their parent's, and run once", async (t) => {
    const parent = defineWorkflow("parent", async (ctx) => [
      await ctx.callChild(double, 4),
      await ctx.callChild(waits, "w"),
    ]);
    const rig = await CodeRig.start(t, { workflows: [double, waits, parent] });
    await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.settle();
    await rig.restart();
    await rig.settle();
    await rig.engine.raiseEvent("p/1", "go", "gone");
    await rig.restart();
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("p"), [8, "gone"]);
    assert.deepEqual(rig.calls, ["double 4"]);
  });

  test("8.1 may have ids of their own; one that somebody else has is refused", async (t) => {
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(double, 1, { instanceId: "mine" }));
    const rig = await CodeRig.start(t, { workflows: [double, parent] });
    assert.equal(await (await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" })).result(), 2);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("mine")).parentInstanceId, "p");
    const other = await rig.engine.startWorkflow(parent, undefined, { instanceId: "q" });
    await assert.rejects(
      other.result(),
      says("WORKFLOW_FAILED", 'child workflow "double" failed', 'an instance with id "mine" exists'),
    );
  });

  test("8.1 a parent may use the id of its own child again once that has ended: it runs again", async (t) => {
    const parent = defineWorkflow("parent", async (ctx, round: number): Promise<number[]> => {
      const outputs: number[] = [];
      for (const n of [1, 2]) outputs.push(await ctx.callChild(double, round * 10 + n, { instanceId: "mine" }));
      return round === 2 ? outputs : await ctx.continueAsNew(2);
    });
    const rig = await CodeRig.start(t, { workflows: [double, parent] });
    assert.deepEqual(await (await rig.engine.startWorkflow(parent, 1)).result(), [42, 44]);
    assert.deepEqual(rig.calls, ["double 11", "double 12", "double 21", "double 22"]);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("mine")).generation, 4);
  });

  test("8.1 but not while it runs", async (t) => {
    const parent = defineWorkflow("parent", async (ctx) => {
      const [first, second] = await Promise.allSettled([
        ctx.callChild(waits, "a", { instanceId: "mine" }),
        ctx.callChild(waits, "b", { instanceId: "mine" }),
      ]);
      return [first.status, second.status === "rejected" && (second.reason as Error).message];
    });
    const rig = await CodeRig.start(t, { workflows: [waits, parent] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.settle();
    await rig.engine.raiseEvent("mine", "go");
    assert.deepEqual(await handle.result(), [
      "fulfilled",
      'child workflow "waits" failed: nested workflow instance "mine" could not be started: an active instance with id "mine" already exists; it is Running',
    ]);
  });

  test("8.1 an id that somebody else has is left alone, and taken by a later attempt if it is free by then", async (t) => {
    const retryPolicy = { initialMs: 60_000, factor: 1, jitter: 0 };
    const parent = defineWorkflow("parent", (ctx) =>
      ctx.callChild(waits, "b", { instanceId: "mine", retryCount: 2, retryPolicy }),
    );
    const rig = await CodeRig.start(t, { workflows: [waits, parent] });
    const other = await rig.engine.startWorkflow(waits, "a", { instanceId: "mine" });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.clock.advance(60_000);
    const ofOther = await rig.eventTypes("mine");
    assert.deepEqual(ofOther, ["InstanceCreated", "InstanceStarted"], "neither attempt has told it anything");
    await other.raiseEvent("go");
    await other.result();
    await rig.engine.purgeWorkflowInstances({ instanceId: "mine" });
    await rig.clock.advance(60_000);
    const { parentInstanceId } = await rig.engine.getWorkflowInstanceStatus("mine");
    assert.equal(parentInstanceId, "p");
    await rig.engine.raiseEvent("mine", "go", "gone");
    assert.equal(await handle.result(), "gone");
  });

  test("8.1 nobody else's child takes a parent's orders", async (t) => {
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(waits, "b", { instanceId: "mine" }));
    const rig = await CodeRig.start(t, { workflows: [waits, parent] });
    await rig.engine.startWorkflow(waits, "a", { instanceId: "mine" });
    for (const instanceId of ["pausing", "ending"]) {
      const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId });
      await (instanceId === "pausing" ? handle.pause() : handle.terminate("enough"));
    }
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("mine")).status, "Running");
  });

  test("8.1 a parent cannot be its own child", async (t) => {
    const self = defineWorkflow("self", (ctx) => ctx.callChild("self", undefined, { instanceId: ctx.instanceId }));
    const rig = await CodeRig.start(t, { workflows: [self] });
    const handle = await rig.engine.startWorkflow(self, undefined, { instanceId: "s" });
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", 'an active instance with id "s" already exists'));
  });

  test("8.1 after continue-as-new children are new ones", async (t) => {
    const parent = defineWorkflow("parent", async (ctx, round: number): Promise<number> => {
      const output = await ctx.callChild(double, round);
      return round === 3 ? output : await ctx.continueAsNew(round + 1);
    });
    const rig = await CodeRig.start(t, { workflows: [double, parent] });
    assert.equal(await (await rig.engine.startWorkflow(parent, 1, { instanceId: "p" })).result(), 6);
    assert.deepEqual(rig.calls, ["double 1", "double 2", "double 3"]);
  });

  test("8.1 a child that fails throws StepFailed in its parent, with its words", async (t) => {
    const bad = defineWorkflow("bad", (ctx) => ctx.run("refuse", "it"));
    const parent = defineWorkflow("parent", async (ctx) => {
      const error: unknown = await ctx.callChild(bad).catch((caught: unknown) => caught);
      assert.ok(error instanceof StepFailed);
      return [error.message, error.failure.type];
    });
    const rig = await CodeRig.start(t, { workflows: [bad, parent] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    assert.deepEqual(await handle.result(), [
      'child workflow "bad" failed: nested workflow instance "p/0" ended in Failed: activity "refuse" failed: no it here',
      "WORKFLOW_FAILED",
    ]);
  });

  test("8.1 a child is retried as its options say: from its beginning, under its own id", async (t) => {
    let isBroken = true;
    const fragile = defineJob("fragile", () => {
      if (isBroken) throw new Error("broken");
      return "whole";
    });
    const child = defineWorkflow("child", (ctx) => ctx.run(fragile));
    const parent = defineWorkflow("parent", (ctx) =>
      ctx.callChild(child, undefined, { retryCount: 3, retryPolicy: { initialMs: 1000, jitter: 0 } }),
    );
    const rig = await CodeRig.start(t, { workflows: [child, parent], jobs: [fragile] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.clock.advance(1500);
    await rig.restart();
    isBroken = false;
    assert.equal(await rig.clock.until(rig.engine.awaitWorkflowInstance("p")), "whole");
    const { generation, status } = await rig.engine.getWorkflowInstanceStatus("p/0");
    assert.deepEqual([generation, status], [3, "Success"]);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("p")).tasks[0]?.attempt, 3);
    assert.ok(handle);
  });

  test("8.1 a user who retries a failed child does not disturb its parent, which has ended", async (t) => {
    let isBroken = true;
    const fragile = defineJob("fragile", () => {
      if (isBroken) throw new Error("broken");
      return "whole";
    });
    const child = defineWorkflow("child", (ctx) => ctx.run(fragile));
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(child));
    const rig = await CodeRig.start(t, { workflows: [child, parent], jobs: [fragile] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", "broken"));
    isBroken = false;
    await rig.engine.retryWorkflowInstance("p/0");
    assert.equal(await rig.engine.awaitWorkflowInstance("p/0"), "whole");
    assert.equal((await handle.getStatus()).status, "Failed");
    await rig.engine.retryWorkflowInstance("p");
    assert.equal(await handle.result(), "whole");
  });

  test("8.4 code that asks for a workflow which is not here is held up, and goes on when it has come", async (t) => {
    const byName = defineWorkflow("by-name", (ctx) => ctx.callChild("late", 20));
    const engine = await startEngine(t, { workflows: [byName], jobs: [defineJob("work", () => 1)] });
    const handle = await engine.startWorkflow(byName);
    const { attention, status } = await untilInstance(
      engine,
      handle.instanceId,
      (view) => view.attention !== undefined,
    );
    assert.equal(status, "Running");
    assert.match(attention ?? "", /child workflow "late" is not among the workflows of this process/);
    await engine.registerWorkflow(defineWorkflow("late", async (_, n: number) => n + 1));
    assert.equal(await handle.result(), 21);
  });

  test("8.4 that is so if it is named by what defineWorkflow gave, too", async (t) => {
    const late = defineWorkflow("late", async (_, n: number) => n + 1);
    const early = defineWorkflow("early", (ctx) => ctx.callChild(late, 20));
    const engine = await startEngine(t, { workflows: [early] });
    const handle = await engine.startWorkflow(early);
    const { attention } = await untilInstance(engine, handle.instanceId, (view) => view.attention !== undefined);
    assert.match(attention ?? "", /child workflow "late" is not among the workflows of this process/);
    await engine.registerWorkflow(late);
    assert.equal(await handle.result(), 21);
  });

  test("8.4 that is so for a DAG, too", async (t) => {
    const byName = defineWorkflow("by-name", (ctx) => ctx.callChild("late-dag"));
    const engine = await startEngine(t, { workflows: [byName], jobs: [defineJob("work", () => 1)] });
    const handle = await engine.startWorkflow(byName);
    await untilInstance(engine, handle.instanceId, (view) => view.attention !== undefined);
    await engine.registerWorkflow(workflow("late-dag", task("a", "work")));
    assert.deepEqual(await handle.result(), { a: 1 });
  });

  test("8.1 children that nest without end are stopped with a clear error", async (t) => {
    const deep = defineWorkflow("deep", async (ctx, n: number): Promise<unknown> => await ctx.callChild("deep", n + 1));
    const rig = await CodeRig.start(t, { workflows: [deep] });
    const handle = await rig.engine.startWorkflow(deep, 0);
    await assert.rejects(handle.result(), (error) => {
      assert.ok(error instanceof Error);
      assert.match(
        error.message,
        /child workflow "deep" failed: .* … .*nested more than 32 deep, which is the limit; .*$/,
      );
      assert.ok(error.message.length < 1000, error.message);
      return true;
    });
  });
});

describe("8.1 children that nobody waits for", () => {
  test("8.1 that are to be left alone are on their own: the end of their parent does not touch them", async (t) => {
    const parent = defineWorkflow("parent", async (ctx) => {
      const ids = [
        ctx.startChild(waits, "own", { instanceId: "own", whenParentEnds: "leave" }),
        ctx.startChild(double, 3, { whenParentEnds: "leave" }),
      ];
      await ctx.run("note", "started");
      return ids;
    });
    const rig = await CodeRig.start(t, { workflows: [double, waits, parent] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    const [own, made] = (await handle.result()) as [string, string];
    assert.equal(own, "own");
    assert.match(made, /^p\/[0-9a-f-]{36}$/);
    assert.equal(await rig.engine.awaitWorkflowInstance(made), 6);
    const view = await rig.engine.getWorkflowInstanceStatus("own");
    assert.deepEqual([view.status, view.parentInstanceId], ["Running", undefined]);
    await rig.restart();
    await rig.engine.raiseEvent("own", "go", 5);
    assert.equal(await rig.engine.awaitWorkflowInstance("own"), 5);
  });

  test("8.1 leave their parent when they end: it does not keep them, and may use their id again", async (t) => {
    const parent = defineWorkflow("parent", async (ctx, n: number): Promise<void> => {
      ctx.startChild(double, n, { instanceId: "kid" });
      await ctx.waitForEvent("next");
      await ctx.continueAsNew(n + 1);
    });
    const rig = await CodeRig.start(t, { workflows: [double, parent] });
    await rig.engine.startWorkflow(parent, 1, { instanceId: "p" });
    for (const n of [1, 2, 3]) {
      await rig.settle();
      assert.equal(await rig.engine.awaitWorkflowInstance("kid"), n * 2);
      await rig.settle();
      await rig.restart();
      await rig.engine.raiseEvent("p", "next");
    }
    await rig.settle();
    const [begun] = await rig.events("p");
    assert.equal(begun?.type === "InstanceContinued" && begun.children, undefined);
  });

  const loses = defineWorkflow("loses", async (ctx) => {
    ctx.startChild(double, 1, { instanceId: "taken" });
    await ctx.waitForEvent("never");
  });

  test("8.1 whose id somebody else has are not started, and that instance is not theirs to end", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [double, waits, loses] });
    await rig.engine.startWorkflow(waits, "other", { instanceId: "taken" });
    const handle = await rig.engine.startWorkflow(loses, undefined, { instanceId: "p" });
    await rig.settle();
    assert.equal((await rig.eventTypes("p")).at(-1), "DetachedChildEnded");
    await handle.terminate();
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("taken")).status, "Running");
  });

  /** Every way in which a parent tells its children to end, at once or while the refusal of the start is under way. */
  const takers = (["callChild", "startChild"] as const).flatMap((by) =>
    (["terminate", "cancel"] as const).flatMap((whenParentEnds) =>
      ["returns", "waits", "starts the other"].map((way) => {
        const name = `${by} ${whenParentEnds} ${way}`;
        const taker = defineWorkflow(name, async (ctx, instanceId: string) => {
          // The other instance has no parent, and its start may be in its inbox when the order comes.
          if (way === "starts the other") ctx.startChild(waits, "other", { instanceId, whenParentEnds: "leave" });
          const options = { instanceId, whenParentEnds };
          if (by === "startChild") ctx.startChild(double, 1, options);
          else ctx.callChild(double, 1, options).catch(() => undefined);
          if (way === "waits") await ctx.waitForEvent("never");
        });
        return { name, way, taker };
      }),
    ),
  );

  for (const { name, way, taker } of takers) {
    test(`8.1 the end of a parent does not concern an instance that has the id of its child: ${name}`, async (t) => {
      const rig = await CodeRig.start(t, { workflows: [double, waits, taker] });
      if (way !== "starts the other") await rig.engine.startWorkflow(waits, "other", { instanceId: "taken" });
      const handle = await rig.engine.startWorkflow(taker, "taken", { instanceId: "p" });
      if (way === "waits") await handle.cancel();
      await rig.settle();
      assert.equal((await rig.engine.getWorkflowInstanceStatus("taken")).status, "Running");
      assert.notEqual((await rig.engine.getWorkflowInstanceStatus("p")).status, "Running");
    });
  }

  test("8.1 of an instance that was forked are not the fork's", async (t) => {
    const parent = defineWorkflow("parent", async (ctx) => {
      ctx.startChild(waits, "kid", { instanceId: "kid", whenParentEnds: "cancel" });
      await ctx.run("note", "one");
      await ctx.waitForEvent("never");
    });
    const rig = await CodeRig.start(t, { workflows: [waits, parent] });
    await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.settle();
    const fork = await rig.engine.forkWorkflowInstance("p", { fromTask: 1, instanceId: "fork" });
    await rig.settle();
    await rig.engine.terminateWorkflowInstance(fork.instanceId);
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("kid")).status, "Running");
  });
});

describe("8.1 whenParentEnds, for children that are called and for those that are started", () => {
  type Policy = "terminate" | "cancel" | "leave" | undefined;
  const ways = ["ends", "fails", "is terminated", "is canceled", "times out", "takes too many steps"] as const;

  /** What becomes of a child that is code and undoes something, and of a DAG; and whether the former undid it. */
  async function fates(
    t: Parameters<typeof CodeRig.start>[0],
    way: (typeof ways)[number],
    kind: "callChild" | "startChild",
    policy: Policy,
  ): Promise<string> {
    const gate = new Gate();
    t.after(() => gate.open());
    const dag = workflow("dag", task("t", "hold"));
    const isTimed = way === "times out";
    const parent = defineWorkflow("parent", { ...(isTimed && { timeoutSeconds: 5 }) }, async (ctx) => {
      const options = policy === undefined ? {} : { whenParentEnds: policy };
      for (const [child, instanceId] of [
        [waits, "code"],
        [dag, "dag"],
      ] as const) {
        if (kind === "startChild") ctx.startChild(child as never, "kid" as never, { instanceId, ...options } as never);
        else void ctx.callChild(child as never, "kid" as never, { instanceId, ...options } as never);
      }
      await ctx.waitForEvent("end");
      if (way === "fails") throw new Error("no");
      if (way === "takes too many steps") for (;;) await ctx.run("note", "again");
    });
    const hold = defineJob("hold", () => gate.opened);
    const limits = way === "takes too many steps" ? { maxSteps: 10 } : {};
    const rig = await CodeRig.start(t, { workflows: [waits, dag, parent], jobs: [hold], ...limits });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.settle();
    if (way === "is terminated") await handle.terminate();
    else if (way === "is canceled") await handle.cancel();
    else if (isTimed) await rig.clock.advance(6000);
    else await handle.raiseEvent("end");
    await rig.settle();
    const statuses = await Promise.all(
      ["p", "code", "dag"].map(async (id) => (await rig.engine.getWorkflowInstanceStatus(id)).status),
    );
    assert.notEqual(statuses[0], "Running");
    return `${statuses.slice(1).join(", ")}${rig.calls.includes("undo kid") ? ", undone" : ""}`;
  }

  const terminated = "Terminated, Terminated";
  const canceled = "Terminated, Terminated, undone";
  const left = "Running, Running";
  for (const way of ways) {
    for (const kind of ["callChild", "startChild"] as const) {
      test(`8.1 the parent ${way}: ${kind}`, async (t) => {
        const found: Record<string, string> = {};
        for (const policy of [undefined, "terminate", "cancel", "leave"] as const) {
          found[policy ?? "not said"] = await fates(t, way, kind, policy);
        }
        // A timeout is a cancel that leaves alone what is to be left alone.
        const isAsked = way === "is canceled" || way === "times out";
        assert.deepEqual(found, {
          "not said": isAsked ? canceled : terminated,
          terminate: isAsked ? canceled : terminated,
          cancel: canceled,
          // The wait for a child is called off, and the child with it.
          leave: way === "is canceled" && kind === "callChild" ? canceled : left,
        });
      });
    }
  }
});

describe("8.1 children that are asked for in the reaction in which their parent begins anew", () => {
  const kid = defineWorkflow("kid", (ctx, n: number) => ctx.run("note", `kid ${n}`));
  type Ask = (ctx: WorkflowContext, n: number) => void;

  async function roundsOf(t: Parameters<typeof CodeRig.start>[0], isLate: boolean, ask: Ask): Promise<CodeRig> {
    const parent = defineWorkflow("parent", async (ctx, n: number): Promise<string> => {
      if (isLate) await ctx.sleep(1000);
      if (n === 2) return await ctx.waitForEvent("end");
      ask(ctx, n);
      return await ctx.continueAsNew(n + 1);
    });
    const rig = await CodeRig.start(t, { workflows: [kid, waits, parent] });
    await rig.engine.startWorkflow(parent, 0, { instanceId: "p" });
    await rig.clock.advance(5000);
    await rig.engine.raiseEvent("p", "end", "done");
    assert.equal(await rig.engine.awaitWorkflowInstance("p"), "done");
    return rig;
  }

  for (const isLate of [false, true]) {
    const when = isLate ? "later on" : "at its start";
    test(`8.1 are started, ${when}`, async (t) => {
      for (const whenParentEnds of ["leave", "terminate"] as const) {
        const rig = await roundsOf(t, isLate, (ctx, n) => void ctx.startChild(kid, n, { whenParentEnds }));
        assert.deepEqual(rig.calls, ["kid 0", "kid 1"]);
      }
    });

    test(`8.1 are stopped, ${when}, if they are called and not waited for, which is a warning`, async (t) => {
      const rig = await roundsOf(t, isLate, (ctx) => void ctx.callChild(waits, "kid"));
      assert.deepEqual(rig.calls, []);
      assert.equal((await rig.engine.getWorkflowInstanceStatus("p/0")).status, "Terminated");
      assert.ok(rig.log.find("warn", /begins anew without waiting for child workflow "waits".*startChild/));
    });

    test(`8.1 so is an activity, ${when}, which is a warning`, async (t) => {
      const rig = await roundsOf(t, isLate, (ctx) => void ctx.run("note", "never"));
      assert.deepEqual(rig.calls, []);
      assert.ok(rig.log.find("warn", /begins anew without waiting for activity "note"/));
    });
  }

  test("8.1 are started, if an update asks for them", async (t) => {
    const parent = defineWorkflow("parent", async (ctx, n: number): Promise<string> => {
      const asked = Promise.withResolvers<void>();
      ctx.onUpdate("spawn", () => {
        asked.resolve();
        return ctx.startChild(kid, n, { instanceId: `kid-${n}` });
      });
      if (n === 1) return await ctx.waitForEvent("end");
      await ctx.race([asked.promise, ctx.waitForEvent("never")]);
      return await ctx.continueAsNew(1);
    });
    const rig = await CodeRig.start(t, { workflows: [kid, parent] });
    const handle = await rig.engine.startWorkflow(parent, 0, { instanceId: "p" });
    assert.equal(await handle.update("spawn"), "kid-0");
    assert.equal(await rig.engine.awaitWorkflowInstance("kid-0"), "kid 0");
    await handle.raiseEvent("end", "done");
    assert.equal(await handle.result(), "done");
  });
});

describe("5.2 what is done to a parent reaches its children", () => {
  const inner = workflow("inner", task("i", "hold"));
  const parent = defineWorkflow("parent", async (ctx) => {
    await ctx.all([ctx.callChild(waits, "child"), ctx.callChild("inner"), ctx.callChild("middle")]);
  });
  const middle = defineWorkflow("middle", (ctx) => ctx.callChild(waits, "grandchild"));

  async function family(t: Parameters<typeof CodeRig.start>[0]) {
    const gate = new Gate();
    const aborted: string[] = [];
    const hold = defineJob("hold", async (_: undefined, ctx) => {
      ctx.signal.addEventListener("abort", () => aborted.push(ctx.instanceId));
      await gate.opened;
    });
    const rig = await CodeRig.start(t, { workflows: [waits, parent, middle, inner], jobs: [hold] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    await rig.clock.advance(1000);
    const statuses = async (): Promise<string> => {
      await rig.settle();
      const rows = await rig.engine.listWorkflowInstances();
      return rows
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, status }) => `${id} ${status}`)
        .join(", ");
    };
    return { rig, handle, gate, aborted, statuses };
  }

  test("5.2 terminate, at any depth and of either kind", async (t) => {
    const { handle, statuses, aborted, rig } = await family(t);
    assert.equal(await statuses(), "p Running, p/0 Running, p/1 Running, p/2 Running, p/2/0 Running");
    await handle.terminate("enough");
    assert.equal(await statuses(), "p Terminated, p/0 Terminated, p/1 Terminated, p/2 Terminated, p/2/0 Terminated");
    assert.deepEqual(aborted, ["p/1"]);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("p/2/0")).reason, "enough");
    assert.deepEqual(rig.calls, []);
  });

  test("5.2 pause and resume", async (t) => {
    const { handle, statuses, gate, rig } = await family(t);
    await handle.pause();
    gate.open();
    assert.equal(await statuses(), "p Paused, p/0 Paused, p/1 Success, p/2 Paused, p/2/0 Paused");
    await handle.resume();
    assert.equal(await statuses(), "p Running, p/0 Running, p/1 Success, p/2 Running, p/2/0 Running");
    for (const id of ["p/0", "p/2/0"]) await rig.engine.raiseEvent(id, "go");
    await handle.result();
  });

  test("8.1 cancel: code children undo what they did, DAG children are terminated", async (t) => {
    const { handle, statuses, aborted, rig } = await family(t);
    await handle.cancel("changed our minds");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", "changed our minds"));
    assert.equal(await statuses(), "p Terminated, p/0 Terminated, p/1 Terminated, p/2 Terminated, p/2/0 Terminated");
    assert.deepEqual(rig.calls.toSorted(), ["cancel child", "cancel grandchild", "undo child", "undo grandchild"]);
    assert.deepEqual(aborted, ["p/1"]);
  });

  test("8.1 the end of a parent that does not wait for its children stops them", async (t) => {
    const hasty = defineWorkflow("hasty", async (ctx) => {
      void ctx.callChild(waits, "left");
      return await ctx.run("note", "done");
    });
    const rig = await CodeRig.start(t, { workflows: [waits, hasty] });
    const handle = await rig.engine.startWorkflow(hasty, undefined, { instanceId: "h" });
    assert.equal(await handle.result(), "done");
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("h/0")).status, "Terminated");
  });
});

describe("3.8 children of the other kind", () => {
  test("8.1 a DAG under code: an object becomes its context, its outputs come back by task", async (t) => {
    const greet = defineJob(
      "greet",
      (_: undefined, ctx) => `${String(ctx.context["hello"])} ${String(ctx.context["who"])}`,
    );
    const dag = workflow("dag", task("a", "greet"), task("b", "note", "b").withDependency("a"));
    const parent = defineWorkflow("parent", async (ctx) => [
      await ctx.callChild("dag", { hello: "hi", who: "you" }),
      await ctx.callChild(dag, { hello: "good", who: "day" }),
    ]);
    const rig = await CodeRig.start(t, { workflows: [dag, parent], jobs: [greet] });
    const handle = await rig.engine.startWorkflow(parent, undefined);
    assert.deepEqual(await handle.result(), [
      { a: "hi you", b: "b" },
      { a: "good day", b: "b" },
    ]);
  });

  test("8.1 a DAG under code that is given no object has it as initParams", async (t) => {
    const look = defineJob("look", (_: undefined, ctx) => ctx.context);
    const dag = workflow("dag", task("t", "look"));
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(dag, [1, 2]));
    const rig = await CodeRig.start(t, { workflows: [dag, parent], jobs: [look] });
    assert.deepEqual(await (await rig.engine.startWorkflow(parent, undefined)).result(), { t: { initParams: [1, 2] } });
  });

  test("8.1 a DAG under code that fails, and is retried, runs only what failed", async (t) => {
    let isBroken = true;
    const fragile = defineJob("fragile", () => {
      if (isBroken) throw new Error("broken");
      return "whole";
    });
    const dag = workflow("dag", task("a", "note", "a"), task("b", "fragile").withDependency("a"));
    const parent = defineWorkflow("parent", (ctx) =>
      ctx.callChild(dag, undefined, { retryCount: 1, retryPolicy: { initialMs: 1000 } }),
    );
    const rig = await CodeRig.start(t, { workflows: [dag, parent], jobs: [fragile] });
    const handle = await rig.engine.startWorkflow(parent, undefined);
    await rig.settle();
    isBroken = false;
    assert.deepEqual(await rig.clock.until(handle.result()), { a: "a", b: "whole" });
    assert.deepEqual(rig.calls, ["a"]);
  });

  test("3.8 code under a DAG: its input is the DAG's context, its output the task's", async (t) => {
    const child = defineWorkflow("child", async (ctx, context: Record<string, unknown>) => {
      await ctx.run("note", "in child");
      return { got: context };
    });
    const seen: unknown[] = [];
    const look = defineJob("look", (_: undefined, ctx) => void seen.push(ctx.outputs["c"]));
    const dag = workflow("dag", new TaskBuilder("c").withNestedWorkflow(child), task("l", "look").withDependency("c"));
    const rig = await CodeRig.start(t, { workflows: [child], jobs: [look] });
    const run = await rig.engine.submitWorkflow(dag, { params: { region: "eu" } });
    assert.deepEqual(await run.result(), { c: { got: { region: "eu" } } });
    assert.deepEqual(seen, [{ got: { region: "eu" } }]);
    assert.match(taskOf(await run.getStatus(), "c").childInstanceId ?? "", /./);
  });

  test("3.8 code under a DAG: its failure fails the task, and retry runs it again", async (t) => {
    let isBroken = true;
    const fragile = defineJob("fragile", () => {
      if (isBroken) throw new Error("broken");
      return "whole";
    });
    const child = defineWorkflow("child", (ctx) => ctx.run(fragile));
    const dag = workflow("dag", new TaskBuilder("c").withNestedWorkflow("child"));
    const rig = await CodeRig.start(t, { workflows: [child], jobs: [fragile] });
    const run = await rig.engine.submitWorkflow(dag, { instanceId: "d" });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "broken"));
    isBroken = false;
    await rig.engine.retryWorkflowInstance("d");
    assert.deepEqual(await run.result(), { c: "whole" });
  });

  test("5.2 pause, resume and terminate of a DAG reach code below it", async (t) => {
    const dag = workflow("dag", new TaskBuilder("c").withNestedWorkflow(waits));
    const rig = await CodeRig.start(t, { workflows: [waits] });
    const run = await rig.engine.submitWorkflow(dag, { instanceId: "d" });
    await rig.settle();
    const childId = taskOf(await run.getStatus(), "c").childInstanceId as string;
    const status = async (): Promise<string> => {
      await rig.settle();
      return (await rig.engine.getWorkflowInstanceStatus(childId)).status;
    };
    assert.equal(await status(), "Running");
    await run.pause();
    assert.equal(await status(), "Paused");
    await run.resume();
    assert.equal(await status(), "Running");
    await run.terminate("enough");
    assert.equal(await status(), "Terminated");
  });
});
