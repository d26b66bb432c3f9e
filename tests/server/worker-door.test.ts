/** Spec §10.1, §10.2, §10.7: `Worker` of `heddle/worker` and a real server, on SQLite and in a cluster. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineJob, type JobContext } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { Worker, type WorkerOptions } from "../../src/worker.ts";
import { until } from "../support/until.ts";
import { type RigOptions, ServerRig } from "./rig.ts";

/** Heartbeats that are short enough for a test, and long enough for a busy machine. */
const timings = { workerBeatMs: 1000, workerLostMs: 30_000 };
const alone = { enabled: false, shards: 1, remoteWorkers: true, timings };

/** The job of the sample application, with a body of its own. */
class Jobs {
  readonly calls: JobContext[] = [];
  readonly #ends: (() => void)[] = [];
  /** Jobs wait for `release`. */
  isHeld = false;

  readonly say = defineJob("say", async (text: string, ctx) => {
    this.calls.push(ctx);
    if (this.isHeld) await new Promise<void>((resolve) => this.#ends.push(resolve));
    return `${text}, elsewhere`;
  });

  release(): void {
    this.isHeld = false;
    for (const end of this.#ends.splice(0)) end();
  }
}

async function startWorker(t: TestContext, jobs: Jobs, options: Partial<WorkerOptions>): Promise<Worker> {
  const worker = new Worker({ jobs: [jobs.say], logger: silentLogger, stopGraceMs: 1000, ...options });
  t.after(() => {
    jobs.release();
    return worker.stop();
  });
  await worker.start();
  return worker;
}

/** A server that runs no jobs itself. */
async function startServer(t: TestContext, options: RigOptions = {}): Promise<ServerRig> {
  return await ServerRig.start(t, { cluster: alone, roles: ["server"], ...options });
}

async function begin(rig: ServerRig): Promise<string> {
  return (await rig.ok("triggerWorkflow", { params: { id: "hello" } })).instanceId;
}

describe("a worker of a server on SQLite", () => {
  test("10.1 runs its jobs, and is listed while it is connected", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t);
    const early = await begin(rig);
    const jobs = new Jobs();
    const worker = await startWorker(t, jobs, { url: rig.server.url, slots: 3 });
    assert.equal((await rig.end(early)).status, "Success");
    const [view] = await rig.ok("listWorkers");
    assert.ok(view?.address.endsWith(`/${worker.id}`), view?.address);
    assert.deepEqual([view?.slots, view?.status, worker.isConnected], [3, "up", true]);
    await worker.drain();
    assert.deepEqual(await rig.ok("listWorkers"), []);
    assert.deepEqual([worker.isConnected, worker.runningTasks], [false, 0]);
  });

  test("10.2 keeps its task while the server restarts, and the task runs once", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t, { port: 0 });
    const port = Number(new URL(rig.server.url).port);
    const jobs = new Jobs();
    jobs.isHeld = true;
    await startWorker(t, jobs, { url: rig.server.url });
    const id = await begin(rig);
    await until(() => jobs.calls.length === 1);
    await rig.restart({ cluster: alone, roles: ["server"], port });
    await until(async () => (await rig.ok("listWorkers")).length === 1);
    jobs.release();
    assert.equal((await rig.end(id)).status, "Success");
    assert.equal(jobs.calls.length, 1);
    assert.equal(jobs.calls[0]?.signal.aborted, false);
  });

  test("10.7 a drained worker ends what it runs and takes nothing new", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t);
    const jobs = new Jobs();
    jobs.isHeld = true;
    const worker = await startWorker(t, jobs, { url: rig.server.url });
    const first = await begin(rig);
    await until(() => jobs.calls.length === 1);
    const drained = worker.drain();
    await until(async () => (await rig.ok("listWorkers"))[0]?.slots === 0);
    const second = await begin(rig);
    jobs.release();
    await drained;
    assert.equal((await rig.end(first)).status, "Success");
    assert.equal(jobs.calls.length, 1);
    await startWorker(t, jobs, { url: rig.server.url });
    assert.equal((await rig.end(second)).status, "Success");
  });

  test("10.7 a stopped worker aborts what it runs, which runs elsewhere", { timeout: 60_000 }, async (t) => {
    const rig = await startServer(t);
    const jobs = new Jobs();
    jobs.isHeld = true;
    const worker = await startWorker(t, jobs, { url: rig.server.url, stopGraceMs: 0 });
    const id = await begin(rig);
    await until(() => jobs.calls.length === 1);
    await worker.stop();
    assert.equal(jobs.calls[0]?.signal.aborted, true);
    jobs.isHeld = false;
    await startWorker(t, jobs, { url: rig.server.url });
    assert.equal((await rig.end(id)).status, "Success");
    const attempts = new Set(jobs.calls.map(({ attempt }) => attempt));
    assert.deepEqual(attempts, new Set([1]));
  });

  test("10.1 a server that takes no workers, or not this one, says so at once", { timeout: 60_000 }, async (t) => {
    const closed = await startServer(t, { cluster: { ...alone, remoteWorkers: false } });
    const jobs = [new Jobs().say];
    const refused = new Worker({ url: closed.server.url, jobs, logger: silentLogger });
    await assert.rejects(refused.start(), { code: "OPTION_INVALID", message: /accepts no remote workers/ });
    const guarded = await startServer(t, { adminToken: "root" });
    const stranger = new Worker({ url: guarded.server.url, jobs, token: "hdl_no", logger: silentLogger });
    await assert.rejects(stranger.start(), { code: "UNAUTHORIZED" });
  });
});

test("10.1 a worker with several servers moves when its own is gone", { timeout: 120_000 }, async (t) => {
  const store = new MemoryStore();
  const cluster = { enabled: true, shards: 4, remoteWorkers: true, timings };
  const [one, two] = [
    await startServer(t, { cluster: { ...cluster, name: "one" }, store }),
    await startServer(t, { cluster: { ...cluster, name: "two" }, store: store.connect() }),
  ];
  const jobs = new Jobs();
  const worker = await startWorker(t, jobs, { urls: [one.server.url, two.server.url] });
  const memberOf = async (rig: ServerRig): Promise<string | undefined> =>
    (await rig.ok("listWorkers")).find(({ address }) => address.endsWith(worker.id))?.member.split(":")[0];
  const [own, left] = (await memberOf(one)) === "one" ? [one, two] : [two, one];
  const goal = left === one ? "one" : "two";
  await own.stop();
  await until(async () => (await memberOf(left)) === goal, { everyMs: 50 });
  assert.equal((await left.end(await begin(left))).status, "Success");
});
