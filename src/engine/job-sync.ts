import type { JobRegistry } from "../authoring/job-registry.ts";
import type { Logger } from "../base/logger.ts";
import type { Store } from "../stores/store.ts";

/** Updates the jobs on record to the functions in this process, and logs what has changed. */
export async function syncJobs(parts: {
  registry: JobRegistry;
  store: Store;
  logger: Logger;
  now: number;
  /** Other members may have functions that are not here. */
  isShared: boolean;
}): Promise<void> {
  const { registry, store, logger, now, isShared } = parts;
  const { save: found, remove, changes } = registry.reconcile(await store.loadJobs(), now);
  const save = isShared ? found.filter(({ missing }) => !missing) : found;
  if (save.length > 0) await store.saveJobs(save);
  if (remove.length > 0) await store.deleteJobs(remove);
  for (const { kind, name, id } of changes) {
    if (kind === "missing")
      logger.warn({ job: name, id }, "a job on record has no function here; tasks that need it wait");
    else if (kind === "updated") logger.info({ job: name, id }, "a job's code has changed");
    else if (kind === "replaced")
      logger.info({ job: name, id }, "a job's parameters have changed; the new signature replaces the old");
  }
}
