import {
  becameReadOnly,
  diskFull,
  type Fault,
  noAnswer,
  refusedData,
  systemCodeOf,
  translateError,
  unknownLayout,
} from "../sql/faults.ts";

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

/** A database was left in the middle of a transaction that only a writer may roll back. */
const readOnlyRollback = 776;

/** There is no space for the shared-memory file of the write-ahead log. */
const sharedMemorySize = 4874;

/** Translates an error of an open store. An unknown error may have been written, so it is `STORE_UNAVAILABLE`. */
export function operationError(error: unknown, file: string): Error {
  return translateError(error, file, () => operationFault(error, file));
}

function operationFault(error: unknown, file: string): Fault {
  switch (resultOf(error)) {
    case resultCode.full:
      return diskFull("STORE_UNAVAILABLE", file);
    case resultCode.readOnly:
      return becameReadOnly(file);
    case resultCode.corrupt:
    case resultCode.notADatabase:
      return { code: "STORE_CORRUPT", message: `the database ${file} is damaged; restore it from a backup` };
    case resultCode.tooBig:
    case resultCode.constraint:
    case resultCode.mismatch:
      return refusedData(file);
    default:
      return isUnbindable(error) ? refusedData(file) : noAnswer(file);
  }
}

/** Translates an error met while opening, when nothing has been written and a person can still fix the cause. */
export function openingError(error: unknown, file: string): Error {
  return translateError(error, file, () => openingFault(error, file));
}

function openingFault(error: unknown, file: string): Fault {
  switch (systemCodeOf(error)) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return readOnly(file);
    case "ENOSPC":
    case "EDQUOT":
      return diskFull("STORE_FULL", file);
    case "EEXIST":
    case "ENOTDIR":
      return {
        code: "OPTION_INVALID",
        message: `the path of the database ${file} leads through a file; give another path`,
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
      return diskFull("STORE_FULL", file);
    case resultCode.busy:
    case resultCode.locked:
      return {
        code: "STORE_LOCKED",
        message: `the database ${file} is in use by another program; end that program first`,
      };
    case resultCode.corrupt:
    case resultCode.notADatabase:
      return {
        code: "STORE_CORRUPT",
        message: `the file ${file} is damaged or is no database; restore it from a backup, or give another file`,
      };
    case resultCode.error:
      return unknownLayout(file);
    default:
      return { code: "STORE_UNAVAILABLE", message: `the database ${file} cannot be opened; try again` };
  }
}

function readOnly(file: string): Fault {
  return {
    code: "STORE_READ_ONLY",
    message: `the database ${file} or its folder cannot be written; give this user write access to both`,
  };
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

/** The client binds numbers, text and null; a row with anything else can never be written. */
function isUnbindable(error: unknown): boolean {
  return systemCodeOf(error) === "ERR_INVALID_ARG_TYPE";
}
