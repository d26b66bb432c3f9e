import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, WorkflowCanceled, type WorkflowContext } from "../../src/index.ts";
import { CodeRig, type CodeRigOptions } from "./code-rig.ts";
import { Gate, says } from "./rig.ts";

const timeUp = "the instance did not end within its timeout of 5 s";
const hourMs = 3_600_000;

/** Books something, and waits for what never comes. */
async function booking(ctx: WorkflowContext): Promise<string> {
  ctx.onCancel(() => ctx.run("note", `canceled: ${ctx.cancelReason}`));
  await ctx.run("note", "book", { undo: () => ctx.run("note", "undo") });
  return await ctx.waitForEvent<string>("end");
}

const timed = defineWorkflow("timed", { timeoutSeconds: 5 }, booking);

async function started(
  t: Parameters<typeof CodeRig.start>[0],
  fn: (ctx: WorkflowContext) => Promise<unknown>,
  options: CodeRigOptions = {},
): Promise<CodeRig> {
  const workflow = defineWorkflow("timed", { timeoutSeconds: 5 }, fn);
  const rig = await CodeRig.start(t, { ...options, workflows: [workflow] });
  await rig.engine.startWorkflow(workflow, undefined, { instanceId: "t" });
  await rig.settle();
  return rig;
}

async function stateOf(rig: CodeRig): Promise<string> {
  const { status, reason } = await rig.engine.getWorkflowInstanceStatus("t");
  return reason === undefined ? status : `${status}: ${reason}`;
}

