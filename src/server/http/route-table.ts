import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { paths, type RouteName } from "../../api/paths.ts";
import type { Route } from "../../api/route.ts";
import { routes } from "../../api/routes.ts";
import { EngineError } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Audit } from "../security/audit.ts";
import { auditEntryOf } from "../security/audit-entry.ts";
import { type Caller, callerOf, setCaller } from "../request/caller.ts";
import type { Guard } from "../security/guard.ts";
import type { StoreHealth } from "../health/store-health.ts";
import { answerOf, sendAnswer } from "./answer-error.ts";
import type { Deadlines } from "./deadlines.ts";
import type { AuthorizedRequest, Handler, Handlers } from "./handler.ts";
import { protectSchedules } from "./own-instances.ts";
import { HttpError } from "../request/http-error.ts";
import { checkRequest, type RawRequest } from "./request-check.ts";
import type { RequestKeys } from "./request-keys.ts";

export interface RouteTableParts {
  readonly handlers: Handlers;
  readonly guard: Guard;
  readonly audit: Audit;
  readonly keys: RequestKeys;
  readonly storeHealth: Pick<StoreHealth, "problem">;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  /** Deadline of every response; a request that waits for a result has its own wait time in addition. */
  readonly answerMs: number;
}

/** Creates whose instance ids are derived from the key: the busiest operations, which need no record of the key. */
const routesWithDerivedId: ReadonlySet<RouteName> = new Set(["triggerWorkflow", "runJob"]);

/** Creates whose answer is a secret, so it is not recorded with the key. */
const routesWithSecretAnswer: ReadonlySet<RouteName> = new Set(["createToken"]);

/** Changes that do not need the store. */
const routesWithoutStore: ReadonlySet<RouteName> = new Set(["drain"]);

const keyLengthMax = 200;

/** Maximum wait of `getResult`. */
const waitMsMax = 60_000;

/** Mounts the contract as routes of Fastify. */
export function mountRoutes(app: FastifyInstance, parts: RouteTableParts): void {
  for (const name of Object.keys(paths) as RouteName[]) {
    mountRoute(app, { name, handle: protectSchedules(name, parts.handlers[name]) }, parts);
  }
}

function mountRoute<N extends RouteName>(
  app: FastifyInstance,
  { name, handle }: { readonly name: N; readonly handle: Handler<N> },
  parts: RouteTableParts,
): void {
  const route: Route = routes[name];
  const [method, path] = paths[name].split(" ") as [string, string];
  const { guard, audit, keys, storeHealth, deadlines, logger, answerMs } = parts;
  // Queries by POST are for viewers; everything else that is not a GET changes something.
  const isChange = method !== "GET" && route.role !== "viewer";

  const carryOut = async (request: FastifyRequest, caller: Caller): Promise<unknown> => {
    const raw: RawRequest = { params: request.params, query: request.query, body: request.body };
    const checked = checkRequest(name, raw);
    const key = route.isCreate === true ? keyOf(request) : undefined;
    const traceparent = headerOf(request, "traceparent");
    const asked: AuthorizedRequest<N> = { ...checked, caller, key, isRepeat: false, traceparent };
    if (key === undefined || routesWithDerivedId.has(name)) return await handle(asked);
    const { params, query, body } = raw;
    return await keys.once(
      {
        operation: name,
        // Keys are scoped to the caller.
        target: JSON.stringify([caller.name, params]),
        key,
        content: [query, body],
        isSecret: routesWithSecretAnswer.has(name),
      },
      async (isRepeat) => await handle({ ...asked, isRepeat }),
    );
  };

  /** A response waits for its audit entry, unless the store is unavailable. */
  const note = async (noted: Promise<void>): Promise<void> => {
    if (storeHealth.problem === undefined) await noted;
  };

  app.route({
    method,
    config: { operation: name, isChange },
    url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
    // Authorizes before the body is read, so that a refused caller cannot send ten megabytes.
    onRequest: async (request) => {
      setCaller(request, guard.authorize(request, route.role));
    },
    handler: async (request, reply): Promise<FastifyReply> => {
      const caller = callerOf(request);
      const status = route.status ?? 200;
      const isAway = storeHealth.problem !== undefined;
      if (!isChange) {
        const read = carryOut(request, caller);
        // While the store is unavailable, only data in memory can be read; other reads get a short deadline.
        const data = await (isAway ? deadlines.query(read) : deadlines.query(read, answerMs + waitMsOf(request)));
        return reply.code(status).send({ code: 0, data: data ?? null });
      }
      if (isAway && !routesWithoutStore.has(name)) throw storeAway(storeHealth);
      try {
        const data = (await deadlines.change(carryOut(request, caller), answerMs)) ?? null;
        await note(audit.append(auditEntryOf(request, { status, data })));
        return await reply.code(status).send({ code: 0, data });
      } catch (error) {
        const answer = answerOf(error, logger);
        const outcome = { status: answer.status, code: answer.refusal.code };
        await note(audit.appendRefusal(auditEntryOf(request, outcome)));
        return sendAnswer(reply, answer);
      }
    },
  });
}

/** The wait time that a request asks for. */
function waitMsOf(request: FastifyRequest): number {
  const { waitMs } = request.query as { waitMs?: string };
  return Math.min(Number(waitMs) || 0, waitMsMax);
}

function storeAway({ problem }: Pick<StoreHealth, "problem">): EngineError {
  return new EngineError("STORE_UNAVAILABLE", `nothing can be changed for now, try again: ${problem}`);
}

function keyOf(request: FastifyRequest): string | undefined {
  const key = headerOf(request, "idempotency-key");
  if (key === undefined || (key.length > 0 && key.length <= keyLengthMax)) return key;
  throw new HttpError("REQUEST_INVALID", `an Idempotency-Key has 1 to ${keyLengthMax} characters`);
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
