import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, test } from "node:test";
import * as z from "zod";
import { defineWorkflow } from "../authoring/code-workflow.ts";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { hasCode } from "../base/error.ts";
import { StepFailed, WorkflowCanceled } from "./step-failed.ts";
import { drained, inWords, RunRig, whenDrained } from "./code-run.rig.ts";
import { deliverAndWait } from "./deliver-and-wait.ts";

const notDurable = (error: unknown): boolean => hasCode(error, "WORKFLOW_NOT_DURABLE");

describe("W1: one arrival at a time, and all of it before the next", () => {
  test("the code goes from step to step", async () => {
    const rig = new RunRig(async (ctx, input: number) => {
      const one = await ctx.run("add", input);
      const two = await ctx.run("add", one);
      return [one, two];
    });
    assert.deepEqual(inWords(await rig.start(1)), ["activity add(1)"]);
    assert.deepEqual(inWords(await rig.succeed(0, 2)), ["activity add(2)"]);
    assert.deepEqual(inWords(await rig.succeed(1, 3)), ["complete [2,3]"]);
    assert.equal(rig.run.isOver, true);
  });

  test("two branches take their next steps in the order in which their arrivals come", async () => {
    const branch = async (ctx: WorkflowContext, name: string): Promise<void> => {
      await ctx.run(`${name}1`);
      // However many promises stand between, they are all through before the next arrival.
      for (let n = 0; n < 50; n++) await Promise.resolve();
      await ctx.run(`${name}2`);
    };
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const rig = await RunRig.started(async (ctx) => await Promise.all([branch(ctx, "a"), branch(ctx, "b")]));
      for (const task of order) await rig.succeed(task);
      const names = order.map((task) => `activity ${"ab"[task]}2()`);
      assert.deepEqual(inWords(rig.steps).slice(2), names);
    }
  });

  test("what was over before is not seen twice", async () => {
    const rig = await RunRig.started(async (ctx) => [await ctx.run("a"), await ctx.sleep(5)]);
    await rig.succeed(0, 1);
    assert.deepEqual(await rig.succeed(0, 2), []);
    await rig.fire(0);
    assert.deepEqual(await rig.fire(0), []);
    assert.equal(rig.end?.type, "complete");
  });

  test("what nobody asked for is passed over", async () => {
    const rig = await RunRig.started((ctx) => ctx.sleep(5));
    assert.deepEqual([await rig.succeed(7), await rig.fail(7), await rig.fire(7)], [[], [], []]);
  });

  test("the code is called within the async context of its services", async () => {
    const calls: string[] = [];
    const surroundings = new AsyncLocalStorage<string>();
    const note = (what: string): void => void calls.push(`${what} in ${surroundings.getStore()}`);
    const services = {
      whenDrained,
      failureFrom: () => ({ type: "E", message: "", retryable: false }),
      versionOf: () => undefined,
      hasDomain: () => true,
      within: <T>(call: () => T): T => surroundings.run("the services'", call),
    };
    const rig = new RunRig(
      async (ctx) => {
        note("code");
        ctx.onUpdate("set", () => note("update"));
        await ctx.sleep(1);
        note("rest");
      },
      { services },
    );
    await rig.start();
    await rig.update("u", "set");
    await rig.fire(0);
    assert.deepEqual(calls, ["code in the services'", "update in the services'", "rest in the services'"]);
  });
});

