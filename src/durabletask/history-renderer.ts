import { createHash } from "node:crypto";
import { localName } from "../base/namespace.ts";
import type { Event, InstanceContinued, InstanceCreated, InstanceEnded, KeptEvent } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { Payload } from "../kernel/payload.ts";
import { kindOf } from "../kernel/task-definition.ts";
import { statusNumbers } from "./client-messages.ts";
import { idOfMark, tagsEvent, tagsOf } from "./event-marks.ts";
import type { HistoryEvent } from "./history-messages.ts";
import type { Given } from "./message.ts";
import { activityName, orchestratorVersion } from "./names.ts";
import { detailsOf } from "./payloads.ts";

/** Events of one turn. Large values are in them as text. */
export interface EventsOfTurn {
  readonly at: number;
  readonly turn: number;
  readonly events: readonly Event[];
}

export interface RendererOptions {
  /** Qualified. */
  readonly instanceId: string;
  /** The name of the parent's workflow, for a child. */
  readonly parentName?: string | undefined;
  /** Adds pauses, which the server handles itself, so that workers do not hear of them. */
  readonly withPauses: boolean;
}

type Rendered = Given<HistoryEvent>;

/** The id of what happened to an orchestration. What the orchestration did has the id of its action. */
const arrivalId = -1;

const statusOfEnd = {
  Success: statusNumbers.COMPLETED,
  Failed: statusNumbers.FAILED,
  Terminated: statusNumbers.TERMINATED,
} as const;

/**
 * Renders the events of one generation as the history of an orchestration. It is fed with the turns of the generation in
 * their order, from the first event on, in parts of any size: the same events are always rendered in the same way,
 * because SDKs replay them.
 *
 * Each turn in which something arrived begins with `orchestratorStarted`, whose time is the time of the orchestrator.
 */
export class HistoryRenderer {
  readonly #options: RendererOptions;
  #startedTurn = "";
  #first: InstanceCreated | InstanceContinued | undefined;
  #isContinued = false;
  #executionId = "";
  /** The ids of tasks and timers, by their numbers here. */
  readonly #taskIds: number[] = [];
  readonly #nodes: NodeSpec[] = [];
  /** Tasks that are children and have been shown as such: one that is retried is the same child. */
  readonly #children = new Set<number>();
  /** Times of the copied events that are still to come, in an instance that began with some. */
  #copiedTimes: number[] | undefined;
  readonly #timers: { readonly id: number; readonly dueAt: number }[] = [];
  #nextId = 1;
  #customStatus: string | undefined;
  #tags: ReadonlyMap<string, string> = new Map();

  constructor(options: RendererOptions) {
    this.#options = options;
  }

  /** New for every generation: 32 hexadecimal digits, from which SDKs derive the ids of children. */
  get executionId(): string {
    return this.#executionId;
  }

  /** The number of tasks so far. */
  get taskCount(): number {
    return this.#taskIds.length;
  }

  /** The id that the next action has if its SDK counts as most do. */
  get nextId(): number {
    return this.#nextId;
  }

  /** True if the instance began with events of another one, or of itself. */
  get hasCopied(): boolean {
    return this.#copiedTimes !== undefined;
  }

  get tags(): ReadonlyMap<string, string> {
    return this.#tags;
  }

  get customStatus(): string | undefined {
    return this.#customStatus;
  }

