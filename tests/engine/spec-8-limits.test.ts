/** Spec §8.1: limits of code workflows: each is a clear error, and what is below it works. And arguments that are not usable. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, type Engine, StepFailed, UpdateFailed } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, says, stillWorks } from "./rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

const largestBytes = 10_485_760;
/** As JSON it has two quotes more. */
const largest = "x".repeat(largestBytes - 2);
const tooLarge = `${largest}x`;
const overLimit = `takes ${largestBytes + 1} bytes; at most ${largestBytes} are allowed`;

describe("steps", () => {
  const endless = defineWorkflow("endless", async (ctx) => {
    for (;;) await ctx.run("note", "again");
  });

  test("code that never ends is ended with a clear error before its history grows for ever", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [endless], maxSteps: 20 });
    const handle = await rig.engine.startWorkflow(endless, undefined, { instanceId: "e" });
    await assert.rejects(
      handle.result(),
      says(
        "WORKFLOW_FAILED",
        'instance "e" failed: the workflow has taken more than 20 steps; let long-lived code begin anew now and then with ctx.continueAsNew()',
      ),
    );
    assert.equal(rig.calls.length, 20);
    assert.equal((await handle.getStatus()).status, "Failed");
  });

  test("timers and everything else that stays in the history count too", async (t) => {
    const busy = defineWorkflow("busy", async (ctx) => {
      for (let i = 0; ; i++) {
        ctx.setCustomStatus(i);
        await ctx.sleep(1);
      }
    });
    const rig = await CodeRig.start(t, { workflows: [busy], maxSteps: 20 });
    const handle = await rig.engine.startWorkflow(busy, undefined);
    await assert.rejects(rig.clock.until(handle.result()), says("WORKFLOW_FAILED", "more than 20 steps"));
  });

  test("with continue-as-new it goes on for ever", async (t) => {
    const renewing = defineWorkflow("renewing", async (ctx, n: number): Promise<number> => {
      for (let i = 0; i < 15; i++) await ctx.run("note", "again");
      return n === 10 ? n : await ctx.continueAsNew(n + 1);
    });
    const rig = await CodeRig.start(t, { workflows: [renewing], maxSteps: 20 });
    assert.equal(await (await rig.engine.startWorkflow(renewing, 1)).result(), 10);
    assert.equal(rig.calls.length, 150);
  });
});

