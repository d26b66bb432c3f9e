import { EngineError } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";

/** How the connection to the NATS server is made. */
export interface NatsOptions {
  /** First part of all subjects; default `heddle`. Clusters on one NATS server have different ones. */
  readonly prefix?: string | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** Name of a file with a user's JWT and seed, as `nsc` makes it (`.creds`). */
  readonly credentials?: string | undefined;
  /** Name of a file with the seed of an nkey. */
  readonly nkeySeed?: string | undefined;
  /** Names of files. With `ca` or a URL that begins with `tls://`, a server without TLS is refused. */
  readonly tls?: NatsTls | undefined;
}

export interface NatsTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Address of NATS, and the login. */
export interface NatsAddress {
  readonly prefix: string;
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** Servers without secrets, for messages. */
  readonly place: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly token: string | undefined;
  readonly credentials: string | undefined;
  readonly nkeySeed: string | undefined;
  readonly tls: NatsTls | undefined;
}

const prefixDefault = "heddle";
const prefixPattern = /^[\w-]+(\.[\w-]+)*$/;

/** A name has a port only after a colon; IPv6 addresses stand in brackets. */
const portDefault = 4222;

const ways = ["user", "token", "credentials", "nkeySeed"] as const;

/** `OPTION_INVALID` names what is wrong, without secrets. The URL may name several servers, separated by commas. */
export function parseNatsAddress(url: string, options: NatsOptions = {}): NatsAddress {
  const urls = url.split(",").map((each) => parseUrl(each.trim()));
  const { prefix = prefixDefault } = options;
  if (!prefixPattern.test(prefix)) {
    throw invalid(
      `the prefix of subjects must be words of letters, digits, _ and -, joined by dots, got ${preview(prefix)}`,
    );
  }
  const login = { ...loginOf(urls), ...givenOf(options) };
  const given = ways.filter((way) => login[way] !== undefined);
  if (given.length > 1) throw invalid(`give one way to log in, not ${given.join(" and ")}`);
  if (login.user === undefined && login.password !== undefined) throw invalid("a password needs a user");
  const isSecure = urls.some(({ protocol }) => protocol === "tls:");
  const tls = options.tls ?? (isSecure ? {} : undefined);
  if ((tls?.cert === undefined) !== (tls?.key === undefined)) throw invalid("tls needs cert and key together");
  const servers = urls.map(({ hostname, port }) => `${hostname}:${port === "" ? portDefault : port}`);
  return {
    prefix,
    servers,
    place: servers.join(", "),
    user: login.user,
    password: login.password,
    token: login.token,
    credentials: login.credentials,
    nkeySeed: login.nkeySeed,
    tls,
  };
}

function parseUrl(text: string): URL {
  const url = /^(nats|tls):\/\/./.test(text) ? URL.parse(text) : null;
  // The text may have a password.
  if (url === null || url.hostname === "") throw invalid("the address must be nats://host:4222 or tls://host:4222");
  if (!["", "/"].includes(url.pathname) || url.search !== "") {
    throw invalid("the address must end after the port; everything else is an option");
  }
  return url;
}

/** `nats://user:password@host`, or `nats://token@host`. */
function loginOf(urls: readonly URL[]): Pick<NatsOptions, "user" | "password" | "token"> {
  const { username = "", password = "" } = urls.find((url) => url.username !== "") ?? {};
  if (username === "") return {};
  if (password === "") return { token: decodeURIComponent(username) };
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}

function givenOf(options: NatsOptions): NatsOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/**
 * The subject of an address. A dot would divide it, and `*` and `>` would be wildcards; other characters that
 * `encodeURIComponent` escapes are not allowed or not wise in a subject.
 */
export function subjectOf(prefix: string, address: string): string {
  const token = encodeURIComponent(address).replaceAll(".", "%2E").replaceAll("*", "%2A");
  return `${prefix}.${token}`;
}

function invalid(problem: string): EngineError {
  return new EngineError("OPTION_INVALID", `the NATS bus cannot be used: ${problem}`);
}
