/** Spec §8.1: calls for an ended instance beside a start that takes its id; each of them gets an answer. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineJob, defineWorkflow, type Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import type { Store } from "../../src/stores/store.ts";
import { overrideStore } from "../../src/stores/wrap-store.ts";
import { memoryStore } from "../../src/testing.ts";
import { startEngine } from "./rig.ts";

/** Far more reads than a few calls need: calls that wait for each other in microtasks would stop the event loop for ever. */
const readsMax = 200;

const job = defineJob("work", () => 1);
const dag = new WorkflowBuilder().withName("dag").withTask(new TaskBuilder("work").withJobFunction(job)).build();
const code = defineWorkflow("code", async (ctx) => await ctx.run(job, undefined));

type Act = (engine: Engine, id: string) => Promise<unknown>;

const acts: Readonly<Record<string, Act>> = {
  status: (engine, id) => engine.getWorkflowInstanceStatus(id),
  history: (engine, id) => engine.getWorkflowInstanceHistory(id),
  result: (engine, id) => engine.awaitWorkflowInstance(id),
  terminate: (engine, id) => engine.terminateWorkflowInstance(id),
  raise: (engine, id) => engine.raiseEvent(id, "go"),
  retry: (engine, id) => engine.retryWorkflowInstance(id),
  purge: (engine, id) => engine.purgeWorkflowInstances({ instanceId: id }),
};

const starts: Readonly<Record<string, { readonly first: Act; readonly again: Act }>> = {
  dag: {
    first: (engine, instanceId) => engine.submitWorkflow(dag, { instanceId }),
    again: (engine, instanceId) => engine.submitWorkflow(dag, { instanceId, reuse: true }),
  },
  code: {
    first: (engine, instanceId) => engine.startWorkflow(code, undefined, { instanceId }),
    again: (engine, instanceId) => engine.startWorkflow(code, undefined, { instanceId, reuse: true }),
  },
};

/** A store that ends a livelock: it refuses to be read too often. */
class CountedStore {
  reads = 0;
  readonly store: Store;

  constructor(inner: Store) {
    this.store = overrideStore(inner, {
      findFinished: async (id) => {
        if (++this.reads > readsMax) throw new Error(`the row of ${id} was read ${this.reads} times`);
        return await inner.findFinished(id);
      },
    });
  }
}

for (const kind of ["sqlite", "memory"] as const) {
  for (const [what, { first, again }] of Object.entries(starts)) {
    describe(`an ended instance (${what}) on ${kind}`, () => {
      test("that others use while a start takes its id", async (t) => {
        const counted = new CountedStore(kind === "memory" ? memoryStore() : sqlite(":memory:"));
        const engine = await startEngine(t, { storage: counted.store, jobs: [job], workflows: [code, dag] });
        for (const [n, names] of orders(Object.keys(acts)).entries()) {
          const id = `i${n}`;
          await first(engine, id);
          await engine.awaitWorkflowInstance(id);
          counted.reads = 0;
          const calls = names.map((name) => (acts[name] ?? again)(engine, id));
          for (const [place, outcome] of (await Promise.allSettled(calls)).entries()) {
            if (outcome.status === "fulfilled") continue;
            assert.ok(isAnswer(outcome.reason), `${names.join()}: ${names[place]} ended with ${outcome.reason}`);
          }
        }
      });
    });
  }
}

/** Every order of one and of two calls beside the start. */
function orders(names: readonly string[]): string[][] {
  const pairs = names.flatMap((name) => [
    ["start", name],
    [name, "start"],
  ]);
  const triples = names.flatMap((one) =>
    names.flatMap((other) => [
      ["start", one, other],
      [one, "start", other],
      [one, other, "start"],
    ]),
  );
  return [...pairs, ...triples];
}

/** The instance may be purged, active again, or terminated before the call reaches it. */
function isAnswer(error: unknown): boolean {
  const codes = ["INSTANCE_UNKNOWN", "INSTANCE_EXISTS", "INSTANCE_STATE", "WORKFLOW_TERMINATED"] as const;
  return codes.some((each) => hasCode(error, each));
}