describe("sizes", () => {
  test("10 MB go through: in, from a job, by an event, to a child, from a child, out; and through replays", async (t) => {
    const make = defineJob("make", () => largest);
    const measure = defineJob("measure", (text: string) => text.length);
    const echo = defineWorkflow("echo", async (ctx, text: string) => {
      await ctx.sleep(1000);
      return text;
    });
    const big = defineWorkflow("big", async (ctx, input: string) => {
      const made = await ctx.run(make);
      const event = await ctx.waitForEvent<string>("e");
      const back = await ctx.callChild(echo, event);
      const sizes = [input.length, made.length, event.length, back.length, await ctx.run(measure, made)];
      await ctx.waitForEvent("go");
      return { sizes, back: back.slice(100) };
    });
    const storage = sqlite(temporaryFile(t));
    const rig = await CodeRig.start(t, { workflows: [echo, big], jobs: [make, measure], storage });
    await rig.engine.startWorkflow(big, largest, { instanceId: "b" });
    await rig.engine.raiseEvent("b", "e", largest);
    await rig.restart();
    await rig.clock.advance(2000);
    await rig.restart();
    await rig.engine.raiseEvent("b", "go");
    const { sizes, back } = await rig.clock.until(
      rig.engine.awaitWorkflowInstance<{ sizes: number[]; back: string }>("b"),
    );
    assert.deepEqual(
      sizes,
      Array.from({ length: 5 }, () => largest.length),
    );
    assert.equal(back.length, largest.length - 100);
  });

  test("the input of an instance, an event's data and an update's input are refused at the door", async (t) => {
    const waits = defineWorkflow("waits", async (ctx) => {
      ctx.onUpdate("u", (text: string) => text.length);
      return await ctx.waitForEvent("e");
    });
    const rig = await CodeRig.start(t, { workflows: [waits] });
    await assert.rejects(
      rig.engine.startWorkflow(waits, tooLarge),
      says("OUTPUT_TOO_LARGE", `the input of workflow "waits" ${overLimit}`),
    );
    const handle = await rig.engine.startWorkflow(waits, undefined);
    await assert.rejects(
      handle.raiseEvent("e", tooLarge),
      says("OUTPUT_TOO_LARGE", `the data of event "e" ${overLimit}`),
    );
    await assert.rejects(
      handle.update("u", tooLarge),
      says("OUTPUT_TOO_LARGE", `the input of update "u" ${overLimit}`),
    );
    await handle.raiseEvent("e", "small");
    assert.equal(await handle.result(), "small");
  });

  test("what the code hands on is refused in the code, which may catch it", async (t) => {
    const sorry = defineWorkflow("sorry", async (ctx) => {
      const refusals: string[] = [];
      const tries: (() => unknown)[] = [
        () => ctx.run("note", tooLarge),
        () => ctx.callChild("sorry", tooLarge),
        () => ctx.startChild("sorry", tooLarge),
        () => ctx.sendEvent("nobody", "e", tooLarge),
        () => ctx.setCustomStatus("x".repeat(16_384)),
        () => ctx.continueAsNew(tooLarge),
      ];
      for (const attempt of tries) {
        try {
          await attempt();
        } catch (error) {
          refusals.push((error as Error).message);
        }
      }
      return refusals;
    });
    const rig = await CodeRig.start(t, { workflows: [sorry] });
    assert.deepEqual(await (await rig.engine.startWorkflow(sorry, undefined)).result(), [
      `the input of activity "note" ${overLimit}`,
      `the input of child workflow "sorry" ${overLimit}`,
      `the input of child workflow "sorry" ${overLimit}`,
      `the data of event "e" ${overLimit}`,
      "the custom status takes 16386 bytes; at most 16384 are allowed",
      `the input to begin anew with ${overLimit}`,
    ]);
  });

  test("what the code gives back fails the instance; what an update gives back, the update", async (t) => {
    const gives = defineWorkflow("gives", async (ctx) => {
      ctx.onUpdate("u", () => tooLarge);
      await ctx.waitForEvent("e");
      return tooLarge;
    });
    const rig = await CodeRig.start(t, { workflows: [gives] });
    const handle = await rig.engine.startWorkflow(gives, undefined, { instanceId: "g" });
    await assert.rejects(handle.update("u"), (error) => {
      assert.ok(error instanceof UpdateFailed);
      assert.equal(error.message, `update "u" failed: the answer to update "u" ${overLimit}`);
      return true;
    });
    await handle.raiseEvent("e");
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", `the output of instance "g" ${overLimit}`));
  });

  test("what a job gives back fails the activity", async (t) => {
    const make = defineJob("make", () => tooLarge);
    const takes = defineWorkflow("takes", (ctx) => ctx.run(make));
    const rig = await CodeRig.start(t, { workflows: [takes], jobs: [make] });
    const handle = await rig.engine.startWorkflow(takes, undefined);
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", 'activity "make" failed', String(largestBytes)));
  });
});

