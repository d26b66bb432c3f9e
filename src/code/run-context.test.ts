import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { defineWorkflow } from "../authoring/code-workflow.ts";
import { defineJob } from "../authoring/job.ts";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { hasCode } from "../base/error.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import { type Body, drained, inWords, RunRig } from "./code-run.rig.ts";
import { StepFailed } from "./step-failed.ts";

/** What the code gives back that does this with its context, and nothing else. */
async function given(body: (ctx: WorkflowContext) => unknown, parts = {}): Promise<unknown> {
  const rig = new RunRig((ctx) => Promise.resolve(body(ctx)), parts);
  await rig.start();
  const { end } = rig;
  if (end?.type === "fail") throw new Error(end.failure.message);
  return end?.type === "complete" && JSON.parse(end.output as string);
}

test("who it is", async () => {
  const about = await given(
    (ctx) => [ctx.instanceId, ctx.workflowName, ctx.workflowVersion, ctx.generation, ctx.parentInstanceId],
    { instanceId: "j", generation: 3, parentInstanceId: "p" },
  );
  assert.deepEqual(about, ["j", "w", "1", 3, "p"]);
});

test("time is when what the code reacts to came in", async () => {
  const rig = await RunRig.started(async (ctx) => {
    const first = ctx.now();
    await ctx.sleep(500);
    return [first, ctx.now()];
  });
  rig.at = 1700;
  assert.deepEqual(inWords(await rig.fire(0)), ["complete [1000,1700]"]);
});

test("chance is the same for the same instance, and another for another", async () => {
  const draw = (ctx: WorkflowContext): unknown => [ctx.random(), ctx.uuid(), ctx.random()];
  assert.deepEqual(await given(draw), await given(draw));
  assert.notDeepEqual(await given(draw), await given(draw, { randomOf: { id: "i", generation: 2 } }));
  assert.deepEqual(await given(draw), await given(draw, { instanceId: "fork" }), "a fork has that of its source");
});

describe("run", () => {
  test("takes a job or its name, and says how it is to be run", async () => {
    const job = defineJob("pay", (amount: number) => amount);
    const rig = await RunRig.started(async (ctx) => {
      const options = {
        name: "the payment",
        timeoutSeconds: 3,
        retryCount: 2,
        retryPolicy: { factor: 3 },
        domain: "d",
      };
      await ctx.all([ctx.run(job, 1, options), ctx.run("pay"), ctx.callActivity("pay", null)]);
    });
    assert.deepEqual(rig.steps, [
      {
        type: "activity",
        node: {
          nodeId: 0,
          nodeName: "the payment",
          jobName: "pay",
          nodeParams: "1",
          timeoutSeconds: 3,
          retryCount: 2,
          retryPolicy: { factor: 3 },
          domain: "d",
        },
      },
      { type: "activity", node: { nodeId: 1, jobName: "pay" } },
      { type: "activity", node: { nodeId: 2, jobName: "pay", nodeParams: "null" } },
    ]);
  });

  test("gives back the output, also none", async () => {
    const rig = await RunRig.started((ctx) => ctx.all([ctx.run("a"), ctx.run("b")]));
    await rig.succeed(0, { x: [1] });
    assert.deepEqual(inWords(await rig.succeed(1)), ['complete [{"x":[1]},null]']);
  });

  test("refuses what is no job, and input that cannot be written or is too large", async () => {
    for (const job of [undefined, "", 7, {}]) {
      await assert.rejects(
        given((ctx) => ctx.run(job as never)),
        /ctx takes a job or its name, got /,
      );
    }
    await assert.rejects(
      given((ctx) => ctx.run("a", 1n)),
      /the input of activity "a" cannot be written as JSON: a BigInt/,
    );
    await assert.rejects(
      given((ctx) => ctx.run("a", "x".repeat(payloadBytesMax))),
      /the input of activity "a" takes 10485762 bytes; at most 10485760 are allowed/,
    );
  });
});

