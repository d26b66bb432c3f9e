import type { IncomingHttpHeaders } from "node:http";
import { defaultNamespace, isNamespace } from "../../base/namespace.ts";
import { preview } from "../../base/preview.ts";
import type { Caller, TokenHolder } from "../request/caller.ts";
import { HttpError } from "../request/http-error.ts";

const header = "x-heddle-namespace";

/** The part of a request that chooses a namespace. Browsers cannot set headers on sockets and event streams. */
export interface NamespaceRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query?: unknown;
}

/**
 * The caller in the namespace that the token or the request chooses. A bound token is refused every other one, whether
 * or not it exists. `REQUEST_INVALID`, `FORBIDDEN`.
 */
export function callerIn({ name, role, namespace: bound }: TokenHolder, request: NamespaceRequest): Caller {
  const caller: Caller = { name, role, namespace: bound ?? defaultNamespace, isBound: bound !== undefined };
  const asked = namespaceAsked(request);
  if (asked === undefined || asked === bound) return caller;
  if (bound !== undefined) {
    throw new HttpError("FORBIDDEN", `"${name}" is bound to namespace "${bound}" and acts in no other`, { caller });
  }
  if (isNamespace(asked)) return { ...caller, namespace: asked };
  const message = `${header}: a namespace is named with 1 to 63 lower-case letters, digits and hyphens, got ${preview(asked)}`;
  throw new HttpError("REQUEST_INVALID", message, { caller });
}

function namespaceAsked({ headers, query }: NamespaceRequest): string | undefined {
  const given = headers[header] ?? (query as { namespace?: unknown } | undefined)?.namespace;
  return given === undefined || typeof given === "string" ? given : preview(given);
}
