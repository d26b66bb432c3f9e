import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as z from "zod";
import { defineJob } from "../authoring/job.ts";
import type { Job, JobContext } from "../authoring/job.ts";
import { TaskBuilder } from "../authoring/task-builder.ts";
import type { Task } from "../authoring/task.ts";
import { Abort } from "../dispatch/abort.ts";
import { systemClock } from "../engine/system-clock.ts";
import { makeRun, RecordingListener } from "../dispatch/dispatcher.rig.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Outcome } from "../kernel/input.ts";
import { EmbeddedWorker } from "./embedded-worker.ts";
import { LogBook } from "../testing/log-book.rig.ts";

const log = new LogBook();

function makeWorker(job: Job, maxSubTasks?: number): EmbeddedWorker {
  const jobs = new Map([["job", job]]);
  return new EmbeddedWorker({
    jobs,
    clock: systemClock,
    logger: log,
    ...(maxSubTasks === undefined ? {} : { maxSubTasks }),
  });
}

function execute(job: Job, given: Partial<TaskRun> = {}, abort = new Abort()): Outcome | Promise<Outcome> {
  return makeWorker(job).execute(makeRun(new RecordingListener(), "orders", given), abort) as
    | Outcome
    | Promise<Outcome>;
}

/** Runs the function as a job. */
async function outcomeOf(
  fn: (params: unknown, ctx: JobContext) => unknown,
  given?: Partial<TaskRun>,
): Promise<Outcome> {
  return execute(defineJob("job", fn), given);
}

async function failureOf(fn: (params: unknown, ctx: JobContext) => unknown): Promise<Failure> {
  const outcome = await outcomeOf(fn);
  assert.equal(outcome.kind, "failure");
  return outcome.kind === "failure" ? outcome.failure : assert.fail();
}

function subTask(name: string, dependency?: string): Task {
  const builder = new TaskBuilder(name).withJobFunction("job");
  return (dependency === undefined ? builder : builder.withDependency(dependency)).build();
}

