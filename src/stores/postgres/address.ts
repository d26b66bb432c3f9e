import { EngineError } from "../../base/error.ts";
import type { Address } from "../sql/address.ts";

const schemes: readonly string[] = ["postgres:", "postgresql:"];

/** The address of a PostgreSQL database. */
export interface PostgresAddress extends Address {
  /** URL for the client; it contains the password. */
  readonly url: string;
}

/** Parts that the URL leaves out come from the environment, as in the client. `OPTION_INVALID` without any part of the URL. */
export function parseAddress(url: string): PostgresAddress {
  const { protocol, hostname, port, username, pathname, searchParams } = parse(url);
  if (!schemes.includes(protocol)) throw invalid();
  const { PGHOST, PGPORT, PGUSER, PGDATABASE, USER } = process.env;
  const host = firstGiven(searchParams.get("host"), hostname, PGHOST, "localhost");
  const user = firstGiven(searchParams.get("user"), username, PGUSER, USER);
  const database = firstGiven(pathname.slice(1), PGDATABASE, user);
  const place = `${database} on ${host}:${firstGiven(searchParams.get("port"), port, PGPORT, "5432")}`;
  return { url, host, user, database, place };
}

/** A URL with a user but without a host, as for a socket given by a parameter, is not valid in the strict sense. */
function parse(url: string): URL {
  const parsed = URL.parse(url) ?? URL.parse(url.replace("@/", "@localhost/"));
  if (parsed === null) throw invalid();
  return parsed;
}

function firstGiven(...values: readonly (string | null | undefined)[]): string {
  try {
    return decodeURIComponent(values.find((value) => value) ?? "");
  } catch {
    // The error of `decodeURIComponent` would repeat a part of the URL.
    throw invalid();
  }
}

function invalid(): EngineError {
  return new EngineError(
    "OPTION_INVALID",
    "the URL of the PostgreSQL database cannot be parsed; it must look like postgres://user:password@host:5432/database",
  );
}
