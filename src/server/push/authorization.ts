import type { FastifyRequest } from "fastify";
import type { Caller } from "../request/caller.ts";
import type { Guard } from "../security/guard.ts";
import { checkOrigin, type OriginCheckParts } from "../security/origin-check.ts";
import { HttpError } from "../request/http-error.ts";

export interface AuthorizationParts {
  readonly guard: Pick<Guard, "authorize" | "authorizeSecret">;
  readonly origins: OriginCheckParts;
}

/** Prefix of the token in the subprotocols that a browser offers. */
const tokenProtocol = "heddle.bearer.";

/** Authorizes a subscriber. `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`. */
export function authorizeSubscriber(request: FastifyRequest, { guard }: AuthorizationParts): Caller {
  const token = givenToken(request);
  if (token === undefined) return guard.authorize(request, "viewer");
  return guard.authorizeSecret(token, request, "viewer");
}

/** Authorizes a socket. Browsers let any page open a socket to anywhere without a preflight, so its origin is checked as for a change. */
export function authorizeSocket(request: FastifyRequest, parts: AuthorizationParts): Caller {
  checkOrigin({ method: "POST", headers: request.headers }, parts.origins);
  return authorizeSubscriber(request, parts);
}

/** Re-checks the token of an open connection. */
export function mayStay(request: FastifyRequest, parts: AuthorizationParts): boolean {
  try {
    authorizeSubscriber(request, parts);
    return true;
  } catch (error) {
    return error instanceof HttpError && error.code === "RATE_LIMITED";
  }
}

/** The token in the query or subprotocol, for browsers, which cannot set the header. */
function givenToken({ query, headers }: FastifyRequest): string | undefined {
  const { token } = query as { token?: unknown };
  if (typeof token === "string" && token !== "") return token;
  const offered = headers["sec-websocket-protocol"]?.split(",").map((each) => each.trim()) ?? [];
  return offered.find((each) => each.startsWith(tokenProtocol))?.slice(tokenProtocol.length);
}
