/** Spec §8.2 and §8.3: code that is not what it was, is not there, or waits for what does not last; and versions. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { type CodeWorkflow, defineJob, defineWorkflow, type WorkflowContext } from "../../src/index.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, says } from "./rig.ts";

type Body = (ctx: WorkflowContext, input: unknown) => Promise<unknown>;

/** Runs until it waits for the event "go"; then its code is another. */
async function changed(rig: CodeRig, body: Body): Promise<string | undefined> {
  await rig.engine.startWorkflow(original, { n: 1 }, { instanceId: "w" });
  await rig.clock.advance(2000);
  await rig.restart({ workflows: [defineWorkflow("w", body), child] });
  await rig.engine.raiseEvent("w", "go", "now");
  return (await rig.engine.getWorkflowInstanceStatus("w")).attention;
}

const child = defineWorkflow("child", async (_ctx, n: number) => await Promise.resolve(n));
const original = defineWorkflow("w", async (ctx) => {
  const one = await ctx.run("note", "one");
  await ctx.sleep(1000);
  ctx.setCustomStatus("slept");
  ctx.sendEvent("other", "slept");
  const word = await ctx.waitForEvent<string>("go");
  return [one, word, await ctx.run("note", "two")];
});

describe("8.2 non-determinism", () => {
  const advice =
    "; deploy the code that it began with, or branch with ctx.patched(), and resume it; code that was not changed depends on something that is not on record, such as the clock, chance or the environment";
  const cases: readonly [what: string, says: string, body: Body][] = [
    [
      "another job",
      'step 0 is on record as activity "note" with "one", but the code now asks for activity "refuse" with "one"',
      (ctx) => ctx.run("refuse", "one"),
    ],
    [
      "the same job with another input",
      'step 0 is on record as activity "note" with "one", but the code now asks for activity "note" with {"other":true}',
      (ctx) => ctx.run("note", { other: true }),
    ],
    [
      "another kind of step",
      'step 1 is on record as timer, but the code now asks for activity "note" with "more"',
      async (ctx) => {
        await ctx.run("note", "one");
        await ctx.run("note", "more");
      },
    ],
    [
      "a step too many",
      'step 2 is on record as event "slept to other", but the code now asks for child "child" with 1',
      async (ctx) => {
        await ctx.run("note", "one");
        await ctx.sleep(1000);
        await ctx.callChild(child, 1);
      },
    ],
    [
      "a step too few",
      'step 2 is on record as event "slept to other", but the code now asks for nothing',
      async (ctx) => {
        await ctx.run("note", "one");
        await ctx.sleep(1000);
        await ctx.waitForEvent("go");
      },
    ],
    [
      "an end that comes too soon",
      "step 1 is on record as timer, but the code now asks for complete",
      (ctx) => ctx.run("note", "one"),
    ],
    [
      "a failure that was none",
      'step 0 is on record as activity "note" with "one", but the code now throws Error: new',
      () => Promise.reject(new Error("new")),
    ],
    [
      "two steps that have changed places",
      'step 1 is on record as timer, but the code now asks for event "slept to other"',
      async (ctx) => {
        await ctx.run("note", "one");
        ctx.sendEvent("other", "slept");
        await ctx.sleep(1000);
        await ctx.waitForEvent("go");
      },
    ],
  ];
  for (const [what, difference, body] of cases) {
    test(`8.2 ${what} is found at replay, and the error shows both steps`, async (t) => {
      const rig = await CodeRig.start(t, { workflows: [original, child] });
      assert.equal(await changed(rig, body), `the code does not do what it did before: ${difference}${advice}`);
      assert.equal((await rig.engine.getWorkflowInstanceStatus("w")).status, "Running");
      assert.deepEqual(rig.calls, ["one"]);
      assert.ok(rig.log.find("error", /the code of an instance was stopped/));
    });
  }

  test("8.2 the custom status is no step: it may be set in other places, and the last one counts", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    const attention = await changed(rig, async (ctx) => {
      ctx.setCustomStatus("new");
      const one = await ctx.run("note", "one");
      await ctx.sleep(1000);
      ctx.sendEvent("other", "slept");
      ctx.setCustomStatus("still there");
      return [one, await ctx.waitForEvent("never")];
    });
    assert.equal(attention, undefined);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("w")).customStatus, "still there");
  });

  test("8.2 an input that no longer fits its schema is shown", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original, child] });
    const strict = defineWorkflow("w", { input: z.object({ id: z.string() }) }, (ctx) => ctx.run("note", "one"));
    await changed(rig, (ctx) => ctx.run("note", "one"));
    await rig.restart({ workflows: [strict, child] });
    await rig.settle();
    const { attention } = await rig.engine.getWorkflowInstanceStatus("w");
    assert.match(
      attention ?? "",
      /but the code now throws INPUT_INVALID: the input of instance "w" does not fit its schema/,
    );
  });

  test("8.2 the instance is not failed: the right code and a resume continue it", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.restart({ workflows: [original] });
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "now", "two"]);
    assert.deepEqual(rig.calls, ["one", "two"]);
  });

  test("8.2 what comes in meanwhile is kept, in order; queries and updates say why they are not answered", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.engine.raiseEvent("w", "go", "later");
    const why = says(
      "INSTANCE_STATE",
      'the code of instance "w" does not go on, so it cannot answer',
      "step 0 is on record",
    );
    await assert.rejects(rig.engine.queryWorkflowInstance("w", "q"), why);
    await assert.rejects(rig.engine.updateWorkflowInstance("w", "u"), why);
    await rig.restart({ workflows: [original] });
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "now", "two"]);
  });

  test("8.2 resuming with the same wrong code shows the same attention", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    const attention = await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.engine.resumeWorkflowInstance("w");
    assert.equal((await rig.engine.getWorkflowInstanceStatus("w")).attention, attention);
  });

  test("8.2 it can be paused, resumed, canceled and terminated all the same", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.engine.pauseWorkflowInstance("w");
    assert.equal((await rig.engine.getWorkflowInstanceStatus("w")).status, "Paused");
    await rig.restart({ workflows: [original] });
    await rig.engine.resumeWorkflowInstance("w");
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "now", "two"]);
    const other = await CodeRig.start(t, { workflows: [original] });
    await changed(other, (ctx) => ctx.run("refuse", "one"));
    await other.engine.terminateWorkflowInstance("w", "hopeless");
    await assert.rejects(other.engine.awaitWorkflowInstance("w"), says("WORKFLOW_TERMINATED", "hopeless"));
  });

  test("8.2 a cancel that comes meanwhile is seen by the right code, which undoes what it did", async (t) => {
    const booking = (job: string): CodeWorkflow =>
      defineWorkflow("w", async (ctx) => {
        await ctx.run(job, "book", { undo: async () => void (await ctx.run("note", "undo")) });
        await ctx.waitForEvent("go");
      });
    const right = booking("note");
    const rig = await CodeRig.start(t, { workflows: [right] });
    await rig.engine.startWorkflow(right, undefined, { instanceId: "w" });
    await rig.settle();
    await rig.restart({ workflows: [booking("refuse")] });
    await rig.engine.cancelWorkflowInstance("w", "enough");
    const { status, attention } = await rig.engine.getWorkflowInstanceStatus("w");
    assert.equal(status, "Running");
    assert.match(attention ?? "", /step 0/);
    await rig.restart({ workflows: [right] });
    await assert.rejects(rig.engine.awaitWorkflowInstance("w"), says("WORKFLOW_TERMINATED", "enough"));
    assert.deepEqual(rig.calls, ["book", "undo"]);
  });

  test("5.7 one that needs attention is reported as stuck; those that wait for a time or an event are not", async (t) => {
    const patient = defineWorkflow("patient", (ctx) =>
      ctx.race([ctx.sleep(1000 * 3_600_000), ctx.waitForEvent("never")]),
    );
    const rig = await CodeRig.start(t, { workflows: [original] });
    await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.engine.registerWorkflow(patient);
    await rig.engine.startWorkflow(patient, undefined);
    await rig.clock.advance(63 * 60_000);
    assert.deepEqual(rig.engine.health.stuckInstances, ["w"]);
  });

  test("8.2 attention stays visible however long nobody looks, and however many others move", async (t) => {
    const sleeper = defineWorkflow("sleeper", (ctx) => ctx.sleep(1000 * 3_600_000));
    const rig = await CodeRig.start(t, { workflows: [original], idleMax: 1 });
    await changed(rig, (ctx) => ctx.run("refuse", "one"));
    await rig.engine.registerWorkflow(sleeper);
    for (let i = 0; i < 5; i++) await rig.engine.startWorkflow(sleeper, undefined);
    await rig.clock.advance(40 * 60_000);
    assert.match((await rig.engine.getWorkflowInstanceStatus("w")).attention ?? "", /step 0 is on record/);
  });

  test("8.2 an ended instance whose code has changed cannot be asked, and says why", async (t) => {
    const asked = (answer: string, name: string): CodeWorkflow =>
      defineWorkflow("asked", async (ctx) => {
        ctx.onQuery("q", () => answer);
        await ctx.run("note", name);
      });
    const workflow = asked("before", "one");
    const rig = await CodeRig.start(t, { workflows: [workflow] });
    await (await rig.engine.startWorkflow(workflow, undefined, { instanceId: "a" })).result();
    assert.equal(await rig.engine.queryWorkflowInstance("a", "q"), "before");
    await rig.restart({ workflows: [asked("after", "two")] });
    await assert.rejects(
      rig.engine.queryWorkflowInstance("a", "q"),
      says("INSTANCE_STATE", 'step 0 is on record as activity "note" with "one"'),
    );
    assert.equal((await rig.engine.getWorkflowInstanceStatus("a")).status, "Success");
  });
});

