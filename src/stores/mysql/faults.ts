import { Bug } from "../../base/assert.ts";
import { EngineError, messageOf } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import type { Address } from "./address.ts";
import { NoAnswer } from "./connection.ts";

/** Numbers of the servers' errors, the same for MySQL and MariaDB. */
const errorNumber = {
  diskFull: 1021,
  tooManyConnections: 1040,
  deniedToDatabase: 1044,
  wrongPassword: 1045,
  unknownDatabase: 1049,
  noSuchConnection: 1094,
  othersConnection: 1095,
  tableFull: 1114,
  rowTooLarge: 1118,
  hostNotAllowed: 1130,
  deniedToTable: 1142,
  deniedToColumn: 1143,
  noSuchTable: 1146,
  packetTooLarge: 1153,
  tooManyOfUser: 1203,
  rightNeeded: 1227,
  readOnlyOption: 1290,
  invalidText: 1300,
  wrongValue: 1366,
  sumOutOfRange: 1690,
  noPasswordNeeded: 1698,
  readOnlyTransaction: 1792,
  readOnlyMode: 1836,
  accountLocked: 3118,
} as const;

/** The first two characters of an error's state: the value does not fit, or its key is there already. */
const dataStates = ["22", "23"];
const dataNumbers: readonly number[] = [
  errorNumber.rowTooLarge,
  errorNumber.packetTooLarge,
  errorNumber.invalidText,
  errorNumber.wrongValue,
];

interface Fault {
  readonly code: ErrorCode;
  readonly sentence: string;
}

/** Sorts an error of a running store; what is unknown may have been written, so it counts as unavailable. */
export function operationError(error: unknown, address: Address): Error {
  if (isOurs(error)) return error;
  const fault = operationFault(error, address);
  return new EngineError(fault.code, `${fault.sentence}: ${wordsOf(error)}.`, { cause: error });
}

function operationFault(error: unknown, { shown }: Address): Fault {
  if (isData(error)) return { code: "STORE_DATA", sentence: `The database ${shown} refuses the data` };
  switch (numberOf(error)) {
    case errorNumber.diskFull:
    case errorNumber.tableFull:
      return { code: "STORE_UNAVAILABLE", sentence: `The disk of the database ${shown} is full, free some space` };
    case errorNumber.readOnlyOption:
    case errorNumber.readOnlyTransaction:
    case errorNumber.readOnlyMode:
      return { code: "STORE_UNAVAILABLE", sentence: `The database ${shown} cannot be written any more` };
    default:
      return numberOf(error) === undefined
        ? { code: "STORE_UNAVAILABLE", sentence: `The database ${shown} does not answer` }
        : { code: "STORE_UNAVAILABLE", sentence: `The database ${shown} did not do it` };
  }
}

/** Sorts an error met while opening, when nothing has been written yet and a person can still put it right. */
export function openingError(error: unknown, address: Address): Error {
  if (isOurs(error)) return error;
  const fault = openingFault(error, address);
  return new EngineError(fault.code, `${fault.sentence} (${wordsOf(error)}).`, { cause: error });
}

function openingFault(error: unknown, address: Address): Fault {
  const { shown, user, database } = address;
  switch (numberOf(error)) {
    case undefined:
      return unreachable(error, address);
    case errorNumber.wrongPassword:
    case errorNumber.noPasswordNeeded:
    case errorNumber.hostNotAllowed:
    case errorNumber.accountLocked:
      return {
        code: "STORE_DENIED",
        sentence: `The server of ${shown} does not let the user ${user} in, correct the user name or the password`,
      };
    case errorNumber.deniedToDatabase:
    case errorNumber.deniedToTable:
    case errorNumber.deniedToColumn:
    case errorNumber.rightNeeded:
      return {
        code: "STORE_DENIED",
        sentence:
          `The user ${user} lacks a right on the database ${shown}, let an administrator run ` +
          `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX ON ${quoted(database)}.* TO '${user}'@'%'`,
      };
    case errorNumber.unknownDatabase:
      return {
        code: "STORE_DENIED",
        sentence: `There is no database ${shown}, make it with CREATE DATABASE ${quoted(database)}`,
      };
    case errorNumber.noSuchTable:
      return {
        code: "STORE_CORRUPT",
        sentence: `The database ${shown} has not the tables of its schema version, restore it from a backup`,
      };
    case errorNumber.readOnlyOption:
    case errorNumber.readOnlyTransaction:
    case errorNumber.readOnlyMode:
      return {
        code: "STORE_READ_ONLY",
        sentence: `The server of ${shown} takes no writes, give the URL of one that does`,
      };
    case errorNumber.diskFull:
    case errorNumber.tableFull:
      return { code: "STORE_FULL", sentence: `There is no space left on the disk of the database ${shown}, free some` };
    case errorNumber.tooManyConnections:
    case errorNumber.tooManyOfUser:
      return {
        code: "STORE_UNAVAILABLE",
        sentence: `The server of ${shown} has no connection left for the user ${user}, raise max_connections or end others`,
      };
    default:
      return { code: "STORE_UNAVAILABLE", sentence: `The database ${shown} cannot be opened, try again` };
  }
}

function unreachable(error: unknown, { shown }: Address): Fault {
  const sentence =
    error instanceof NoAnswer
      ? `The server of ${shown} is there but does not answer, look whether it is overloaded`
      : `No MySQL or MariaDB server is reached at ${shown}, start it or correct the URL`;
  return { code: "STORE_UNAVAILABLE", sentence };
}

/** The fences of a commit did not all hold; `check-fences.sql` makes it this error. */
export function isFenceError(error: unknown): boolean {
  return numberOf(error) === errorNumber.sumOutOfRange;
}

/** A connection was to be ended that is gone, or that is somebody else's; it is told by the error's cause. */
export function isNotEnded(error: unknown): boolean {
  const number = numberOf(error instanceof EngineError ? error.cause : error);
  return number === errorNumber.noSuchConnection || number === errorNumber.othersConnection;
}

export function isMissingTable(error: unknown): boolean {
  return numberOf(error) === errorNumber.noSuchTable;
}

/** What an error says, to be put into a sentence. A host of several addresses fails with several errors and no words. */
function wordsOf(error: unknown): string {
  const words = messageOf(error) || (error instanceof Error && "code" in error ? String(error.code) : "");
  return words.replace(/\.$/, "");
}

/** As a name in SQL. */
function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

function isData(error: unknown): boolean {
  const number = numberOf(error);
  if (number === undefined) return false;
  return dataNumbers.includes(number) || dataStates.includes(stateOf(error).slice(0, 2));
}

/** Undefined if it is not the server that says so. */
function numberOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errno" in error) || !("sqlState" in error)) return undefined;
  return typeof error.errno === "number" ? error.errno : undefined;
}

function stateOf(error: unknown): string {
  return error instanceof Error && "sqlState" in error && typeof error.sqlState === "string" ? error.sqlState : "";
}

/** Said by ourselves: there is nothing to sort. */
function isOurs(error: unknown): error is EngineError | Bug {
  return error instanceof EngineError || error instanceof Bug;
}
