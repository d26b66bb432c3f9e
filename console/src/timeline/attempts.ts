import { firstItemNumber } from "../../../src/kernel/dag/map-items.ts";
import type { Event, TaskFailed, TaskSucceeded } from "../../../src/kernel/event.ts";
import type { HistoryTurn, InstanceView } from "../api/model.ts";

/** A stretch of a row: waits for a slot, runs, waits for its next attempt, sleeps. */
export interface Bar {
  readonly kind: "queue" | "run" | "backoff" | "timer" | "lost";
  readonly from: number;
  /** Undefined while it lasts. */
  to: number | undefined;
  readonly attempt: number;
  /** Status of its end; `Running` while it lasts. */
  status: string;
  worker?: string;
  /** Of a timer, when it is due. */
  message?: string;
  failure?: TaskFailed["failure"];
}

export interface Row {
  readonly key: string;
  readonly name: string;
  readonly kind: "task" | "timer";
  readonly generation: number;
  readonly bars: Bar[];
}

/** A moment worth seeing on the slider and above the rows. */
export interface Mark {
  readonly turn: number;
  readonly at: number;
  readonly kind: "failed" | "retry" | "paused" | "resumed" | "event" | "reopened" | "ended";
  readonly label: string;
}

export interface Timeline {
  readonly rows: readonly Row[];
  readonly marks: readonly Mark[];
  readonly generations: number;
  readonly from: number;
  /** Undefined while the instance runs. */
  readonly to: number | undefined;
}

/** The attempts and waits of every task, from the history. */
export function timelineOf(view: InstanceView, turns: readonly HistoryTurn[]): Timeline {
  const builder = new TimelineBuilder(view);
  for (const turn of turns) builder.addTurn(turn);
  return builder.finish();
}

/** A map may have a hundred thousand items: its own row stands for them. */
function withoutItems(event: Event): Event | undefined {
  if ("tasks" in event) return { ...event, tasks: event.tasks.filter((task) => task < firstItemNumber) };
  return "task" in event && event.task >= firstItemNumber ? undefined : event;
}

class TimelineBuilder {
  readonly #view: InstanceView;
  readonly #names: Map<number, string>;
  readonly #rows = new Map<string, Row>();
  readonly #open = new Map<string, Bar>();
  readonly #marks: Mark[] = [];
  #generation = 1;
  #added: number;
  #turn = 0;
  #from: number | undefined;
  #to: number | undefined;

  constructor(view: InstanceView) {
    this.#view = view;
    this.#names = new Map(view.tasks.map(({ number, name }) => [number, name]));
    // Tasks that are added later are numbered on from the definition's.
    this.#added = view.kind === "dag" ? view.tasks.filter(({ parentTask }) => parentTask === undefined).length : 0;
  }

  addTurn({ turn, at, events }: HistoryTurn): void {
    this.#turn = turn;
    this.#from ??= at;
    for (const event of events as unknown as Event[]) {
      const own = withoutItems(event);
      if (own !== undefined) this.#apply(own, at);
    }
  }