describe("a pause", () => {
  test("holds what arrives, and gives it in order at the resume, with the time of the resume", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const first = await ctx.waitForEvent("go");
      const at = ctx.now();
      return [first, at, await ctx.waitForEvent("go")];
    });
    await rig.see({ type: "paused" });
    rig.at = 2000;
    assert.deepEqual([await rig.raise("go", 1), await rig.raise("go", 2)], [[], []]);
    rig.at = 3000;
    assert.deepEqual(inWords(await rig.see({ type: "resumed" })), ["complete [1,3000,2]"]);
  });

  test("hands on the steps of each reaction by themselves", async () => {
    const rig = await RunRig.started(async (ctx) => {
      for (;;) ctx.setCustomStatus(await ctx.waitForEvent("go"));
    });
    const taken: string[][] = [];
    await deliverAndWait(rig.run, { type: "paused" }, 1, () => assert.fail());
    for (const data of ["1", "2"]) {
      await deliverAndWait(rig.run, { type: "event", event: { name: "go", data } }, 2, () => assert.fail());
    }
    await deliverAndWait(rig.run, { type: "resumed" }, 3, (steps) => taken.push(inWords(steps)));
    assert.deepEqual(taken, [["custom-status 1"], ["custom-status 2"]]);
  });
});

describe("W2: a step is taken only in reaction to an arrival", () => {
  test("code that waits for nothing durable is found at once", async () => {
    const rig = new RunRig(() => new Promise(() => undefined));
    await assert.rejects(
      rig.start(),
      (error) => notDurable(error) && /for nothing that is durable/.test(String(error)),
    );
  });

  test("a step after something else is refused, and told", async () => {
    const outside = Promise.withResolvers<void>();
    const rig = await RunRig.started(async (ctx) => {
      await Promise.race([ctx.sleep(1000), outside.promise]);
      await ctx.run("late");
    });
    outside.resolve();
    await drained();
    assert.deepEqual(rig.strays.map(notDurable), [true]);
    await assert.rejects(rig.fire(0), notDurable, "nothing more comes of it");
    assert.deepEqual(inWords(rig.steps), ["timer 2000"]);
  });

  for (const [what, after] of [
    ["returns", () => Promise.resolve("done")],
    ["throws", () => Promise.reject(new Error("outside"))],
  ] as const) {
    test(`code that ${what} after something else is told, and brings nothing down`, async () => {
      const outside = Promise.withResolvers<void>();
      const rig = await RunRig.started(async (ctx) => {
        await Promise.race([ctx.sleep(1000), outside.promise]);
        return await after();
      });
      outside.resolve();
      await drained();
      assert.deepEqual(rig.strays.map(notDurable), [true]);
      assert.equal(rig.end, undefined);
    });

    test(`an update that ${what} after something else is told, and brings nothing down`, async () => {
      const outside = Promise.withResolvers<void>();
      const rig = await RunRig.started(async (ctx) => {
        ctx.onUpdate("set", async () => {
          await outside.promise;
          return await after();
        });
        await ctx.sleep(1000);
      });
      assert.deepEqual(await rig.update("u", "set"), []);
      outside.resolve();
      await drained();
      assert.deepEqual(rig.strays.map(notDurable), [true]);
      assert.equal(rig.end, undefined);
    });
  }

  test("every way to take a step is refused then, and told once", async () => {
    const outside = Promise.withResolvers<void>();
    const refused: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      await Promise.race([ctx.sleep(1000), outside.promise]);
      const ways = {
        run: () => ctx.run("a"),
        sleep: () => ctx.sleep(1),
        waitForEvent: () => ctx.waitForEvent("go"),
        sendEvent: () => ctx.sendEvent("j", "go"),
        callChild: () => ctx.callChild("c"),
        startChild: () => ctx.startChild("c"),
        setCustomStatus: () => ctx.setCustomStatus(1),
        patched: () => ctx.patched("p"),
        continueAsNew: () => ctx.continueAsNew(),
      };
      for (const [name, way] of Object.entries(ways)) {
        try {
          await way();
        } catch (error) {
          if (notDurable(error)) refused.push(name);
        }
      }
      refused.push("end");
    });
    outside.resolve();
    await drained();
    assert.deepEqual(refused, [
      "run",
      "sleep",
      "waitForEvent",
      "sendEvent",
      "callChild",
      "startChild",
      "setCustomStatus",
      "patched",
      "continueAsNew",
      "end",
    ]);
    assert.equal(rig.strays.length, 1);
  });

  test("the steps of a reaction that is not durable are not handed on", async () => {
    const rig = new RunRig(async (ctx) => {
      ctx.setCustomStatus("half way");
      await new Promise(() => undefined);
    });
    await assert.rejects(rig.start(), notDurable);
    assert.deepEqual(rig.steps, []);
  });
});

