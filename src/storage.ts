import { EngineError } from "./base/error.ts";
import { preview } from "./base/preview.ts";
import type { Store } from "./stores/store.ts";

/** The store in a configuration file. */
export interface StorageConfig {
  readonly databaseType: "sqlite" | "postgresql" | "mysql";
  /** `postgresql://…`, `mysql://…`; for SQLite the name of a file. */
  readonly url: string;
}

/** The default store. */
const defaultStorage = "sqlite:./heddle.db";

/** The setting with its source, for error messages. */
interface Setting {
  readonly name: string;
  readonly text: string;
}

/**
 * Opens the store that the configuration or the environment names, so that the same program runs on a file or on a
 * database server. Loads only the driver of that store.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { storage } from "heddle/storage";
 *
 * // HEDDLE_STORAGE=postgresql://user:password@host/database, mysql://…, sqlite:./heddle.db; the last is the default.
 * const engine = new Engine({ storage: await storage(), jobs });
 * ```
 */
export async function storage(config?: string | StorageConfig): Promise<Store> {
  const { name, text } = settingOf(config);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case "sqlite":
      return (await import("./sqlite.ts")).sqlite(text.slice("sqlite:".length));
    case "postgresql":
    case "postgres":
      return (await import("./postgres.ts")).postgres(text);
    case "mysql":
    case "mariadb":
      return (await import("./mysql.ts")).mysql(text);
    default:
      // The rest of the address may have a password.
      throw new EngineError(
        "OPTION_INVALID",
        `${name} must begin with sqlite:, postgresql:// or mysql://, and begins with ${preview(scheme ?? text.slice(0, 6))}.`,
      );
  }
}

function settingOf(config: string | StorageConfig | undefined): Setting {
  if (typeof config === "string") return { name: "The storage", text: config };
  if (config === undefined) {
    const named = process.env["HEDDLE_STORAGE"] ?? "";
    return { name: "HEDDLE_STORAGE", text: named === "" ? defaultStorage : named };
  }
  const { databaseType, url } = config;
  if (databaseType === "sqlite")
    return { name: "storage.url", text: url.startsWith("sqlite:") ? url : `sqlite:${url}` };
  const scheme = { postgresql: /^postgres(ql)?:/, mysql: /^(mysql|mariadb):/ }[databaseType];
  if (scheme === undefined) {
    throw new EngineError(
      "OPTION_INVALID",
      `storage.databaseType must be "sqlite", "postgresql" or "mysql", got ${preview(databaseType)}.`,
    );
  }
  if (scheme.test(url)) return { name: "storage.url", text: url };
  throw new EngineError(
    "OPTION_INVALID",
    `storage.url must be a ${databaseType}:// address, as storage.databaseType says.`,
  );
}
