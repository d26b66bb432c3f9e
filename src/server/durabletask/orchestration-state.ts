import type { Given } from "../../durabletask/message.ts";
import { type OrchestrationState, type OrchestrationStatus, statusNumbers } from "../../durabletask/client-messages.ts";
import type { FailureDetails } from "../../durabletask/failure-details.ts";
import { tagsEvent, tagsOf } from "../../durabletask/event-marks.ts";
import { isOrchestratorVersion, orchestratorVersion } from "../../durabletask/names.ts";
import { detailsOf, parsed } from "../../durabletask/payloads.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { Event, KeptEvent } from "../../kernel/event.ts";
import type { Failure } from "../../kernel/failure.ts";
import { hasEnded, type InstanceStatus } from "../../kernel/status.ts";
import type { InstanceView } from "../../views/instance-view.ts";

const statuses: Readonly<Record<InstanceStatus, OrchestrationStatus>> = {
  Ready: "PENDING",
  Running: "RUNNING",
  Paused: "SUSPENDED",
  Success: "COMPLETED",
  Failed: "FAILED",
  Terminated: "TERMINATED",
};

/** The protocol's status of an instance. A pause counts from its request on, not only when the last task has ended. */
export function orchestrationStatus({
  status,
  pausing,
}: Pick<InstanceView, "status" | "pausing">): OrchestrationStatus {
  return pausing && !hasEnded(status) ? "SUSPENDED" : statuses[status];
}

/** The engine's statuses for numbers of the protocol. */
export function instanceStatuses(numbers: readonly number[]): InstanceStatus[] {
  const wanted = Object.entries(statuses).filter(([, status]) => numbers.includes(statusNumbers[status]));
  return wanted.map(([status]) => status as InstanceStatus);
}

/** An instance as the protocol shows it; `withPayloads` adds input, output, custom status and failure. */
export async function readState(
  engine: EngineNamespace,
  view: InstanceView,
  withPayloads: boolean,
): Promise<Given<OrchestrationState>> {
  const isOrchestration = isOrchestratorVersion(view.workflowVersion);
  const beginning = isOrchestration || withPayloads ? await readBeginning(engine, view.instanceId) : undefined;
  return {
    instanceId: view.instanceId,
    name: view.workflowName,
    version: isOrchestration ? orchestratorVersion(view.workflowVersion) : view.workflowVersion,
    status: statusNumbers[orchestrationStatus(view)],
    created: view.createdAt,
    lastUpdated: view.endedAt ?? view.updatedAt,
    completed: view.endedAt,
    parentInstanceId: view.parentInstanceId,
    ...(beginning !== undefined && { tags: beginning.tags }),
    ...(withPayloads && { input: await beginning?.input(), ...(await readPayloads(engine, view)) }),
  };
}

type Payloads = Pick<Given<OrchestrationState>, "output" | "customStatus" | "failure">;

async function readPayloads(engine: EngineNamespace, view: InstanceView): Promise<Payloads> {
  const { instanceId, status, customStatus, reason } = view;
  return {
    customStatus: textOrNone(customStatus),
    ...(status === "Success" && { output: await readOutput(engine, instanceId) }),
    ...(status === "Terminated" && reason !== undefined && { output: outputOfReason(reason) }),
    ...(status === "Failed" && { failure: await readFailure(engine, view) }),
  };
}

function textOrNone(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}

/** A value that is null is an output, and none is not. */
async function readOutput(engine: EngineNamespace, instanceId: string): Promise<string | undefined> {
  const output = await engine.awaitWorkflowInstance<unknown>(instanceId);
  return output === undefined ? undefined : JSON.stringify(output);
}

/** What the first turn of an instance tells. */
interface Beginning {
  readonly tags: ReadonlyMap<string, string>;
  /** The input of code, or the context of a DAG, as JSON. */
  readonly input: () => Promise<string | undefined>;
}

async function readBeginning(engine: EngineNamespace, instanceId: string): Promise<Beginning> {
  const [first] = await engine.getWorkflowInstanceHistory(instanceId, { limit: 1 });
  const events = first?.events ?? [];
  const raised = events.flatMap((event): readonly KeptEvent[] => {
    if (event.type === "InstanceContinued") return event.events ?? [];
    return event.type === "EventRaised" ? [event] : [];
  });
  const tags = tagsOf(raised.find(({ name }) => name === tagsEvent)?.data);
  const text = inputOf(events);
  return { tags, input: () => (typeof text === "object" ? readLargeInput(engine, instanceId) : Promise.resolve(text)) };
}

/** It is kept apart from the history. */
async function readLargeInput(engine: EngineNamespace, instanceId: string): Promise<string | undefined> {
  const { turns } = await engine.exportWorkflowInstanceHistory(instanceId);
  const whole = inputOf(turns[0]?.events ?? []);
  return typeof whole === "string" ? whole : undefined;
}

/** An object stands for a value that has to be read. */
function inputOf(events: readonly Event[]): string | object | undefined {
  const began = events.findLast(({ type }) => type === "InstanceCreated" || type === "InstanceContinued");
  if (began?.type === "InstanceContinued") return began.input;
  if (began?.type !== "InstanceCreated") return undefined;
  const context = Object.entries(began.context);
  if (began.input !== undefined || context.length === 0) return began.input;
  if (context.some(([, value]) => typeof value === "object")) return began.context;
  return `{${context.map(([name, value]) => `${JSON.stringify(name)}:${value as string}`).join(",")}}`;
}

const pageTurns = 1000;

async function readFailure(engine: EngineNamespace, { instanceId, reason }: InstanceView): Promise<FailureDetails> {
  let failure: Failure | undefined;
  for (let afterTurn = -1; ;) {
    const page = await engine.getWorkflowInstanceHistory(instanceId, { afterTurn, limit: pageTurns });
    const end = page.flatMap(({ events }) => events).findLast(({ type }) => type === "InstanceEnded");
    if (end?.type === "InstanceEnded") failure = end.failure;
    if (page.length < pageTurns) break;
    afterTurn = page.at(-1)?.turn ?? afterTurn;
  }
  return detailsOf(failure ?? { type: "WORKFLOW_FAILED", message: reason ?? "", retryable: true });
}

/**
 * The reason of a termination for the output that a client gives with it. A text stands for itself, so that people can
 * read it; any other JSON is kept as it is.
 */
export function reasonOfOutput(output: string): string {
  const value = parsed(output);
  return typeof value === "string" && parsed(value) === undefined ? value : output;
}

/** The output of a terminated instance: what `reasonOfOutput` was given. */
export function outputOfReason(reason: string): string {
  return parsed(reason) === undefined ? JSON.stringify(reason) : reason;
}
