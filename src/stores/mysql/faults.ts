import { EngineError } from "../../base/error.ts";
import type { Address } from "../sql/address.ts";
import { NoAnswer } from "../sql/deadline.ts";
import {
  becameReadOnly,
  diskFull,
  type Fault,
  noAnswer,
  refusedData,
  translateError,
  unknownLayout,
} from "../sql/faults.ts";

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

/** Classes of SQL states about the data itself: the value does not fit, or its key exists already. */
const dataStates = ["22", "23"];
const dataNumbers: readonly number[] = [
  errorNumber.rowTooLarge,
  errorNumber.packetTooLarge,
  errorNumber.invalidText,
  errorNumber.wrongValue,
];

/** Translates an error of an open store. An unknown error may have been written, so it is `STORE_UNAVAILABLE`. */
export function operationError(error: unknown, place: string): Error {
  return translateError(error, place, () => operationFault(error, place));
}

function operationFault(error: unknown, place: string): Fault {
  if (isData(error)) return refusedData(place);
  switch (numberOf(error)) {
    case errorNumber.diskFull:
    case errorNumber.tableFull:
      return diskFull("STORE_UNAVAILABLE", place);
    case errorNumber.readOnlyOption:
    case errorNumber.readOnlyTransaction:
    case errorNumber.readOnlyMode:
      return becameReadOnly(place);
    case undefined:
      return noAnswer(place);
    default:
      return { code: "STORE_UNAVAILABLE", message: `the database ${place} failed to run a statement` };
  }
}

/** Translates an error met while opening, when nothing has been written and a person can still fix the cause. */
export function openingError(error: unknown, address: Address): Error {
  return translateError(error, address.place, () => openingFault(error, address));
}

function openingFault(error: unknown, { place, user, database }: Address): Fault {
  switch (numberOf(error)) {
    case undefined:
      return unreachable(error, place);
    case errorNumber.wrongPassword:
    case errorNumber.noPasswordNeeded:
    case errorNumber.hostNotAllowed:
    case errorNumber.accountLocked:
      return {
        code: "STORE_DENIED",
        message: `the server of the database ${place} does not let the user ${user} in; correct the user name or the password in the URL`,
      };
    case errorNumber.deniedToDatabase:
    case errorNumber.deniedToTable:
    case errorNumber.deniedToColumn:
    case errorNumber.rightNeeded:
      return {
        code: "STORE_DENIED",
        message:
          `the user ${user} lacks a right on the database ${place}; run ` +
          `GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX ON ${quoted(database)}.* TO '${user}'@'%'`,
      };
    case errorNumber.unknownDatabase:
      return {
        code: "STORE_DENIED",
        message: `there is no database ${place}; make it with CREATE DATABASE ${quoted(database)}`,
      };
    case errorNumber.noSuchTable:
      return unknownLayout(place);
    case errorNumber.readOnlyOption:
    case errorNumber.readOnlyTransaction:
    case errorNumber.readOnlyMode:
      return {
        code: "STORE_READ_ONLY",
        message: `the server of the database ${place} takes no writes; give the URL of one that does`,
      };
    case errorNumber.diskFull:
    case errorNumber.tableFull:
      return diskFull("STORE_FULL", place);
    case errorNumber.tooManyConnections:
    case errorNumber.tooManyOfUser:
      return {
        code: "STORE_UNAVAILABLE",
        message: `the server of the database ${place} has no connection left for the user ${user}; raise max_connections, or give fewer to others`,
      };
    default:
      return { code: "STORE_UNAVAILABLE", message: `the database ${place} cannot be opened; try again` };
  }
}

function unreachable(error: unknown, place: string): Fault {
  const message =
    error instanceof NoAnswer
      ? `the server of the database ${place} is there but does not answer; check whether it is overloaded`
      : `no MySQL or MariaDB server is reached for the database ${place}; start it or correct the URL`;
  return { code: "STORE_UNAVAILABLE", message };
}

/** Returns whether an error is an answer of the server, or an error of ours that was made of one. */
export function isAnswer(error: unknown): boolean {
  return error instanceof EngineError || numberOf(error) !== undefined;
}

/** The fences of a commit did not hold: `check-fences.sql` makes it this error. */
export function isFenceError(error: unknown): boolean {
  return numberOf(error) === errorNumber.sumOutOfRange;
}

/** A connection that was to be killed is gone, or belongs to another user. */
export function isNotEnded(error: unknown): boolean {
  const number = numberOf(error);
  return number === errorNumber.noSuchConnection || number === errorNumber.othersConnection;
}

export function isMissingTable(error: unknown): boolean {
  return numberOf(error) === errorNumber.noSuchTable;
}

/** Quotes a name for SQL. */
function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

function isData(error: unknown): boolean {
  const number = numberOf(error);
  if (number === undefined) return false;
  return dataNumbers.includes(number) || dataStates.includes(stateOf(error).slice(0, 2));
}

/** Undefined if the error is not an answer of the server. */
function numberOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errno" in error) || !("sqlState" in error)) return undefined;
  return typeof error.errno === "number" ? error.errno : undefined;
}

function stateOf(error: unknown): string {
  return error instanceof Error && "sqlState" in error && typeof error.sqlState === "string" ? error.sqlState : "";
}
