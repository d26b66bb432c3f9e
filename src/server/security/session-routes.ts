import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Session, sessionPath } from "../../api/session.ts";
import { signIn } from "../../api/session-schemas.ts";
import type { Clock } from "../../base/clock.ts";
import { defaultNamespace } from "../../base/namespace.ts";
import { setCaller, type TokenHolder } from "../request/caller.ts";
import { HttpError } from "../request/http-error.ts";
import type { Audit } from "./audit.ts";
import { auditEntryOf } from "./audit-entry.ts";
import type { Guard } from "./guard.ts";
import { expiredCookie, sessionCookie } from "./session-cookie.ts";

export interface SessionParts {
  readonly guard: Pick<Guard, "find" | "isOpen" | "authorizeSecret">;
  readonly audit: Pick<Audit, "append">;
  readonly clock: Clock;
  readonly version: string;
  /** The server itself uses TLS. Behind a proxy that does, `x-forwarded-proto` says so. */
  readonly isTls: boolean;
}

/** The console's session: a token is exchanged for a cookie that scripts cannot read. */
export function sessionRoutes(app: FastifyInstance, { guard, audit, clock, version, isTls }: SessionParts): void {
  const sessionOf = ({ name, role, namespace }: TokenHolder): Session => ({
    name,
    role,
    namespace: namespace ?? defaultNamespace,
    isBound: namespace !== undefined,
    isOpen: guard.isOpen,
    version,
    now: clock.now(),
  });
  const placeOf = ({ headers }: FastifyRequest): { host: string; isTls: boolean } => {
    return { host: headers.host ?? "", isTls: isTls || headers["x-forwarded-proto"] === "https" };
  };

  // Null instead of a refusal: the console asks at its first start, when nobody has signed in.
  app.get(sessionPath, (request) => {
    const caller = guard.find(request);
    return { code: 0, data: caller === undefined ? null : sessionOf(caller) };
  });

  app.post(sessionPath, { config: { operation: "signIn", isChange: true } }, async (request, reply) => {
    const read = signIn.safeParse(request.body);
    if (!read.success) throw new HttpError("REQUEST_INVALID", "send the token as {token}");
    const caller = guard.authorizeSecret(read.data.token, request, "viewer");
    setCaller(request, caller);
    await audit.append(auditEntryOf(request, { status: 200 }));
    return reply
      .header("set-cookie", sessionCookie(read.data.token, placeOf(request)))
      .send({ code: 0, data: sessionOf({ ...caller, namespace: caller.isBound ? caller.namespace : undefined }) });
  });

  app.delete(sessionPath, (request, reply) =>
    reply.header("set-cookie", expiredCookie(placeOf(request))).send({ code: 0, data: { done: true } }),
  );
}