describe("8.2 what is not durable", () => {
  test("8.2 waiting for the outside world is found at once, and says what to do", async (t) => {
    const world = new Gate();
    const outside = defineWorkflow("outside", async (ctx) => {
      await world.opened;
      return await ctx.run("note", "never");
    });
    const rig = await CodeRig.start(t, { workflows: [outside] });
    const handle = await rig.engine.startWorkflow(outside, undefined, { instanceId: "o" });
    const { status, attention } = await handle.getStatus();
    assert.equal(status, "Running");
    assert.equal(
      attention,
      'the code of instance "o" waits for something, but for nothing that is durable; the code of a workflow may wait only for what its ctx gives it: put calls to the outside world into a job and run it with ctx.run()',
    );
    world.open();
    await rig.settle();
    assert.deepEqual(rig.calls, []);
  });

  test("8.2 a step that comes from nothing that came in is refused, whatever else it waits for", async (t) => {
    const world = new Gate();
    const racing = defineWorkflow("racing", async (ctx) => {
      await Promise.race([ctx.sleep(3_600_000), world.opened]);
      return await ctx.run("note", "never");
    });
    const rig = await CodeRig.start(t, { workflows: [racing] });
    const handle = await rig.engine.startWorkflow(racing, undefined, { instanceId: "r" });
    assert.equal((await handle.getStatus()).attention, undefined);
    world.open();
    await rig.settle();
    assert.match(
      (await handle.getStatus()).attention ?? "",
      /^the code of instance "r" takes a step after waiting for something else, at .*spec-8-replay\.test\.ts:\d+; /,
    );
    assert.deepEqual(rig.calls, []);
  });

  test("8.2 right code continues it", async (t) => {
    const wrong = defineWorkflow("w", async (ctx) => {
      await ctx.run("note", "one");
      await new Gate().opened;
      return await ctx.run("note", "two");
    });
    const right = defineWorkflow("w", async (ctx) => {
      await ctx.run("note", "one");
      return await ctx.run("note", "two");
    });
    const rig = await CodeRig.start(t, { workflows: [wrong] });
    await rig.engine.startWorkflow(wrong, undefined, { instanceId: "w" });
    await rig.settle();
    await rig.restart({ workflows: [right] });
    assert.equal(await rig.engine.awaitWorkflowInstance("w"), "two");
    assert.deepEqual(rig.calls, ["one", "two"]);
  });
});

