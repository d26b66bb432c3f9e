/** Spec §11.3: a member that is about to stop hands its shards over first, and its running jobs stay attached to it. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import { defineJob, Engine } from "../../src/index.ts";
import { storage } from "../../src/storage.ts";
import { Gate, task, workflow } from "../engine/rig.ts";
import { until } from "../support/until.ts";
import { newDatabase, type ServerKind } from "./databases.ts";

/** The promise of the documents. */
const handOverMs = 5000;
const instanceCount = 8;

const hold = workflow("hold", task("hold", "hold"));

interface Scene {
  readonly leaving: Engine;
  readonly staying: Engine;
  readonly gate: Gate;
  /** The members that have begun to run a job, once for each time. */
  readonly runs: string[];
}

async function scene(t: TestContext, kind: ServerKind): Promise<Scene> {
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const url = await newDatabase(kind, t);
  const gate = new Gate();
  const runs: string[] = [];
  const start = async (name: string): Promise<Engine> => {
    const job = defineJob("hold", async () => {
      runs.push(name);
      await gate.opened;
    });
    const engine = new Engine({
      storage: await storage(url),
      jobs: [job],
      cluster: { name, shards: 16 },
      logger: silentLogger,
    });
    await engine.start();
    stopped.defer(() => engine.stop().catch(() => undefined));
    return engine;
  };
  const staying = await start("staying");
  const leaving = await start("leaving");
  const shardsOf = (engine: Engine): number => engine.members().find(({ isSelf }) => isSelf)?.shards ?? 0;
  await until(() => shardsOf(staying) + shardsOf(leaving) === 16 && shardsOf(leaving) > 0);
  return { leaving, staying, gate, runs };
}

for (const kind of ["postgres", "mysql"] as const) {
  test(`11.3 on ${kind} shards are handed over within 5 s while jobs run on, and no job runs twice`, async (t) => {
    const { leaving, staying, gate, runs } = await scene(t, kind);
    const ids = Array.from({ length: instanceCount }, (_, number) => `hold-${number}`);
    for (const id of ids) await staying.submitWorkflow(hold, { instanceId: id });
    await until(() => runs.length === instanceCount);
    assert.ok(runs.includes("leaving"), "the member that leaves runs jobs");
    const drained = leaving.drain();
    const began = performance.now();
    await leaving.handOver();
    await until(() => staying.members().find(({ isSelf }) => isSelf)?.shards === 16);
    assert.ok(performance.now() - began < handOverMs);
    assert.equal(leaving.members().find(({ isSelf }) => isSelf)?.shards, 0);
    // New owners know of the jobs that run elsewhere, and answer for their instances.
    assert.equal((await staying.getWorkflowInstanceStatus("hold-0")).status, "Running");
    gate.open();
    await drained;
    await leaving.stop();
    for (const id of ids) await staying.awaitWorkflowInstance(id);
    assert.equal(runs.length, instanceCount);
  });
}
