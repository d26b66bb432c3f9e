import type { Role } from "../../api/route.ts";
import type { Clock } from "../../base/clock.ts";
import { HttpError } from "../request/http-error.ts";
import { type Caller, mayAct, type TokenHolder } from "../request/caller.ts";
import { callerIn, type NamespaceRequest } from "./namespace-choice.ts";
import { RateLimit } from "./rate-limit.ts";
import { secretOfCookie } from "./session-cookie.ts";
import type { Tokens } from "./tokens.ts";

/** The caller of a server on the loopback address without tokens: a local user. */
const local: TokenHolder = { name: "local", role: "admin", namespace: undefined };

const wayBack =
  "if no admin's token is left, start the server with the variable HEDDLE_TOKEN set to a secret of your own, which is then an admin's token";

const minuteMs = 60_000;
const failuresPerMinute = 10;

/** The parts of a request that authenticate it: the header, or the session cookie of the console. */
export interface GuardedRequest extends NamespaceRequest {
  readonly method: string;
  readonly ip: string;
}

/** Refuses a token that is bound to a namespace. `FORBIDDEN`. */
export function refuseBound(caller: Caller): void {
  if (!caller.isBound) return;
  const message = `that concerns all namespaces, and "${caller.name}" is bound to namespace "${caller.namespace}"`;
  throw new HttpError("FORBIDDEN", message, { caller });
}

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

  /**
   * Authenticates a request by its header or cookie, and checks its role and namespace. `UNAUTHORIZED`, `FORBIDDEN`,
   * `RATE_LIMITED`, `REQUEST_INVALID`.
   */
  authorize(request: GuardedRequest, needed: Role): Caller {
    return this.authorizeSecret(secretOf(request), request, needed);
  }

  /** Authorizes for what all namespaces share: a token that is bound to one is refused. */
  authorizeShared(request: GuardedRequest, needed: Role): Caller {
    const caller = this.authorize(request, needed);
    refuseBound(caller);
    return caller;
  }

  /** Authorizes by a secret that is not in the header: browsers cannot set headers on a WebSocket. */
  authorizeSecret(secret: string | undefined, request: GuardedRequest, needed: Role): Caller {
    const caller = callerIn(this.isOpen ? local : this.#identify(secret, request.ip), request);
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
  recognizes(request: Omit<GuardedRequest, "ip">): boolean {
    return this.find(request) !== undefined;
  }

  /** Returns the token of a request, whatever its role; does not count for rate limits. */
  find(request: Omit<GuardedRequest, "ip">): TokenHolder | undefined {
    if (this.isOpen) return local;
    const secret = secretOf(request);
    return secret === undefined ? undefined : this.#tokens.find(secret);
  }

  /** True if no token exists and the server is local: every local user is an admin. */
  get isOpen(): boolean {
    return this.#isLoopback && this.#tokens.isEmpty;
  }

  /** Failed attempts limit the address, but never a valid token: many users may share an address. */
  #identify(secret: string | undefined, address: string): TokenHolder {
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

/** The secret of the header; without one, that of the cookie. Other schemes count as an unknown token, an empty one as none. */
function secretOf(request: Omit<GuardedRequest, "ip">): string | undefined {
  const secret = request.headers.authorization?.replace(/^bearer *(?: |$)/i, "").trim();
  return secret === undefined || secret === "" ? secretOfCookie(request) : secret;
}
