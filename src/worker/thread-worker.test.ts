import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { afterEach, describe, test } from "node:test";
import { promisify } from "node:util";
import type { Clock } from "../base/clock.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import { Abort } from "../dispatch/abort.ts";
import { makeRun, RecordingListener } from "../dispatch/dispatcher.rig.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { OnReport } from "../dispatch/attempt-report.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Outcome } from "../kernel/input.ts";
import { EmbeddedWorker } from "./embedded-worker.ts";
import * as jobs from "./thread-jobs.rig.ts";
import type { JobOrder } from "./order-message.ts";
import { ThreadWorker } from "./thread-worker.ts";
import type { ThreadWorkerOptions } from "./thread-worker.ts";

/** Threads are real, so their time is too; nothing here waits for it to pass but what is under test. */
const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (callback) => void setImmediate(callback),
};

const module = import.meta.resolve("./thread-jobs.rig.ts");
const workers: ThreadWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

function makeThreads(options: Partial<ThreadWorkerOptions> = {}): ThreadWorker {
  const threads = new ThreadWorker({ clock, logger: silentLogger, ...options });
  workers.push(threads);
  return threads;
}

function order(name: string, given: Partial<JobOrder> = {}): JobOrder {
  const { instanceId, workflowName, taskName, task, attempt, attemptId, generation } = makeRun(
    new RecordingListener(),
    name,
  );
  return {
    run: { instanceId, workflowName, taskName, task, attempt, attemptId, generation, completionToken: "token" },
    source: { module, export: name },
    params: undefined,
    inputs: { context: {}, outputs: {} },
    subTasksMax: 1000,
    isWatched: false,
    ...given,
  };
}

function failureIn(outcome: Outcome): Failure {
  return outcome.kind === "failure" ? outcome.failure : assert.fail(`a failure was expected, not ${outcome.kind}`);
}

/** A logger, and the promise of its first line. */
function listener(): { logger: Logger; line: Promise<{ fields: LogFields; message: string }> } {
  const { promise, resolve } = Promise.withResolvers<{ fields: LogFields; message: string }>();
  const info = (fields: LogFields, message: string): void => resolve({ fields, message });
  return { logger: { ...silentLogger, info }, line: promise };
}

describe("a job in a thread", () => {
  test("reports its progress", async () => {
    const reports: unknown[] = [];
    const onReport: OnReport = (...report) => reports.push(report);
    const given = order("useEverything");
    await makeThreads().execute(given, new Abort(), { onReport });
    assert.deepEqual(reports, [[given.run.attemptId, { progress: { fraction: 0.5, done: 1, total: 2 } }]]);
  });

  test("may be a plain function", async () => {
    const outcome = await makeThreads().execute(order("double", { params: { n: 21 } }), new Abort());
    assert.deepEqual(outcome, { kind: "success", output: "42" });
  });

  test("has the same context as any other", async () => {
    const { logger, line } = listener();
    const inputs = { context: { day: '"monday"' }, outputs: { extract: "[1]" } };
    const outcome = await makeThreads({ logger }).execute(order("useEverything", { inputs }), new Abort());
    assert.ok(outcome.kind === "success");
    assert.equal(outcome.output, '{"outputs":{"extract":[1]},"attemptId":"useEverything"}');
    assert.deepEqual(outcome.patch, { seen: '"monday"' });
    assert.equal(outcome.subTasks?.[0]?.nodeName, "shard");
    const { fields, message } = await line;
    assert.equal(message, "hello");
    assert.deepEqual([fields["copied"], fields["printed"]], ["[ 1 ]", "[Function: printed]"]);
    assert.match(String(fields["taskName"]), /useEverything/);
  });

  test("fails like any other", async () => {
    const { type, message } = failureIn(await makeThreads().execute(order("throwing"), new Abort()));
    assert.deepEqual([type, message], ["RangeError", "from the thread"]);
  });

  test("must be there to be imported", async () => {
    const threads = makeThreads();
    for (const [source, what] of [
      [{ module: `${module}.missing`, export: "double" }, /thread-jobs\.rig\.ts\.missing cannot be loaded: /],
      [{ module, export: "nothing" }, /no job and no function called "nothing"/],
      [{ module, export: "notAJob" }, /no job and no function called "notAJob"/],
    ] as const) {
      const { type, message, retryable } = failureIn(await threads.execute(order("double", { source }), new Abort()));
      assert.deepEqual({ type, retryable }, { type: "JOB_INVALID", retryable: false });
      assert.match(message, what);
    }
  });

  test("cannot have params that cannot be copied", async () => {
    const threads = makeThreads();
    const { type, message } = failureIn(await threads.execute(order("double", { params: () => 1 }), new Abort()));
    assert.equal(type, "VALUE_NOT_SERIALIZABLE");
    assert.match(message, /params of task "double" cannot be copied to a thread/);
    assert.equal(threads.idleCount, 1);
  });
});

