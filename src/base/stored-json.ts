import { EngineError, messageOf } from "./error.ts";

/** Reads a JSON text of the store. `STORE_CORRUPT` with what it is of, if it is none. */
export function parseStored(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = `the database is damaged: ${what} is not readable (${messageOf(error)}); restore it from a backup`;
    throw new EngineError("STORE_CORRUPT", message, { cause: error });
  }
}
