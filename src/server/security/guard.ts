import type { IncomingHttpHeaders } from "node:http";
import type { Role } from "../../api/route.ts";
import type { Clock } from "../../base/clock.ts";
import { HttpError } from "../request/http-error.ts";
import { type Caller, mayAct } from "../request/caller.ts";
import { RateLimit } from "./rate-limit.ts";
import type { Tokens } from "./tokens.ts";

/** Whoever can reach a server that listens on this machine alone, and has no tokens, works on this machine. */
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

/** Lets callers in, each as often as it may. */
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

  /** By the header. `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`. */
  admit(request: { readonly headers: IncomingHttpHeaders; readonly ip: string }, needed: Role): Caller {
    return this.admitSecret(secretOf(request.headers.authorization), request.ip, needed);
  }

  /** Where a secret comes another way: browsers cannot set headers on a WebSocket. */
  admitSecret(secret: string | undefined, address: string, needed: Role): Caller {
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

  /** Whether it would be let in. Counts nothing. */
  recognizes({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
    const secret = secretOf(headers.authorization);
    return this.#isOpen || (secret !== undefined && this.#tokens.find(secret) !== undefined);
  }

  get #isOpen(): boolean {
    return this.#isLoopback && this.#tokens.isEmpty;
  }

  /** A valid token is let in however often others at its address failed: many may be behind one. */
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

/** Whatever else is said there is a token that nobody has; an empty one is none. */
function secretOf(authorization: string | undefined): string | undefined {
  const secret = authorization?.replace(/^bearer *(?: |$)/i, "").trim();
  return secret === "" ? undefined : secret;
}
