import { EngineError, messageOf } from "./error.ts";

/** Reads a JSON text of the store. `STORE_CORRUPT` with what it is of, if it is none. */
export function parseStored(text: string, what: string): unknown;
/** Reads what a JSON text of the store stands for. */
export function parseStored<Value>(text: string, what: string, read: (value: unknown) => Value): Value;
export function parseStored(text: string, what: string, read = (value: unknown) => value): unknown {
  try {
    return read(JSON.parse(text));
  } catch (error) {
    const message = `the database is damaged: ${what} is not readable (${messageOf(error)}); restore it from a backup`;
    throw new EngineError("STORE_CORRUPT", message, { cause: error });
  }
}
