import { hasCode } from "../../src/base/error.ts";
import { eventsIn } from "../../src/kernel/event-text.ts";
import { payloadRefsIn } from "../../src/kernel/event-payloads.ts";
import type { DagSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { CodeSpec } from "../../src/runtime/definitions.ts";
import type { InstanceSummary, Store } from "../../src/stores/store.ts";
import { turnsOf } from "../../src/stores/batch-turns.rig.ts";
import { type CommitRecord, definitionKey, type FinalInstance, type FinalState, type Turn } from "./evidence.ts";

/** More rows than any run leaves. */
const rowsMax = 1_000_000;

/** Reads the contents of the store at the end of a run. */
export async function readFinalState(
  store: Store,
  commits: readonly Pick<CommitRecord, "batch">[],
): Promise<Omit<FinalState, "leftovers" | "busyWorkers">> {
  const summaries = await store.listInstances({ limit: rowsMax });
  return {
    instances: await Promise.all(summaries.map((summary) => readInstance(store, summary))),
    definitions: await readDefinitions(store, [...summaries, ...everWritten(commits)]),
    orphanedKeys: await findOrphanedKeys(store, summaries, commits),
  };
}

async function readInstance(store: Store, summary: InstanceSummary): Promise<FinalInstance> {
  const history = await store.loadHistory([summary.key]);
  const turns = history.map((row) => ({ ...row, events: eventsIn(row.events) }));
  return { ...summary, turns, missingPayloads: await findMissingPayloads(store, summary.key, turns) };
}

async function findMissingPayloads(store: Store, key: number, turns: readonly Turn[]): Promise<number[]> {
  const refs = new Set(turns.flatMap(({ events }) => events.flatMap(payloadRefsIn)).map(({ ref }) => ref));
  const missing: number[] = [];
  for (const ref of refs) {
    try {
      await store.loadPayloads(key, [ref]);
    } catch (error) {
      if (!hasCode(error, "STORE_DATA")) throw error;
      missing.push(ref);
    }
  }
  return missing;
}

/** All instances that were ever written, including purged ones. */
function everWritten(commits: readonly Pick<CommitRecord, "batch">[]): Pick<InstanceSummary, "workflow" | "version">[] {
  return commits.flatMap(({ batch }) => [...batch.changes.instances, ...batch.changes.finished]);
}

async function readDefinitions(
  store: Store,
  instances: readonly Pick<InstanceSummary, "workflow" | "version">[],
): Promise<Map<string, DagSpec | CodeSpec>> {
  const definitions = new Map<string, DagSpec | CodeSpec>();
  for (const { workflow, version } of instances) {
    const key = definitionKey(workflow, version);
    if (definitions.has(key)) continue;
    const row = await store.findDefinition(workflow, version);
    if (row !== undefined) definitions.set(key, JSON.parse(row.spec) as DagSpec | CodeSpec);
  }
  return definitions;
}

/** Finds rows without an instance: all written rows must belong to an instance that still exists, or be deleted. */
async function findOrphanedKeys(
  store: Store,
  summaries: readonly InstanceSummary[],
  commits: readonly Pick<CommitRecord, "batch">[],
): Promise<number[]> {
  const written = new Set<number>();
  for (const { batch } of commits) {
    for (const { instance } of [...turnsOf(batch.changes), ...batch.changes.payloads]) written.add(instance);
  }
  for (const { key } of summaries) written.delete(key);
  const orphaned: number[] = [];
  for (const key of written) {
    if ((await store.loadHistory([key])).length > 0) orphaned.push(key);
  }
  return orphaned;
}
