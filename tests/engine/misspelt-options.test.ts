/** Unknown names of options, and unknown values, are refused wherever options are given. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, EngineError, TaskBuilder, type WorkflowContext } from "../../src/index.ts";
import { HeddleClient } from "../../src/client.ts";
import { mockJob, testEngine } from "../../src/testing.ts";
import { says, task, workflow } from "./rig.ts";

const echo = defineJob("echo", async (value: unknown) => value);
const child = defineWorkflow("child", async () => 1);
const dag = workflow("dag", task("t", "echo"));

/** Options as callers without a compiler may give them. */
type Loose = never;

interface Place {
  /** What the options would have to be called, misspelt by one letter; none where nothing is close. */
  readonly wrong: Readonly<Record<string, unknown>>;
  readonly meant?: string;
}

type Engine = Awaited<ReturnType<typeof testEngine>>["engine"];

const ofEngine: Readonly<
  Record<string, Place & { readonly give: (engine: Engine, options: Loose) => Promise<unknown> }>
> = {
  startWorkflow: {
    wrong: { instanceID: "x" },
    meant: "instanceId",
    give: (engine, options) => engine.startWorkflow(child, undefined, options),
  },
  submitWorkflow: {
    wrong: { instanceID: "x" },
    meant: "instanceId",
    give: (engine, options) => engine.submitWorkflow(dag, options),
  },
  signalWithStart: {
    wrong: { instanceId: "s", evnt: { name: "e" } },
    meant: "event",
    give: (engine, options) => engine.signalWithStart(child, options),
  },
  "signalWithStart, its event": {
    wrong: { instanceId: "s", event: { nam: "e" } },
    meant: "name",
    give: (engine, options) => engine.signalWithStart(child, options),
  },
  forkWorkflowInstance: {
    wrong: { fromtask: 0 },
    meant: "fromTask",
    give: (engine, options) => engine.forkWorkflowInstance("i", options),
  },
  updateWorkflowInstance: {
    wrong: { updateID: "u" },
    meant: "updateId",
    give: (engine, options) => engine.updateWorkflowInstance("i", "u", undefined, options),
  },
  listWorkflowInstances: {
    wrong: { statuses: ["Failed"] },
    meant: "status",
    give: (engine, options) => engine.listWorkflowInstances(options),
  },
  getWorkflowInstanceHistory: {
    wrong: { afterturn: 0 },
    meant: "afterTurn",
    give: (engine, options) => engine.getWorkflowInstanceHistory("i", options),
  },
  "purgeWorkflowInstances, one": {
    wrong: { instanceId: "i", recursiv: true },
    meant: "recursive",
    give: (engine, options) => engine.purgeWorkflowInstances(options),
  },
  "purgeWorkflowInstances, many": {
    wrong: { status: "Failed", endedbefore: 5 },
    meant: "endedBefore",
    give: (engine, options) => engine.purgeWorkflowInstances(options),
  },
  rerunWorkflowInstance: {
    wrong: { param: 1 },
    meant: "params",
    give: (engine, options) => engine.rerunWorkflowInstance("i", "t", options),
  },
  subscribe: {
    wrong: { instanceID: "i" },
    meant: "instanceId",
    give: async (engine, options) => engine.subscribe(() => undefined, options),
  },
  "testEngine and new Engine": {
    wrong: { mock: [] },
    give: (_, options) => testEngine(options),
  },
};