describe("a thread", () => {
  test("serves one attempt after the other, and two at a time need two", async () => {
    const threads = makeThreads();
    const where = async (): Promise<Outcome> => threads.execute(order("whereAmI"), new Abort());
    const first = await where();
    assert.deepEqual(await where(), first);
    const both = await Promise.all([where(), where()]);
    assert.notDeepEqual(both[0], both[1]);
    assert.equal(threads.idleCount, 2);
  });

  test("takes no messages from a job's own posts to its parent thread", async () => {
    const outcome = await makeThreads().execute(order("postToParent"), new Abort());
    assert.deepEqual(outcome, { kind: "success", output: "[]" });
  });

  test("keeps late lines of an attempt out of the log and the progress of the next", async () => {
    const threads = makeThreads();
    const lines: unknown[] = [];
    const onTaskLog: OnTaskLog = ({ attemptId, message }) => lines.push([attemptId, message]);
    await threads.execute(order("keepContext"), new Abort(), { onTaskLog });
    const onReport: OnReport = (...report) => lines.push(report);
    await threads.execute(order("useKeptContext"), new Abort(), { onTaskLog, onReport });
    assert.deepEqual(lines, [["useKeptContext", "own"]]);
  });

  test("without work is kept only up to a number", async () => {
    const threads = makeThreads({ idleMax: 0 });
    await threads.execute(order("whereAmI"), new Abort());
    assert.equal(threads.idleCount, 0);
  });

  for (const [name, options] of [
    ["exit", {}],
    ["crash", {}],
    ["eatMemory", { resourceLimits: { maxOldGenerationSizeMb: 24 } }],
  ] as const) {
    test(`that dies by ${name} has lost its attempt, and the next gets another`, async () => {
      const threads = makeThreads(options);
      assert.deepEqual(await threads.execute(order(name), new Abort()), { kind: "lost" });
      assert.equal(threads.idleCount, 0);
      assert.equal((await threads.execute(order("whereAmI"), new Abort())).kind, "success");
    });
  }

  test("without work does not keep its process alive", async () => {
    const script = `
      import { ThreadWorker } from ${JSON.stringify(import.meta.resolve("./thread-worker.ts"))};
      import { Abort } from ${JSON.stringify(import.meta.resolve("../dispatch/abort.ts"))};
      const quiet = () => undefined;
      const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
      const threads = new ThreadWorker({ clock: {}, logger });
      const { kind } = await threads.execute(${JSON.stringify(order("whereAmI"))}, new Abort());
      console.log(kind, threads.idleCount);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    assert.equal(stdout.trim(), "success 1");
  });
});

describe("an aborted job", () => {
  test("sees its signal, and its thread lives on if it ends in time", async () => {
    const { logger, line } = listener();
    const threads = makeThreads({ logger, graceMs: 60_000 });
    const abort = new Abort();
    const outcome = threads.execute(order("waitForSignal"), abort);
    await line;
    abort.abort(new Error("enough"));
    assert.deepEqual(await outcome, { kind: "success", output: '"stopped: enough"' });
    assert.equal(threads.idleCount, 1);
  });

  test("is killed if it does not look", async () => {
    const { logger, line } = listener();
    const threads = makeThreads({ logger });
    const abort = new Abort();
    const outcome = threads.execute(order("spin"), abort);
    await line;
    abort.abort(new Error("enough"));
    assert.deepEqual(await outcome, { kind: "lost" });
    assert.equal(threads.idleCount, 0);
  });

  test("is not started if it was aborted before", async () => {
    const abort = new Abort();
    abort.abort(new Error("never mind"));
    assert.deepEqual(await makeThreads().execute(order("spin"), abort), { kind: "lost" });
  });
});

test("stop ends the threads whatever they do, and starts none after", async () => {
  const { logger, line } = listener();
  const threads = makeThreads({ logger });
  await threads.execute(order("double", { params: { n: 1 } }), new Abort());
  const outcome = threads.execute(order("spin"), new Abort());
  await line;
  await threads.stop();
  assert.deepEqual(await outcome, { kind: "lost" });
  assert.deepEqual(await threads.execute(order("double"), new Abort()), { kind: "lost" });
});

test("a thread job that spins times out, and its only slot serves the next", async () => {
  const worker = new EmbeddedWorker({
    clock,
    jobs: new Map([jobs.spin, jobs.whereAmI].map((job) => [job.name, job])),
    logger: silentLogger,
    threads: makeThreads(),
  });
  const dispatcher = new Dispatcher({ clock, logger: silentLogger, worker, poolSize: 1 });
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const ends: string[] = [];
  const owner = new RecordingListener();
  owner.onEnded = (run: TaskRun, outcome: Outcome) => {
    ends.push(`${run.attemptId} ${outcome.kind}`);
    if (ends.length === 2) resolve(ends);
  };
  dispatcher.enqueue(makeRun(owner, "a", { job: "spin", timeoutMs: 300 }));
  dispatcher.enqueue(makeRun(owner, "b", { job: "whereAmI" }));
  assert.deepEqual(await promise, ["a timeout", "b success"]);
  await dispatcher.shutdown();
  assert.equal(dispatcher.status.abandonedCount, 0);
});