describe("sleep", () => {
  test("is for so many ms, or until a time, never a part of a ms too short", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.sleep(0.5);
      await ctx.createTimer(new Date(9000));
      await ctx.sleep(-5);
    });
    for (const timer of [0, 1, 2]) await rig.fire(timer);
    assert.deepEqual(inWords(rig.steps), ["timer 1001", "timer 9000", "timer 995", "complete undefined"]);
  });

  test("refuses what is no time", async () => {
    for (const time of [NaN, Infinity, undefined, new Date("never")]) {
      await assert.rejects(
        given((ctx) => ctx.sleep(time as never)),
        /a wait takes a number of ms or a Date/,
      );
    }
  });
});

describe("waitForEvent", () => {
  test("gives the oldest of its name, also one that came before", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.sleep(5);
      return [await ctx.waitForEvent("a"), await ctx.waitForEvent("b"), await ctx.waitForEvent("a")];
    });
    await rig.raise("a", 1);
    await rig.raise("a", 2);
    assert.deepEqual(await rig.fire(0), []);
    assert.deepEqual(inWords(await rig.raise("b")), ["complete [1,null,2]"]);
  });

  test("that waits too long fails, and the event is the next one's", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const late = await ctx.waitForEvent("a", { timeoutMs: 100 }).catch((error: unknown) => error);
      assert.ok(late instanceof StepFailed);
      return [late.failure.type, late.message, await ctx.waitForEvent("a")];
    });
    assert.deepEqual(inWords(rig.steps), ["timer 1100"]);
    assert.deepEqual(await rig.fire(0), []);
    assert.deepEqual(inWords(await rig.raise("a", 1)), [
      'complete ["TASK_TIMEOUT","event \\"a\\" did not come within 100 ms",1]',
    ]);
  });

  test("that comes in time calls its timer off", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.waitForEvent("a", { timeoutMs: 100 });
      await ctx.sleep(5);
    });
    assert.deepEqual(inWords(await rig.raise("a")), ["cancel-timer 0", "timer 1005"]);
    assert.deepEqual(await rig.fire(0), [], "one that fired in the same breath is nobody's");
  });

  test("needs no timer for what is there already", async () => {
    const rig = new RunRig((ctx) => ctx.waitForEvent("a", { timeoutMs: 100 }));
    await rig.start(undefined, [{ name: "a", data: "1" }]);
    assert.deepEqual(inWords(rig.steps), ["complete 1"]);
  });

  test("gives what its schema makes of the data, and fails with what does not fit", async () => {
    const code: Body = (ctx) => ctx.waitForEvent("a", { schema: z.object({ n: z.number().default(3) }) });
    assert.deepEqual(inWords(await (await RunRig.started(code)).raise("a", {})), ['complete {"n":3}']);
    const [end] = inWords(await (await RunRig.started(code)).raise("a", 1));
    assert.match(end ?? "", /^fail event "a" of instance "i" does not fit its schema/);
  });

  test("with a timeout that is none is refused, and leaves nothing to wait for", async () => {
    const rig = new RunRig(async (ctx) => {
      assert.throws(
        () => ctx.waitForEvent("a", { timeoutMs: NaN }),
        (error) => hasCode(error, "OPTION_INVALID"),
      );
      await new Promise(() => undefined);
    });
    await assert.rejects(rig.start(), (error) => hasCode(error, "WORKFLOW_NOT_DURABLE"));
  });

  test("two that wait are served in the order in which they began to", async () => {
    const rig = await RunRig.started((ctx) => ctx.all([ctx.waitForEvent("a"), ctx.waitForEvent("a")]));
    await rig.raise("a", 1);
    assert.deepEqual(inWords(await rig.raise("a", 2)), ["complete [1,2]"]);
  });
});

