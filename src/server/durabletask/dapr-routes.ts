import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Role } from "../../api/route.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import { createInstanceRequest, type OrchestrationState, statusNumbers } from "../../durabletask/client-messages.ts";
import type { Given } from "../../durabletask/message.ts";
import type { Readiness } from "../health/readiness.ts";
import type { StoreHealth } from "../health/store-health.ts";
import { answerOf } from "../http/answer-error.ts";
import type { Deadlines } from "../http/deadlines.ts";
import { type Caller, callerOf, setCaller } from "../request/caller.ts";
import { HttpError } from "../request/http-error.ts";
import type { Audit } from "../security/audit.ts";
import { auditEntryOf } from "../security/audit-entry.ts";
import type { Guard } from "../security/guard.ts";
import { bearer } from "./grpc-module.ts";
import type { TaskHub } from "./task-hub.ts";

export interface DaprRouteParts {
  readonly hubIn: (namespace: string) => TaskHub;
  readonly guard: Pick<Guard, "authorize" | "recognizes">;
  readonly audit: Pick<Audit, "append" | "appendRefusal">;
  readonly readiness: Pick<Readiness, "view">;
  readonly storeHealth: Pick<StoreHealth, "problem">;
  readonly deadlines: Deadlines;
  readonly logger: Logger;
  readonly version: string;
  readonly bodyLimitBytes: number;
  readonly answerMs: number;
}

/** The versions of Dapr's interface, which have the same routes. */
const versions = ["v1.0", "v1.0-beta1", "v1.0-alpha1"];

const statusNames: ReadonlyMap<number, string> = new Map(
  Object.entries(statusNumbers).map(([name, number]) => [number, name]),
);

interface Asked {
  readonly hub: TaskHub;
  readonly caller: Caller;
  readonly id: string;
  readonly workflow: string;
  readonly event: string;
  readonly instanceID: string | undefined;
  readonly body: string | undefined;
}

interface DaprRoute {
  readonly method: "GET" | "POST";
  /** Behind `/workflows/{component}`. The name of the component is of no consequence, as it is in Dapr. */
  readonly path: string;
  /** The name of the operation in the audit log. */
  readonly operation: string;
  readonly status: number;
  /** Dapr's code of an error that has none of its own. */
  readonly errorCode: string;
  readonly run: (asked: Asked) => Promise<object | undefined>;
}

const routes: readonly DaprRoute[] = [
  {
    method: "POST",
    path: "/:workflow/start",
    operation: "daprStartWorkflow",
    status: 202,
    errorCode: "ERR_START_WORKFLOW",
    run: async ({ hub, workflow: name, instanceID: instanceId = "", body: input }) => {
      const nothing = createInstanceRequest.decode(new Uint8Array());
      return { instanceID: await hub.start({ ...nothing, name, instanceId, input }) };
    },
  },
  {
    method: "GET",
    path: "/:id",
    operation: "daprGetWorkflow",
    status: 200,
    errorCode: "ERR_GET_WORKFLOW",
    run: async ({ hub, id }) => {
      const state = await hub.get(id, true);
      if (state === undefined) throw unknown(id);
      return viewOf(state);
    },
  },
  {
    method: "POST",
    path: "/:id/raiseEvent/:event",
    operation: "daprRaiseEvent",
    status: 202,
    errorCode: "ERR_RAISE_EVENT_WORKFLOW",
    run: ({ hub, id, event, body }) => done(hub.raiseEvent(id, event, body)),
  },
  {
    method: "POST",
    path: "/:id/pause",
    operation: "daprPauseWorkflow",
    status: 202,
    errorCode: "ERR_PAUSE_WORKFLOW",
    run: ({ hub, id, caller }) => done(hub.suspend(id, caller.name, undefined)),
  },
  {
    method: "POST",
    path: "/:id/resume",
    operation: "daprResumeWorkflow",
    status: 202,
    errorCode: "ERR_RESUME_WORKFLOW",
    run: ({ hub, id }) => done(hub.resume(id)),
  },
  {
    method: "POST",
    path: "/:id/terminate",
    operation: "daprTerminateWorkflow",
    status: 202,
    errorCode: "ERR_TERMINATE_WORKFLOW",
    run: ({ hub, id, caller }) => done(hub.terminate(id, caller.name, undefined)),
  },
  {
    method: "POST",
    path: "/:id/purge",
    operation: "daprPurgeWorkflow",
    status: 202,
    errorCode: "ERR_PURGE_WORKFLOW",
    run: ({ hub, id }) => done(purge(hub, id)),
  },
];

/** Dapr's workflow interface over HTTP, for its SDKs and for `curl`. Bodies are inputs as they come, JSON or text. */
export async function daprRoutes(app: FastifyInstance, parts: DaprRouteParts): Promise<void> {
  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "string" }, (_request, body, taken) => taken(null, body));
    for (const version of versions) {
      for (const route of routes) mount(scope, version, route, parts);
    }
    probes(scope, parts);
    done();
  });
}

function mount(app: FastifyInstance, version: string, route: DaprRoute, parts: DaprRouteParts): void {
  const isChange = route.method === "POST";
  const role: Role = isChange ? "operator" : "viewer";
  app.route({
    method: route.method,
    url: `/${version}/workflows/:component${route.path}`,
    bodyLimit: parts.bodyLimitBytes,
    config: { operation: route.operation, isChange },
    onRequest: async (request) => setCaller(request, parts.guard.authorize(withToken(request), role)),
    handler: async (request, reply) => {
      const answer = await (isChange ? change(route, request, parts) : read(route, request, parts));
      return reply.code(route.status).send(answer);
    },
    errorHandler: (error, request, reply) => void refuse(route, error, { request, reply, parts }),
  });
}

