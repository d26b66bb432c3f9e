import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Batch } from "../../src/stores/store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Copies the database right before and right after the commit that stops a task: what a crash there would leave. */
class StopWatchingStore extends SqliteStore {
  readonly #folder: string;
  readonly #onStopped: () => void;

  constructor(folder: string, onStopped: () => void) {
    mkdirSync(folder, { recursive: true });
    super({ file: join(folder, "heddle.db") });
    this.#folder = folder;
    this.#onStopped = onStopped;
  }

  override async commit(batch: Batch): Promise<void> {
    const isStop = JSON.stringify(batch.changes).includes("TASK_STOPPED");
    if (isStop) this.#copyTo("before");
    await super.commit(batch);
    if (!isStop) return;
    this.#copyTo("after");
    this.#onStopped();
  }

  #copyTo(name: string): void {
    mkdirSync(join(this.#folder, name));
    for (const ending of ["", "-wal"]) {
      const from = join(this.#folder, `heddle.db${ending}`);
      if (existsSync(from)) cpSync(from, join(this.#folder, name, `heddle.db${ending}`));
    }
  }
}

const definition = new WorkflowBuilder()
  .withName("w")
  .withTask(new TaskBuilder("a").withJobFunction("work"))
  .withTask(new TaskBuilder("b").withJobFunction("work").withDependency("a"))
  .build();

test("the stop of a task is durable before its signal aborts, and a crash right after it does not run it again", async (t) => {
  const folder = temporaryFolder(t);
  const order: string[] = [];
  const started = Promise.withResolvers<void>();
  const work = defineJob("work", async (_: unknown, { signal }) => {
    started.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    order.push("aborted");
  });
  const storage = new StopWatchingStore(folder, () => order.push("durable"));
  const engine = new Engine({ storage, jobs: [work] });
  await engine.start();
  await engine.submitWorkflow(definition, { instanceId: "i" });
  await started.promise;
  await engine.stopTask("i", "a");
  await engine.stop();
  assert.deepEqual(order, ["durable", "aborted"]);

  assert.deepEqual(await recovered(join(folder, "after")), { status: "Failed", a: "Stopped", calls: [] });
  assert.deepEqual(await recovered(join(folder, "before")), { status: "Success", a: "Success", calls: ["a", "b"] });
});

/** What an engine makes of the copy. */
async function recovered(folder: string): Promise<{ status: string; a: string; calls: string[] }> {
  const calls: string[] = [];
  const work = defineJob("work", (_: unknown, { taskName }) => void calls.push(taskName));
  const engine = new Engine({ storage: new SqliteStore({ file: join(folder, "heddle.db") }), jobs: [work] });
  await engine.start();
  try {
    await engine.awaitWorkflowInstance("i").catch(() => undefined);
    const { status } = await engine.getWorkflowInstanceStatus("i");
    return { status, a: (await engine.getTask("i", "a")).status, calls };
  } finally {
    await engine.stop();
  }
}
