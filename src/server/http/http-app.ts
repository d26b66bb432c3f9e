import { randomUUID } from "node:crypto";
import cors from "@fastify/cors";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { EngineError } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Readiness } from "../health/readiness.ts";
import type { Audit } from "../security/audit.ts";
import { auditEntryOf } from "../security/audit-entry.ts";
import { type Caller, addCallerDecorator } from "../request/caller.ts";
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
  readonly readiness: Pick<Readiness, "isStarting">;
  /** Timeout for receiving a request. */
  readonly requestTimeoutMs: number;
  readonly tls: TlsFiles | undefined;
  readonly origins: OriginCheckParts;
  readonly version: string;
  /** Logs each request. */
  readonly logsRequests: boolean;
}

/** Length of an id of 512 percent-encoded characters. */
const paramLengthMax = 4608;

/**
 * Limit of a body that is read before its sender is recognised: a sign-in, or a request for a path that does not exist.
 * Routes that authorize their callers first have the limit of the settings.
 */
const anyonesBodyLimitBytes = 4096;

/** Answered from the moment on at which the server listens. */
const healthPath = "/actuator/health";

/** Methods for allowed CORS origins. */
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const exposedHeaders = ["x-request-id", "retry-after"];

/** Interval at which incomplete requests are checked. */
const checkMs = 1000;

/** Idle timeout of a connection, in addition to the request timeout: longer than a request may wait for a result. */
const idleMs = 90_000;

/** Fastify with the parts common to all routes: headers, origin checks, error envelope, OpenAPI document. */
export async function makeHttpApp(parts: HttpAppParts): Promise<FastifyInstance> {
  const { logger, origins, tls, requestTimeoutMs } = parts;
  const headers = tls === undefined ? securityHeaders : { ...securityHeaders, ...tlsHeaders };
  const timing = { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: Math.min(checkMs, requestTimeoutMs) };
  const app: FastifyInstance = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: anyonesBodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: requestTimeoutMs + idleMs,
    routerOptions: { maxParamLength: paramLengthMax },
    // Requests on open connections are still answered while closing; the response closes the connection.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      void sendAnswer(reply.headers(headers), answerOf(error, logger));
    },
    ...(tls === undefined ? { http: timing } : { https: { ...tls, ...timing } }),
  } as object);
  takeJsonOnly(app);
  const methodTable = new MethodTable(app);
  addCallerDecorator(app);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers).header("x-request-id", request.id);
    checkOrigin(request, origins);
    const isRefused = parts.readiness.isStarting && !request.url.startsWith(healthPath);
    return isRefused ? sendAnswer(reply, answerOf(starting(), logger)) : undefined;
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

/** Not audited: the store of a server that starts may not be open. */
function starting(): EngineError {
  return new EngineError("ENGINE_STATE", "the server is starting; try again in a moment");
}

/** True if a refusal is audited: failed authentication and rate limits of any request, and refused changes. */
function isAudited({ routeOptions }: FastifyRequest, status: number): boolean {
  const { isChange = false } = routeOptions.config as { isChange?: boolean };
  return isChange || status === 401 || status === 403 || status === 429;
}

/** Audits a refusal; waits for its entry unless the store is unavailable. */
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

/** Removes the token from a URL: browsers, which cannot set headers everywhere, put it into the query. */
function withoutToken(url: string): string {
  const [given = "", query] = url.split("?", 2);
  const path = given.replace(/^(\/api\/task\/)[^/]+/, "$1***");
  if (query === undefined) return path;
  const parameters = new URLSearchParams(query);
  if (parameters.has("token")) parameters.set("token", "***");
  return `${path}?${parameters.toString()}`;
}

/** Routes of the reference, without authentication: they have no data of this server. */
function documentRoutes(app: FastifyInstance, version: string): void {
  const document = openApiOf(version);
  const page = referencePage(document);
  const text = JSON.stringify(document);
  app.get("/api/openapi.json", (_request, reply) => reply.type("application/json; charset=utf-8").send(text));
  app.get("/api/docs", (_request, reply) => reply.type("text/html; charset=utf-8").send(page));
  app.get("/api/docs/style.css", (_request, reply) => reply.type("text/css; charset=utf-8").send(referenceStyle));
}
