import { createHash } from "node:crypto";
import type { CodeWorkflow } from "../../authoring/code-workflow.ts";
import { Workflow } from "../../authoring/workflow.ts";
import { EngineError, hasCode } from "../../base/error.ts";
import { preview } from "../../base/preview.ts";
import { hasUnprintable, unprintableMessage } from "../../base/unprintable.ts";
import { utf8Length } from "../../base/utf8.ts";
import { qualify } from "../../base/namespace.ts";
import { scheduleInstancePrefix } from "../../engine/schedules.ts";
import type { StartOptions } from "../../engine/start-options.ts";
import { startContext } from "../../engine/submission.ts";
import { type InstanceCreated, jobWorkflowName } from "../../kernel/event.ts";
import type { Payload } from "../../kernel/payload.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import { traceIdOf } from "../../telemetry/traceparent.ts";
import type { AuthorizedRequest } from "../http/handler.ts";
import { HttpError } from "../request/http-error.ts";
import type { Caller } from "../request/caller.ts";
import type { RouteParts } from "./route-parts.ts";

const keyPrefix = "key:";

/** Prefixes of ids that the server derives from keys and schedules. */
const reservedPrefixes = [keyPrefix, scheduleInstancePrefix];

/** Refuses ids that are reserved, or that no store takes, with `REQUEST_INVALID`. */
export function checkGivenId(instanceId: string | undefined): void {
  if (instanceId !== undefined && hasUnprintable(instanceId))
    throw new HttpError("REQUEST_INVALID", `the instance id ${unprintableMessage}`);
  const reserved = reservedPrefixes.find((prefix) => instanceId?.startsWith(prefix));
  if (reserved !== undefined) {
    throw new HttpError("REQUEST_INVALID", `instance ids that begin with "${reserved}" are the server's own`);
  }
}

/** Derives the instance id from an idempotency key, so that members need no record of the key. */
export function idOfKey(what: string, { caller, key }: { readonly caller: Caller; readonly key: string }): string {
  const text = JSON.stringify([what, caller.name, key]);
  return `${keyPrefix}${createHash("sha256").update(text).digest("base64url")}`;
}

/** Starts an instance and returns its id. `IDEMPOTENCY_KEY_REUSED` if the key was used with another body. */
export async function startInstance(
  parts: RouteParts,
  workflow: Workflow | CodeWorkflow,
  asked: AuthorizedRequest<"triggerWorkflow">,
): Promise<string> {
  const { engine } = parts;
  const { body } = asked;
  const { maxConcurrentTasks } = asked.query;
  return await startOnce(parts, asked, {
    workflow: workflow.name,
    start: async (options) => {
      if (workflow instanceof Workflow) {
        const given = maxConcurrentTasks !== undefined && { maxConcurrentTasks };
        return (await engine.submitWorkflow(workflow, { ...options, ...given, params: body })).instanceId;
      }
      if (maxConcurrentTasks !== undefined) throw notForCode(workflow);
      return (await engine.startWorkflow(workflow, body, options)).instanceId;
    },
    isRepeat: (instanceId) => beganWith(parts, instanceId, { workflow: workflow.name, body, maxConcurrentTasks }),
  });
}

/** Starts a job without a workflow; the body is its parameters. */
export async function startJob(parts: RouteParts, asked: AuthorizedRequest<"runJob">): Promise<string> {
  const { body } = asked;
  const { name } = asked.params;
  return await startOnce(parts, asked, {
    workflow: jobWorkflowName(name),
    start: async (options) => (await parts.engine.runJob(name, body, options)).instanceId,
    isRepeat: (instanceId) => isRunOfJob(parts, instanceId, { job: name, params: body }),
  });
}

interface Start {
  readonly workflow: string;
  readonly start: (options: Pick<StartOptions, "instanceId" | "traceparent" | "app">) => Promise<string>;
  /** True if an instance of that id was started from the same request. */
  readonly isRepeat: (instanceId: string) => Promise<boolean>;
}

