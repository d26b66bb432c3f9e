import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { until } from "../support/until.ts";
import type { Clock } from "../../src/base/clock.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { Abort } from "../../src/dispatch/abort.ts";
import type { OnReport } from "../../src/dispatch/attempt-report.ts";
import { makeRun, RecordingListener } from "../../src/dispatch/dispatcher.rig.ts";
import type { OnTaskLog } from "../../src/dispatch/task-log.ts";
import type { Failure } from "../../src/kernel/failure.ts";
import type { Outcome } from "../../src/kernel/input.ts";
import type { JobOrder } from "../../src/worker/order-message.ts";
import { ProcessWorker } from "../../src/worker/process-worker.ts";

/** Processes are real, so their time is too. */
const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (callback) => void setImmediate(callback),
};

const module = import.meta.resolve("../../src/worker/process-jobs.rig.ts");
const workers: ProcessWorker[] = [];
const folder = mkdtempSync(join(tmpdir(), "heddle-processes-"));

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

function makeWorker(graceMs?: number): ProcessWorker {
  const worker = new ProcessWorker({ clock, logger: silentLogger, ...(graceMs !== undefined && { graceMs }) });
  workers.push(worker);
  return worker;
}

let orders = 0;
function order(name: string, given: Partial<JobOrder> = {}): JobOrder {
  const { instanceId, workflowName, taskName, task, attempt, generation } = makeRun(new RecordingListener(), name);
  const attemptId = `${name}-${process.pid}-${++orders}`;
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

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function pidsIn(file: string): Promise<number[]> {
  await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("]"));
  return JSON.parse(readFileSync(file, "utf8")) as number[];
}

describe("a job in a child process", () => {
  test("has the same context as any other, and its output is in the task log", async () => {
    const seen: unknown[] = [];
    const onReport: OnReport = (_, report) => seen.push(report);
    const onTaskLog: OnTaskLog = ({ level, message, fields }) => seen.push([level, message, fields]);
    const inputs = { context: { day: '"monday"' }, outputs: { extract: "[1]" } };
    const given = order("useEverything", { inputs, params: { at: new Date(0) } });
    const outcome = await makeWorker().execute(given, new Abort(), { onReport, onTaskLog });
    assert.ok(outcome.kind === "success", JSON.stringify(outcome));
    assert.deepEqual(JSON.parse(outcome.output as string), {
      params: { at: "1970-01-01T00:00:00.000Z" },
      outputs: { extract: [1] },
      attemptId: given.run.attemptId,
    });
    assert.deepEqual(outcome.patch, { seen: '"monday"' });
    assert.equal(outcome.subTasks?.[0]?.nodeName, "shard");
    assert.ok(seen.some((each) => JSON.stringify(each) === '["info","to stdout",{"stream":"stdout"}]'));
    assert.ok(seen.some((each) => JSON.stringify(each) === '["warn","to stderr",{"stream":"stderr"}]'));
    assert.ok(seen.some((each) => Array.isArray(each) && each[1] === "hello"));
    assert.ok(seen.some((each) => JSON.stringify(each) === '{"progress":{"fraction":0.5,"done":1,"total":2}}'));
  });

  test("runs in a process of its own, with nothing of the one before", async () => {
    const worker = makeWorker();
    const outcomes = [
      await worker.execute(order("countCalls"), new Abort()),
      await worker.execute(order("countCalls"), new Abort()),
    ];
    assert.deepEqual(outcomes, [
      { kind: "success", output: "1" },
      { kind: "success", output: "1" },
    ]);
    const where = await worker.execute(order("whereAmI"), new Abort());
    assert.notEqual(where.kind === "success" && where.output, String(process.pid));
  });

  test("fails like any other", async () => {
    const worker = makeWorker();
    const { type, message } = failureIn(await worker.execute(order("throwing"), new Abort()));
    assert.deepEqual([type, message], ["RangeError", "from the process"]);
    const missing = order("throwing", { source: { module, export: "nothing" } });
    assert.equal(failureIn(await worker.execute(missing, new Abort())).type, "JOB_INVALID");
    const uncopied = failureIn(await worker.execute(order("whereAmI", { params: () => 1 }), new Abort()));
    assert.equal(uncopied.type, "VALUE_NOT_SERIALIZABLE");
  });

  test("finds no channel to its worker", async () => {
    const outcome = await makeWorker().execute(order("forge"), new Abort());
    assert.deepEqual(outcome, { kind: "success", output: '"undefined"' });
  });

  test("that ends its process fails, with the exit code and what it wrote last", async () => {
    const { type, message, retryable } = failureIn(await makeWorker().execute(order("exit"), new Abort()));
    assert.deepEqual([type, retryable], ["PROCESS_EXITED", true]);
    assert.match(message, /ended with exit code 3 before its job returned; stderr ends with:\nno disk$/);
  });

  test("that crashes its process fails, with the signal", async () => {
    const { type, message } = failureIn(await makeWorker().execute(order("crash"), new Abort()));
    assert.equal(type, "PROCESS_EXITED");
    assert.match(message, /was killed by SIGSEGV/);
  });

  for (const name of process.platform === "linux" ? ["fillHeap", "fillBuffers"] : ["fillHeap"]) {
    test(`that uses more memory than its limit fails: ${name}`, async () => {
      const outcome = await makeWorker().execute(order(name), new Abort(), { memoryLimitMb: 160 });
      const { type, message } = failureIn(outcome);
      assert.equal(type, "PROCESS_MEMORY_LIMIT", message);
      assert.match(message, /more memory than its limit of 160 MB/);
    });
  }
});

