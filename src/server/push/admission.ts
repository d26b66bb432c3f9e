import type { FastifyRequest } from "fastify";
import type { Caller } from "../request/caller.ts";
import type { Guard } from "../security/guard.ts";
import { checkOrigin, type OriginCheckParts } from "../security/origin-check.ts";
import { HttpError } from "../request/http-error.ts";

export interface AdmissionParts {
  readonly guard: Pick<Guard, "admit" | "admitSecret">;
  readonly origins: OriginCheckParts;
}

/** Before the token, in the list of subprotocols that a browser offers. */
const tokenProtocol = "heddle.bearer.";

/** Lets those in who may watch. `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED`. */
export function admitWatcher(request: FastifyRequest, { guard }: AdmissionParts): Caller {
  const token = givenToken(request);
  if (token === undefined) return guard.admit(request, "viewer");
  return guard.admitSecret(token, request.ip, "viewer");
}

/** Browsers let any page open a socket to anywhere, and send no question first: so the page is looked at as for a change. */
export function admitSocket(request: FastifyRequest, parts: AdmissionParts): Caller {
  checkOrigin({ method: "POST", headers: request.headers }, parts.origins);
  return admitWatcher(request, parts);
}

/** Asked again while it listens: false if it may not any more. */
export function mayStay(request: FastifyRequest, parts: AdmissionParts): boolean {
  try {
    admitWatcher(request, parts);
    return true;
  } catch (error) {
    return error instanceof HttpError && error.code === "RATE_LIMITED";
  }
}

/** Where a browser puts it, which cannot set the header. */
function givenToken({ query, headers }: FastifyRequest): string | undefined {
  const { token } = query as { token?: unknown };
  if (typeof token === "string" && token !== "") return token;
  const offered = headers["sec-websocket-protocol"]?.split(",").map((each) => each.trim()) ?? [];
  return offered.find((each) => each.startsWith(tokenProtocol))?.slice(tokenProtocol.length);
}