describe("8.1 a workflow's timeout", () => {
  test("8.1 compensates as a cancel does, and the instance has failed", async (t) => {
    const rig = await started(t, booking);
    await rig.clock.advance(6000);
    await assert.rejects(rig.engine.awaitWorkflowInstance("t"), says("WORKFLOW_FAILED", timeUp));
    assert.deepEqual(rig.calls, ["book", `canceled: ${timeUp}`, "undo"]);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    const events = await rig.events("t");
    assert.deepEqual(
      events.filter(({ type }) => type === "InstanceTimedOut" || type === "CancelRequested"),
      [
        { type: "InstanceTimedOut", compensationMs: hourMs, deadline: rig.clock.now() - 1000 + hourMs },
        { type: "CancelRequested", reason: timeUp, isHeld: true },
        { type: "CancelRequested", reason: timeUp },
      ],
    );
  });

  test("8.1 stops what runs, and undoes what is done", async (t) => {
    const gate = new Gate();
    t.after(() => gate.open());
    let isAborted = false;
    const slow = defineJob("slow", async (_: undefined, { signal }) => {
      signal.addEventListener("abort", () => (isAborted = true));
      await gate.opened;
    });
    const jobs = [slow];
    const code = async (ctx: WorkflowContext): Promise<void> => {
      await ctx.run("note", "book", { undo: () => ctx.run("note", "undo") });
      await ctx.run(slow);
    };
    const rig = await started(t, code, { jobs });
    await rig.clock.advance(6000);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual([rig.calls, isAborted], [["book", "undo"], true]);
  });

  test("8.1 comes while nobody runs, or while the code is missing: it compensates when it is back", async (t) => {
    const rig = await started(t, booking);
    await rig.away(60_000, { workflows: [] });
    await rig.clock.advance(48 * hourMs);
    const { status, attention } = await rig.engine.getWorkflowInstanceStatus("t");
    assert.equal(status, "Running");
    assert.match(attention ?? "", /is not registered in this process/);
    assert.ok(rig.log.find("warn", /the timeout of an instance is over; it waits for its code/));
    assert.deepEqual(rig.calls, ["book"]);
    await rig.restart({ workflows: [timed] });
    await rig.settle();
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["book", `canceled: ${timeUp}`, "undo"]);
  });

  test("8.1 also compensates what was done while the code was missing", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", () => gate.opened);
    const code = async (ctx: WorkflowContext): Promise<void> => {
      await ctx.run(slow, undefined, { undo: () => ctx.run("note", "undo slow") });
      await ctx.waitForEvent("never");
    };
    const rig = await started(t, code, { jobs: [slow] });
    const workflow = defineWorkflow("timed", { timeoutSeconds: 5 }, code);
    await rig.away(0, { workflows: [] });
    await rig.clock.advance(6000);
    gate.open();
    await rig.settle();
    await rig.restart({ workflows: [workflow] });
    await rig.settle();
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["undo slow"]);
  });

  test("8.1 resumes an instance that is paused", async (t) => {
    const rig = await started(t, booking);
    await rig.engine.pauseWorkflowInstance("t");
    await rig.clock.advance(6000);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["book", `canceled: ${timeUp}`, "undo"]);
  });

  test("8.1 does not cut short what is undone already; the instance ends as it would have", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.run("note", "undo 1"));
      ctx.undo(() => ctx.sleep(4000));
      await ctx.sleep(3000);
      throw new Error("no luck");
    };
    const rig = await started(t, code);
    await rig.clock.advance(8000);
    assert.equal(await stateOf(rig), "Failed: no luck");
    assert.deepEqual(rig.calls, ["undo 1"]);
  });

  test("8.1 nor a cancel's compensation, which ends as terminated", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.sleep(4000));
      await ctx.waitForEvent("never");
    };
    const rig = await started(t, code);
    await rig.clock.advance(3000);
    await rig.engine.cancelWorkflowInstance("t", "enough");
    await rig.clock.advance(6000);
    assert.equal(await stateOf(rig), "Terminated: enough");
  });

  test("8.1 waits for a saga that is undone, also over a restart", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.run("note", "undo outer"));
      await ctx.saga(async (own) => {
        own.undo(() => own.run("note", "undo inner"));
        own.undo(() => own.sleep(4000));
        await own.sleep(3000);
        throw new Error("inner");
      });
    };
    const rig = await started(t, code);
    await rig.clock.advance(6000);
    assert.equal(await stateOf(rig), "Running");
    await rig.restart();
    await rig.clock.advance(2000);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["undo inner", "undo outer"]);
  });

  test("8.1 goes on compensating after a restart, and undoes nothing twice", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      for (const n of [1, 2, 3]) {
        ctx.undo(() => ctx.run("note", `undo ${n}`));
        ctx.undo(() => ctx.sleep(1000));
      }
      await ctx.waitForEvent("never");
    };
    const rig = await started(t, code);
    await rig.clock.advance(6500);
    for (let restarts = 0; restarts < 3; restarts++) {
      await rig.restart();
      await rig.clock.advance(700);
    }
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["undo 3", "undo 2", "undo 1"]);
  });

  const ownWays: Record<string, (ctx: WorkflowContext) => unknown> = {
    returns: () => "fine",
    "begins anew": (ctx) => ctx.continueAsNew(),
  };
  for (const [does, end] of Object.entries(ownWays)) {
    test(`8.1 has the instance fail if its code catches it and ${does}`, async (t) => {
      const code = async (ctx: WorkflowContext): Promise<unknown> => {
        try {
          return await ctx.waitForEvent("never");
        } catch (error) {
          assert.ok(error instanceof WorkflowCanceled);
          await ctx.run("note", error.reason);
          return await end(ctx);
        }
      };
      const rig = await started(t, code);
      await rig.clock.advance(6000);
      assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
      assert.deepEqual(rig.calls, [timeUp]);
    });
  }

  test("8.1 bounds the compensation: as long as the timeout, at least an hour", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.run("note", "never undone"));
      ctx.undo(() => ctx.waitForEvent("never"));
      await ctx.waitForEvent("never");
    };
    const rig = await started(t, code);
    await rig.clock.advance(5000 + hourMs - 1);
    assert.equal(await stateOf(rig), "Running");
    await rig.restart();
    await rig.clock.advance(1);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}, and its compensation not within a further 3600 s`);
    assert.deepEqual(rig.calls, []);
    assert.ok(rig.log.find("warn", /an instance was ended with 1 undo handlers, which are dropped/));
  });

  test("8.1 ends code that catches it and goes on, with the same bound", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      for (;;) await ctx.sleep(600_000).catch(() => undefined);
    };
    const rig = await started(t, code);
    await rig.clock.advance(2 * hourMs);
    assert.match(await stateOf(rig), /^Failed: .* and its compensation not within a further 3600 s$/);
  });

  test("8.1 is not undone by a terminate, which ends the compensation too", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.run("note", "never undone"));
      ctx.undo(() => ctx.waitForEvent("never"));
      await ctx.waitForEvent("never");
    };
    const rig = await started(t, code);
    await rig.clock.advance(6000);
    await rig.engine.terminateWorkflowInstance("t", "enough");
    assert.equal(await stateOf(rig), "Terminated: enough");
    assert.deepEqual(rig.calls, []);
  });

  test("8.1 counts over all generations, and reaches the one that is there", async (t) => {
    const code = async (ctx: WorkflowContext): Promise<void> => {
      ctx.undo(() => ctx.run("note", `undo ${ctx.generation}`));
      await ctx.sleep(2000);
      await ctx.continueAsNew();
    };
    const rig = await started(t, code);
    await rig.clock.advance(8000);
    assert.equal(await stateOf(rig), `Failed: ${timeUp}`);
    assert.deepEqual(rig.calls, ["undo 3"]);
  });

  test("8.1 leaves the time of a retry whole", async (t) => {
    const rig = await started(t, booking);
    await rig.clock.advance(6000);
    await rig.engine.retryWorkflowInstance("t");
    await rig.clock.advance(4000);
    assert.equal(await stateOf(rig), "Running");
    await rig.engine.raiseEvent("t", "end", "in time");
    assert.equal(await rig.engine.awaitWorkflowInstance("t"), "in time");
  });
});