describe("8.2 missing code", () => {
  test("8.2 waits visibly, takes in what comes, and goes on by itself after registerWorkflow", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await rig.engine.startWorkflow(original, undefined, { instanceId: "w" });
    await rig.clock.advance(500);
    await rig.restart({ workflows: [] });
    await rig.clock.advance(1000);
    await rig.engine.raiseEvent("w", "go", "kept");
    const { attention, status } = await rig.engine.getWorkflowInstanceStatus("w");
    assert.equal(attention, 'the code of workflow "w" in version "1" is not registered in this process');
    assert.equal(status, "Running");
    await rig.engine.registerWorkflow(original);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("w")).attention, undefined);
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "kept", "two"]);
  });

  test("8.2 or after a restart with the code", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await rig.engine.startWorkflow(original, undefined, { instanceId: "w" });
    await rig.clock.advance(500);
    await rig.restart({ workflows: [] });
    await rig.clock.advance(1000);
    await rig.engine.raiseEvent("w", "go", "kept");
    await rig.restart({ workflows: [original] });
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "kept", "two"]);
  });

  test("8.2 one that was paused meanwhile goes on when it is resumed", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [original] });
    await rig.engine.startWorkflow(original, undefined, { instanceId: "w" });
    await rig.clock.advance(2000);
    await rig.restart({ workflows: [] });
    await rig.engine.raiseEvent("w", "go", "kept");
    await rig.engine.pauseWorkflowInstance("w");
    await rig.engine.registerWorkflow(original);
    await rig.engine.resumeWorkflowInstance("w");
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("w"), ["one", "kept", "two"]);
  });

  test("8.2 activities that were running when the code went are not lost", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async () => {
      await gate.opened;
      return "slow";
    });
    const calls = defineWorkflow("calls", async (ctx) => [await ctx.run(slow), await ctx.run("note", "after")]);
    const rig = await CodeRig.start(t, { workflows: [calls], jobs: [slow] });
    await rig.engine.startWorkflow(calls, undefined, { instanceId: "c" });
    await rig.settle();
    await rig.restart({ workflows: [] });
    gate.open();
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("c")).tasks[0]?.status, "Success");
    await rig.restart({ workflows: [calls] });
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("c"), ["slow", "after"]);
  });
});