async function refuse(
  route: DaprRoute,
  error: unknown,
  { request, reply, parts }: { request: FastifyRequest; reply: FastifyReply; parts: DaprRouteParts },
): Promise<void> {
  const { status, refusal, headers } = answerOf(error, parts.logger);
  if (route.method === "POST" || status === 401 || status === 403 || status === 429) {
    const caller = error instanceof HttpError ? error.caller : undefined;
    await note(parts, parts.audit.appendRefusal(auditEntryOf(request, { status, code: refusal.code, caller })));
  }
  await reply
    .code(status)
    .headers(headers)
    .send({ errorCode: codeOf(error, route), message: refusal.message });
}

async function change(route: DaprRoute, request: FastifyRequest, parts: DaprRouteParts): Promise<object | undefined> {
  const { problem } = parts.storeHealth;
  if (problem !== undefined)
    throw new EngineError("STORE_UNAVAILABLE", `nothing can be changed for now, try again: ${problem}`);
  const answer = await parts.deadlines.change(route.run(askedOf(request, parts)), parts.answerMs);
  await note(parts, parts.audit.append(auditEntryOf(request, { status: route.status })));
  return answer;
}

async function read(route: DaprRoute, request: FastifyRequest, parts: DaprRouteParts): Promise<object | undefined> {
  return await parts.deadlines.query(route.run(askedOf(request, parts)), parts.answerMs);
}

/** An answer waits for its audit entry, unless the store is unavailable. */
async function note({ storeHealth }: DaprRouteParts, noted: Promise<void>): Promise<void> {
  if (storeHealth.problem === undefined) await noted;
}

function askedOf(request: FastifyRequest, { hubIn }: DaprRouteParts): Asked {
  const caller = callerOf(request);
  const { id = "", workflow = "", event = "" } = request.params as Record<string, string>;
  const { instanceID } = request.query as { instanceID?: string | string[] };
  const { body } = request;
  return {
    hub: hubIn(caller.namespace),
    caller,
    id,
    workflow,
    event,
    instanceID: [instanceID].flat()[0],
    body: typeof body === "string" ? body : undefined,
  };
}

async function done(change: Promise<void>): Promise<undefined> {
  await change;
}

async function purge(hub: TaskHub, instanceId: string): Promise<void> {
  const nothing = { filter: undefined, batch: undefined };
  if ((await hub.purge({ ...nothing, instanceId, recursive: true })) > 0) return;
  if ((await hub.get(instanceId, false)) === undefined) throw unknown(instanceId);
  throw new EngineError("INSTANCE_STATE", `workflow instance '${instanceId}' has not ended, and is not purged`);
}

function unknown(instanceId: string): EngineError {
  const message = `unable to find workflow with the provided instance ID: ${instanceId}`;
  return new EngineError("INSTANCE_UNKNOWN", message);
}

function codeOf(error: unknown, { errorCode }: DaprRoute): string {
  if (hasCode(error, "INSTANCE_UNKNOWN")) return "ERR_INSTANCE_ID_NOT_FOUND";
  if (error instanceof HttpError && error.code === "REQUEST_INVALID") return "ERR_INSTANCE_ID_INVALID";
  return errorCode;
}

function viewOf(state: Given<OrchestrationState>): object {
  const { instanceId, name, created, lastUpdated, status = 0, failure } = state;
  const properties = {
    "dapr.workflow.input": state.input,
    "dapr.workflow.output": state.output,
    "dapr.workflow.custom_status": state.customStatus,
    "dapr.workflow.failure.error_type": failure?.errorType,
    "dapr.workflow.failure.error_message": failure?.errorMessage,
    "dapr.workflow.failure.stack_trace": failure?.stackTrace,
  };
  return {
    instanceID: instanceId,
    workflowName: name,
    createdAt: timeOf(created),
    lastUpdatedAt: timeOf(lastUpdated),
    runtimeStatus: statusNames.get(status),
    properties,
  };
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/** Routes by which SDKs find out that a server is there. */
function probes(app: FastifyInstance, { guard, readiness, version }: DaprRouteParts): void {
  const health = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    readiness.view().isReady ? reply.code(204).send() : reply.code(500).send(notReady);
  app.get("/v1.0/healthz", health);
  app.get("/v1.0/healthz/outbound", health);
  app.get("/v1.0/metadata", async (request, reply) => {
    if (!guard.recognizes(withToken(request)))
      return reply.code(401).send({ errorCode: "ERR_API_TOKEN", message: "a token is needed" });
    return await reply.send({ id: "heddle", runtimeVersion: version, components: [], extended: {} });
  });
}

const notReady = { errorCode: "ERR_HEALTH_NOT_READY", message: "the server is not ready" };

/** Dapr's SDKs send their token in a header of its own. */
function withToken(request: FastifyRequest): Pick<FastifyRequest, "headers" | "method" | "ip"> {
  const { headers, method, ip } = request;
  const { "dapr-api-token": token } = headers;
  const authorization = headers.authorization ?? bearer(typeof token === "string" ? token : undefined);
  return { headers: { ...headers, ...(authorization !== undefined && { authorization }) }, method, ip };
}
