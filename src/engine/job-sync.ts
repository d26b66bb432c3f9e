import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Logger } from "../base/logger.ts";
import { defaultNamespace, localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { JobRow, Store } from "../stores/store.ts";

export interface JobSyncParts {
  readonly store: Store;
  readonly logger: Logger;
  /** Other members may have functions that are not here. */
  readonly isShared: boolean;
}

/**
 * Updates the jobs on record to the functions in this process, and logs what has changed. One read serves all the
 * namespaces that are given.
 */
export async function syncJobs(
  { store, logger, isShared }: JobSyncParts,
  registryOf: (namespace: string) => JobRegistry | undefined,
  { namespaces, now }: { readonly namespaces: readonly string[]; readonly now: number },
): Promise<void> {
  const stored = Map.groupBy(await store.loadJobs(), ({ id }) => namespaceOf(id));
  const save: JobRow[] = [];
  const remove: string[] = [];
  for (const namespace of new Set([...namespaces, ...(isShared ? [] : stored.keys())])) {
    const registry = registryOf(namespace);
    if (registry === undefined) continue;
    const rows = (stored.get(namespace) ?? []).map((row) => rename(row, localName));
    const found = registry.reconcile(rows, now);
    for (const row of found.save)
      if (!isShared || !row.missing) save.push(rename(row, (name) => qualify(namespace, name)));
    for (const id of found.remove) remove.push(qualify(namespace, id));
    logChanges(logger, namespace, found.changes);
  }
  if (save.length > 0) await store.saveJobs(save);
  if (remove.length > 0) await store.deleteJobs(remove);
}

function rename(row: JobRow, change: (name: string) => string): JobRow {
  return { ...row, id: change(row.id), name: change(row.name) };
}

function logChanges(logger: Logger, namespace: string, changes: ReturnType<JobRegistry["reconcile"]>["changes"]): void {
  const where = namespace === defaultNamespace ? {} : { namespace };
  for (const { kind, name, id } of changes) {
    const fields = { job: name, id, ...where };
    if (kind === "missing") logger.warn(fields, "a job on record has no function here; tasks that need it wait");
    else if (kind === "updated") logger.info(fields, "a job's code has changed");
    else if (kind === "replaced")
      logger.info(fields, "a job's parameters have changed; the new signature replaces the old");
  }
}
