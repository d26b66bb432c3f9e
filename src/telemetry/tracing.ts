import { context, type Context, trace, type Tracer } from "@opentelemetry/api";
import { isoText } from "../base/time-limits.ts";
import { localName, qualify, qualifyAs } from "../base/namespace.ts";
import type { InstanceChange } from "../engine/instance-change.ts";
import type { Event } from "../kernel/event.ts";
import { InstanceTrace, type SpanStart } from "./instance-trace.ts";
import { afterwards, type AroundJob, type JobRun } from "./job-run.ts";
import { type TaskByNumber, tasksByNumber } from "./tasks-by-number.ts";
import { contextOf } from "./traceparent.ts";

const instancesMax = 10_000;

export interface TracingOptions {
  readonly tracer?: Tracer;
  readonly now?: () => number;
  /** Called with the trace id of every instance that gets a span. */
  readonly onTrace?: (instanceId: string, traceId: string) => void;
}

/**
 * Creates a span for each instance, and child spans for its attempts, timers and children. Without a registered
 * SDK of OpenTelemetry it does nothing.
 *
 * Spans live in memory. After a restart, and after a move to another member, an instance has a new one, with the
 * attribute `heddle.resumed`, in the trace that its `traceparent` names.
 */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #now: () => number;
  readonly #onTrace: TracingOptions["onTrace"];
  /** Traces by qualified id, in the order in which tracing began. */
  readonly #traces = new Map<string, InstanceTrace>();

  constructor(options: TracingOptions = {}) {
    this.#onTrace = options.onTrace;
    this.#tracer = options.tracer ?? trace.getTracer("heddle");
    this.#now = options.now ?? Date.now;
  }

  observe(change: InstanceChange): void {
    const { namespace } = change;
    const id = qualify(namespace, change.instanceId);
    const traced = this.#traces.get(id) ?? this.#begin(id, startOf(change), change);
    if (traced === undefined) return;
    const taskOf = tasksByNumber(change);
    for (const event of change.events) {
      follow(traced, event, change, taskOf);
      if (event.type === "InstanceEnded") this.#traces.delete(id);
      // The rest of this turn was copied by a fork.
      if (event.type === "InstanceCreated" && event.forkedFrom !== undefined) return;
    }
  }

  /** The engine's option `aroundJob`: the job runs in the span of its attempt, so that its own calls are below it. */
  readonly aroundJob: AroundJob = (run, call) => {
    const id = qualify(run.namespace, run.instanceId);
    const traced = this.#traces.get(id) ?? this.#begin(id, this.#resumedSpan(run), run);
    if (traced === undefined) return call();
    const key = keyOfAttempt(run.attemptId);
    const attributes = { "heddle.task.name": run.taskName, "heddle.task.attempt": run.attempt };
    const within = traced.begin(key, { name: run.taskName, startTime: this.#now(), attributes });
    return afterwards(context.with(within, call), () => traced.settle(key, this.#now()));
  };

  /** Ends all open spans, so that they are exported. */
  stop(): void {
    for (const [instanceId, traced] of this.#traces) this.#letGo(instanceId, traced);
  }

  #begin(
    instanceId: string,
    start: SpanStart,
    origin: { traceparent?: string | undefined; parentInstanceId?: string | undefined },
  ): InstanceTrace | undefined {
    const traced = new InstanceTrace({ tracer: this.#tracer, context: this.#above(instanceId, origin), start });
    if (!traced.isTraced) return undefined;
    this.#traces.set(instanceId, traced);
    this.#onTrace?.(instanceId, traced.traceId);
    if (this.#traces.size > instancesMax) {
      const [oldest] = this.#traces;
      if (oldest !== undefined) this.#letGo(...oldest);
    }
    return traced;
  }

  #above(
    instanceId: string,
    { traceparent, parentInstanceId }: { traceparent?: string | undefined; parentInstanceId?: string | undefined },
  ): Context {
    const parent =
      parentInstanceId === undefined ? undefined : this.#traces.get(qualifyAs(instanceId, parentInstanceId));
    return parent?.contextOf(localName(instanceId)) ?? contextOf(traceparent);
  }

  /** The span of an instance that was active when this process took it over: its job runs before a new event is recorded. */
  #resumedSpan({ namespace, instanceId, workflowName }: JobRun): SpanStart {
    const attributes = {
      "heddle.namespace": namespace,
      "heddle.instance.id": instanceId,
      "heddle.workflow.name": workflowName,
      "heddle.resumed": true,
    };
    return { name: workflowName, startTime: this.#now(), attributes };
  }

  /** Ends the span early; the instance gets a new span if it continues. */
  #letGo(instanceId: string, traced: InstanceTrace): void {
    this.#traces.delete(instanceId);
    traced.setAttributes({ "heddle.unfinished": true });
    traced.endAll({ at: this.#now() });
  }
}

function startOf(change: InstanceChange): SpanStart {
  const isNew = change.events.some(({ type }) => type === "InstanceCreated");
  const isReopened = change.events.some(({ type }) => type === "InstanceReopened" || type === "InstanceContinued");
  return {
    name: change.workflowName,
    startTime: isReopened ? change.at : change.createdAt,
    attributes: {
      "heddle.namespace": change.namespace,
      "heddle.instance.id": change.instanceId,
      "heddle.workflow.name": change.workflowName,
      "heddle.workflow.version": change.workflowVersion,
      "heddle.workflow.kind": change.kind,
      "heddle.trigger": change.trigger,
      ...(!isNew && { "heddle.resumed": true }),
    },
  };
}

function follow(traced: InstanceTrace, event: Event, change: InstanceChange, taskOf: TaskByNumber): void {
  const { at } = change;
  const begin = (task: number, attempt: number, startTime: number, childId?: string): void => {
    const view = taskOf(task);
    const attributes = {
      "heddle.task.name": view?.name ?? "",
      "heddle.task.attempt": attempt,
      ...(view !== undefined && { "heddle.node.id": view.nodeId }),
      ...(childId !== undefined && { "heddle.child.id": childId }),
    };
    traced.begin(keyOf(task, attempt), { name: view?.name ?? `task ${task}`, startTime, attributes }, childId);
  };
  switch (event.type) {
    case "TaskStarted":
      return begin(event.task, event.attempt, event.startedAt);
    case "ChildStarted":
      return begin(event.task, event.attempt, at, event.childId);
    case "TaskSucceeded":
    case "TaskFailed": {
      const { task, attempt, startedAt } = event;
      // A short attempt has no start event of its own; its end carries the start time.
      if (startedAt !== undefined) begin(task, attempt, startedAt);
      const problem = event.type === "TaskFailed" ? `${event.failure.type}: ${event.failure.message}` : undefined;
      return traced.end(keyOf(task, attempt), { at, problem });
    }
    case "TaskInterrupted":
      return traced.end(keyOf(event.task, event.attempt), { at, problem: "lost with its process or worker" });
    case "TasksStopped":
      for (const task of event.tasks) {
        const attempt = taskOf(task)?.attempt;
        if (attempt !== undefined) traced.end(keyOf(task, attempt), { at, problem: "stopped" });
      }
      return undefined;
    case "TimerSet": {
      const attributes = { "heddle.timer.due": isoText(event.dueAt) };
      return void traced.begin(`timer ${event.timer}`, { name: "timer", startTime: at, attributes });
    }
    case "TimerFired":
    case "TimerCanceled":
      return traced.end(`timer ${event.timer}`, { at });
    case "InstanceContinued":
      return traced.endParts({ at });
    case "InstanceEnded":
      traced.setAttributes({ "heddle.status": event.status });
      return traced.endAll({ at, problem: event.status === "Failed" ? (change.reason ?? "failed") : undefined });
    default:
  }
}

function keyOf(task: number, attempt: number): string {
  return `${task}:${attempt}`;
}

/** The key of an attempt: its id ends with the numbers of task and attempt. */
function keyOfAttempt(attemptId: string): string {
  return attemptId.split(":").slice(-2).join(":");
}