/** Starts an instance once per key: a repeated request returns the instance of the first. */
async function startOnce(
  parts: RouteParts,
  { query, key, caller, traceparent }: AuthorizedRequest<"triggerWorkflow"> | AuthorizedRequest<"runJob">,
  { workflow, start, isRepeat }: Start,
): Promise<string> {
  checkGivenId(query.instanceId);
  const instanceId = query.instanceId ?? (key === undefined ? undefined : idOfKey(workflow, { caller, key }));
  try {
    return await start({
      ...(instanceId !== undefined && { instanceId }),
      ...(query.app !== undefined && { app: query.app }),
      ...(traceIdOf(traceparent) !== undefined && { traceparent: traceparent as string }),
    });
  } catch (error) {
    if (key === undefined || instanceId === undefined || !hasCode(error, "INSTANCE_EXISTS")) throw error;
    if (await isRepeat(instanceId)) return instanceId;
    if (query.instanceId !== undefined) throw await instanceExists(parts, instanceId);
    throw new HttpError(
      "IDEMPOTENCY_KEY_REUSED",
      `that Idempotency-Key was used for instance "${instanceId}", with another body or limit`,
    );
  }
}

/** True if the instance is a run of that job with these parameters. A job whose name has several signatures runs under its id. */
async function isRunOfJob(
  { engine }: RouteParts,
  instanceId: string,
  { job, params }: { readonly job: string; readonly params: unknown },
): Promise<boolean> {
  const [first] = await engine.getWorkflowInstanceHistory(instanceId, { limit: 1 });
  const [created, next] = first?.events ?? [];
  if (created?.type !== "InstanceCreated") return false;
  const workflow = jobWorkflowName(job);
  if (created.workflow !== workflow && !created.workflow.startsWith(`${workflow}@`)) return false;
  const given = next?.type === "TaskParamsUpdated" ? next.params : undefined;
  return given === (params === undefined ? undefined : JSON.stringify(params));
}

function notForCode({ name }: CodeWorkflow): HttpError {
  const message = `maxConcurrentTasks is for DAGs, and workflow "${name}" is code: its definition says how many activities run at a time`;
  return new HttpError("REQUEST_INVALID", message);
}

/** The error for an instance id that another request has taken. */
async function instanceExists({ engine }: RouteParts, instanceId: string): Promise<EngineError> {
  const { workflowName, status } = await engine.getWorkflowInstanceStatus(instanceId);
  const message = `instance ${preview(instanceId)} exists already: workflow ${preview(workflowName)}, status ${status}; take another id`;
  return new EngineError("INSTANCE_EXISTS", message);
}

/** True if an instance was started by an equal request. Large values are compared by size only. */
async function beganWith(
  { namespace, engine, store }: RouteParts,
  instanceId: string,
  { workflow, body, maxConcurrentTasks }: { workflow: string; body: unknown; maxConcurrentTasks: number | undefined },
): Promise<boolean> {
  const [first] = await engine.getWorkflowInstanceHistory(instanceId, { limit: 1 });
  const created = first?.events.find((event): event is InstanceCreated => event.type === "InstanceCreated");
  // After `continueAsNew` the first event is gone.
  if (created === undefined) return true;
  if (created.workflow !== workflow) return false;
  if (maxConcurrentTasks !== undefined && maxConcurrentTasks !== created.maxConcurrentTasks) return false;
  const definition = await store.findDefinition(qualify(namespace, created.workflow), created.version);
  const spec = definition === undefined ? undefined : (JSON.parse(definition.spec) as Partial<DagSpec>);
  if (spec?.nodes === undefined) return isText(created.input, JSON.stringify(body));
  const expected = startContext(Workflow.fromJSON(spec, { name: workflow }), body);
  const names = Object.keys(expected);
  return (
    names.length === Object.keys(created.context).length &&
    names.every((name) => isText(created.context[name], expected[name]))
  );
}

function isText(payload: Payload | undefined, text: string | undefined): boolean {
  if (payload === undefined || text === undefined) return payload === text;
  return typeof payload === "string" ? payload === text : payload.bytes === utf8Length(text);
}