describe("children", () => {
  const ship = defineWorkflow("ship", { version: "4" }, (_ctx, to: string) => Promise.resolve(to.length));

  test("of code run in the version at hand, others in the newest that is known", async () => {
    const rig = await RunRig.started((ctx) =>
      ctx.all([
        ctx.callChild(ship, "x"),
        ctx.callChild("dag", undefined, { instanceId: "mine", retryCount: 1, retryPolicy: { factor: 1 } }),
      ]),
    );
    assert.deepEqual(rig.steps, [
      {
        type: "child",
        isDetached: false,
        node: { nodeId: 0, nodeType: 3, workflowName: "ship", workflowVersion: "4", nodeParams: '"x"' },
      },
      {
        type: "child",
        isDetached: false,
        childId: "mine",
        node: {
          nodeId: 1,
          nodeType: 3,
          workflowName: "dag",
          workflowVersion: "7",
          retryCount: 1,
          retryPolicy: { factor: 1 },
        },
      },
    ]);
    await rig.succeed(0, 1);
    assert.deepEqual(inWords(await rig.succeed(1, { t: 2 })), ['complete [1,{"t":2}]']);
  });

  test("that nobody waits for have an id at once, the same in every replay", async () => {
    const code: Body = (ctx) =>
      Promise.resolve([ctx.startChild(ship, "x"), ctx.startChild(ship, "y", { instanceId: "m" })]);
    const rig = await RunRig.started(code);
    const again = await RunRig.started(code);
    assert.deepEqual(rig.steps, again.steps);
    const ids = rig.steps.flatMap((step) => (step.type === "child" ? step.childId : []));
    assert.match(ids[0] ?? "", /^i\/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([ids[1], rig.end], ["m", { type: "complete", output: JSON.stringify(ids) }]);
  });

  test("take a number each, detached or not", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.startChild(ship, "x");
      return await ctx.run("a");
    });
    assert.deepEqual(inWords(await rig.succeed(1, "out")), ['complete "out"']);
  });

  test("that nobody knows are refused", async () => {
    await assert.rejects(
      given((ctx) => ctx.callChild("unknown")),
      /child workflow "unknown" is not among the workflows of this process/,
    );
    await assert.rejects(
      given((ctx) => ctx.callChild({} as never)),
      /ctx takes a workflow or its name/,
    );
  });
});

describe("all, any and race", () => {
  test("settle in the order of history", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const first = await ctx.race([ctx.run("a"), ctx.run("b")]);
      return [first, await ctx.any([ctx.run("c"), ctx.run("d")])];
    });
    await rig.succeed(1, "b");
    await rig.fail(2);
    assert.deepEqual(inWords(await rig.succeed(3, "d")), ['complete ["b","d"]']);
  });

  test("that nobody looks at bring nothing down when they fail", async () => {
    const rig = await RunRig.started(async (ctx) => {
      void ctx.run("a");
      void ctx.run("a", 1, { undo: () => undefined });
      void ctx.callChild("c");
      void ctx.all([ctx.run("a")]);
      void ctx.any([ctx.run("a")]);
      void ctx.race([ctx.run("a")]);
      void ctx.saga((own) => own.run("a"));
      void ctx.waitForEvent("e", { schema: z.string() });
      void ctx.waitForEvent("f", { timeoutMs: 1 });
      await ctx.sleep(5);
    });
    for (let task = 0; task < 7; task++) await rig.fail(task);
    await rig.raise("e", 1);
    await rig.fire(0);
    await drained();
    assert.deepEqual(inWords(await rig.fire(1)), ["complete undefined"]);
  });

  test("nor when the instance is asked to end", async () => {
    const rig = await RunRig.started(async (ctx) => {
      void ctx.all([ctx.run("a")]);
      void ctx.saga((own) => own.run("a"));
      void ctx.sleep(9);
      await ctx.sleep(5);
    });
    assert.deepEqual(inWords(await rig.cancel("x")), ["cancel x"]);
    await drained();
  });
});

describe("what others see", () => {
  test("an event for another instance", async () => {
    const rig = await RunRig.started((ctx) =>
      Promise.resolve([ctx.sendEvent("j", "go", { x: 1 }), ctx.sendEvent("j", "go")]),
    );
    assert.deepEqual(rig.steps.slice(0, 2), [
      { type: "event", to: "j", name: "go", data: '{"x":1}' },
      { type: "event", to: "j", name: "go" },
    ]);
    await assert.rejects(
      given((ctx) => ctx.sendEvent("j", "go", 1n)),
      /the data of event "go" cannot be written/,
    );
  });

  test("a custom status of at most 16 KB", async () => {
    const rig = await RunRig.started((ctx) =>
      Promise.resolve([ctx.setCustomStatus({ n: 1 }), ctx.setCustomStatus(undefined)]),
    );
    assert.deepEqual(inWords(rig.steps).slice(0, 2), ['custom-status {"n":1}', "custom-status null"]);
    await given((ctx) => [ctx.setCustomStatus("x".repeat(16_382))]);
    await assert.rejects(
      given((ctx) => ctx.setCustomStatus("x".repeat(16_383))),
      /the custom status takes 16385 bytes; at most 16384 are allowed/,
    );
  });
});