describe("a name of an option that nobody knows is refused:", () => {
  for (const [name, { wrong, meant, give }] of Object.entries(ofEngine)) {
    test(name, async () => {
      await using kit = await testEngine({ workflows: [child, dag], jobs: [echo] });
      const hint = meant === undefined ? /does not exist/ : new RegExp(`did you mean "${meant}"\\?`);
      await assert.rejects(give(kit.engine, wrong as Loose), says("OPTION_INVALID", hint));
    });
  }

  const ofClient: Readonly<
    Record<string, Place & { readonly give: (client: HeddleClient, options: Loose) => Promise<unknown> }>
  > = {
    "new HeddleClient": { wrong: { tokn: "t" }, meant: "token", give: async (_, o) => new HeddleClient(o) },
    "client.call": { wrong: { parms: {} }, meant: "params", give: (client, o) => client.call("listInstances", o) },
    "client.items": {
      wrong: { qery: {} },
      meant: "query",
      give: (client, o) => client.items("listInstances", o).next(),
    },
    "client.start": {
      wrong: { instanceID: "x" },
      meant: "instanceId",
      give: (client, o) => client.start("w", undefined, o),
    },
    "client.end": { wrong: { signl: 1 }, meant: "signal", give: (client, o) => client.end("i", o) },
    "client.result": { wrong: { signl: 1 }, meant: "signal", give: (client, o) => client.result("i", o) },
    "client.watch": { wrong: { curser: "c" }, meant: "cursor", give: async (client, o) => client.watch("all", o) },
    "client.watch, whom": {
      wrong: { instanceID: "i" },
      meant: "instanceId",
      give: async (client, o) => client.watch(o),
    },
    "client.logs": { wrong: { folow: true }, meant: "follow", give: (client, o) => client.logs("i", o).next() },
  };
  for (const [name, { wrong, meant, give }] of Object.entries(ofClient)) {
    test(name, async () => {
      // Nobody listens there: what is sent is not refused as an option.
      const client = new HeddleClient({ url: "http://127.0.0.1:1", retriesMax: 0 });
      const refused = { code: "OPTION_INVALID", message: new RegExp(`did you mean "${meant}"\\?`) };
      await assert.rejects(async () => await give(client, wrong as Loose), refused);
    });
  }

  test("client.call, a param that the path needs", async () => {
    const client = new HeddleClient({ url: "http://127.0.0.1:1", retriesMax: 0 });
    const call = client.call("getInstance", { params: { ID: "x" } as Loose });
    await assert.rejects(call, {
      code: "OPTION_INVALID",
      message: 'call "getInstance" needs params.id, got undefined',
    });
  });

  const ofCode: Readonly<Record<string, Place & { readonly give: (ctx: WorkflowContext, options: Loose) => unknown }>> =
    {
      "ctx.run": { wrong: { timeoutSecond: 3 }, meant: "timeoutSeconds", give: (ctx, o) => ctx.run(echo, 1, o) },
      "ctx.run, retries": { wrong: { retries: 3 }, give: (ctx, o) => ctx.run(echo, 1, o) },
      "ctx.run, retry policy": {
        wrong: { retryPolicy: { intialMs: 5 } },
        meant: "initialMs",
        give: (ctx, o) => ctx.run(echo, 1, o),
      },
      "ctx.callChild": {
        wrong: { instanceID: "x" },
        meant: "instanceId",
        give: (ctx, o) => ctx.callChild(child, undefined, o),
      },
      "ctx.startChild": {
        wrong: { whenParentEnd: "leave" },
        meant: "whenParentEnds",
        give: (ctx, o) => ctx.startChild(child, undefined, o),
      },
      "ctx.waitForEvent": { wrong: { timeoutMS: 5 }, meant: "timeoutMs", give: (ctx, o) => ctx.waitForEvent("e", o) },
      "ctx.continueAsNew": {
        wrong: { keepEvent: true },
        meant: "keepEvents",
        give: (ctx, o) => ctx.continueAsNew(1, o),
      },
      "ctx.onUpdate": {
        wrong: { handler: () => 1, validat: () => undefined },
        meant: "validate",
        give: (ctx, o) => ctx.onUpdate("u", o),
      },
    };
  for (const [name, { wrong, meant, give }] of Object.entries(ofCode)) {
    test(name, async () => {
      const code = defineWorkflow("code", async (ctx) => {
        try {
          await give(ctx, wrong as Loose);
          return "accepted";
        } catch (error) {
          return error instanceof EngineError ? `${error.code}: ${error.message}` : String(error);
        }
      });
      await using kit = await testEngine({ workflows: [code, child], jobs: [echo] });
      const run = await kit.engine.startWorkflow(code, undefined);
      const answer = await kit.clock.until(run.result());
      const hint = meant === undefined ? /have no ".*"; there are / : new RegExp(`did you mean "${meant}"\\?`);
      assert.match(answer, /^OPTION_INVALID: /);
      assert.match(answer, hint);
    });
  }

  const made: Readonly<Record<string, readonly [make: () => unknown, code: string, message: RegExp]>> = {
    defineJob: [
      () => defineJob("j", { isolaton: "inline" } as Loose, () => 1),
      "JOB_INVALID",
      /did you mean "isolation"\?/,
    ],
    defineWorkflow: [
      () => defineWorkflow("w", { vesion: "2" } as Loose, async () => 1),
      "WORKFLOW_INVALID",
      /did you mean "version"\?/,
    ],
    withRetryPolicy: [
      () =>
        task("t", "echo")
          .withRetryPolicy({ maxAttempts: 3 } as Loose)
          .build(),
      "TASK_INVALID",
      /have no "maxAttempts"; there are initialMs, factor, maxMs, jitter, nonRetryable, retryOn/,
    ],
    withDependency: [
      () => new TaskBuilder("t").withDependency("a", { whn: "x" } as Loose),
      "TASK_INVALID",
      /options of dependency "a" have no "whn"; did you mean "when"\?/,
    ],
    mockJob: [() => mockJob(echo, () => 1, { failure: 2 } as Loose), "OPTION_INVALID", /did you mean "failures"\?/],
  };
  for (const [name, [make, code, message]] of Object.entries(made)) {
    test(name, () => assert.throws(make, says(code as "OPTION_INVALID", message)));
  }
});