describe("arguments that are not usable", () => {
  test("defineWorkflow says what is wrong with each", () => {
    const fn = (): Promise<void> => Promise.resolve();
    const define = defineWorkflow as (...args: unknown[]) => unknown;
    const cases: readonly [args: unknown[], ...parts: string[]][] = [
      [["", fn], "a workflow's name must be text, not blank"],
      [[5, fn], "a workflow's name must be text, not blank", "5"],
      [["w"], 'workflow "w" needs a function to run'],
      [["w", {}], 'workflow "w" needs a function to run'],
      [["w", { version: "" }, fn], 'workflow "w" must have a version that is text, not blank'],
      [["w", { version: 2 }, fn], 'workflow "w" must have a version that is text, not blank', "2"],
      [["w", { timeoutSeconds: -1 }, fn], 'workflow "w" timeoutSeconds must be a number of seconds above 0', "-1"],
      [["w", { input: {} }, fn], 'workflow "w" input must be a Standard Schema'],
      [["w", { output: 5 }, fn], 'workflow "w" output must be a Standard Schema'],
    ];
    for (const [args, ...parts] of cases) assert.throws(() => define(...args), says("WORKFLOW_INVALID", ...parts));
  });

  test("the engine's methods refuse what no compiler would let pass", async (t) => {
    const waits = defineWorkflow("waits", (ctx) => ctx.waitForEvent("e"));
    const rig = await CodeRig.start(t, { workflows: [waits] });
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    const engine = rig.engine as unknown as Record<keyof Engine, (...args: unknown[]) => Promise<unknown>>;
    const call = (method: keyof Engine, ...args: unknown[]): Promise<unknown> =>
      (async () => await engine[method].apply(rig.engine, args))();
    const invalid: readonly [method: keyof Engine, args: unknown[], ...parts: string[]][] = [
      ["startWorkflow", [waits, undefined, { instanceId: "" }], "an instance id is text, not empty"],
      ["startWorkflow", [waits, undefined, { instanceId: 5 }], "an instance id is text, not empty", "5"],
      ["startWorkflow", [waits, undefined, { instanceId: "x".repeat(513) }], "512"],
      ["raiseEvent", ["w", ""], "name", "text"],
      ["raiseEvent", ["w", undefined], "name", "text"],
      ["raiseEvent", [7, "e"], "an instance id is text, not empty", "7"],
      ["queryWorkflowInstance", ["w", 5], "name", "text"],
      ["updateWorkflowInstance", ["w", null], "name", "text"],
      ["updateWorkflowInstance", ["w", "u", undefined, { updateId: 5 }], "updateId", "text"],
      ["cancelWorkflowInstance", ["w", 5], "reason", "text"],
      ["forkWorkflowInstance", ["w", { fromTask: "0" }], "fromTask", "whole number"],
      ["forkWorkflowInstance", ["w", { fromTask: -1 }], "fromTask", "whole number"],
      ["signalWithStart", [waits, { instanceId: "w", event: {} }], "name", "text"],
    ];
    for (const [method, args, ...parts] of invalid) {
      await t.test(`${method}(${args.map((arg) => JSON.stringify(arg)?.slice(0, 40)).join(", ")})`, async () => {
        await assert.rejects(call(method, ...args), says("OPTION_INVALID", ...parts));
      });
    }
    await assert.rejects(call("startWorkflow", { name: "waits" }), says("WORKFLOW_INVALID", "defineWorkflow()"));
    await assert.rejects(call("registerWorkflow", { name: "waits" }), says("WORKFLOW_INVALID", "defineWorkflow()"));
    await stillWorks(rig.engine);
  });

  test("the methods of ctx refuse them too, in the code", async (t) => {
    const cases: readonly [method: string, args: unknown[], refusal: string][] = [
      ["run", [undefined], "ctx takes a job or its name, got undefined"],
      ["run", [{ name: 5 }], "ctx takes a job or its name, got an object"],
      ["run", ["note", 5n], 'the input of activity "note" cannot be written as JSON: a BigInt'],
      ["run", ["note", "x", 5], 'activity "note": its options must be an object, got 5'],
      ["run", ["note", "x", { name: 7 }], 'activity "note": name must be text, not blank, got 7'],
      [
        "run",
        ["note", "x", { timeoutSeconds: -1 }],
        'activity "note": timeoutSeconds must be a number of seconds above 0, at most 3162240000, got -1',
      ],
      [
        "run",
        ["note", "x", { retryCount: 1.5 }],
        'activity "note": retryCount must be a whole number, at least 0, got 1.5',
      ],
      [
        "run",
        ["note", "x", { retryPolicy: { initialMs: "a" } }],
        'activity "note": retry policy\'s initialMs must be a number, at least 0 and at most 3162240000000, got "a"',
      ],
      ["run", ["note", "x", { undo: 5 }], "undo takes a function to call, got 5"],
      ["callChild", [null], "ctx takes a workflow or its name, got null"],
      ["callChild", ["odd", 1, { instanceId: "" }], 'child workflow "odd": instanceId must be text, not blank, got ""'],
      ["startChild", ["odd", 1, { instanceId: 5 }], 'child workflow "odd": instanceId must be text, not blank, got 5'],
      ["sleep", ["tomorrow"], 'a wait takes a number of ms or a Date, at most 3162240000000 ms ahead, got "tomorrow"'],
      ["waitForEvent", [undefined], "the name of an event must be text, not empty, got undefined"],
      [
        "waitForEvent",
        ["e", { timeoutMs: "soon" }],
        'a wait takes a number of ms or a Date, at most 3162240000000 ms ahead, got "soon"',
      ],
      ["sendEvent", ["", "e"], 'an event is sent to an instance id, got ""'],
      ["sendEvent", ["w"], "the name of an event must be text, not empty, got undefined"],
      ["patched", [undefined], "the name of a patch must be text, not empty, got undefined"],
      ["undo", ["this"], 'undo takes a function to call, got "this"'],
      ["onCancel", [undefined], "onCancel takes a function to call, got undefined"],
      ["onQuery", ["", () => 1], 'the name of a query must be text, not empty, got ""'],
      ["onQuery", ["q", 5], "onQuery takes a function to call, got 5"],
      ["onUpdate", ["u"], "onUpdate takes a function to call, got undefined"],
      ["onUpdate", ["u", { validate: () => undefined }], "onUpdate takes a function to call, got undefined"],
      ["saga", [5], "saga takes a function to call, got 5"],
    ];
    const odd = defineWorkflow("odd", async (ctx) => {
      const loose = ctx as unknown as Record<string, (...args: unknown[]) => unknown>;
      const refusals: string[] = [];
      for (const [method, args] of cases) {
        const refusal = await (async () => await loose[method]?.(...args))().catch((error: unknown) => error);
        refusals.push(refusal instanceof Error ? refusal.message : `${method} let it pass`);
      }
      return refusals;
    });
    const rig = await CodeRig.start(t, { workflows: [odd] });
    const handle = await rig.engine.startWorkflow(odd, undefined);
    assert.deepEqual(
      await handle.result(),
      cases.map(([, , refusal]) => refusal),
    );
    assert.deepEqual(rig.calls, []);
  });
});