  #apply(event: Event, at: number): void {
    switch (event.type) {
      case "TasksScheduled":
        for (const task of event.tasks) this.#begin(task, { kind: "queue", from: at });
        return;
      case "TaskStarted":
        this.#run(event.task, event.startedAt, event);
        return;
      case "ChildStarted":
      case "MapStarted":
        this.#run(event.task, at, event);
        return;
      case "TaskSucceeded":
        this.#finish(event, at, "Success");
        for (const node of event.subTasks ?? []) this.#addName(node);
        return;
      case "TaskFailed":
        this.#fail(event, at);
        return;
      case "TaskInterrupted":
        this.#end(this.#keyOf(event.task), at, "lost");
        return;
      case "DecisionMade":
        this.#begin(event.task, { kind: "run", from: at });
        this.#end(this.#keyOf(event.task), at, "Success");
        return;
      case "TaskAdded":
        this.#addName(event.node);
        return;
      case "TimerSet":
        this.#beginTimer(event.timer, at, event.dueAt);
        return;
      case "TimerFired":
        this.#end(`${this.#generation}:timer:${event.timer}`, at, "Success");
        return;
      case "TimerCanceled":
        this.#end(`${this.#generation}:timer:${event.timer}`, at, "Canceled");
        return;
      default:
        this.#applyToAll(event, at);
    }
  }

  #applyToAll(event: Event, at: number): void {
    switch (event.type) {
      case "TasksWithdrawn":
      case "RetriesDue":
        for (const task of event.tasks) this.#end(this.#keyOf(task), at, "Pending");
        return;
      case "TasksStopped":
        for (const task of event.tasks) this.#end(this.#keyOf(task), at, "Stopped");
        return;
      case "TasksCanceled":
        for (const task of event.tasks) this.#end(this.#keyOf(task), at, "Canceled");
        return;
      case "InstancePaused":
        this.#mark(at, "paused", "");
        return;
      case "InstanceResumed":
        this.#mark(at, "resumed", "");
        return;
      case "EventRaised":
        this.#mark(at, "event", event.name);
        return;
      case "InstanceReopened":
      case "InstanceContinued":
        this.#reopen(event.generation, at);
        if (event.type === "InstanceContinued") this.#added = 0;
        return;
      case "InstanceEnded":
        for (const key of this.#open.keys()) this.#end(key, at, event.status === "Success" ? "Canceled" : "Stopped");
        this.#to = at;
        this.#mark(at, "ended", event.status);
        return;
      default:
    }
  }

  #addName(node: { readonly nodeName?: string; readonly jobName?: string; readonly nodeId: number | string }): void {
    const number = this.#added++;
    const name = node.nodeName ?? node.jobName ?? String(node.nodeId);
    if (this.#view.kind === "code" || !this.#names.has(number)) this.#names.set(number, name);
  }

  #reopen(generation: number, at: number): void {
    this.#generation = generation;
    this.#to = undefined;
    this.#mark(at, "reopened", String(generation));
  }

  #mark(at: number, kind: Mark["kind"], label: string): void {
    this.#marks.push({ turn: this.#turn, at, kind, label });
  }

  #keyOf(task: number): string {
    return `${this.#generation}:${task}`;
  }

  #nameOf(task: number): string {
    return this.#names.get(task) ?? `#${task}`;
  }

  #rowOf(key: string, make: () => Omit<Row, "key" | "bars" | "generation">): Row {
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row: Row = { key, bars: [], generation: this.#generation, ...make() };
    this.#rows.set(key, row);
    return row;
  }

  #begin(task: number, given: Pick<Bar, "kind" | "from"> & Partial<Bar>): void {
    const key = this.#keyOf(task);
    this.#end(key, given.from, "Pending");
    const row = this.#rowOf(key, () => ({ name: this.#nameOf(task), kind: "task" }));
    const attempt = given.attempt ?? row.bars.filter(({ kind }) => kind === "run").length + 1;
    const bar: Bar = { to: undefined, status: "Running", ...given, attempt };
    row.bars.push(bar);
    this.#open.set(key, bar);
  }

  #run(task: number, from: number, event: { readonly attempt: number; readonly worker?: string }): void {
    const { attempt, worker } = event;
    this.#begin(task, { kind: "run", from, attempt, ...(worker !== undefined && { worker }) });
  }

  #beginTimer(timer: number, at: number, dueAt: number): void {
    const key = `${this.#generation}:timer:${timer}`;
    const row = this.#rowOf(key, () => ({ name: `timer ${timer + 1}`, kind: "timer" }));
    const bar: Bar = { kind: "timer", from: at, to: undefined, attempt: 0, status: "Running", message: String(dueAt) };
    row.bars.push(bar);
    this.#open.set(key, bar);
  }

  #finish(event: TaskSucceeded | TaskFailed, at: number, status: string): void {
    const key = this.#keyOf(event.task);
    if (event.startedAt !== undefined && this.#open.get(key)?.kind !== "run") {
      this.#run(event.task, event.startedAt, event);
    }
    this.#end(key, at, status);
  }

  #fail(event: TaskFailed, at: number): void {
    const key = this.#keyOf(event.task);
    const status = event.timedOut === true ? "TimeoutFailed" : "Failed";
    this.#finish(event, at, status);
    const last = this.#rows.get(key)?.bars.at(-1);
    if (last !== undefined) {
      last.message = event.failure.message;
      last.failure = event.failure;
    }
    const isFinal = event.retryAt === undefined;
    this.#mark(at, isFinal ? "failed" : "retry", this.#nameOf(event.task));
    if (!isFinal) this.#begin(event.task, { kind: "backoff", from: at, attempt: event.attempt });
  }

  #end(key: string, at: number, status: string): void {
    const bar = this.#open.get(key);
    if (bar === undefined) return;
    this.#open.delete(key);
    bar.to = Math.max(bar.from, at);
    bar.status = status === "lost" ? "Stopped" : status;
  }

  finish(): Timeline {
    const rows = [...this.#rows.values()];
    return {
      rows,
      marks: this.#marks,
      generations: this.#generation,
      from: this.#from ?? this.#view.createdAt,
      to: this.#to,
    };
  }
}

/** The tasks on the way that decided when the instance ended: back from the last, each by what ended last before it began. */
export function criticalPath(rows: readonly Row[]): ReadonlySet<string> {
  const spans = rows.flatMap((row) => {
    const [first, last] = [row.bars[0], row.bars.at(-1)];
    return first === undefined || last?.to === undefined ? [] : [{ key: row.key, from: first.from, to: last.to }];
  });
  const path = new Set<string>();
  let current = spans.reduce<(typeof spans)[number] | undefined>(
    (late, span) => (late === undefined || span.to > late.to ? span : late),
    undefined,
  );
  const slackMs = 5;
  while (current !== undefined && !path.has(current.key)) {
    path.add(current.key);
    const { from } = current;
    let previous: (typeof spans)[number] | undefined;
    for (const span of spans) {
      if (span.to > from + slackMs || path.has(span.key)) continue;
      if (previous === undefined || span.to > previous.to) previous = span;
    }
    current = previous;
  }
  return path;
}
