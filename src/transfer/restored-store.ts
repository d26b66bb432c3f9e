import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { isHalfImported } from "../stores/importer.ts";
import type { RowCounts } from "../stores/row-counts.ts";
import type { ClusterView, Store } from "../stores/store.ts";
import { viewOf } from "./resting-store.ts";

/** A live member sends a heartbeat every 2.5 seconds, or as its `cluster.timings` say; ten seconds show any. */
const watchMs = 10_000;
const lookEveryMs = 500;

/** The changes to a restored store, made or only planned. */
export interface RestoredStore {
  readonly incarnationBefore: number;
  /** The new incarnation; undefined in a dry run. */
  readonly incarnation: number | undefined;
  /** Ids of members that the backup shows as alive, and that are gone. */
  readonly members: readonly string[];
  /** Number of shards whose epoch is raised. */
  readonly shards: number;
  /** An import into the store was interrupted before the backup: it has to be repeated. */
  readonly isHalfImported: boolean;
  readonly rows: RowCounts;
}

/**
 * Makes it known that the store was restored from a backup: gives it a new incarnation and removes members that were alive
 * when the backup was made. May be repeated. `STORE_LOCKED` while members live.
 */
export async function markRestored(
  store: Store,
  { clock, isDryRun }: { clock: Pick<Clock, "after" | "monotonic">; isDryRun: boolean },
): Promise<RestoredStore> {
  const view = await viewOf(store);
  await refuseLively(store, view, clock);
  const found = {
    incarnationBefore: view.incarnation,
    members: view.members.map(({ id }) => id),
    shards: view.shards.length,
    isHalfImported: isHalfImported(view.shards),
    rows: await store.countRows(),
  };
  if (isDryRun) return { ...found, incarnation: undefined };
  for (const { id, heartbeat } of view.members) await store.removeMember(id, heartbeat);
  const { members } = await viewOf(store);
  if (members.length > 0) throw stillAlive(members.map(({ id }) => id));
  return { ...found, incarnation: await store.beginIncarnation() };
}

/** A backup of a running store contains its members; whether they live shows in their heartbeats. */
async function refuseLively(
  store: Store,
  before: ClusterView,
  clock: Pick<Clock, "after" | "monotonic">,
): Promise<void> {
  if (before.members.length === 0) return;
  const heartbeats = new Map(before.members.map(({ id, heartbeat }) => [id, heartbeat]));
  for (const end = clock.monotonic() + watchMs; clock.monotonic() < end;) {
    await new Promise<void>((resolve) => clock.after(lookEveryMs, resolve));
    const { members } = await viewOf(store);
    const alive = members.filter(({ id, heartbeat }) => heartbeat !== heartbeats.get(id));
    if (alive.length > 0) throw stillAlive(alive.map(({ id }) => id));
  }
}

function stillAlive(members: readonly string[]): EngineError {
  return new EngineError(
    "STORE_LOCKED",
    `engines run on the store (${members.join(", ")}); stop them first, nothing was changed but members that were gone`,
  );
}
