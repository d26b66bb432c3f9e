import { DatabaseSync } from "node:sqlite";
import { eventsIn } from "../../src/kernel/event-text.ts";
import type { Event, InstanceSummary, TaskAttempt } from "../../src/index.ts";
import { readTaskAttempts } from "../../src/runtime/task-attempts.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { HistoryRow } from "../../src/stores/store.ts";
import { attemptName, readSideEffects } from "./side-effects.ts";
import type { AttemptName, SideEffect } from "./side-effects.ts";

/** One instance as the store has it in the end. */
export interface InstanceEvidence extends InstanceSummary {
  readonly turns: readonly Turn[];
  readonly attempts: readonly TaskAttempt[];
}

export interface Turn extends Omit<HistoryRow, "events"> {
  readonly events: readonly Event[];
}

/** What a job did, by the log. */
export interface JobEffect extends SideEffect {
  readonly name: AttemptName;
}

/** All that is known after a run: what the process did, and what the store says happened. */
export interface Evidence {
  readonly log: readonly SideEffect[];
  /** By instance. */
  readonly jobEffects: ReadonlyMap<string, readonly JobEffect[]>;
  readonly instances: ReadonlyMap<string, InstanceEvidence>;
  /** Rows that should be gone, by what they are. */
  readonly leftOver: Readonly<Record<string, number>>;
}

export async function gatherEvidence(files: { databaseFile: string; logFile: string }): Promise<Evidence> {
  const log = readSideEffects(files.logFile);
  const byJobs = log.filter(({ what }) => what === "start" || what === "done" || what === "fail");
  const jobEffects = Map.groupBy(
    byJobs.map((effect) => ({ ...effect, name: attemptName(effect.id) })),
    ({ name }) => name.instanceId,
  );
  const leftOver = countLeftOver(files.databaseFile);
  const store = new SqliteStore({ file: files.databaseFile });
  await store.open();
  try {
    return { log, jobEffects, instances: await readInstances(store), leftOver };
  } finally {
    await store.close();
  }
}

async function readInstances(store: SqliteStore): Promise<Map<string, InstanceEvidence>> {
  const instances = new Map<string, InstanceEvidence>();
  for (let before: InstanceSummary | undefined; ;) {
    const page = await store.listInstances({ ...(before !== undefined && { before }), limit: 1000 });
    for (const summary of page) {
      const history = await store.loadHistory([summary.key]);
      const turns = history.map((row) => ({ ...row, events: eventsIn(row.events) }));
      instances.set(summary.id, { ...summary, turns, attempts: await readTaskAttempts(store, summary) });
    }
    const last = page.at(-1);
    if (last === undefined) return instances;
    before = last;
  }
}

/** Read as plain SQL, so that no reader of ours can hide a row. */
function countLeftOver(file: string): Record<string, number> {
  const db = new DatabaseSync(file, { readOnly: true });
  const count = (sql: string): number => Number(db.prepare(`SELECT count(*) AS n FROM ${sql}`).get()?.["n"]);
  try {
    const orphans = ["history", "payload"].map((table) => {
      const rows = count(`${table} WHERE instance NOT IN (SELECT key FROM instance UNION SELECT key FROM finished)`);
      return [`${table} rows of no instance`, rows] as const;
    });
    return {
      "unfinished instances": count("instance"),
      "messages in the outbox": count("outbox"),
      "instances that are both finished and not": count("instance JOIN finished USING (key)"),
      "shards that were not closed in good order": count("shard WHERE released = 0"),
      ...Object.fromEntries(orphans),
    };
  } finally {
    db.close();
  }
}
