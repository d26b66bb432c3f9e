import { readFileSync } from "node:fs";
import { EngineError, messageOf } from "../../base/error.ts";
import type { Address } from "../sql/address.ts";

/** The address of a MySQL or MariaDB database, with what its client needs. */
export interface MysqlAddress extends Address {
  readonly port: number;
  /** A Unix socket, in place of host and port. */
  readonly socketPath: string | undefined;
  readonly password: string;
  readonly tls: Tls | undefined;
}

/** TLS settings: whether the server's certificate and its name are verified. */
export interface Tls {
  readonly rejectUnauthorized: boolean;
  readonly verifyIdentity: boolean;
  /** Authorities to trust in place of those that Node.js knows, as PEM text. */
  readonly ca?: string;
}

const example = "mysql://user:password@host:3306/database";
const schemes = ["mysql:", "mariadb:"];
const parameters = ["ssl-mode", "ssl-ca", "socket"];
const portDefault = 3306;

/** `OPTION_INVALID`, without any part of the URL that may be the password. */
export function parseAddress(text: unknown): MysqlAddress {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null || !schemes.includes(url.protocol)) throw invalid("cannot be parsed");
  const user = decoded(url.username, "user name");
  const database = decoded(url.pathname.slice(1), "database name");
  if (user === "") throw invalid("has no user name");
  if (database === "") throw invalid("has no database name");
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name)) throw invalid(`has the parameter ${name}, and may have ${parameters.join(", ")}`);
  }
  const host = decoded(url.hostname, "host name").replace(/^\[(.*)\]$/, "$1") || "localhost";
  const port = url.port === "" ? portDefault : Number(url.port);
  const socketPath = url.searchParams.get("socket") ?? undefined;
  const server = socketPath ?? `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    host,
    port,
    socketPath,
    user,
    password: decoded(url.password, "password"),
    database,
    tls: tlsOf(url.searchParams),
    place: `${database} on ${server}`,
  };
}

/** Modes have the names that the servers' own clients use. */
function tlsOf(search: URLSearchParams): Tls | undefined {
  const mode = search.get("ssl-mode")?.toUpperCase() ?? "DISABLED";
  const file = search.get("ssl-ca");
  if (mode === "DISABLED") {
    if (file === null) return undefined;
    throw invalid("has ssl-ca, which needs ssl-mode=VERIFY_IDENTITY, VERIFY_CA or REQUIRED beside it");
  }
  const ca = file === null ? {} : { ca: readAuthorities(file) };
  switch (mode) {
    case "REQUIRED":
      return { rejectUnauthorized: file !== null, verifyIdentity: false, ...ca };
    case "VERIFY_CA":
      return { rejectUnauthorized: true, verifyIdentity: false, ...ca };
    case "VERIFY_IDENTITY":
      return { rejectUnauthorized: true, verifyIdentity: true, ...ca };
    default:
      throw invalid("has an ssl-mode that is none of DISABLED, REQUIRED, VERIFY_CA and VERIFY_IDENTITY");
  }
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`names an ssl-ca that cannot be read (${messageOf(error)})`);
  }
}

function decoded(part: string, what: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid(`has a ${what} with a % that is not followed by two digits; write %25 for a percent sign`);
  }
}

function invalid(what: string): EngineError {
  return new EngineError("OPTION_INVALID", `the URL of the MySQL database ${what}; it must look like ${example}`);
}
