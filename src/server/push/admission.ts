import type { FastifyRequest } from "fastify";
import type { Caller } from "../request/caller.ts";
import type { Guard } from "../security/guard.ts";
import { checkOrigin, type OriginCheckParts } from "../security/origin-check.ts";
import { HttpError } from "../request/http-error.ts";

export interface AdmissionParts {
  readonly guard: Pick<Guard, "admit" | "admitSecret">;
  readonly origins: OriginCheckParts;
}

/** Prefix of the token in the subprotocols that a browser offers. */
const tokenProtocol = "heddle.bearer.";

/** Admits a subscriber. `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`. */
export function admitWatcher(request: FastifyRequest, { guard }: AdmissionParts): Caller {
  const token = givenToken(request);
  if (token === undefined) return guard.admit(request, "viewer");
  return guard.admitSecret(token, request.ip, "viewer");
}

/** Admits a socket. Browsers let any page open a socket to anywhere without a preflight, so its origin is checked as for a change. */
export function admitSocket(request: FastifyRequest, parts: AdmissionParts): Caller {
  checkOrigin({ method: "POST", headers: request.headers }, parts.origins);
  return admitWatcher(request, parts);
}

/** Re-checks the token of an open connection. */
export function mayStay(request: FastifyRequest, parts: AdmissionParts): boolean {
  try {
    admitWatcher(request, parts);
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
