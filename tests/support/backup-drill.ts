import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { defineJob, Engine, type EngineOptions, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { shardOfId } from "../../src/stores/instance-key.ts";
import { numberBefore } from "../../src/stores/message-number.ts";
import type { Store } from "../../src/stores/store.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { markRestored, type RestoredStore } from "../../src/transfer/restored-store.ts";
import { until } from "./until.ts";

/** A database of which backups can be made and restored while it is in use. */
export interface Subject {
  /** Returns a new connection. */
  connect(): Store;
  backUp(): Promise<void> | void;
  restore(): Promise<void> | void;
  /** Time within which an idle engine notices that the backup was restored. */
  readonly noticeMs: number;
  readonly cluster?: EngineOptions["cluster"];
  readonly test: TestContext;
}

const child = new WorkflowBuilder().withName("child").withTask(new TaskBuilder("work").withJobFunction("work")).build();

const parent = new WorkflowBuilder()
  .withName("parent")
  .withTask(new TaskBuilder("first").withJobFunction("work"))
  .withTask(new TaskBuilder("hold").withJobFunction("hold").withDependency("first"))
  .withTask(new TaskBuilder("nested").withNestedWorkflow("child").withDependency("hold"))
  .build();

/** The calls of jobs, and the door at which the job `hold` waits. */
class Jobs {
  readonly calls: string[] = [];
  #open: () => void = () => undefined;
  readonly #opened = new Promise<void>((resolve) => (this.#open = resolve));

  release(): void {
    this.#open();
  }

  get all(): EngineOptions["jobs"] {
    return [
      defineJob("work", (_params: unknown, { attemptId }) => void this.calls.push(attemptId)),
      defineJob("hold", async (_params: unknown, { attemptId, signal }) => {
        this.calls.push(attemptId);
        await Promise.race([this.#opened, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      }),
    ];
  }
}

/**
 * A drill: an engine works, a backup is made meanwhile, more work is done and acknowledged, and the backup is restored under
 * the running engine, busy or idle. It stops; the restored store is made known as such; the next engine continues.
 */
export async function drill(subject: Subject, { isBusy }: { isBusy: boolean }): Promise<void> {
  const shards = subject.cluster?.shards ?? 1;
  const { jobs, engine, log } = await start(subject);
  await engine.submitWorkflow(parent, { instanceId: "kept" });
  await until(() => jobs.calls.length === 2);
  await subject.backUp();
  await engine.submitWorkflow(child, { instanceId: "later" });
  await engine.awaitWorkflowInstance("later");
  await subject.restore();
  const restoredAt = performance.now();
  const instanceId = idBeside("later", shards);
  const busy = isBusy ? engine.submitWorkflow(child, { instanceId }).catch((error: unknown) => error) : undefined;
  const error = await engine.fenced;
  const noticedMs = performance.now() - restoredAt;
  assert.ok(hasCode(error, "STORE_ROLLED_BACK"), String(error));
  assert.ok(noticedMs < subject.noticeMs, `it was noticed after ${noticedMs} ms`);
  assert.ok(log.find("error", /the store was rolled back/));
  assert.ok(busy === undefined || hasCode(await busy, "STORE_ROLLED_BACK"), String(await busy));
  await assert.rejects(engine.submitWorkflow(child), (refusal) => hasCode(refusal, "STORE_ROLLED_BACK"));
  await assert.rejects(engine.stop(), (refusal) => hasCode(refusal, "STORE_ROLLED_BACK"));
  await recover(subject);
}

/**
 * Returns another id of the same shard. Only a shard that the restore took back refuses its next commit: one that committed
 * nothing since the backup is as its owner remembers it, and accepts it until the engine notices the rollback elsewhere.
 */
function idBeside(id: string, shards: number): string {
  for (let n = 0; ; n++) if (shardOfId(`busy-${n}`, shards) === shardOfId(id, shards)) return `busy-${n}`;
}

async function recover(subject: Subject): Promise<void> {
  const foreseen = await mark(subject, true);
  assert.equal(foreseen.incarnation, undefined);
  const marked = await mark(subject, false);
  assert.deepEqual({ ...marked, incarnation: undefined }, foreseen);
  const { incarnation = 0, rows } = marked;
  assert.ok(incarnation > marked.incarnationBefore);
  assert.deepEqual([rows.unfinished, rows.finished], [1, 0]);
  const { jobs, engine } = await start(subject);
  await assert.rejects(engine.awaitWorkflowInstance("later"), (error) => hasCode(error, "INSTANCE_UNKNOWN"));
  jobs.release();
  await engine.awaitWorkflowInstance("kept");
  assert.deepEqual(
    jobs.calls.map((id) => id.split("/")[0]).filter((id) => id === "kept").length,
    1,
    `only what had not ended ran again: ${jobs.calls.join(" ")}`,
  );
  await engine.submitWorkflow(child, { instanceId: "later" });
  await engine.awaitWorkflowInstance("later");
  await engine.stop();
  await checkNumbers(subject, incarnation);
}

/** Messages of the nested workflow, which were sent after the restore, are numbered in the new incarnation. */
async function checkNumbers(subject: Subject, incarnation: number): Promise<void> {
  const store = subject.connect();
  await store.open();
  const { shards } = await store.heartbeat("nobody");
  const sent = (await Promise.all(shards.map(({ shard }) => store.loadSent(shard)))).flat();
  await store.close();
  assert.ok(sent.length > 0);
  for (const { number } of sent) assert.ok(number > numberBefore(incarnation), `${number} of ${incarnation}`);
}

async function mark(subject: Subject, isDryRun: boolean): Promise<RestoredStore> {
  const store = subject.connect();
  await store.open();
  try {
    return await markRestored(store, { clock: systemClock, isDryRun });
  } finally {
    await store.close();
  }
}

async function start(subject: Subject): Promise<{ jobs: Jobs; engine: Engine; log: LogBook }> {
  const jobs = new Jobs();
  const log = new LogBook();
  const { cluster } = subject;
  const options = { storage: subject.connect(), jobs: jobs.all ?? [], workflows: [child, parent], logger: log };
  const engine = new Engine({ ...options, ...(cluster !== undefined && { cluster }) });
  await engine.start();
  subject.test.after(async () => {
    if (engine.health.status !== "stopped") await engine.stop().catch(() => undefined);
  });
  return { jobs, engine, log };
}