describe("a job's result", () => {
  test("is given at once when the job ends at once", () => {
    assert.deepEqual(execute(defineJob("job", () => ({ rows: 3 }))), { kind: "success", output: '{"rows":3}' });
  });

  test("is awaited when the job is asynchronous", async () => {
    assert.deepEqual(await outcomeOf(async () => Promise.resolve([1])), { kind: "success", output: "[1]" });
  });

  test("may be nothing", async () => {
    assert.deepEqual(await outcomeOf(() => undefined), { kind: "success" });
    assert.deepEqual(await outcomeOf(async () => Promise.resolve(null)), { kind: "success", output: "null" });
  });

  for (const [what, value] of [
    ["a BigInt", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
    ["a circle", circle()],
  ] as const) {
    test(`that is ${what} fails the attempt for good`, async () => {
      const { type, message, retryable } = await failureOf(() => value);
      assert.deepEqual({ type, retryable }, { type: "VALUE_NOT_SERIALIZABLE", retryable: false });
      assert.match(message, /the output of task "orders"/);
    });
  }

  test("may have 10,485,760 bytes and not one more", async () => {
    const fits = await outcomeOf(() => "é".repeat(5_242_879));
    assert.equal(fits.kind, "success");
    const { type, message, retryable } = await failureOf(() => `${"é".repeat(5_242_879)}x`);
    assert.deepEqual({ type, retryable }, { type: "OUTPUT_TOO_LARGE", retryable: false });
    assert.match(message, /"orders" has 10485761 bytes, more than the 10485760 allowed/);
  });
});

function circle(): unknown {
  const object: Record<string, unknown> = {};
  object["self"] = object;
  return object;
}

describe("a job that fails", () => {
  test("does so the same way at once and later", async () => {
    const boom = (): never => {
      throw new RangeError("boom");
    };
    const now = await failureOf(boom);
    const later = await failureOf(async () => Promise.resolve().then(boom));
    assert.deepEqual([now.type, now.message, now.retryable], ["RangeError", "boom", true]);
    assert.deepEqual([later.type, later.message, later.retryable], ["RangeError", "boom", true]);
  });

  test("may throw what is no error", async () => {
    assert.deepEqual(await failureOf(async () => Promise.reject("just text")), {
      type: "Error",
      message: "just text",
      retryable: true,
    });
  });

  test("is not registered, or has inputs that cannot be had: that is a failure too", async () => {
    const missing = await execute(
      defineJob("job", () => 1),
      { job: "ghost" },
    );
    assert.equal(missing.kind === "failure" && missing.failure.type, "JOB_MISSING");
    const throwing = () => {
      throw new Error("no inputs");
    };
    for (const inputs of [throwing, () => Promise.reject(new Error("no inputs"))]) {
      const outcome = await outcomeOf(() => 1, { inputs });
      assert.equal(outcome.kind === "failure" && outcome.failure.message, "no inputs");
    }
  });

  test("loses its sub-tasks and its patch", async () => {
    const outcome = await outcomeOf((_, ctx) => {
      ctx.patchContext({ a: 1 });
      ctx.generateSubTask(subTask("s"));
      throw new Error("late");
    });
    assert.deepEqual(Object.keys(outcome), ["kind", "failure"]);
  });
});

describe("params", () => {
  const schema = z.object({ table: z.string(), limit: z.number().default(10) });
  const called: unknown[] = [];
  const job = defineJob("extract", { input: schema }, (params) => {
    called.push(params);
  });

  test("reach the job as its schema gives them", async () => {
    assert.deepEqual(await execute(job, { params: '{"table":"orders"}' }), { kind: "success" });
    assert.deepEqual(called.splice(0), [{ table: "orders", limit: 10 }]);
  });

  test("that do not fit fail the attempt for good, and the job is not called", async () => {
    const outcome = await execute(job, { params: '{"table":7}' });
    assert.ok(outcome.kind === "failure");
    const { type, message, retryable } = outcome.failure;
    assert.deepEqual({ type, retryable }, { type: "PARAMS_INVALID", retryable: false });
    assert.match(message, /task "orders": params do not fit job "extract": table: /);
    assert.deepEqual(called, []);
  });

  test("of a job without a schema are what the text says", async () => {
    const seen: unknown[] = [];
    for (const params of ['{"a":1}', "plain text", ""]) await outcomeOf((given) => void seen.push(given), { params });
    assert.deepEqual(seen, [{ a: 1 }, "plain text", undefined]);
  });

  test("are not even tried when the run was aborted meanwhile", async () => {
    const abort = new Abort();
    const outcome = execute(job, { params: '{"table":"orders"}' }, abort);
    abort.abort(new Error("stop"));
    const ended = await outcome;
    assert.equal(ended.kind === "failure" && ended.failure.message, "stop");
    assert.deepEqual(called, []);
  });
});

describe("the context of a job", () => {
  test("tells who runs, and what went before", async () => {
    const inputs = { context: { day: '"monday"', __proto__x: "1" }, outputs: { extract: '{"rows":[1]}' } };
    const seen = await outcomeOf(
      (_, ctx) => ({
        who: [ctx.instanceId, ctx.workflowName, ctx.taskName, ctx.attempt, ctx.attemptId],
        context: ctx.context,
        outputs: ctx.outputs,
        same: ctx.context === ctx.context && ctx.outputs === ctx.outputs && ctx.log === ctx.log,
      }),
      { inputs: () => Promise.resolve(inputs), attempt: 2, attemptId: "i:1:0:2", taskName: "join" },
    );
    assert.ok(seen.kind === "success" && typeof seen.output === "string");
    assert.deepEqual(JSON.parse(seen.output), {
      who: ["instance", "nightly", "join", 2, "i:1:0:2"],
      context: { day: "monday", __proto__x: 1 },
      outputs: { extract: { rows: [1] } },
      same: true,
    });
  });

  test("reads texts only when they are looked at", async () => {
    const broken = { context: { a: "{not json" }, outputs: {} };
    assert.deepEqual(await outcomeOf((_, ctx) => ctx.outputs, { inputs: () => broken }), {
      kind: "success",
      output: "{}",
    });
  });

  test("has a signal that aborts with the run", async () => {
    const abort = new Abort();
    const waits = defineJob(
      "job",
      (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve(1))),
    );
    const outcome = execute(waits, {}, abort);
    abort.abort(new Error("stop"));
    assert.equal((await outcome).kind, "success");
  });

  test("has a log that says which attempt it comes from", async () => {
    log.lines.length = 0;
    await outcomeOf((_, ctx) => {
      for (const level of ["debug", "info", "warn", "error"] as const) ctx.log[level]({ table: "t" }, level);
    });
    const fields = { table: "t", instanceId: "instance", workflowName: "nightly", taskName: "orders", attempt: 1 };
    assert.deepEqual(
      log.lines,
      ["debug", "info", "warn", "error"].map((level) => ({ level, fields, message: level })),
    );
  });
});