  render({ at, turn, events }: EventsOfTurn): Rendered[] {
    const rendered: Rendered[] = [];
    let place = 0;
    while (place < events.length) {
      const start = place;
      const copiedAt = this.#copiedAt(events[place]);
      // Events that were copied together have the times that they had elsewhere.
      do place++;
      while (place < events.length && this.#copiedTimes?.[place - start] === copiedAt);
      const part = events.slice(start, place);
      this.#copiedTimes?.splice(0, part.length);
      const time = copiedAt === undefined ? `${turn}` : `${turn} ${copiedAt}`;
      rendered.push(...this.#renderPart({ at: copiedAt ?? at, turn: time, events: part }));
    }
    return rendered;
  }

  /** The time that the event had in the instance from which it was copied; undefined for an event that was not copied. */
  #copiedAt(event: Event | undefined): number | undefined {
    if (event?.type === "InstanceCreated" && event.forkedFrom?.times !== undefined)
      this.#copiedTimes = [...event.forkedFrom.times];
    return this.#copiedTimes?.[0];
  }

  #renderPart({ at, turn, events }: { at: number; turn: string; events: readonly Event[] }): Rendered[] {
    const rendered: Rendered[] = [];
    const time = Math.max(at, ...events.map((event) => this.#dueAt(event)));
    for (const event of events) this.#noteTags(event);
    for (const event of events) {
      const arrivals = this.#arrivals(event, at);
      if (arrivals.length > 0 && this.#startedTurn !== turn) {
        this.#startedTurn = turn;
        rendered.push({ eventId: arrivalId, at: time, orchestratorStarted: {} });
      }
      rendered.push(...arrivals.map((arrival) => ({ ...arrival, eventId: arrivalId, at: time })));
      const done = this.#step(event);
      if (done !== undefined) rendered.push({ ...done, at });
    }
    return rendered;
  }

  /** The tags come right after the start that they belong to. */
  #noteTags(event: Event): void {
    const kept: readonly KeptEvent[] = event.type === "EventRaised" ? [event] : eventsOf(event);
    const given = kept.find(({ name }) => name === tagsEvent);
    if (given !== undefined && this.#tags.size === 0) this.#tags = tagsOf(given.data);
  }

  /** A timer is not seen before it is due, whatever the clock of the turn says. */
  #dueAt(event: Event): number {
    return event.type === "TimerFired" ? (this.#timers[event.timer]?.dueAt ?? 0) : 0;
  }

  // What arrived

  #arrivals(event: Event, at: number): Rendered[] {
    switch (event.type) {
      case "InstanceCreated":
        this.#begin(event, at);
        return [];
      case "InstanceContinued":
        this.#begin(event, at);
        this.#isContinued = true;
        this.#customStatus = event.customStatus;
        return [this.#executionStarted(event), ...(event.events ?? []).flatMap((kept) => this.#raised(kept))];
      case "InstanceStarted":
        return this.#first === undefined || this.#isContinued ? [] : [this.#executionStarted(this.#first)];
      case "TimerFired": {
        const { id = 0, dueAt } = this.#timers[event.timer] ?? {};
        return [{ timerFired: { timerId: id, fireAt: dueAt } }];
      }
      case "EventRaised":
        return this.#raised(event);
      case "CancelRequested":
        return event.isHeld === true ? [] : [{ executionTerminated: { input: JSON.stringify(event.reason) } }];
      case "InstancePaused":
        return this.#options.withPauses ? [{ executionSuspended: { input: event.reason } }] : [];
      case "InstanceResumed":
        return this.#options.withPauses ? [{ executionResumed: {} }] : [];
      default:
        return this.#endsOfTasks(event);
    }
  }

  #raised({ name, data }: KeptEvent): Rendered[] {
    return name === tagsEvent ? [] : [{ eventRaised: { name, input: textOf(data) } }];
  }

  #endsOfTasks(event: Event): Rendered[] {
    switch (event.type) {
      case "TaskSucceeded": {
        const result = { taskScheduledId: this.#idOf(event.task), result: textOf(event.output) };
        return [this.#isChild(event.task) ? { childCompleted: result } : { taskCompleted: result }];
      }
      case "TaskFailed":
        return event.retryAt === undefined ? [this.#failed(event.task, event.failure)] : [];
      case "TasksStopped": {
        const { failure } = event;
        return failure === undefined ? [] : event.tasks.map((task) => this.#failed(task, failure));
      }
      default:
        return [];
    }
  }

  #failed(task: number, failure: Failure): Rendered {
    const taskScheduledId = this.#idOf(task);
    if (!this.#isChild(task)) return { taskFailed: { taskScheduledId, failure: detailsOf(failure) } };
    // SDKs decide by the child's own failure whether to start another.
    return { childFailed: { taskScheduledId, failure: detailsOf(failure.cause ?? failure) } };
  }

  #begin(event: InstanceCreated | InstanceContinued, at: number): void {
    const { instanceId } = this.#options;
    this.#first = event;
    const seed = `${instanceId}\n${event.generation}\n${at}`;
    this.#executionId = createHash("sha256").update(seed).digest("hex").slice(0, 32);
  }

  #executionStarted({ workflow, version, input, parent, traceparent }: InstanceCreated | InstanceContinued): Rendered {
    const instanceId = localName(this.#options.instanceId);
    return {
      executionStarted: {
        name: localName(workflow),
        version: orchestratorVersion(version),
        input: textOf(input),
        instance: { instanceId, executionId: this.#executionId },
        ...(parent !== undefined && {
          parent: {
            taskScheduledId: parent.task + 1,
            name: this.#options.parentName,
            instance: { instanceId: localName(parent.id) },
          },
        }),
        ...(traceparent !== undefined && { parentTrace: { traceParent: traceparent } }),
        ...(this.#tags.size > 0 && { tags: this.#tags }),
      },
    };
  }

  // What the orchestrator did

  #step(event: Event): Rendered | undefined {
    switch (event.type) {
      case "TaskAdded":
        return this.#add(event.node);
      case "ChildStarted":
      case "ChildDetached":
        return this.#childCreated(event.task, event.childId);
      case "TimerSet": {
        const eventId = this.#takeId();
        this.#timers[event.timer] = { id: eventId, dueAt: event.dueAt };
        return { eventId, timerCreated: { fireAt: event.dueAt } };
      }
      case "EventSent":
        return {
          eventId: this.#takeId(),
          eventSent: { instanceId: localName(event.to), name: event.name, input: event.data },
        };
      case "CancelSent":
        this.#takeId();
        return undefined;
      case "CustomStatusSet":
        this.#customStatus = event.status ?? undefined;
        return undefined;
      case "PatchMarked":
        this.#nextId = idOfMark(event.patch) ?? this.#nextId;
        return undefined;
      case "InstanceEnded":
        return { eventId: this.#takeId(), executionCompleted: completionOf(event) };
      default:
        return undefined;
    }
  }

  #add(node: NodeSpec): Rendered | undefined {
    const eventId = this.#takeId();
    this.#taskIds.push(eventId);
    this.#nodes.push(node);
    // The id of a child is in the event after this one.
    if (kindOf(node) === "nested") return undefined;
    return { eventId, taskScheduled: { name: activityName(node.jobName ?? ""), input: node.nodeParams } };
  }

  #childCreated(task: number, childId: string): Rendered | undefined {
    if (this.#children.has(task)) return undefined;
    this.#children.add(task);
    const { workflowName = "", workflowVersion, nodeParams: input } = this.#nodes[task] ?? {};
    const version = workflowVersion === undefined ? undefined : orchestratorVersion(workflowVersion);
    const child = { instanceId: localName(childId), name: localName(workflowName), version, input };
    return { eventId: this.#idOf(task), childCreated: child };
  }

  #takeId(): number {
    return this.#nextId++;
  }

  #idOf(task: number): number {
    return this.#taskIds[task] ?? 0;
  }

  #isChild(task: number): boolean {
    const node = this.#nodes[task];
    return node !== undefined && kindOf(node) === "nested";
  }
}

function eventsOf(event: Event): readonly KeptEvent[] {
  return event.type === "InstanceContinued" ? (event.events ?? []) : [];
}

/** A value that is kept apart from its history has no text here; those who render histories read it first. */
function textOf(payload: Payload | undefined): string | undefined {
  return typeof payload === "string" ? payload : undefined;
}

function completionOf({ status, output, failure, reason }: InstanceEnded): NonNullable<Rendered["executionCompleted"]> {
  return {
    status: statusOfEnd[status],
    result: status === "Terminated" && reason !== undefined ? JSON.stringify(reason) : textOf(output),
    ...(failure !== undefined && { failure: detailsOf(failure) }),
  };
}