describe("an activity in a domain that nobody declared", () => {
  const code = defineWorkflow("code", async (ctx) => {
    const error: unknown = await ctx
      .run("note", "x", { domain: "nope", retryCount: 3 })
      .catch((caught: unknown) => caught);
    assert.ok(error instanceof StepFailed);
    ctx.setCustomStatus({ message: error.message, failure: error.failure });
    await ctx.waitForEvent("go");
    return await ctx.run("note", "fine", { domain: "yes" });
  });
  const message = 'it belongs to domain "nope", which is not declared in the engine\'s "domains"';

  test("fails at once, with a failure that the history has", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [code], domains: { yes: { size: 1 } } });
    await rig.engine.startWorkflow(code, undefined, { instanceId: "c" });
    await rig.settle();
    const { customStatus, tasks } = await rig.engine.getWorkflowInstanceStatus("c");
    const failure = { type: "DOMAIN_UNKNOWN", message, retryable: false };
    assert.deepEqual(customStatus, { message: `activity "note" failed: ${message}`, failure });
    assert.deepEqual([tasks[0]?.status, tasks[0]?.failure], ["Failed", failure]);
    assert.deepEqual(rig.calls, []);
    // Once it is on record, it stays so, whatever is declared later.
    await rig.restart({ domains: { yes: { size: 1 }, nope: { size: 1 } } });
    await rig.engine.raiseEvent("c", "go");
    assert.equal(await rig.engine.awaitWorkflowInstance("c"), "fine");
    assert.deepEqual(rig.calls, ["fine"]);
  });

  test("is not taken for one that was declared when it was asked for: that waits for the domain", async (t) => {
    const gate = new Gate();
    const hold = defineJob("hold", () => gate.opened);
    const holds = defineWorkflow("holds", (ctx) =>
      ctx.all([ctx.run(hold, undefined, { domain: "yes" }), ctx.run("note", "second", { domain: "yes" })]),
    );
    const rig = await CodeRig.start(t, { workflows: [holds], jobs: [hold], domains: { yes: { size: 1 } } });
    await rig.engine.startWorkflow(holds, undefined, { instanceId: "h" });
    await rig.settle();
    gate.open();
    await rig.restart({ domains: {} });
    await rig.settle();
    assert.equal((await rig.engine.getWorkflowInstanceStatus("h")).status, "Running");
    await rig.restart({ domains: { yes: { size: 1 } } });
    await rig.engine.awaitWorkflowInstance("h");
    assert.deepEqual(rig.calls, ["second"]);
  });
});