describe("W3: after its last step it does nothing more", () => {
  test("what it may still wait for is not answered", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      void ctx.run("slow").finally(() => seen.push("slow"));
      return await ctx.run("fast");
    });
    assert.deepEqual(inWords(await rig.succeed(1, "x")), ['complete "x"']);
    assert.deepEqual([await rig.succeed(0), seen], [[], []]);
  });

  test("code that goes on after continueAsNew takes no step", async () => {
    const rig = await RunRig.started(async (ctx) => {
      void ctx.continueAsNew(1);
      ctx.setCustomStatus("never");
    });
    assert.deepEqual(inWords(rig.steps), ["continue 1 with "]);
    assert.deepEqual(rig.strays, []);
  });

  test("an update that is under way then is not answered", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.onUpdate("set", () => ctx.waitForEvent("go"));
      await ctx.waitForEvent("go");
    });
    await rig.update("u", "set");
    await rig.raise("go");
    assert.deepEqual(inWords(rig.steps), ["complete undefined"]);
    assert.deepEqual(await rig.raise("go"), []);
  });

  test("one that was ended from outside is inert: neither catch nor finally runs", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => void seen.push("undo"));
      ctx.onCancel(() => void seen.push("onCancel"));
      try {
        await ctx.run("a");
      } catch {
        seen.push("catch");
      } finally {
        seen.push("finally");
      }
    });
    rig.run.end();
    assert.deepEqual([await rig.succeed(0), await rig.cancel()], [[], []]);
    await drained();
    assert.deepEqual([seen, rig.run.isOver], [[], true]);
  });
});

describe("continueAsNew", () => {
  test("says that it drops what is there to be undone", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => undefined);
      await ctx.run("a", undefined, { undo: () => undefined });
      await ctx.continueAsNew();
    });
    await rig.succeed(0);
    assert.match(rig.lines[0] ?? "", /begins anew with 2 undo handlers, which are dropped/);
  });

  const code = async (ctx: WorkflowContext): Promise<never> => {
    await ctx.waitForEvent("go");
    return await ctx.continueAsNew("next", { keepEvents: true });
  };

  test("gives on the events that nobody waited for, in their order, and only if it is told to", async () => {
    const rig = await RunRig.started(code);
    await rig.raise("other", 1);
    await rig.raise("other");
    assert.deepEqual(inWords(await rig.raise("go")), ['continue "next" with other=1,other=undefined']);
    const bare = await RunRig.started(async (ctx) => {
      await ctx.waitForEvent("go");
      return await ctx.continueAsNew();
    });
    await bare.raise("other", 1);
    assert.deepEqual(await bare.raise("go"), [{ type: "continue", events: [], updates: [] }]);
  });

  test("gives on the updates that came while the instance was paused, behind the one that it begins anew for", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.onUpdate("set", () => assert.fail("it belongs to the next generation"));
      await ctx.waitForEvent("go");
      await ctx.continueAsNew();
    });
    await rig.see({ type: "paused" });
    await rig.raise("go");
    await rig.update("u", "set", 5);
    assert.deepEqual(await rig.see({ type: "resumed" }), [
      { type: "continue", events: [], updates: [{ update: "u", name: "set", data: "5" }] },
    ]);
  });

  test("lets an update answer that has led to it; one that is not through is a warning", async () => {
    const rig = await RunRig.started(async (ctx) => {
      const asked = Promise.withResolvers<void>();
      ctx.onUpdate("quick", async () => {
        asked.resolve();
        for (let n = 0; n < 9; n++) await Promise.resolve();
        return "done";
      });
      ctx.onUpdate("slow", () => ctx.sleep(1000));
      await ctx.race([asked.promise, ctx.waitForEvent("never")]);
      await ctx.continueAsNew();
    });
    await rig.update("s", "slow");
    assert.deepEqual(inWords(await rig.update("q", "quick")), ['answer q "done"', "continue undefined with "]);
    assert.match(rig.lines[0] ?? "", /begins anew while it handles update "slow", which is therefore never answered/);
    assert.equal(rig.lines.length, 1);
  });

  test("also those that came while the instance was paused, behind the one that it begins anew for", async () => {
    const rig = await RunRig.started(code);
    await rig.see({ type: "paused" });
    for (const [name, data] of [
      ["early", 1],
      ["go", 2],
      ["go", 3],
      ["late", 4],
    ] as const) {
      await rig.raise(name, data);
    }
    assert.deepEqual(inWords(await rig.see({ type: "resumed" })), ['continue "next" with early=1,go=3,late=4']);
  });

  test("also those that stand behind it in a history that the code had not seen", async () => {
    const rig = new RunRig(code);
    rig.run.isReplaying = true;
    await rig.start();
    await rig.raise("go", 1);
    await rig.raise("go", 2);
    await rig.update("u", "none");
    assert.deepEqual(inWords(rig.steps), ['continue "next" with go=2']);
  });

  test("of the next generation begins with them", async () => {
    const rig = new RunRig(async (ctx) => [await ctx.waitForEvent("a"), await ctx.waitForEvent("a")]);
    await rig.start(undefined, [
      { name: "a", data: "1" },
      { name: "a", data: undefined },
    ]);
    assert.deepEqual(inWords(rig.steps), ["complete [1,null]"]);
  });
});

