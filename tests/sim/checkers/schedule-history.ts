import type { Event } from "../../../src/kernel/event.ts";
import type { Payload } from "../../../src/kernel/payload.ts";
import type { ScheduleSpec } from "../../../src/schedules/schedule-spec.ts";
import type { CommitHistory, InstanceCommits } from "./commit-history.ts";

/** A stretch in which a schedule was on, with one and the same spec. Turns are told by their place in its history. */
export interface Window {
  readonly spec: ScheduleSpec;
  /** What is due after this time counts. */
  readonly from: number;
  readonly opened: number;
  /** Infinity while it is open. What is due by then may have been decided about, or not. */
  closed: number;
}

/** Something that a schedule started. */
export interface ScheduledRun {
  readonly id: string;
  readonly kind: "due" | "by-hand" | "backfill";
  /** The due time in its id; of one by hand, when it was started. */
  readonly nominal: number;
  /** In which turn it was started, and at what time by that turn. */
  readonly started: number;
  readonly at: number;
  /** In which turn the schedule heard of its end. */
  ended: number;
  /** Of its kind, that had not ended when it was started. */
  readonly beside: readonly ScheduledRun[];
}

export interface Backfill {
  readonly update: string;
  readonly spec: ScheduleSpec;
  /** When it was asked for. */
  readonly at: number;
  readonly range: { readonly from: number; readonly to: number; readonly parallelism: number };
  count: number | undefined;
}

interface State {
  readonly scheduleId: string;
  readonly spec: ScheduleSpec;
  readonly isEnabled: boolean;
  readonly anchor: number;
  readonly decidedUntil: number;
}

/** Of a turn in which it begins anew, nothing else is kept. */
const waking: ReadonlySet<Event["type"]> = new Set(["TimerFired", "EventRaised", "InstanceContinued"]);

function isWaking({ type }: Event): boolean {
  return waking.has(type);
}

/** What the history of one schedule tells of clients' wishes and of the runs that it started; not why it did. */
export class ScheduleHistory {
  id = "";
  /** From when a rate counts. */
  anchor = 0;
  readonly windows: Window[] = [];
  readonly runs: ScheduledRun[] = [];
  readonly backfills: Backfill[] = [];
  /** What clients were told that they started. */
  readonly triggered: string[] = [];
  /** Of each turn. */
  readonly times: number[] = [];
  /** Whether the schedule looked in that turn at what was due: its timer woke it, or something that had changed. */
  readonly looks: boolean[] = [];
  /** By timer of this generation: in which turn it fired. */
  #fired = new Map<number, number>();
  /** In which turn it came to its end. */
  ended = Infinity;
  readonly #commitHistory: CommitHistory;
  readonly #instance: InstanceCommits;
  /** By task number, of this generation. */
  #children = new Map<number, ScheduledRun>();
  readonly #triggers = new Set<string>();
  #spec: ScheduleSpec | undefined;
  #isEnabled = true;

  constructor(commitHistory: CommitHistory, instance: InstanceCommits) {
    this.#commitHistory = commitHistory;
    this.#instance = instance;
    for (const [turn, { at, events }] of instance.turns.entries()) {
      this.times.push(at);
      this.looks.push(events.some(isWaking));
      for (const event of events) this.#follow(event, turn, at);
    }
  }

