import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { errorCodes, hasCode, messageOf } from "../../src/base/error.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { defineJob, defineWorkflow, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const note = defineJob("note", async () => "n".repeat(300));
const wait = defineJob("wait", async (_: unknown, { signal }) => {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
});
const code = defineWorkflow("code", async (ctx) => {
  await ctx.run(note, {});
  await ctx.waitForEvent("never");
});
const inner = new WorkflowBuilder().withName("inner").withTask(new TaskBuilder("x").withJobFunction(wait, {})).build();
const outer = new WorkflowBuilder()
  .withName("outer")
  .withTask(new TaskBuilder("a").withJobFunction(note, {}))
  .withTask(new TaskBuilder("b").withJobFunction(wait, {}).withDependency("a"))
  .withTask(new TaskBuilder("c").withNestedWorkflow(inner).withDependency("a"))
  .build();
const short = new WorkflowBuilder().withName("short").withTask(new TaskBuilder("a").withJobFunction(note, {})).build();

function engineOn(file: string): Engine {
  return new Engine({
    storage: sqlite(file),
    jobs: [note, wait],
    workflows: [code],
    logger: silentLogger,
    stopGraceMs: 0,
    poolSize: 40,
    poolSizeMax: 40,
    watchCode: false,
  });
}

/** Everything that a file holds which is in use: instances of both kinds, ended ones, paused ones, nested ones, a schedule. */
async function fill(file: string): Promise<void> {
  const engine = engineOn(file);
  await engine.start();
  for (let i = 0; i < 8; i++) {
    await engine.submitWorkflow(outer, { instanceId: `outer-${i}` });
    await engine.startWorkflow(code, {}, { instanceId: `code-${i}` });
    await (await engine.submitWorkflow(short, { instanceId: `short-${i}` })).result();
  }
  await engine.pauseWorkflowInstance("outer-1");
  await engine.stop();
}

/** A call may wait for as long as the store takes no writes; the engine says so meanwhile. */
async function untilDegraded(engine: Engine): Promise<void> {
  while (engine.health.status !== "degraded") await sleep(20, undefined, { ref: false });
}

/** Opens, looks at everything, closes. Gives back the errors. */
async function use(file: string): Promise<unknown[]> {
  const errors: unknown[] = [];
  const engine = engineOn(file);
  const tried = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await Promise.race([work(), untilDegraded(engine)]);
    } catch (error) {
      errors.push(error);
    }
  };
  await tried(() => engine.start());
  if (engine.health.status !== "new") {
    await tried(() => engine.listWorkflowInstances());
    for (const id of ["outer-0", "outer-1", "outer-2/c", "code-3", "short-4"]) {
      await tried(() => engine.getWorkflowInstanceStatus(id));
      await tried(() => engine.getWorkflowInstanceHistory(id));
    }
    await tried(() => engine.submitWorkflow(short));
  }
  try {
    await engine.stop();
  } catch (error) {
    errors.push(error);
  }
  return errors;
}

describe("a damaged database file", () => {
  const folder = temporaryFolder({ after });
  let intact: Buffer;

  before(async () => {
    const file = join(folder, "intact.db");
    await fill(file);
    intact = readFileSync(file);
  });

  test(
    "is opened, or refused with a code and words for people; no damage is taken for a bug",
    { timeout: 240_000 },
    async () => {
      const places = fc.array(fc.tuple(fc.noBias(fc.nat()), fc.nat(7)), { minLength: 1, maxLength: 60 });
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(places, async (flips) => {
          const file = join(folder, `${runs++}.db`);
          const bytes = Buffer.from(intact);
          for (const [place, bit] of flips) {
            const at = place % bytes.length;
            bytes[at] = (bytes[at] as number) ^ (1 << bit);
          }
          writeFileSync(file, bytes);
          for (const error of await use(file)) {
            const known = error instanceof Error && "code" in error && Object.hasOwn(errorCodes, String(error.code));
            assert.ok(known, `no code: ${error instanceof Error ? error.stack : String(error)}`);
            // A history whose damage cannot be told from a bug takes its own instance out of service.
            if (!hasCode(error, "INSTANCE_QUARANTINED")) assert.doesNotMatch(messageOf(error), /invariant broken/);
          }
          for (const end of ["", "-wal", "-shm", "-lock"]) rmSync(file + end, { force: true });
        }),
        { numRuns: Number(process.env["RUNS"] ?? 40), endOnFailure: true },
      );
    },
  );
});