describe("a context patch", () => {
  test("collects texts by key; the last word counts, null removes, undefined says nothing", async () => {
    const outcome = await outcomeOf((_, ctx) => {
      const list = [1];
      ctx.patchContext({ list, gone: null, quiet: undefined, twice: 1 });
      list.push(2);
      ctx.patchContext({ twice: 2 });
    });
    assert.deepEqual(outcome, { kind: "success", patch: { list: "[1]", gone: null, twice: "2" } });
  });

  test("that is no object, or cannot be written, is refused where it is made", async () => {
    for (const patch of [null, [1], "a"] as unknown as Record<string, unknown>[]) {
      assert.equal((await failureOf((_, ctx) => ctx.patchContext(patch))).type, "OPTION_INVALID");
    }
    const { type, message } = await failureOf((_, ctx) => ctx.patchContext({ fine: 1, big: 1n }));
    assert.equal(type, "VALUE_NOT_SERIALIZABLE");
    assert.match(message, /context key "big"/);
  });
});

describe("sub-tasks", () => {
  test("come with the success, as nodes with what they wait for beside their parent", async () => {
    const outcome = await outcomeOf((_, ctx) => {
      ctx.generateSubTask(subTask("one", "orders"));
      ctx.generateSubTask(subTask("two", "one"));
    });
    assert.ok(outcome.kind === "success");
    const nodes = outcome.subTasks?.map(({ nodeName, jobName, dependsOn }) => ({ nodeName, jobName, dependsOn }));
    assert.deepEqual(nodes, [
      { nodeName: "one", jobName: "job", dependsOn: undefined },
      { nodeName: "two", jobName: "job", dependsOn: ["one"] },
    ]);
  });

  test("have names of their own, come from a TaskBuilder and have no conditions", async () => {
    const twice = await failureOf((_, ctx) => {
      ctx.generateSubTask(subTask("one"));
      ctx.generateSubTask(subTask("one"));
    });
    assert.deepEqual([twice.type, twice.retryable], ["SUBTASK_INVALID", false]);
    assert.match(twice.message, /"orders" generates two sub-tasks called "one"/);
    const plain = await failureOf((_, ctx) => ctx.generateSubTask({ name: "plain" } as Task));
    assert.equal(plain.type, "SUBTASK_INVALID");
    const conditional = new TaskBuilder("c").withJobFunction("job").withDependency("one", { when: "yes" }).build();
    assert.match((await failureOf((_, ctx) => ctx.generateSubTask(conditional))).message, /"c" waits for "one" with a/);
  });

  test("may be 1000; the next is refused with a clear message", async () => {
    const generate = (count: number) => (_: unknown, ctx: JobContext) => {
      for (let i = 1; i <= count; i++) ctx.generateSubTask(subTask(`shard ${i}`));
    };
    const most = await outcomeOf(generate(1000));
    assert.equal(most.kind === "success" && most.subTasks?.length, 1000);
    const { type, message, retryable } = await failureOf(generate(1001));
    assert.deepEqual({ type, retryable }, { type: "SUBTASK_LIMIT", retryable: false });
    assert.equal(message, 'task "orders" may generate at most 1000 sub-tasks; "shard 1001" would be number 1001');
    const fewer = await makeWorker(defineJob("job", generate(3)), 2).execute(
      makeRun(new RecordingListener(), "orders"),
      new Abort(),
    );
    assert.equal(fewer.kind, "failure");
  });
});

test("what a job says after its end is not heard, and logged", async () => {
  log.lines.length = 0;
  let leaked: JobContext | undefined;
  const outcome = await outcomeOf((_, ctx) => {
    leaked = ctx;
    ctx.patchContext({ a: 1 });
  });
  leaked?.patchContext({ a: 2 });
  leaked?.generateSubTask(subTask("late"));
  assert.deepEqual(outcome, { kind: "success", patch: { a: "1" } });
  assert.deepEqual(
    log.lines.map(({ fields }) => fields["call"]),
    ["patchContext", "generateSubTask"],
  );
});

test("a thread job on a worker without threads is a failure with a clear message", async () => {
  const source = { module: import.meta.url, export: "none" };
  const outcome = await execute(defineJob("job", { isolation: "thread", source }, () => 1));
  assert.ok(outcome.kind === "failure");
  assert.deepEqual([outcome.failure.type, outcome.failure.retryable], ["JOB_INVALID", false]);
  assert.match(outcome.failure.message, /this worker runs none/);
});

test("a worker knows the jobs of its lookup, and stops without ado", async () => {
  const worker = makeWorker(defineJob("job", () => 1));
  assert.deepEqual([worker.hasJob("job"), worker.hasJob("ghost"), worker.address], [true, false, "embedded"]);
  await worker.stop();
});