  #follow(event: Event, turn: number, at: number): void {
    switch (event.type) {
      case "InstanceCreated":
        return this.#begin(this.#read(event.input) as State, turn);
      case "InstanceContinued":
        return this.#beginAnew(this.#read(event.input) as State, turn, at);
      case "UpdateRequested":
        return this.#update(event, turn, at);
      case "UpdateAnswered":
        return this.#answered(event);
      case "ChildStarted":
        return this.#started(event, turn, at);
      case "TimerFired":
        this.#fired.set(event.timer, turn);
        return;
      case "TimerCanceled":
        return this.#cancelTimer(event.timer);
      case "TaskSucceeded":
      case "TaskFailed": {
        const run = this.#children.get(event.task);
        if (run !== undefined) run.ended = turn;
        return;
      }
      case "InstanceEnded":
        this.ended = Math.min(this.ended, turn);
        return this.#close(turn);
      default:
    }
  }

  #begin({ scheduleId, spec, anchor, decidedUntil }: State, turn: number): void {
    this.id = scheduleId;
    this.anchor = anchor;
    this.#spec = spec;
    this.#open(turn, decidedUntil);
  }

  /**
   * It does so when nothing runs. What it heard in that turn, of ends and of clients' wishes, is not on record, but for
   * what it led to.
   */
  #beginAnew(state: State, turn: number, at: number): void {
    for (const run of this.runs) run.ended = Math.min(run.ended, turn);
    this.#children = new Map();
    this.#fired = new Map();
    if (this.#spec === undefined) return this.#begin(state, turn);
    const isChanged = JSON.stringify(state.spec) !== JSON.stringify(this.#spec);
    if (isChanged || state.isEnabled !== this.#isEnabled) this.#wish(state, turn, at);
  }

  /**
   * Code that is held up has not seen what was recorded meanwhile. If something that it sees first lets it give up a timer
   * that has fired since, it never sees that, and decides when its next timer wakes it.
   */
  #cancelTimer(timer: number): void {
    const turn = this.#fired.get(timer);
    if (turn === undefined) return;
    const isUnseen = (event: Event): boolean => event.type === "TimerFired" && event.timer === timer;
    const { events = [] } = this.#instance.turns[turn] ?? {};
    this.looks[turn] = events.some((event) => isWaking(event) && !isUnseen(event));
  }

  #update({ update, name, data }: Extract<Event, { type: "UpdateRequested" }>, turn: number, at: number): void {
    if (this.#spec === undefined) return;
    if (name === "pause") this.#wish({ spec: this.#spec, isEnabled: false }, turn, at);
    if (name === "resume" && !this.#isEnabled) this.#wish({ spec: this.#spec, isEnabled: true }, turn, at);
    if (name === "change") this.#wish({ spec: this.#read(data) as ScheduleSpec, isEnabled: this.#isEnabled }, turn, at);
    if (name === "trigger") this.#triggers.add(update);
    if (name === "backfill")
      this.backfills.push({
        update,
        spec: this.#spec,
        at,
        range: this.#read(data) as Backfill["range"],
        count: undefined,
      });
    if (name !== "delete") return;
    this.ended = turn;
    this.#close(turn);
  }

  #answered({ update, output }: Extract<Event, { type: "UpdateAnswered" }>): void {
    if (this.#triggers.has(update)) this.triggered.push(this.#read(output) as string);
    const backfill = this.backfills.find((each) => each.update === update);
    if (backfill !== undefined) backfill.count = this.#read(output) as number;
  }

  #wish({ spec, isEnabled }: Pick<State, "spec" | "isEnabled">, turn: number, at: number): void {
    this.#close(turn);
    this.#spec = spec;
    this.#isEnabled = isEnabled;
    if (isEnabled && this.ended === Infinity) this.#open(turn, at);
  }

  #open(turn: number, from: number): void {
    if (this.#spec !== undefined) this.windows.push({ spec: this.#spec, from, opened: turn, closed: Infinity });
  }

  #close(turn: number): void {
    const last = this.windows.at(-1);
    if (last !== undefined) last.closed = Math.min(last.closed, turn);
  }

  #started({ task, childId }: Extract<Event, { type: "ChildStarted" }>, turn: number, at: number): void {
    const rest = childId.slice(this.id.length + 1);
    const kind = rest.startsWith("by-hand/") ? "by-hand" : rest.startsWith("backfill/") ? "backfill" : "due";
    const nominal = kind === "by-hand" ? at : Date.parse(rest.slice(rest.lastIndexOf("/") + 1));
    const beside = this.runs.filter((run) => run.kind === kind && run.ended === Infinity);
    const run: ScheduledRun = { id: childId, kind, nominal, started: turn, at, ended: Infinity, beside };
    this.runs.push(run);
    this.#children.set(task, run);
  }

  #read(payload: Payload | undefined): unknown {
    return JSON.parse(this.#commitHistory.textOf(this.#instance.key, payload ?? "null"));
  }
}