describe("the end", () => {
  test("of code that throws is its failure", async () => {
    const rig = await RunRig.started(() => Promise.reject(new TypeError("broken")));
    assert.deepEqual(rig.steps, [{ type: "fail", failure: { type: "TypeError", message: "broken", retryable: true } }]);
  });

  test("of a step that failed is a failure that names the step", async () => {
    const rig = await RunRig.started((ctx) => ctx.run("pay", 1, { name: "the payment" }));
    assert.deepEqual(inWords(await rig.fail(0, "no money")), ['fail activity "the payment" failed: no money']);
  });

  test("a failed step can be caught, with its failure", async () => {
    const rig = await RunRig.started(async (ctx) => {
      try {
        return await ctx.callChild("ship");
      } catch (error) {
        return error instanceof StepFailed && [error.name, error.message, error.failure.type];
      }
    });
    assert.deepEqual(inWords(await rig.fail(0, "sunk")), [
      'complete ["StepFailed","child workflow \\"ship\\" failed: sunk","Error"]',
    ]);
  });

  test("input and output fit the workflow's schemas", async () => {
    const workflow = defineWorkflow(
      "w",
      { input: z.object({ n: z.number().default(3) }), output: z.number() },
      (_ctx, { n }) => Promise.resolve(n),
    );
    assert.deepEqual(inWords((await RunRig.started(workflow, {})).steps), ["complete 3"]);
    const [end] = inWords((await RunRig.started(workflow, { n: "x" })).steps);
    assert.match(end ?? "", /^fail the input of instance "i" does not fit its schema: n: /);
    const wrong = defineWorkflow("w", { output: z.number() }, () => Promise.resolve("x" as never));
    assert.match(
      inWords((await RunRig.started(wrong)).steps)[0] ?? "",
      /^fail the output of instance "i" does not fit/,
    );
  });

  test("an output that cannot be written is a failure", async () => {
    const rig = await RunRig.started(() => Promise.resolve(1n));
    assert.match(inWords(rig.steps)[0] ?? "", /^fail the output of instance "i" cannot be written as JSON: a BigInt/);
  });
});

