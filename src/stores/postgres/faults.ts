import { Bug } from "../../base/assert.ts";
import { EngineError } from "../../base/error.ts";
import type { ErrorCode } from "../../base/error.ts";
import type { Address } from "./address.ts";

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

/** The server will never take these data: wrong values, broken constraints, the same row twice, beyond a limit. */
const dataClasses: readonly string[] = ["21", "22", "23", "54"];

interface Fault {
  readonly code: ErrorCode;
  readonly sentence: string;
}

/** Sorts an error of a running store; what is unknown may have been written, so it counts as unavailable. */
export function operationError(error: unknown, { place }: Address): Error {
  if (isOurs(error)) return error;
  const fault = operationFault(error, place);
  return new EngineError(fault.code, `${fault.sentence}: ${wordsOf(error)}.`, { cause: error });
}

function operationFault(error: unknown, place: string): Fault {
  const state = sqlStateOf(error);
  if (state === sqlState.diskFull) {
    return { code: "STORE_UNAVAILABLE", sentence: `The disk of the database ${place} is full, free some space` };
  }
  if (state === sqlState.readOnlyTransaction) {
    return {
      code: "STORE_UNAVAILABLE",
      sentence: `The database ${place} has become read-only, make it writable or connect to the server that is`,
    };
  }
  if (state !== undefined && dataClasses.includes(state.slice(0, 2))) {
    return { code: "STORE_DATA", sentence: `The database ${place} refuses the data` };
  }
  return { code: "STORE_UNAVAILABLE", sentence: `The database ${place} does not answer` };
}

/** Sorts an error met while opening, when a person can still put it right. */
export function openingError(error: unknown, address: Address, schema: string): Error {
  if (isOurs(error)) return error;
  const fault = openingFault(error, address, schema) ?? networkFault(error, address);
  return new EngineError(fault.code, `${fault.sentence} (${wordsOf(error)}).`, { cause: error });
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
        sentence: `There is no database ${place}, make it with CREATE DATABASE ${quoted(database)}`,
      };
    case sqlState.noRight:
      return {
        code: "STORE_DENIED",
        sentence: `The user ${user} lacks a right in the database ${place}, run ${grants(user, schema)}`,
      };
    case sqlState.readOnlyTransaction:
      return readOnly(place);
    case sqlState.diskFull:
      return { code: "STORE_FULL", sentence: `There is no space left on the disk of the database ${place}, free some` };
    case sqlState.tableExists:
    case sqlState.noSuchTable:
    case sqlState.noSuchColumn:
      return {
        code: "STORE_CORRUPT",
        sentence: `The schema ${schema} of the database ${place} has tables that are not ours, or lacks some that are, give another schema or restore it from a backup`,
      };
    case sqlState.tooManyConnections:
      return {
        code: "STORE_UNAVAILABLE",
        sentence: `The server of the database ${place} has no connection left, raise max_connections or give fewer to others`,
      };
    case sqlState.startingUp:
      return { code: "STORE_UNAVAILABLE", sentence: `The server of the database ${place} is starting or stopping` };
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
        sentence: `The database ${place} cannot be reached, because no host ${host} is known, check the name in the URL`,
      };
    case "ECONNREFUSED":
    case "ENOENT":
      return {
        code: "STORE_UNAVAILABLE",
        sentence: `The database ${place} cannot be reached, because no server listens there, start it or correct the URL`,
      };
    default:
      return {
        code: "STORE_UNAVAILABLE",
        sentence: `The database ${place} cannot be opened, check the server and its address, and try again`,
      };
  }
}

function denied(place: string, user: string): Fault {
  return {
    code: "STORE_DENIED",
    sentence: `The database ${place} does not let the user ${user} in, check the name and the password in the URL, and pg_hba.conf on the server`,
  };
}

export function readOnly(place: string): Fault {
  return {
    code: "STORE_READ_ONLY",
    sentence: `The database ${place} is read-only or a standby, connect to the server that takes writes`,
  };
}

/** What an administrator types to let a user work in a schema that is another's. */
export function grants(user: string, schema: string): string {
  const to = `TO ${quoted(user)}`;
  return [
    `GRANT USAGE ON SCHEMA ${quoted(schema)} ${to}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${quoted(schema)} ${to}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${quoted(schema)} ${to}`,
  ].join("; ");
}

/** As a name in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A fence of the commit did not hold: it alone divides. */
export function isFenceFault(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.divisionByZero;
}

export function isNoRight(error: unknown): boolean {
  return sqlStateOf(error) === sqlState.noRight;
}

/** Undefined if it is no answer of the server. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = systemCodeOf(error);
  return error instanceof Error && "severity" in error ? code : undefined;
}

function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The two sides did not come to terms about the password: it is missing, or the server could not prove itself. */
function isSasl(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("SASL");
}

/** Said by ourselves: there is nothing to sort. */
function isOurs(error: unknown): error is EngineError | Bug {
  return error instanceof EngineError || error instanceof Bug;
}

/** What is known, in one line and without a full stop. A host with several addresses has an error for each, and none of its own. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(wordsOf).join(", ");
  const words = error instanceof Error ? error.message : String(error);
  const detail = error instanceof Error && "detail" in error && typeof error.detail === "string" ? error.detail : "";
  return (detail === "" ? words : `${words}, ${detail}`).replaceAll(/\s+/g, " ").replace(/\.$/, "");
}
