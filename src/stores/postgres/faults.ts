import type { Address } from "../sql/address.ts";
import {
  becameReadOnly,
  diskFull,
  type Fault,
  noAnswer,
  refusedData,
  systemCodeOf,
  translateError,
} from "../sql/faults.ts";

/** PostgreSQL's error codes: two characters for the class, three for the condition. */
const sqlState = {
  readOnlyTransaction: "25006",
  divisionByZero: "22012",
  noSuchUser: "28000",
  wrongPassword: "28P01",
  noSuchDatabase: "3D000",
  noRight: "42501",
  noSuchTable: "42P01",
  noSuchColumn: "42703",
  tableExists: "42P07",
  diskFull: "53100",
  tooManyConnections: "53300",
  startingUp: "57P03",
} as const;

/** Classes of errors about the data itself: wrong values, broken constraints, the same row twice, beyond a limit. */
const dataClasses: readonly string[] = ["21", "22", "23", "54"];

/** Translates an error of an open store. An unknown error may have been written, so it is `STORE_UNAVAILABLE`. */
export function operationError(error: unknown, place: string): Error {
  return translateError(error, place, () => operationFault(error, place));
}

function operationFault(error: unknown, place: string): Fault {
  const state = sqlStateOf(error);
  if (state === sqlState.diskFull) return diskFull("STORE_UNAVAILABLE", place);
  if (state === sqlState.readOnlyTransaction) return becameReadOnly(place);
  if (state !== undefined && dataClasses.includes(state.slice(0, 2))) return refusedData(place);
  return noAnswer(place);
}

/** Translates an error met while opening, when a person can still fix the cause. */
export function openingError(error: unknown, address: Address, schema: string): Error {
  return translateError(
    error,
    address.place,
    () => openingFault(error, address, schema) ?? networkFault(error, address),
  );
}

function openingFault(error: unknown, { place, user, database }: Address, schema: string): Fault | undefined {
  if (isSasl(error)) return denied(place, user);
  switch (sqlStateOf(error)) {
    case sqlState.noSuchUser:
    case sqlState.wrongPassword:
      return denied(place, user);
    case sqlState.noSuchDatabase:
      return {
        code: "STORE_DENIED",
        message: `there is no database ${place}; make it with CREATE DATABASE ${quoted(database)}`,
      };
    case sqlState.noRight:
      return {
        code: "STORE_DENIED",
        message: `the user ${user} lacks a right in the database ${place}; run ${grants(user, schema)}`,
      };
    case sqlState.readOnlyTransaction:
      return readOnly(place);
    case sqlState.diskFull:
      return diskFull("STORE_FULL", place);
    case sqlState.tableExists:
    case sqlState.noSuchTable:
    case sqlState.noSuchColumn:
      return {
        code: "STORE_CORRUPT",
        message: `the schema ${schema} of the database ${place} does not have the tables of its schema version, or has tables of another program; restore it from a backup, or give another schema`,
      };
    case sqlState.tooManyConnections:
      return {
        code: "STORE_UNAVAILABLE",
        message: `the server of the database ${place} has no connection left; raise max_connections, or give fewer to others`,
      };
    case sqlState.startingUp:
      return {
        code: "STORE_UNAVAILABLE",
        message: `the server of the database ${place} is starting or stopping; try again`,
      };
    default:
      return undefined;
  }
}

function networkFault(error: unknown, { place, host }: Address): Fault {
  switch (systemCodeOf(error)) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return {
        code: "STORE_UNAVAILABLE",
        message: `the database ${place} cannot be reached, because no host ${host} is known; check the name in the URL`,
      };
    case "ECONNREFUSED":
    case "ENOENT":
      return {
        code: "STORE_UNAVAILABLE",
        message: `the database ${place} cannot be reached, because no server listens there; start it or correct the URL`,
      };
    default:
      return {
        code: "STORE_UNAVAILABLE",
        message: `the database ${place} cannot be opened; check the server and its address, and try again`,
      };
  }
}

function denied(place: string, user: string): Fault {
  return {
    code: "STORE_DENIED",
    message: `the database ${place} does not let the user ${user} in; check the name and the password in the URL, and pg_hba.conf on the server`,
  };
}

export function readOnly(place: string): Fault {
  return {
    code: "STORE_READ_ONLY",
    message: `the database ${place} is read-only or a standby; connect to the server that takes writes`,
  };
}

/** The statements by which an administrator lets a user work in the schema of another user. */
export function grants(user: string, schema: string): string {
  const to = `TO ${quoted(user)}`;
  return [
    `GRANT USAGE ON SCHEMA ${quoted(schema)} ${to}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} ${to}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${quoted(schema)} ${to}`,
  ].join("; ");
}

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The fences of a commit did not hold: `raise-batches.sql`, the only statement that divides, makes it this error. */
export function isFenceFault(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.divisionByZero;
}

export function isNoRight(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.noRight;
}

/** Undefined if the error is not an answer of the server. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = systemCodeOf(error);
  return error instanceof Error && "severity" in error ? code : undefined;
}

/** The password exchange failed: the password is missing, or the server could not prove itself. */
function isSasl(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("SASL");
}