describe("being asked to end", () => {
  test("calls off all that the code waits for, runs onCancel and then what is to be undone, the last first", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => void seen.push("undo 1"));
      ctx.undo(async () => void seen.push(`undo 2 ${String(await ctx.run("back"))}`));
      ctx.onCancel(() => void seen.push("onCancel 1"));
      ctx.onCancel(() => void seen.push(`onCancel 2 ${ctx.cancelReason}`));
      await ctx.all([ctx.run("a"), ctx.sleep(5), ctx.waitForEvent("go", { timeoutMs: 9 })]);
    });
    assert.deepEqual(inWords(await rig.cancel("enough")), ["activity back()"]);
    assert.deepEqual(inWords(await rig.succeed(1, "ok")), ["cancel enough"]);
    assert.deepEqual(seen, ["onCancel 2 enough", "onCancel 1", "undo 2 ok", "undo 1"]);
  });

  test("reaches the code as WorkflowCanceled, and it may go on", async () => {
    const rig = await RunRig.started(async (ctx) => {
      try {
        return await ctx.sleep(5);
      } catch (error) {
        const { reason, code } = error as WorkflowCanceled;
        await ctx.run("tidy up");
        return [error instanceof WorkflowCanceled, reason, code];
      }
    });
    assert.deepEqual(inWords(await rig.cancel("enough")), ["activity tidy up()"]);
    assert.deepEqual(inWords(await rig.succeed(0)), ['complete [true,"enough","WORKFLOW_CANCELED"]']);
  });

  test("leaves no timer or event behind that could still come", async () => {
    const rig = await RunRig.started(async (ctx) => {
      await ctx.waitForEvent("go", { timeoutMs: 9 }).catch(() => undefined);
      return await ctx.waitForEvent("go");
    });
    assert.deepEqual(await rig.cancel(), [], "the kernel has called the timer off by itself");
    assert.deepEqual(await rig.fire(0), []);
    assert.deepEqual(inWords(await rig.raise("go", 1)), ["complete 1"]);
  });

  test("of code that waits for any of several is the same", async () => {
    const seen: string[] = [];
    const rig = await RunRig.started(async (ctx) => {
      ctx.onCancel(() => void seen.push("onCancel"));
      await ctx.any([ctx.run("a"), ctx.sleep(5)]);
    });
    assert.deepEqual(inWords(await rig.cancel("enough")), ["cancel enough"]);
    assert.deepEqual(seen, ["onCancel"]);
  });

  test("with something that cannot be undone is a failure that says so", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.undo(() => Promise.reject(new Error("stuck")));
      await ctx.sleep(5);
    });
    assert.deepEqual(inWords(await rig.cancel("enough")), [
      "fail the workflow was asked to end: enough; and not everything could be undone: stuck",
    ]);
  });

  test("an error that only looks like it is a failure", async () => {
    const rig = await RunRig.started(() => Promise.reject(new WorkflowCanceled("nobody asked")));
    assert.equal(rig.end?.type, "fail");
  });

  test("makes an update that waits fail too", async () => {
    const rig = await RunRig.started(async (ctx) => {
      ctx.onUpdate("set", () => ctx.run("a"));
      await ctx.sleep(5).catch(() => ctx.run("tidy up"));
    });
    await rig.update("u", "set");
    assert.deepEqual(inWords(await rig.cancel("enough")), [
      "activity tidy up()",
      "answer u the workflow was asked to end: enough",
    ]);
  });
});