describe("8.3 versions", () => {
  const versioned = (version: string): CodeWorkflow<unknown, Promise<string>> =>
    defineWorkflow("v", { version }, async (ctx) => {
      await ctx.run("note", `begin ${version}`);
      await ctx.waitForEvent("go");
      return `${ctx.workflowVersion} ${String(await ctx.run("note", `end ${version}`))}`;
    });
  const [one, two] = [versioned("1"), versioned("2")];

  test("8.3 a running instance keeps the version it started with, side by side with newer ones", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [one] });
    await rig.engine.startWorkflow(one, undefined, { instanceId: "old" });
    await rig.settle();
    await rig.restart({ workflows: [one, two] });
    await rig.engine.startWorkflow(two, undefined, { instanceId: "new" });
    for (const id of ["old", "new"]) await rig.engine.raiseEvent(id, "go");
    assert.equal(await rig.engine.awaitWorkflowInstance("old"), "1 end 1");
    assert.equal(await rig.engine.awaitWorkflowInstance("new"), "2 end 2");
    const versions = await Promise.all(
      ["old", "new"].map(async (id) => (await rig.engine.getWorkflowInstanceStatus(id)).workflowVersion),
    );
    assert.deepEqual(versions, ["1", "2"]);
  });

  test("8.3 a version that is gone is missed by name; a newer one does not take its place", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [one] });
    await rig.engine.startWorkflow(one, undefined, { instanceId: "old" });
    await rig.settle();
    await rig.restart({ workflows: [two] });
    await rig.engine.raiseEvent("old", "go");
    assert.equal(
      (await rig.engine.getWorkflowInstanceStatus("old")).attention,
      'the code of workflow "v" in version "1" is not registered in this process',
    );
    await rig.engine.registerWorkflow(one);
    assert.equal(await rig.engine.awaitWorkflowInstance("old"), "1 end 1");
  });

  test("8.3 a child by name gets the newest version, a child by object its own", async (t) => {
    const parent = defineWorkflow("parent", async (ctx) => {
      const children = ctx.all([ctx.callChild("v"), ctx.callChild(one)]);
      for (const n of [0, 1]) ctx.sendEvent(`p/${n}`, "go");
      return await children;
    });
    const rig = await CodeRig.start(t, { workflows: [one, two, parent] });
    const handle = await rig.engine.startWorkflow(parent, undefined, { instanceId: "p" });
    assert.deepEqual(await handle.result(), ["2 end 2", "1 end 1"]);
  });

  test("8.3 two of one name and version are refused when the engine is made", async (t) => {
    await assert.rejects(
      CodeRig.start(t, { workflows: [one, versioned("1")] }),
      says("WORKFLOW_DUPLICATE", 'code workflow "v" is already registered in version "1"'),
    );
  });
});

