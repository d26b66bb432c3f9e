import { Bug } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import { DamagedRow } from "../damaged-row.ts";
import type { Migration } from "./sql-files.ts";

/** Meaning of a client's error: a code, and a message without the client's own words. */
export interface Fault {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Translates an error by the adapter's table. Errors of our own have their code and message already. */
export function translateError(error: unknown, place: string, faultOf: (error: unknown) => Fault): Error {
  if (error instanceof DamagedRow) {
    const message = `the database ${place} is damaged; restore it from a backup (${error.damage})`;
    return new EngineError("STORE_CORRUPT", message, { cause: error });
  }
  if (error instanceof EngineError || error instanceof Bug) return error;
  const { code, message } = faultOf(error);
  return new EngineError(code, `${message} (${wordsOf(error)})`, { cause: error });
}

export function refusedData(place: string): Fault {
  return { code: "STORE_DATA", message: `the database ${place} refuses the data` };
}

export function noAnswer(place: string): Fault {
  return { code: "STORE_UNAVAILABLE", message: `the database ${place} does not answer` };
}

/** A running engine keeps trying, so a full disk is `STORE_UNAVAILABLE` there, and `STORE_FULL` at the opening. */
export function diskFull(code: "STORE_UNAVAILABLE" | "STORE_FULL", place: string): Fault {
  return { code, message: `the disk of the database ${place} is full; free some space` };
}

export function becameReadOnly(place: string): Fault {
  return {
    code: "STORE_UNAVAILABLE",
    message: `the database ${place} has become read-only; make it writable again`,
  };
}

export function unknownLayout(place: string): Fault {
  return {
    code: "STORE_CORRUPT",
    message: `the database ${place} does not have the tables of its schema version; restore it from a backup, or give another database`,
  };
}

/**
 * `STORE_NEWER` if a later version of Heddle has migrated the database, `STORE_OLDER` if its layout is from before the
 * first migration. A version of 0 is that of a database without tables.
 */
export function checkSchemaVersion(version: number, migrations: readonly Migration[], place: string): void {
  const oldest = migrations[0]?.version ?? 0;
  const known = migrations.at(-1)?.version ?? 0;
  if (version > 0 && version < oldest) {
    throw new EngineError(
      "STORE_OLDER",
      `the database ${place} has schema version ${version}, and this program reads versions from ${oldest} on: it was written by a version of Heddle before 0.2, which was never released; run that version, or give another database`,
    );
  }
  if (version <= known) return;
  throw new EngineError(
    "STORE_NEWER",
    `the database ${place} has schema version ${version}, this program knows versions up to ${known}; run a newer version of Heddle, or give another database`,
  );
}

/** Returns the `code` of an error of Node.js or of a client, such as `ECONNREFUSED`. */
export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The client's own words in one line. A host with several addresses fails with an error for each, and no message. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(wordsOf).join(", ");
  const message = error instanceof Error ? error.message : String(error);
  const words = message === "" ? (systemCodeOf(error) ?? "") : message;
  const detail = error instanceof Error && "detail" in error && typeof error.detail === "string" ? error.detail : "";
  return (detail === "" ? words : `${words}, ${detail}`).replaceAll(/\s+/g, " ").replace(/\.$/, "");
}