describe("an aborted job in a child process", () => {
  test("sees its signal, and counts if it ends in time", async () => {
    const { promise: running, resolve } = Promise.withResolvers<void>();
    const abort = new Abort();
    const outcome = makeWorker(60_000).execute(order("waitForSignal"), abort, { onTaskLog: () => resolve() });
    await running;
    abort.abort(new Error("enough"));
    assert.deepEqual(await outcome, { kind: "success", output: '"stopped: enough"' });
  });

  test("is killed with all that it has started if it does not look", async () => {
    const file = join(folder, "aborted.json");
    const abort = new Abort();
    const outcome = makeWorker(50).execute(order("spinWithChildren", { params: { file } }), abort);
    const pids = await pidsIn(file);
    abort.abort(new Error("enough"));
    assert.deepEqual(await outcome, { kind: "lost" });
    // Only Linux lets us find the process that left its group.
    const found = process.platform === "linux" ? pids : pids.slice(0, 2);
    await until(() => !found.some(isAlive));
    for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
  });

  test("is not started if it was aborted before", async () => {
    const abort = new Abort();
    abort.abort(new Error("never mind"));
    assert.deepEqual(await makeWorker().execute(order("whereAmI"), abort), { kind: "lost" });
  });

  test("is killed when its worker stops", async () => {
    const file = join(folder, "stopped.json");
    const worker = makeWorker();
    const outcome = worker.execute(order("spinWithChildren", { params: { file } }), new Abort());
    const pids = await pidsIn(file);
    await worker.stop();
    assert.deepEqual(await outcome, { kind: "lost" });
    assert.deepEqual(await worker.execute(order("whereAmI"), new Abort()), { kind: "lost" });
    assert.ok(!isAlive(pids[0] as number));
  });
});

/** Runs the job in a worker that is a process itself. */
function startParent(given: JobOrder) {
  const script = `
    import { ProcessWorker } from ${JSON.stringify(import.meta.resolve("../../src/worker/process-worker.ts"))};
    import { Abort } from ${JSON.stringify(import.meta.resolve("../../src/dispatch/abort.ts"))};
    const quiet = () => undefined;
    const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
    const clock = { after: () => ({ cancel: quiet }) };
    const outcome = await new ProcessWorker({ clock, logger }).execute(${JSON.stringify(given)}, new Abort());
    console.log(outcome.kind);`;
  return spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["ignore", "pipe", "inherit"] });
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  test(`a process that blocks its event loop ends with its worker, killed by ${signal}`, async () => {
    const file = join(folder, `${signal}.json`);
    const given = order("spinWithChildren", { params: { file } });
    const parent = startParent(given);
    const pids = await pidsIn(file);
    parent.kill(signal);
    await until(() => !pids.slice(0, 2).some(isAlive));
    // The process that left the group is found by its mark when the attempt runs again.
    const again = { ...order("whereAmI"), run: given.run, source: { module, export: "whereAmI" } };
    assert.equal((await makeWorker().execute(again, new Abort())).kind, "success");
    if (process.platform === "linux") assert.deepEqual(pids.filter(isAlive), []);
  });
}

test("a worker without attempts is not kept alive by the guard of its processes", async () => {
  const parent = startParent(order("whereAmI"));
  const output: string[] = [];
  parent.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text));
  const code = await new Promise((resolve) => parent.once("close", resolve));
  assert.deepEqual([code, output.join("").trim()], [0, "success"]);
});
