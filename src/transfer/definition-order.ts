import { EngineError } from "../base/error.ts";
import type { Store } from "../stores/store.ts";
import type { ImportLedger } from "./import-ledger.ts";

/**
 * A store keeps the versions that it has, and the one saved last is the newest of its name. `OPTION_INVALID`, before
 * anything is changed, if the newest version after the import would not be the newest of the export.
 */
export async function refuseOtherOrder(store: Store, ledger: ImportLedger): Promise<void> {
  let lacksOthers = false;
  for (const { row, isLatest } of ledger.definitions()) {
    const { name, version } = row;
    const isThere = (await store.findDefinition(name, version)) !== undefined;
    if (!isLatest) {
      lacksOthers ||= !isThere;
      continue;
    }
    const newest = (await store.findLatestDefinition(name))?.version;
    if (isThere && (newest !== version || lacksOthers)) {
      throw new EngineError(
        "OPTION_INVALID",
        `the store has versions of workflow "${name}" of its own, and its newest would not be the exported one; give a new database`,
      );
    }
    lacksOthers = false;
  }
}
