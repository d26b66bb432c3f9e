import { randomUUID } from "node:crypto";
import cors from "@fastify/cors";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "../../base/logger.ts";
import type { Audit } from "../security/audit.ts";
import { auditEntryOf } from "../security/audit-entry.ts";
import { type Caller, knowCallers } from "../request/caller.ts";
import { checkOrigin, type OriginCheckParts } from "../security/origin-check.ts";
import type { TlsFiles } from "../security/tls-files.ts";
import { securityHeaders, tlsHeaders } from "../security/security-headers.ts";
import { type Answer, answerOf, sendAnswer } from "./answer-error.ts";
import { answerClientError } from "./client-error.ts";
import { HttpError } from "../request/http-error.ts";
import { takeJsonOnly } from "../request/json-body.ts";
import { MethodTable } from "./method-table.ts";
import { openApiOf } from "./openapi.ts";
import { referencePage, referenceStyle } from "./reference-page.ts";

export interface HttpAppParts {
  readonly logger: Logger;
  readonly audit: Pick<Audit, "appendRefusal">;
  readonly bodyLimitBytes: number;
  /** A request that has not arrived by then is refused. */
  readonly requestTimeoutMs: number;
  readonly tls: TlsFiles | undefined;
  readonly origins: OriginCheckParts;
  readonly version: string;
  /** Each request is a line of the log. */
  readonly logsRequests: boolean;
}

/** An id of 512 characters, each of them escaped. */
const paramLengthMax = 4608;

/** For pages of other origins that are allowed. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const exposedHeaders = ["x-request-id", "retry-after"];

/** How often requests are looked at that are not complete. */
const checkMs = 1000;

/** Of a connection on which nothing happens, beside the time for a request: longer than anybody waits for a result. */
const idleMs = 90_000;

/** Fastify with what holds for every route: headers, origins, errors in the envelope, the document of the interface. */
export async function makeHttpApp(parts: HttpAppParts): Promise<FastifyInstance> {
  const { logger, origins, tls, requestTimeoutMs } = parts;
  const headers = tls === undefined ? securityHeaders : { ...securityHeaders, ...tlsHeaders };
  const timing = { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: Math.min(checkMs, requestTimeoutMs) };
  const app: FastifyInstance = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: parts.bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: requestTimeoutMs + idleMs,
    routerOptions: { maxParamLength: paramLengthMax },
    // What came over an open connection is still answered; the connection is closed with it.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      void sendAnswer(reply.headers(headers), answerOf(error, logger));
    },
    ...(tls === undefined ? { http: timing } : { https: { ...tls, ...timing } }),
  } as object);
  takeJsonOnly(app);
  const methodTable = new MethodTable(app);
  knowCallers(app);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers).header("x-request-id", request.id);
    checkOrigin(request, origins);
  });
  if (origins.origins.length > 0) await app.register(cors, { origin: [...origins.origins], methods, exposedHeaders });
  if (parts.logsRequests) logRequests(app, logger);
  app.setErrorHandler(async (error, request, reply) => {
    const answer = answerOf(error, logger);
    if (isAudited(request, answer.status)) await noteRefusal(parts.audit, request, { ...answer, error });
    return sendAnswer(reply, answer);
  });
  app.setNotFoundHandler((request, reply) =>
    sendAnswer(reply, answerOf(methodTable.refusalOf(request.method, request.url), logger)),
  );
  documentRoutes(app, parts.version);
  return app;
}

/** Callers that are not let in, whatever they ask for; and changes that are refused before they are looked at. */
function isAudited({ routeOptions }: FastifyRequest, status: number): boolean {
  const { isChange = false } = routeOptions.config as { isChange?: boolean };
  return isChange || status === 401 || status === 403 || status === 429;
}

/** Waits for its line, unless it is refused because the store is away. */
async function noteRefusal(
  audit: Pick<Audit, "appendRefusal">,
  request: FastifyRequest,
  { status, refusal, error }: Answer & { readonly error: unknown },
): Promise<void> {
  const caller = error instanceof HttpError ? error.caller : undefined;
  const noted = audit.appendRefusal(auditEntryOf(request, { status, code: refusal.code, caller }));
  if (status < 500) await noted;
}

function logRequests(app: FastifyInstance, logger: Logger): void {
  app.addHook("onResponse", (request, reply, done) => {
    const { method, ip } = request;
    const url = withoutToken(request.url);
    const { statusCode: status, elapsedTime: ms } = reply;
    const caller = request.getDecorator<Caller | undefined>("caller")?.name;
    logger.debug({ method, url, ip, status, ms, caller }, "request answered");
    done();
  });
}

/** A token may be in the query, because browsers cannot set headers everywhere. */
function withoutToken(url: string): string {
  const [path = "", query] = url.split("?", 2);
  if (query === undefined) return path;
  const parameters = new URLSearchParams(query);
  if (parameters.has("token")) parameters.set("token", "***");
  return `${path}?${parameters.toString()}`;
}

/** Open to all: it is the same for everybody, and tells nothing of this server. */
function documentRoutes(app: FastifyInstance, version: string): void {
  const document = openApiOf(version);
  const page = referencePage(document);
  const text = JSON.stringify(document);
  app.get("/api/openapi.json", (_request, reply) => reply.type("application/json; charset=utf-8").send(text));
  app.get("/api/docs", (_request, reply) => reply.type("text/html; charset=utf-8").send(page));
  app.get("/api/docs/style.css", (_request, reply) => reply.type("text/css; charset=utf-8").send(referenceStyle));
}