describe("a query", () => {
  const rigOf = (): Promise<RunRig> =>
    RunRig.started(async (ctx) => {
      let total = 1;
      ctx.onQuery("total", (plus: number | undefined) => total + (plus ?? 0));
      ctx.onQuery("throws", () => {
        throw new RangeError("no");
      });
      ctx.onQuery("steps", () => ctx.run("a"));
      ctx.onQuery("chance", () => ctx.random());
      total = await ctx.waitForEvent<number>("set");
      await ctx.sleep(5);
    });

  test("is answered from the code's variables", async () => {
    const rig = await rigOf();
    assert.deepEqual([rig.run.answer("total", undefined), rig.run.answer("total", "5")], ["1", "6"]);
    await rig.raise("set", 9);
    assert.equal(rig.run.answer("total", undefined), "9");
  });

  test("that throws is its own affair", async () => {
    const rig = await rigOf();
    assert.throws(() => rig.run.answer("throws", undefined), RangeError);
    assert.deepEqual(inWords(await rig.raise("set", 9)), ["timer 1005"]);
  });

  test("may only look: neither a step nor chance", async () => {
    const rig = await rigOf();
    for (const name of ["steps", "chance"]) {
      assert.throws(
        () => rig.run.answer(name, undefined),
        (error) => notDurable(error) && /may only look/.test(String(error)),
      );
    }
    assert.deepEqual(rig.strays, [], "it does not count against the code");
    assert.deepEqual(inWords(await rig.raise("set", 9)), ["timer 1005"]);
  });

  test("of another name is refused, with the names there are", async () => {
    const rig = await rigOf();
    assert.throws(
      () => rig.run.answer("totals", undefined),
      (error) =>
        hasCode(error, "HANDLER_UNKNOWN") &&
        error.message === 'workflow "w" answers no query "totals"; it answers "total", "throws", "steps", "chance"',
    );
    const none = await RunRig.started((ctx) => ctx.sleep(5));
    assert.throws(() => none.run.answer("x", undefined), /answers no query "x"; it answers none/);
  });
});

describe("an update", () => {
  const rigOf = (): Promise<RunRig> =>
    RunRig.started(async (ctx) => {
      ctx.onUpdate("plain", (n: number) => n + 1);
      ctx.onUpdate("steps", async (n: number) => (await ctx.run<number, number, number>("add" as never, n)) + 1);
      ctx.onUpdate("fails", () => Promise.reject(new Error("no")));
      ctx.onUpdate("nothing", () => undefined);
      ctx.onUpdate("checked", {
        input: z.object({ n: z.number().default(2) }),
        validate: ({ n }) => {
          if (n > 9) throw new RangeError("too much");
        },
        handler: ({ n }) => n,
      });
      ctx.onUpdate("greedy", { validate: () => void ctx.uuid(), handler: () => 1 });
      ctx.onUpdate("later", {
        input: z.number().refine((n) => Promise.resolve(n > 0), "not above 0"),
        handler: (n) => n,
      });
      await ctx.sleep(5);
    });

  test("is answered with what its handler gives back, at once or after its steps", async () => {
    const rig = await rigOf();
    assert.deepEqual(inWords(await rig.update("u1", "plain", 1)), ["answer u1 2"]);
    assert.deepEqual(inWords(await rig.update("u2", "steps", 1)), ["activity add(1)"]);
    assert.deepEqual(inWords(await rig.succeed(0, 5)), ["answer u2 6"]);
    assert.deepEqual(await rig.update("u3", "nothing"), [{ type: "answer", update: "u3" }]);
  });

  test("that fails is answered with its failure, and the code goes on", async () => {
    const rig = await rigOf();
    assert.deepEqual(inWords(await rig.update("u", "fails")), ["answer u no"]);
    assert.equal(rig.end, undefined);
    assert.deepEqual(inWords(await rig.fire(0)), ["complete undefined"]);
  });

  test("receives what its schema makes of the input", async () => {
    const rig = await rigOf();
    rig.run.refuseUpdate("checked", "{}");
    assert.deepEqual(inWords(await rig.update("u", "checked", {})), ["answer u 2"]);
  });

  test("is refused before it is let in, by name, schema or the code's own check", async () => {
    const rig = await rigOf();
    assert.throws(
      () => rig.run.refuseUpdate("other", undefined),
      (error) => hasCode(error, "HANDLER_UNKNOWN"),
    );
    assert.throws(
      () => rig.run.refuseUpdate("checked", '{"n":"x"}'),
      (error) => hasCode(error, "INPUT_INVALID") && /the input of update "checked" does not fit/.test(error.message),
    );
    assert.throws(() => rig.run.refuseUpdate("checked", '{"n":10}'), RangeError);
    assert.throws(() => rig.run.refuseUpdate("greedy", undefined), notDurable);
    rig.run.refuseUpdate("plain", "1");
    const none = await RunRig.started((ctx) => ctx.sleep(5));
    assert.throws(() => none.run.refuseUpdate("x", undefined), /answers no update "x"; it answers none/);
  });

  test("whose schema answers only later is checked once it is in", async () => {
    const rig = await rigOf();
    rig.run.refuseUpdate("later", "-1");
    const [answer] = inWords(await rig.update("u", "later", -1));
    assert.match(answer ?? "", /^answer u the input of update "later" does not fit its schema: not above 0/);
  });

  test("of a name that the code no longer knows is answered too", async () => {
    const rig = await rigOf();
    assert.deepEqual(
      inWords(await rig.update("u", "gone")).map((words) => words.slice(0, 40)),
      ['answer u workflow "w" answers no update "gone"'.slice(0, 40)],
    );
  });
});