describe("undoing", () => {
  test("happens for the steps that have succeeded, the last first, with their outputs", async () => {
    const undo = (ctx: WorkflowContext) => (output: unknown) => ctx.run("undo", output).then(() => undefined);
    const rig = await RunRig.started(async (ctx) => {
      await ctx.run("a", undefined, { undo: undo(ctx) });
      ctx.undo(() => ctx.run("by hand").then(() => undefined));
      await ctx.all([ctx.run("b", undefined, { undo: undo(ctx) }), ctx.run("c", undefined, { undo: undo(ctx) })]);
    });
    await rig.succeed(0, "A");
    await rig.succeed(1, "B");
    assert.deepEqual(inWords(await rig.fail(2)), ['activity undo("B")'], "what failed has nothing to undo");
    assert.deepEqual(inWords(await rig.succeed(3)), ["activity by hand()"]);
    assert.deepEqual(inWords(await rig.succeed(4)), ['activity undo("A")']);
    assert.deepEqual(inWords(await rig.succeed(5)), ['fail activity "c" failed: no']);
  });

  test("goes on behind what cannot be undone, and the failure says so", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => void seen.push("first"));
      ctx.undo(() => {
        throw new Error("stuck");
      });
      ctx.undo(() => Promise.reject(new Error("gone")));
      await ctx.run("a");
    });
    assert.deepEqual(inWords(await rig.fail(0, "broken")), [
      'fail activity "a" failed: broken; and not everything could be undone: gone; stuck',
    ]);
    assert.deepEqual(seen, ["first"]);
  });

  test("is not needed by code that gets to its end", async () => {
    const rig = await RunRig.started((ctx) => Promise.resolve(ctx.undo(() => assert.fail())));
    assert.deepEqual(inWords(rig.steps), ["complete undefined"]);
  });

  test("says that it is at work, so that nobody cuts it short", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => ctx.run("back").then(() => undefined));
      await ctx.run("a");
    });
    assert.equal(rig.run.compensation.isUndoing, false);
    await rig.fail(0);
    assert.equal(rig.run.compensation.isUndoing, true);
  });
});

