import { EngineError } from "../../base/error.ts";

const schemes: readonly string[] = ["postgres:", "postgresql:"];

/** Where the database is. Everything but the URL is made for people to read, and has no password in it. */
export class Address {
  /** For the driver alone. */
  readonly url: string;
  /** Such as `heddle on 127.0.0.1:5432`. */
  readonly place: string;
  readonly host: string;
  readonly database: string;
  readonly user: string;

  /** What the URL leaves out is taken from the environment, as the driver does. */
  constructor(url: string) {
    const { protocol, hostname, port, username, pathname, searchParams } = parse(url);
    const { PGHOST, PGPORT, PGUSER, PGDATABASE, USER } = process.env;
    this.url = url;
    this.host = firstGiven(searchParams.get("host"), hostname, PGHOST, "localhost");
    this.user = firstGiven(searchParams.get("user"), username, PGUSER, USER);
    this.database = firstGiven(pathname.slice(1), PGDATABASE, this.user);
    this.place = `${this.database} on ${this.host}:${firstGiven(searchParams.get("port"), port, PGPORT, "5432")}`;
    if (!schemes.includes(protocol)) throw notUnderstood();
  }
}

/** Without a host, as for a socket that is given by a parameter, one with a user is no URL in the strict sense. */
function parse(url: string): URL {
  const parsed = URL.parse(url) ?? URL.parse(url.replace("@/", "@localhost/"));
  if (parsed === null) throw notUnderstood();
  return parsed;
}

function firstGiven(...values: readonly (string | null | undefined)[]): string {
  try {
    return decodeURIComponent(values.find((value) => value) ?? "");
  } catch {
    // Its error would repeat a part of the URL.
    throw notUnderstood();
  }
}

function notUnderstood(): EngineError {
  return new EngineError(
    "OPTION_INVALID",
    "The URL of the PostgreSQL database cannot be understood, write it as postgres://user:password@host:5432/database.",
  );
}