describe("a value of an option that nobody knows is refused:", () => {
  const values: readonly [options: object, message: RegExp][] = [
    [{ whenActive: "replace" }, /whenActive must be one of "refuse", "use", "terminate", got "replace"/],
    [{ reuse: "always" }, /reuse must be one of "unless-succeeded", got "always"/],
    [{ startDelay: 5 }, /its options have no "startDelay"; there are instanceId, reuse, whenActive, traceparent/],
  ];
  for (const [options, message] of values) {
    test(`startWorkflow ${JSON.stringify(options)}`, async () => {
      await using kit = await testEngine({ workflows: [child] });
      const start = kit.engine.startWorkflow(child, undefined, { instanceId: "q", ...options });
      await assert.rejects(start, says("OPTION_INVALID", message));
    });
  }

  const everyHour = { cron: "0 * * * *" };
  const schedules: readonly [spec: object, message: RegExp][] = [
    [
      { every: everyHour, overlap: "skip" },
      /its settings have no "overlap"; there are workflow, input, job, params, every, whenBusy/,
    ],
    [{ every: { ...everyHour, rateMs: 5 } }, /one of cron, rateMs, delayMs and daily, got cron and rateMs/],
    [{ every: {} }, /one of cron, rateMs, delayMs and daily, got none/],
    [{ every: { ...everyHour, whenTwice: "never" } }, /whenTwice must be one of "first", "last", "both", got "never"/],
    [{ every: { ...everyHour, inGap: "nope" } }, /inGap must be one of "shift", "skip", got "nope"/],
    [{ every: { ...everyHour, timezone: "UTC" } }, /the parts of every have no "timezone"; did you mean "timeZone"\?/],
    [{ every: { rateMs: 5, timeZone: "UTC" } }, /the parts of every have no "timeZone"; there is rateMs/],
    [{ every: { daily: { from: "09:00", to: "10:00", every: 5 } } }, /the parts of every.daily have no "every"/],
    [{ every: everyHour, endAt: 5 }, /is never due up to its endAt/],
    [{ every: everyHour, retryPolicy: { maxAttempts: 3 } }, /have no "maxAttempts"/],
    [{ every: everyHour, retryCount: -1 }, /retryCount must be a whole number/],
  ];
  for (const [spec, message] of schedules) {
    test(`schedule ${JSON.stringify(spec)}`, async () => {
      await using kit = await testEngine({ workflows: [child] });
      const create = kit.engine.schedules.create("s", { workflow: "child", ...spec } as Loose);
      await assert.rejects(create, says("SCHEDULE_INVALID", message));
    });
  }
});

test("registerJobFunction takes what defineJob gave", async () => {
  await using kit = await testEngine({ workflows: [dag] });
  const id = kit.engine.registerJobFunction(echo);
  assert.match(id, /^echo@/);
  assert.ok(await kit.clock.until((await kit.engine.submitWorkflow(dag)).result()));
});

test("a failure that the task's own policy made final says so", async () => {
  const fail = defineJob("fail", () => {
    throw Object.assign(new Error("no"), { name: "BadData" });
  });
  const policy = { nonRetryable: ["BadData"] };
  const bad = workflow("bad", task("t", "fail").withRetryCount(3).withRetryPolicy(policy));
  await using kit = await testEngine({ jobs: [fail] });
  const run = await kit.engine.submitWorkflow(bad);
  await assert.rejects(kit.clock.until(run.result()));
  assert.equal((await run.getStatus()).tasks[0]?.failure?.retryable, false);
});
