import type { IncomingHttpHeaders } from "node:http";
import type { Role } from "../../api/route.ts";
import type { Clock } from "../../base/clock.ts";
import { HttpError } from "../request/http-error.ts";
import { type Caller, mayAct } from "../request/caller.ts";
import { RateLimit } from "./rate-limit.ts";
import type { Tokens } from "./tokens.ts";

/** The caller of a server on the loopback address without tokens: a local user. */
const local: Caller = { name: "local", role: "admin" };

const wayBack =
  "if no admin's token is left, start the server with the variable HEDDLE_TOKEN set to a secret of your own, which is then an admin's token";

const minuteMs = 60_000;
const failuresPerMinute = 10;

export interface GuardParts {
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly isLoopback: boolean;
  readonly ratePerSecond: number;
}

/** Authenticates and authorizes callers, and enforces rate limits. */
export class Guard {
  readonly #tokens: Tokens;
  readonly #isLoopback: boolean;
  readonly #rate: RateLimit;
  readonly #failures: RateLimit;

  constructor({ tokens, clock, isLoopback, ratePerSecond }: GuardParts) {
    this.#tokens = tokens;
    this.#isLoopback = isLoopback;
    this.#rate = new RateLimit({ clock, max: ratePerSecond, windowMs: 1000 });
    this.#failures = new RateLimit({ clock, max: failuresPerMinute, windowMs: minuteMs });
  }

  /** Authenticates a request by its header, and checks its role. `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`. */
  authorize(request: { readonly headers: IncomingHttpHeaders; readonly ip: string }, needed: Role): Caller {
    return this.authorizeSecret(secretOf(request.headers.authorization), request.ip, needed);
  }

  /** Authorizes by a secret that is not in the header: browsers cannot set headers on a WebSocket. */
  authorizeSecret(secret: string | undefined, address: string, needed: Role): Caller {
    const caller = this.#isOpen ? local : this.#identify(secret, address);
    if (!mayAct(caller.role, needed)) {
      const message = `that needs the role ${needed}, and "${caller.name}" is ${caller.role}`;
      throw new HttpError("FORBIDDEN", message, { caller });
    }
    const waitSeconds = this.#rate.take(caller.name);
    if (waitSeconds === undefined) return caller;
    throw new HttpError("RATE_LIMITED", `"${caller.name}" asks more often than it may`, {
      retryAfterSeconds: waitSeconds,
      caller,
    });
  }

  /** True if the request would be authorized; does not count for rate limits. */
  recognizes({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
    const secret = secretOf(headers.authorization);
    return this.#isOpen || (secret !== undefined && this.#tokens.find(secret) !== undefined);
  }

  get #isOpen(): boolean {
    return this.#isLoopback && this.#tokens.isEmpty;
  }

  /** Failed attempts limit the address, but never a valid token: many users may share an address. */
  #identify(secret: string | undefined, address: string): Caller {
    const caller = secret === undefined ? undefined : this.#tokens.find(secret);
    if (caller !== undefined) return caller;
    const waitSeconds = secret === undefined ? undefined : this.#failures.take(address);
    if (waitSeconds !== undefined) {
      throw new HttpError("RATE_LIMITED", "too many tokens from this address were wrong", {
        retryAfterSeconds: waitSeconds,
      });
    }
    const message =
      secret === undefined
        ? "a token is needed: send the header authorization: Bearer hdl_…"
        : "that token is not known, or is no longer valid";
    throw new HttpError("UNAUTHORIZED", `${message}; ${wayBack}`, { headers: { "www-authenticate": "Bearer" } });
  }
}

/** Parses the header. Other schemes count as an unknown token, an empty one as none. */
function secretOf(authorization: string | undefined): string | undefined {
  const secret = authorization?.replace(/^bearer *(?: |$)/i, "").trim();
  return secret === "" ? undefined : secret;
}
