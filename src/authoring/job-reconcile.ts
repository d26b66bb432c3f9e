import type { JobDescription, JobMetadata } from "./job-metadata.ts";

export interface Reconciliation {
  /** Rows to insert or replace. */
  readonly save: readonly JobMetadata[];
  /** Ids to delete. */
  readonly remove: readonly string[];
  readonly changes: readonly JobChange[];
}

/**
 * The state of a job at start: unchanged (`mapped`), with another body (`updated`), with other parameters instead of older
 * ones (`replaced`), registered for the first time (`new`), or not registered any more (`missing`).
 */
export interface JobChange {
  readonly kind: "mapped" | "updated" | "replaced" | "new" | "missing";
  readonly name: string;
  readonly id: string;
}

/** Matches stored job metadata with the registered functions. */
export function reconcileJobs(given: {
  readonly present: readonly JobDescription[];
  readonly stored: readonly JobMetadata[];
  readonly nowMs: number;
}): Reconciliation {
  const { present, stored, nowMs } = given;
  const storedById = new Map(stored.map((job) => [job.id, job]));
  const presentIds = new Set(present.map((job) => job.id));
  const left = stored.filter((job) => !presentIds.has(job.id));
  const leftNames = new Set(left.map((job) => job.name));
  const newNames = new Set(present.filter((job) => !storedById.has(job.id)).map((job) => job.name));

  const found = present.map((job) => {
    const before = storedById.get(job.id);
    return before === undefined ? firstSeen(job, leftNames.has(job.name), nowMs) : seenAgain(job, before, nowMs);
  });
  const gone = left.filter((job) => !newNames.has(job.name)).map((job) => notSeen(job, nowMs));
  const all = [...found, ...gone];
  return {
    save: all.flatMap(({ save }) => save ?? []),
    remove: left.filter((job) => newNames.has(job.name)).map((job) => job.id),
    changes: all.map(({ change }) => change),
  };
}

interface Finding {
  readonly change: JobChange;
  /** Absent if the stored row is up to date. */
  readonly save?: JobMetadata;
}

function firstSeen(job: JobDescription, replacesOthers: boolean, nowMs: number): Finding {
  return {
    change: { kind: replacesOthers ? "replaced" : "new", name: job.name, id: job.id },
    save: { ...job, createdAt: nowMs, updatedAt: nowMs, missing: false },
  };
}

function seenAgain(job: JobDescription, before: JobMetadata, nowMs: number): Finding {
  const sameBody = job.sourceHash === before.sourceHash;
  const change: JobChange = { kind: sameBody ? "mapped" : "updated", name: job.name, id: job.id };
  if (sameBody && job.codePath === before.codePath && !before.missing) return { change };
  return { change, save: { ...job, createdAt: before.createdAt, updatedAt: nowMs, missing: false } };
}

function notSeen(job: JobMetadata, nowMs: number): Finding {
  const change: JobChange = { kind: "missing", name: job.name, id: job.id };
  return job.missing ? { change } : { change, save: { ...job, updatedAt: nowMs, missing: true } };
}