describe("patched", () => {
  const code = async (ctx: WorkflowContext): Promise<boolean[]> => {
    const before = ctx.patched("p");
    await ctx.sleep(5);
    return [before, ctx.patched("p")];
  };

  test("is true for who comes here first, and leaves one mark", async () => {
    const rig = await RunRig.started(code);
    await rig.fire(0);
    assert.deepEqual(inWords(rig.steps), ["patch p", "timer 1005", "complete [true,true]"]);
  });

  test("is true in a replay that has the mark", async () => {
    const rig = new RunRig(code);
    rig.run.isReplaying = true;
    rig.run.markedPatches = new Set(["p"]);
    await rig.start();
    await rig.fire(0);
    assert.deepEqual(inWords(rig.steps), ["patch p", "timer 1005", "complete [true,true]"]);
  });

  test("is false in a replay without it, and stays so when the code is live again", async () => {
    const rig = new RunRig(code);
    rig.run.isReplaying = true;
    await rig.start();
    rig.run.isReplaying = false;
    await rig.fire(0);
    assert.deepEqual(inWords(rig.steps), ["timer 1005", "complete [false,false]"]);
  });

  test("is decided where the code first asks: live, of one that was replayed up to there", async () => {
    const rig = new RunRig(async (ctx) => {
      await ctx.sleep(5);
      return ctx.patched("p");
    });
    rig.run.isReplaying = true;
    await rig.start();
    rig.run.isReplaying = false;
    await rig.fire(0);
    assert.deepEqual(inWords(rig.steps), ["timer 1005", "patch p", "complete true"]);
  });

  test("of another name is another matter", async () => {
    const rig = await RunRig.started((ctx) => Promise.resolve([ctx.patched("p"), ctx.patched("q"), ctx.patched("p")]));
    assert.deepEqual(inWords(rig.steps), ["patch p", "patch q", "complete [true,true,true]"]);
  });
});

test("a line is logged once, live, and says whose it is", async () => {
  const rig = new RunRig(async (ctx) => {
    ctx.log.info({ n: 1 }, "one");
    assert.equal(ctx.isReplaying, true);
    await ctx.sleep(5);
    assert.equal(ctx.isReplaying, false);
    ctx.log.error({ n: 2 }, "two");
  });
  rig.run.isReplaying = true;
  await rig.start();
  rig.run.isReplaying = false;
  await rig.fire(0);
  assert.deepEqual(rig.lines, ['two {"instanceId":"i","workflowName":"w","n":2}']);
});
