import type { FastifyRequest } from "fastify";
import type { RouteName } from "../../api/paths.ts";
import type { Role } from "../../api/route.ts";
import type { FileEdit } from "../../catalogue/catalogue.ts";
import { bodyDigestOf } from "../request/json-body.ts";
import { type Caller, findCaller } from "../request/caller.ts";
import { defaultNamespace } from "../../base/namespace.ts";

export interface AuditEntry {
  /** The token's name; "anonymous" if no token was recognised. */
  readonly who: string;
  readonly role: Role | null;
  /** The namespace of the request; absent if no token was recognised, and if the operation concerns all namespaces. */
  readonly namespace?: string;
  /** Address of the connection; behind a proxy, the proxy's. */
  readonly address: string;
  /** The response header `x-request-id`. */
  readonly requestId: string;
  /** Name of the operation. */
  readonly what: string;
  readonly target: string | null;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Error code of a refusal. */
  readonly code?: string;
  /** SHA-256 of the request's body, hexadecimal. */
  readonly digest?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Number of refusals that the entry stands for. */
  readonly count?: number;
}

export interface AuditOutcome {
  readonly status: number;
  /** Error code of a refusal. */
  readonly code?: string;
  /** The result of the operation. */
  readonly data?: unknown;
  /** The refused caller; default: the authenticated one. */
  readonly caller?: Caller | undefined;
}

/** Names of operations outside the contract. */
const otherOperations: Readonly<Record<string, string>> = {
  "/ws": "watch",
  "/ws/worker": "connectWorker",
  "/api/events": "watch",
  "/actuator/shutdown": "shutdown",
};

/**
 * Operations that concern all namespaces, whichever the request names: an admin who is bound to one must not read there
 * which others exist, and who works in them.
 */
const ofAllNamespaces: ReadonlySet<string> = new Set([
  "createToken",
  "deleteToken",
  "listTokens",
  "drain",
  "resizePool",
  "shutdown",
  "signIn",
]);

const targetLengthMax = 512;

/** The body field that names the target of an operation. */
const targetFields: Partial<Record<RouteName, string>> = {
  createToken: "name",
  createWorkflow: "name",
  createSchedule: "scheduleId",
  drain: "worker",
};

/** Body fields that are logged as details. */
const detailFields: Partial<Record<RouteName, readonly string[]>> = {
  createToken: ["role", "namespace", "expiresAt"],
  createSchedule: ["workflow", "job"],
  bulkInstances: ["operation", "filter", "reason", "cursor"],
  resizeDomain: ["size"],
  rollBackWorkflow: ["version"],
};

/** The entry of a manually edited definition file; its author is unknown. */
export function fileEditEntry({ name, version, isNew }: FileEdit): AuditEntry {
  const what = isNew ? "createWorkflow" : "updateWorkflow";
  const source = { role: null, namespace: defaultNamespace, address: "file", requestId: "file" };
  return { who: "anonymous", ...source, what, target: name, status: isNew ? 201 : 200, details: { version } };
}

/** The entry of a request, carried out or refused. */
export function auditEntryOf(request: FastifyRequest, outcome: AuditOutcome): AuditEntry {
  const { status, code, data, caller = findCaller(request) } = outcome;
  const what = operationOf(request);
  // The body of a sign-in is a secret that a user may have chosen, so its hash could be guessed.
  const digest = what === "signIn" ? undefined : bodyDigestOf(request);
  const details = detailsOf(what, request.body, data);
  return {
    who: caller?.name ?? "anonymous",
    role: caller?.role ?? null,
    ...namespaceOf(what, caller),
    address: request.ip,
    requestId: request.id,
    what,
    target: targetOf(what, request),
    status,
    ...(code !== undefined && { code }),
    ...(digest !== undefined && { digest }),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

/** A bound caller acts in its namespace only, also where it is refused what all of them share. */
function namespaceOf(what: string, caller: Caller | undefined): Pick<AuditEntry, "namespace"> {
  if (caller === undefined || (!caller.isBound && ofAllNamespaces.has(what))) return {};
  return { namespace: caller.namespace };
}

/** The operation's name in the contract, or its method and path. */
function operationOf({ routeOptions, method }: FastifyRequest): string {
  const { operation } = routeOptions.config as { operation?: string };
  if (operation !== undefined) return operation;
  const { url } = routeOptions;
  return url === undefined ? `${method} elsewhere` : (otherOperations[url] ?? `${method} ${url}`);
}

/** Operations whose path is a secret: the answer names their instance. */
const secretPaths: ReadonlySet<string> = new Set<RouteName>(["completeTask", "failTask"]);

/** The target of a request: an instance, a workflow, a node, or what is to be created. */
function targetOf(what: string, { params, body }: FastifyRequest): string | null {
  if (secretPaths.has(what)) return null;
  const parts = Object.values((params ?? {}) as Record<string, string>);
  if (parts.length > 0) return parts.join("/").slice(0, targetLengthMax);
  const named = fieldOf(body, targetFields[what as RouteName] ?? "");
  return typeof named === "string" ? named.slice(0, targetLengthMax) : null;
}

function detailsOf(what: string, body: unknown, data: unknown): Record<string, unknown> {
  const details: Record<string, unknown> = {};
  for (const field of detailFields[what as RouteName] ?? []) {
    const value = fieldOf(body, field);
    if (typeof value === "number") details[field] = value;
    if (typeof value === "string") details[field] = value.slice(0, targetLengthMax);
    if (field === "filter") details[field] = JSON.stringify(value ?? {}).slice(0, targetLengthMax);
  }
  const instanceId = fieldOf(data, "instanceId");
  if (typeof instanceId === "string") details["instanceId"] = instanceId;
  const instanceIds = fieldOf(data, "instanceIds");
  if (Array.isArray(instanceIds)) details["instanceIds"] = instanceIds.join(" ");
  return details;
}

function fieldOf(value: unknown, field: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, field);
  return isObject ? (value as Record<string, unknown>)[field] : undefined;
}
