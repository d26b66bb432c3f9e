import { type ThisMachine, thisMachine } from "../cluster/process-stamp.ts";
import { systemProcessTable } from "../cluster/process-table.ts";
import type { Store } from "../stores/store.ts";
import type { ResolvedClusterOptions } from "./cluster-options.ts";

/** Members on an embedded store share one process, so its process id does not identify them. */
export function machineOf(
  store: Pick<Store, "clusters">,
  { processTable }: Pick<ResolvedClusterOptions, "processTable">,
): ThisMachine {
  const table = processTable ?? (store.clusters === "always" ? systemProcessTable : undefined);
  return table === undefined ? { stamp: undefined, hasDied: () => false } : thisMachine(table);
}
