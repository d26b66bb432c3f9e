import type { EngineOptions } from "../engine/options.ts";
import type { exportInstances } from "../transfer/export-instances.ts";
import type { importInstances } from "../transfer/import-instances.ts";

export type Store = EngineOptions["storage"];

/** What only a door of the package may name: the stores, each with its driver. Loaded when a command needs it. */
export interface Doors {
  readonly storage: (address: string) => Promise<Store>;
  readonly transfer: () => Promise<{
    exportInstances: typeof exportInstances;
    importInstances: typeof importInstances;
  }>;
}
