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
import type { AnswerNotes, AuthorizedRequest, Handler, Handlers } from "./handler.ts";
import { protectSchedules } from "./own-instances.ts";
import { HttpError } from "../request/http-error.ts";
import { checkRequest, type RawRequest } from "./request-check.ts";
import type { RequestKeys } from "./request-keys.ts";

export interface RouteTableParts {
  /** The handlers in a namespace. */
  readonly handlersIn: (namespace: string) => Handlers;
  readonly guard: Guard;
  readonly audit: Audit;
  readonly keys: RequestKeys;
  readonly storeHealth: Pick<StoreHealth, "problem">;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  /** Limit of a request's body. */
  readonly bodyLimitBytes: number;
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

/** The handler of an operation, in the namespace of each request. */
function handlerOf<N extends RouteName>(name: N, { handlersIn }: RouteTableParts): Handler<N> {
  return (asked) => protectSchedules(name, handlersIn(asked.caller.namespace)[name])(asked);
}

/** Mounts the contract as routes of Fastify. */
export function mountRoutes(app: FastifyInstance, parts: RouteTableParts): void {
  for (const name of Object.keys(paths) as RouteName[]) {
    mountRoute(app, { name, handle: handlerOf(name, parts) }, parts);
  }
}

interface Operation<N extends RouteName> {
  readonly name: N;
  readonly handle: Handler<N>;
}

function mountRoute<N extends RouteName>(
  app: FastifyInstance,
  { name, handle }: Operation<N>,
  parts: RouteTableParts,
): void {
  const route: Route = routes[name];
  const [method, path] = paths[name].split(" ") as [string, string];
  const { guard, audit, keys, storeHealth, deadlines, logger, bodyLimitBytes, answerMs } = parts;
  // Queries by POST are for viewers; everything else that is not a GET changes something.
  const isChange = method !== "GET" && route.role !== "viewer";
  const carryOut = requestRunner({ name, handle }, keys);

  /** A response waits for its audit entry, unless the store is unavailable. */
  const note = async (noted: Promise<void>): Promise<void> => {
    if (storeHealth.problem === undefined) await noted;
  };

  app.route({
    method,
    bodyLimit: bodyLimitBytes,
    config: { operation: name, isChange },
    url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
    // Authorizes before the body is read, so that a refused caller cannot send ten megabytes.
    onRequest: async (request) => {
      const isShared = route.isShared === true;
      setCaller(request, isShared ? guard.authorizeShared(request, route.role) : guard.authorize(request, route.role));
    },
    handler: async (request, reply): Promise<FastifyReply> => {
      const caller = callerOf(request);
      const status = route.status ?? 200;
      const isAway = storeHealth.problem !== undefined;
      if (!isChange) {
        const notes: AnswerNotes = {};
        const read = carryOut(request, caller, notes);
        // While the store is unavailable, only data in memory can be read; other reads get a short deadline.
        const data = await (isAway ? deadlines.query(read) : deadlines.query(read, answerMs + waitMsOf(request)));
        return sendRead(request, reply.code(status), { data, notes });
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

/** Returns what checks a request and carries it out; with an idempotency key, once. */
function requestRunner<N extends RouteName>({ name, handle }: Operation<N>, keys: RouteTableParts["keys"]) {
  const route: Route = routes[name];
  return async (request: FastifyRequest, caller: Caller, notes: AnswerNotes = {}): Promise<unknown> => {
    const raw: RawRequest = { params: request.params, query: request.query, body: request.body };
    const checked = checkRequest(name, raw);
    const key = route.isCreate === true ? keyOf(request) : undefined;
    const traceparent = headerOf(request, "traceparent");
    const asked: AuthorizedRequest<N> = { ...checked, caller, key, isRepeat: false, traceparent, notes };
    if (key === undefined || routesWithDerivedId.has(name)) return await handle(asked);
    const { params, query, body } = raw;
    return await keys.once(
      {
        operation: name,
        // Keys are scoped to the caller, and to the namespace.
        target: JSON.stringify([caller.name, params, caller.namespace]),
        key,
        content: [query, body],
        isSecret: routesWithSecretAnswer.has(name),
      },
      async (isRepeat) => await handle({ ...asked, isRepeat }),
    );
  };
}

function sendRead(
  request: FastifyRequest,
  reply: FastifyReply,
  { data, notes }: { readonly data: unknown; readonly notes: AnswerNotes },
): FastifyReply {
  const { next, unanswered = [] } = notes;
  if (next !== undefined) reply.header("link", nextLink(request, next));
  return reply.send({ code: 0, data: data ?? null, ...(unanswered.length > 0 && { unanswered }) });
}

/** The header that names the next page of a plain list, as RFC 8288 has it. */
function nextLink(request: FastifyRequest, cursor: string): string {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  searchParams.set("cursor", cursor);
  return `<${pathname}?${searchParams.toString()}>; rel="next"`;
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