describe("8.3 patched", () => {
  const before = defineWorkflow("p", async (ctx) => {
    await ctx.run("note", "old way");
    await ctx.waitForEvent("go");
    return await ctx.run("note", "end");
  });
  const after = defineWorkflow("p", async (ctx) => {
    if (ctx.patched("better")) await ctx.run("note", "new way");
    else await ctx.run("note", "old way");
    await ctx.waitForEvent("go");
    if (ctx.patched("better")) return await ctx.run("note", "new end");
    return await ctx.run("note", "end");
  });

  test("8.3 instances that were there before take the old way, new ones the new way, also after restarts", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [before] });
    await rig.engine.startWorkflow(before, undefined, { instanceId: "old" });
    await rig.settle();
    await rig.restart({ workflows: [after] });
    await rig.engine.startWorkflow(after, undefined, { instanceId: "new" });
    await rig.settle();
    await rig.restart();
    for (const id of ["old", "new"]) await rig.engine.raiseEvent(id, "go");
    assert.equal(await rig.engine.awaitWorkflowInstance("old"), "end");
    assert.equal(await rig.engine.awaitWorkflowInstance("new"), "new end");
    assert.deepEqual(rig.calls, ["old way", "new way", "end", "new end"]);
  });

  test("8.3 a patch further on is taken by an instance that has not come there", async (t) => {
    const later = defineWorkflow("p", async (ctx) => {
      await ctx.run("note", "old way");
      await ctx.waitForEvent("go");
      return await ctx.run("note", ctx.patched("later") ? "better end" : "end");
    });
    const rig = await CodeRig.start(t, { workflows: [before] });
    await rig.engine.startWorkflow(before, undefined, { instanceId: "p" });
    await rig.settle();
    await rig.restart({ workflows: [later] });
    await rig.engine.raiseEvent("p", "go");
    assert.equal(await rig.engine.awaitWorkflowInstance("p"), "better end");
  });

  test("8.3 a patch that is taken out again is missed where it was marked", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [after] });
    await rig.engine.startWorkflow(after, undefined, { instanceId: "p" });
    await rig.settle();
    await rig.restart({ workflows: [before] });
    await rig.engine.raiseEvent("p", "go");
    assert.match(
      (await rig.engine.getWorkflowInstanceStatus("p")).attention ?? "",
      /step 0 is on record as patch "better", but the code now asks for activity "note" with "old way"/,
    );
  });
});
