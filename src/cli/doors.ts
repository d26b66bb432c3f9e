import type { EngineOptions } from "../engine/options.ts";
import type { exportInstances } from "../transfer/export-instances.ts";
import type { importInstances } from "../transfer/import-instances.ts";

export type Store = EngineOptions["storage"];

/** Loaders for the modules that only an entry point of the package may import: stores, with their drivers, and transfer. */
export interface Doors {
  readonly storage: (address: string) => Promise<Store>;
  readonly transfer: () => Promise<{
    exportInstances: typeof exportInstances;
    importInstances: typeof importInstances;
  }>;
}