describe("a saga", () => {
  const note = (seen: string[], text: string) => () => void seen.push(text);

  test("undoes its own steps when it throws, and the code around it may go on", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(note(seen, "outer"));
      const result = await ctx
        .saga(async (own) => {
          own.undo(note(seen, "inner 1"));
          await own.run("a", undefined, { undo: (output) => void seen.push(`inner a ${String(output)}`) });
          await own.run("b");
        })
        .catch((error: unknown) => String(error));
      return [result, [...seen]];
    });
    await rig.succeed(0, 1);
    assert.deepEqual(inWords(await rig.fail(1)), [
      'complete ["StepFailed: activity \\"b\\" failed: no",["inner a 1","inner 1"]]',
    ]);
    assert.deepEqual(seen, ["inner a 1", "inner 1"]);
  });

  test("that is through is undone as one when the code around it fails, at its place", async () => {
    const seen: string[] = [];
    await RunRig.started(async (ctx) => {
      ctx.undo(note(seen, "1"));
      await ctx.saga(async (own) => {
        own.undo(note(seen, "2"));
        await own.saga((deep) => Promise.resolve(deep.undo(note(seen, "3"))));
        own.undo(note(seen, "4"));
      });
      ctx.undo(note(seen, "5"));
      throw new Error("no");
    });
    assert.deepEqual(seen, ["5", "4", "3", "2", "1"]);
  });

  test("within a saga that throws is undone with it, once", async () => {
    const seen: string[] = [];
    await RunRig.started(async (ctx) => {
      await ctx.saga(async (own) => {
        await own.saga((deep) => Promise.resolve(deep.undo(note(seen, "deep"))));
        throw new Error("no");
      });
    });
    assert.deepEqual(seen, ["deep"]);
  });

  test("tells what it could not undo, wherever it happens", async () => {
    const stuck = (): Promise<never> => Promise.reject(new Error("stuck"));
    const inside = await RunRig.started((ctx) =>
      ctx.saga((own) => {
        own.undo(stuck);
        throw new Error("no");
      }),
    );
    assert.deepEqual(inWords(inside.steps), ["fail no; and not everything could be undone: stuck"]);
    const outside = await RunRig.started(async (ctx) => {
      await ctx.saga((own) => Promise.resolve(own.undo(stuck)));
      throw new Error("no");
    });
    assert.deepEqual(inWords(outside.steps), ["fail no; and not everything could be undone: stuck"]);
  });

  test("is undone when the instance is asked to end", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started((ctx) =>
      ctx.saga(async (own) => {
        own.undo(note(seen, "saga"));
        own.onCancel(note(seen, "onCancel"));
        await own.sleep(5);
      }),
    );
    assert.deepEqual(inWords(await rig.cancel("enough")), ["cancel enough"]);
    assert.deepEqual(seen, ["saga", "onCancel"]);
  });

  test("that is being undone is not cut short: a cancel is heeded afterwards", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.onCancel(() => ctx.run("on cancel").then(() => undefined));
      const beside = ctx.sleep(5).catch((error: unknown) => String(error));
      const saga = ctx.saga(async (own) => {
        own.undo(() => own.run("back 1").then(() => undefined));
        own.undo(() => own.run("back 2").then(() => undefined));
        await own.run("a");
      });
      await saga.catch(async (error: unknown) => {
        ctx.setCustomStatus([String(error), await beside]);
        throw error;
      });
    });
    assert.equal(rig.run.compensation.isUndoingSaga, false);
    await rig.fail(0);
    assert.equal(rig.run.compensation.isUndoingSaga, true);
    assert.deepEqual(await rig.cancel("enough", { isHeld: true }), []);
    assert.equal(rig.run.cancelReason, undefined);
    assert.deepEqual(inWords(await rig.succeed(1)), ["activity back 1()"]);
    const canceled = "WorkflowCanceled: the workflow was asked to end: enough";
    assert.deepEqual(inWords(await rig.succeed(2)), [
      "heed-cancel",
      `custom-status ["${canceled}","${canceled}"]`,
      "activity on cancel()",
    ]);
    assert.deepEqual(inWords(await rig.succeed(3)), ["cancel enough"]);
  });

  test("beside another that is being undone waits for that before a cancel is heeded", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const one = (name: string): Promise<unknown> =>
        ctx
          .saga(async (own) => {
            own.undo(() => own.run(`${name} back`).then(() => undefined));
            await own.run(name);
          })
          .catch((error: unknown) => (error as Error).name);
      return await ctx.all([one("a"), one("b")]);
    });
    await rig.fail(0);
    await rig.fail(1);
    await rig.cancel("enough", { isHeld: true });
    assert.deepEqual(inWords(await rig.succeed(2)), []);
    assert.deepEqual(inWords(await rig.succeed(3)), ["heed-cancel", 'complete ["StepFailed","WorkflowCanceled"]']);
  });

  test("leaves a cancel aside if the code is on its way to its end by then", async () => {
    const rig = await RunRig.started((ctx) =>
      ctx.all([
        ctx.saga(async (own) => {
          own.undo(() => own.run("back").then(() => undefined));
          await own.run("a");
        }),
        ctx.run("b", undefined, {}).catch(() => {
          ctx.undo(() => ctx.run("outer back").then(() => undefined));
          throw new Error("broken");
        }),
      ]),
    );
    await rig.fail(0);
    await rig.cancel("enough", { isHeld: true });
    await rig.fail(1);
    assert.deepEqual(inWords(await rig.succeed(2)), []);
    assert.deepEqual(inWords(await rig.succeed(3)), ["fail broken"]);
  });
});
