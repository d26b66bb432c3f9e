import { EngineError } from "../base/error.ts";
import type { Store } from "../stores/store.ts";
import type { ImportLedger } from "./import-ledger.ts";

/**
 * The store keeps versions that it has, and what is saved last is the newest of its name. `OPTION_INVALID` if another
 * would come to be the newest than the one that was exported; nothing has been changed then.
 */
export async function refuseOtherOrder(store: Store, ledger: ImportLedger): Promise<void> {
  let lacksOthers = false;
  for (const { row, isLatest } of ledger.definitions()) {
    const { name, version } = row;
    const isThere = (await store.loadDefinition(name, version)) !== undefined;
    if (!isLatest) {
      lacksOthers ||= !isThere;
      continue;
    }
    const newest = (await store.latestDefinition(name))?.version;
    if (isThere && (newest !== version || lacksOthers)) {
      throw new EngineError(
        "OPTION_INVALID",
        `The store has versions of workflow "${name}" of its own, and its newest would not be the one that was exported. Give a new database.`,
      );
    }
    lacksOthers = false;
  }
}
