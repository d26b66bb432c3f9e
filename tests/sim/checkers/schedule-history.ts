import type { Event, InstanceContinued } from "../../../src/kernel/event.ts";
import type { Payload } from "../../../src/kernel/payload.ts";
import type { ScheduleSpec } from "../../../src/schedules/schedule-spec.ts";
import type { CommitHistory, InstanceCommits } from "./commit-history.ts";

/** A period in which a schedule was enabled with one spec. Turns are indexes in its history. */
export interface Window {
  readonly spec: ScheduleSpec;
  /** Due times after this one count. */
  readonly from: number;
  readonly opened: number;
  /** Infinity while it is open. Due times up to then may have been decided about, or not. */
  closed: number;
}

/** A run that a schedule started. */
export interface ScheduledRun {
  readonly id: string;
  readonly kind: "due" | "by-hand" | "backfill";
  /** The due time in its id; for a manual run, its start. */
  readonly nominal: number;
  /** The turn in which it was started, and that turn's time. */
  readonly started: number;
  readonly at: number;
  /** The turn in which the schedule received its end. */
  ended: number;
  /** Runs of its kind that had not ended when it was started. */
  readonly beside: readonly ScheduledRun[];
}

export interface Backfill {
  readonly update: string;
  readonly spec: ScheduleSpec;
  /** The time of the request. */
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

/** Nothing else is kept of a turn in which it continues as new. */
const waking: ReadonlySet<Event["type"]> = new Set(["TimerFired", "EventRaised", "InstanceContinued"]);

/** Events that only the code of a schedule causes: one of them follows whenever it has looked at what is due. */
const steps: ReadonlySet<Event["type"]> = new Set([
  "TaskAdded",
  "ChildStarted",
  "TimerSet",
  "CustomStatusSet",
  "InstanceContinued",
]);

function isWaking({ type }: Event): boolean {
  return waking.has(type);
}

/** The requests of clients and the runs in the history of one schedule, without the reasons for them. */
export class ScheduleHistory {
  id = "";
  /** The time from which a rate counts. */
  anchor = 0;
  readonly windows: Window[] = [];
  readonly runs: ScheduledRun[] = [];
  readonly backfills: Backfill[] = [];
  /** The runs that clients were told they had started. */
  readonly triggered: string[] = [];
  /** The time of each turn. */
  readonly times: number[] = [];
  /** Whether the schedule checked in that turn what was due: its timer fired, or something had changed. */
  readonly looks: boolean[] = [];
  /** The turn in which each timer of this generation fired. */
  #fired = new Map<number, number>();
  /** The turn in which it ended. */
  ended = Infinity;
  /** The last turn in which its code took a step. */
  lastStep = -1;
  readonly #commitHistory: CommitHistory;
  readonly #instance: InstanceCommits;
  /** Keyed by task number, for this generation. */
  #children = new Map<number, ScheduledRun>();
  readonly #triggers = new Set<string>();
  /** The requests that are on record, or whose answers are. */
  readonly #updates = new Set<string>();
  #spec: ScheduleSpec | undefined;
  #isEnabled = true;

  constructor(commitHistory: CommitHistory, instance: InstanceCommits) {
    this.#commitHistory = commitHistory;
    this.#instance = instance;
    for (const [turn, { at, events }] of instance.turns.entries()) {
      this.times.push(at);
      this.looks.push(events.some(isWaking));
      if (events.some(({ type }) => steps.has(type))) this.lastStep = turn;
      for (const event of events) this.#follow(event, turn, at);
    }
  }

  #follow(event: Event, turn: number, at: number): void {
    switch (event.type) {
      case "InstanceCreated":
        return this.#begin(this.#read(event.input) as State, turn);
      case "InstanceContinued":
        return this.#beginAnew(event, turn, at);
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
   * Continues as new, when nothing runs. Ends and requests that it received in that turn are not recorded, except for
   * their effects. A request that changes nothing else, such as a repeated one, still sets the time from which due times
   * count.
   */
  #beginAnew({ input, answers = [] }: InstanceContinued, turn: number, at: number): void {
    const state = this.#read(input) as State;
    const isAsked = answers.some(({ update }) => !this.#updates.has(update)) && state.decidedUntil === at;
    for (const { update } of answers) this.#updates.add(update);
    for (const run of this.runs) run.ended = Math.min(run.ended, turn);
    this.#children = new Map();
    this.#fired = new Map();
    if (this.#spec === undefined) return this.#begin(state, turn);
    const isChanged = JSON.stringify(state.spec) !== JSON.stringify(this.#spec);
    if (isChanged || isAsked || state.isEnabled !== this.#isEnabled) this.#wish(state, turn, at);
  }

  /**
   * Suspended code has not seen what was recorded meanwhile. If something that it sees first makes it cancel a timer
   * that has fired since, it never sees that timer, and decides when its next one fires.
   */
  #cancelTimer(timer: number): void {
    const turn = this.#fired.get(timer);
    if (turn === undefined) return;
    const isUnseen = (event: Event): boolean => event.type === "TimerFired" && event.timer === timer;
    const { events = [] } = this.#instance.turns[turn] ?? {};
    this.looks[turn] = events.some((event) => isWaking(event) && !isUnseen(event));
  }

  #update({ update, name, data }: Extract<Event, { type: "UpdateRequested" }>, turn: number, at: number): void {
    this.#updates.add(update);
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
