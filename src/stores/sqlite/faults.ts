import { Bug } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import { DamagedRow } from "../rows.ts";

/** SQLite's primary result codes; an extended code has its primary one in the lowest byte. */
const resultCode = {
  error: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26,
} as const;

/** A database left in the middle of a transaction that only a writer may undo. */
const readOnlyRollback = 776;

/** No space for the file through which connections share their place in the log. */
const sharedMemorySize = 4874;

interface Fault {
  readonly code: ErrorCode;
  readonly sentence: string;
}

/** Sorts an error of a running store; what is unknown may have been written, so it counts as unavailable. */
export function operationError(error: unknown, file: string): Error {
  if (error instanceof DamagedRow) return damagedRow(error, file);
  if (isOurs(error)) return error;
  const fault = operationFault(error, file);
  return new EngineError(fault.code, `${fault.sentence}: ${messageOf(error)}.`, { cause: error });
}

function operationFault(error: unknown, file: string): Fault {
  switch (resultOf(error)) {
    case resultCode.full:
      return { code: "STORE_UNAVAILABLE", sentence: `The disk of ${file} is full, free some space` };
    case resultCode.readOnly:
      return { code: "STORE_UNAVAILABLE", sentence: `The database ${file} cannot be written any more` };
    case resultCode.corrupt:
    case resultCode.notADatabase:
      return { code: "STORE_CORRUPT", sentence: `The database ${file} is damaged, restore it from a backup` };
    case resultCode.tooBig:
    case resultCode.constraint:
    case resultCode.mismatch:
      return { code: "STORE_DATA", sentence: `The database ${file} refuses the data` };
    default:
      return isUnbindable(error)
        ? { code: "STORE_DATA", sentence: `The database ${file} refuses the data` }
        : { code: "STORE_UNAVAILABLE", sentence: `The database ${file} does not answer` };
  }
}

/** Sorts an error met while opening, when nothing has been written yet and a person can still put it right. */
export function openingError(error: unknown, file: string): Error {
  if (error instanceof DamagedRow) return damagedRow(error, file);
  if (isOurs(error)) return error;
  const fault = openingFault(error, file);
  return new EngineError(fault.code, `${fault.sentence} (${messageOf(error)}).`, { cause: error });
}

function openingFault(error: unknown, file: string): Fault {
  switch (systemCode(error)) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return readOnly(file);
    case "ENOSPC":
    case "EDQUOT":
      return full(file);
    case "EEXIST":
    case "ENOTDIR":
      return {
        code: "OPTION_INVALID",
        sentence: `The path of the database ${file} leads through a file, give another`,
      };
    default:
      return sqliteOpeningFault(error, file);
  }
}

function sqliteOpeningFault(error: unknown, file: string): Fault {
  switch (resultOf(error)) {
    case resultCode.readOnly:
    case resultCode.cannotOpen:
      return readOnly(file);
    case resultCode.full:
      return full(file);
    case resultCode.busy:
    case resultCode.locked:
      return {
        code: "STORE_LOCKED",
        sentence: `The database ${file} is in use by another program, end that program first`,
      };
    case resultCode.corrupt:
    case resultCode.notADatabase:
      return {
        code: "STORE_CORRUPT",
        sentence: `The file ${file} is damaged or is no database, restore it from a backup or give another file`,
      };
    case resultCode.error:
      return {
        code: "STORE_CORRUPT",
        sentence: `The database ${file} has not the tables of its schema version, restore it from a backup`,
      };
    default:
      return { code: "STORE_UNAVAILABLE", sentence: `The database ${file} cannot be opened, try again` };
  }
}

function damagedRow(error: DamagedRow, file: string): EngineError {
  const message = `The database ${file} is damaged, restore it from a backup: ${error.damage}.`;
  return new EngineError("STORE_CORRUPT", message, { cause: error });
}

function readOnly(file: string): Fault {
  return {
    code: "STORE_READ_ONLY",
    sentence: `The database ${file} or its folder cannot be written, give this user write access to both`,
  };
}

function full(file: string): Fault {
  return { code: "STORE_FULL", sentence: `There is no space left on the disk of the database ${file}, free some` };
}

export function isBusy(error: unknown): boolean {
  return resultOf(error) === resultCode.busy;
}

export function isCorrupt(error: unknown): boolean {
  const result = resultOf(error);
  return result === resultCode.corrupt || result === resultCode.notADatabase;
}

export function needsWriterToRecover(error: unknown): boolean {
  return extendedCode(error) === readOnlyRollback;
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

function resultOf(error: unknown): number | undefined {
  const code = extendedCode(error);
  if (code === sharedMemorySize) return resultCode.full;
  return code === undefined ? undefined : code & 0xff;
}

function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The driver takes numbers, text and null; anything else in a row can never be written. */
function isUnbindable(error: unknown): boolean {
  return systemCode(error) === "ERR_INVALID_ARG_TYPE";
}

/** Said by ourselves: there is nothing to sort. */
function isOurs(error: unknown): error is EngineError | Bug {
  return error instanceof EngineError || error instanceof Bug;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
