import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { ServerConfig } from "../server/config/server-config.ts";
import type { ServerParts } from "../server/server.ts";
import type { exportInstances } from "../transfer/export-instances.ts";
import type { importInstances } from "../transfer/import-instances.ts";

export type Store = EngineOptions["storage"];

/** An engine whose clock is moved by hand. */
export interface PastEngine {
  readonly engine: Engine;
  readonly clock: Pick<NonNullable<EngineOptions["clock"]>, "now" | "after"> & {
    advance(ms: number): Promise<void>;
  };
  readonly stop: () => Promise<void>;
}

export type PastEngineOptions = Pick<EngineOptions, "jobs" | "workflows" | "logger"> & {
  /** Default: in memory. */
  readonly storage?: Store;
  /** Start of its clock, epoch ms. */
  readonly now: number;
};

/** Loaders for the modules that only an entry point of the package may import: stores, with their drivers, transfer, and the test engine. */
export interface Doors {
  readonly storage: (address: string) => Promise<Store>;
  /** The bus of an address that begins with `nats:` or `tls:`. */
  readonly bus: (address: string, options: ServerConfig["cluster"]["nats"]) => Promise<ServerParts["bus"]>;
  readonly pastEngine: (options: PastEngineOptions) => Promise<PastEngine>;
  readonly transfer: () => Promise<{
    exportInstances: typeof exportInstances;
    importInstances: typeof importInstances;
  }>;
}
