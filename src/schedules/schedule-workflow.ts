import { defineWorkflow } from "../authoring/code-workflow.ts";
import type { WorkflowContext } from "../authoring/workflow-context.ts";
import { messageOf } from "../base/error.ts";
import { durationMsMax, isoText } from "../base/time-limits.ts";
import { jobWorkflowName, scheduleWorkflowName } from "../kernel/event.ts";
import {
  backfillMax,
  type BackfillRange,
  checkBackfillRange,
  checkSchedule,
  tooManyDueTimes,
} from "./schedule-check.ts";
import type { ScheduleSpec } from "./schedule-spec.ts";
import { dueTimesWithin, latestDueTimes, type Timetable, timetableOf } from "./timetable.ts";

/** State that a schedule carries from one generation to the next. */
export interface ScheduleState {
  readonly scheduleId: string;
  readonly spec: ScheduleSpec;
  readonly isEnabled: boolean;
  /** Time from which a fixed rate counts. */
  readonly anchor: number;
  /** Time up to which all due times have been handled: run, queued or skipped. */
  readonly decidedUntil: number;
  readonly runs: number;
  readonly skipped: number;
  readonly lastRunId?: string;
  readonly lastError?: string;
}

/** Public view of a schedule. */
export interface ScheduleView {
  readonly spec: ScheduleSpec;
  readonly isEnabled: boolean;
  readonly nextAt: number | null;
  readonly running: readonly string[];
  readonly waiting: number;
  readonly runs: number;
  readonly skipped: number;
  readonly lastRunId: string | null;
  readonly lastError: string | null;
}

/** Schedule as everybody can read it: all but the input or the job's parameters, which may be too large for that. */
export interface ShownSchedule extends ScheduleView {
  /** True if the schedule has an input or parameters, which the query `inputQuery` returns. */
  readonly hasInput: boolean;
}

export const inputQuery = "input";

/** Time after which a due time that was not handled counts as missed. */
const missedAfterMs = 60_000;

/** Maximum of missed due times that are made up for at once. */
const madeUpMax = 1000;

/**
 * The code workflow of a schedule. It sleeps until the next due time, and starts each run as a child whose id is derived
 * from the due time: so each due time fires once, also through restarts, moves of its shard and crashes.
 */
export const scheduleWorkflow = defineWorkflow(
  scheduleWorkflowName,
  { version: "1" },
  (ctx: WorkflowContext, state: ScheduleState) => new Schedule(ctx, state).run(),
);

/** Names the workflow that a schedule starts. */
export function workflowOf({ workflow, job }: ScheduleSpec): string {
  return workflow ?? jobWorkflowName(job);
}

function inputOf(spec: ScheduleSpec): unknown {
  return spec.job === undefined ? spec.input : spec.params;
}

interface QueuedDue {
  readonly at: number;
  /** True if the due time was missed: it runs even if a later one is due. */
  readonly isMissed: boolean;
}

export class Schedule {
  readonly #ctx: WorkflowContext;
  readonly #id: string;
  readonly #anchor: number;
  readonly #running = new Set<string>();
  /** Due times that wait for the run before them. */
  #queue: QueuedDue[] = [];
  #spec: ScheduleSpec;
  #timetable: Timetable;
  #isEnabled: boolean;
  #isDeleted = false;
  #decidedUntil: number;
  #backfills = 0;
  #runs: number;
  #skipped: number;
  readonly #runsAtBeginning: number;
  #lastRunId: string | undefined;
  #lastError: string | undefined;

  constructor(ctx: WorkflowContext, state: ScheduleState) {
    this.#ctx = ctx;
    this.#id = state.scheduleId;
    this.#anchor = state.anchor;
    this.#spec = state.spec;
    this.#timetable = timetableOf(state.spec, state.anchor);
    this.#isEnabled = state.isEnabled;
    this.#decidedUntil = state.decidedUntil;
    this.#runs = state.runs;
    this.#runsAtBeginning = state.runs;
    this.#skipped = state.skipped;
    this.#lastRunId = state.lastRunId;
    this.#lastError = state.lastError;
  }

  /** Number of runs after which the schedule continues as new, as soon as none is under way. */
  get runsPerBeginning(): number {
    return 100;
  }

  async run(): Promise<void> {
    this.#listen();
    while (!this.#isDeleted) {
      if (this.#mayBeginAnew) return await this.#ctx.continueAsNew(this.#state, { keepEvents: true });
      const due = this.#nextDue();
      this.#show(due);
      await this.#waitUntil(due);
      if (!this.#isDeleted) this.#decide();
    }
  }

  // Queries and updates of clients

  #listen(): void {
    this.#ctx.onQuery(inputQuery, () => inputOf(this.#spec));
    this.#ctx.onUpdate("pause", () => this.#applyAndWake(() => (this.#isEnabled = false)));
    this.#ctx.onUpdate("resume", () => this.#applyAndWake(() => this.#enable()));
    this.#ctx.onUpdate("change", {
      validate: (spec: ScheduleSpec) => checkSchedule(spec, this.#ctx.now()),
      handler: (spec: ScheduleSpec) => this.#applyAndWake(() => this.#change(spec)),
    });
    this.#ctx.onUpdate("delete", () => this.#applyAndWake(() => (this.#isDeleted = true)));
    this.#ctx.onUpdate("trigger", () => this.#start(`${this.#id}/by-hand/${this.#ctx.uuid()}`, 0));
    this.#ctx.onUpdate("backfill", {
      validate: checkBackfillRange,
      handler: (range: BackfillRange) => this.#backfill(range),
    });
  }

  /** Applies a change and wakes the loop, which would otherwise sleep until the next due time. */
  #applyAndWake(change: () => unknown): void {
    change();
    this.#wake();
  }

  #wake(): void {
    this.#ctx.sendEvent(this.#ctx.instanceId, "wake");
  }

  /** Enables the schedule. Due times while it was disabled were not missed. */
  #enable(): void {
    if (!this.#isEnabled) this.#decidedUntil = this.#ctx.now();
    this.#isEnabled = true;
  }

  #change(spec: ScheduleSpec): void {
    this.#timetable = timetableOf(spec, this.#anchor);
    this.#spec = spec;
    this.#decidedUntil = this.#ctx.now();
  }

  // The loop

  /** Returns the next due time; undefined while the schedule is disabled, or waits for the end of a run. */
  #nextDue(): number | undefined {
    if (!this.#isEnabled || this.#waitsForEnd) return undefined;
    return this.#timetable.next(this.#decidedUntil);
  }

  get #countsFromEnd(): boolean {
    return "delayMs" in this.#spec.every;
  }

  get #waitsForEnd(): boolean {
    return this.#countsFromEnd && this.#running.size > 0;
  }

  async #waitUntil(due: number | undefined): Promise<void> {
    const timeoutMs = due === undefined ? undefined : Math.min(Math.max(0, due - this.#ctx.now()), durationMsMax);
    try {
      await this.#ctx.waitForEvent("wake", timeoutMs === undefined ? {} : { timeoutMs });
    } catch (error) {
      if (this.#ctx.cancelReason !== undefined) throw error;
    }
  }

  #decide(): void {
    if (!this.#isEnabled || this.#waitsForEnd) return;
    const now = this.#ctx.now();
    const due = this.#chosen(this.#takeDue(now), now);
    const isAbsence = due.length > 1;
    for (const at of due) this.#fire({ at, isMissed: this.#makesUp && (isAbsence || now - at > missedAfterMs) });
  }

  get #makesUp(): boolean {
    return this.#spec.whenMissed === "all" && !this.#countsFromEnd;
  }

  #takeDue(now: number): readonly number[] {
    const due = this.#dueUntil(now);
    this.#decidedUntil = due.at(-1) ?? this.#decidedUntil;
    return due;
  }

  #dueUntil(now: number): readonly number[] {
    const after = this.#decidedUntil;
    if (!this.#countsFromEnd) {
      const count = this.#spec.whenMissed === "all" ? madeUpMax : 1;
      return latestDueTimes(this.#timetable, { after, until: now }, count);
    }
    const at = this.#timetable.next(after);
    return at !== undefined && at <= now ? [at] : [];
  }

  /** Selects the due times that run, by the policy for missed ones. A due time that counts from the end of a run is never missed. */
  #chosen(due: readonly number[], now: number): readonly number[] {
    const { whenMissed = "once" } = this.#spec;
    if (whenMissed === "all" || this.#countsFromEnd) return due;
    return whenMissed === "once" ? due : due.filter((at) => now - at <= missedAfterMs);
  }

  /** Starts, queues or skips a run by the overlap policy. A missed due time is queued unless the policy is `allow`: it neither is skipped nor cancels a run. */
  #fire(due: QueuedDue): void {
    const { whenBusy = "skip" } = this.#spec;
    if (this.#running.size === 0 || whenBusy === "allow") return void this.#start(this.#idOf(due.at));
    if (whenBusy === "skip" && !due.isMissed) {
      this.#skipped++;
      return;
    }
    if (whenBusy === "cancel-previous" && !due.isMissed) this.#cancelPrevious();
    this.#queue.push(due);
  }

  #cancelPrevious(): void {
    const missed = this.#queue.filter(({ isMissed }) => isMissed);
    this.#skipped += this.#queue.length - missed.length;
    this.#queue = missed;
    for (const id of this.#running) this.#ctx.cancelInstance(id, "its schedule is due again");
  }

  #idOf(at: number): string {
    return `${this.#id}/${isoText(at)}`;
  }

  // Runs

  #start(instanceId: string, jitterMs = this.#spec.jitterMs): string {
    this.#running.add(instanceId);
    this.#runs++;
    this.#lastRunId = instanceId;
    void this.#follow(instanceId, jitterMs).then(() => this.#onRunEnded(instanceId));
    return instanceId;
  }

  async #follow(instanceId: string, jitterMs = 0): Promise<void> {
    const { retryCount, retryPolicy } = this.#spec;
    try {
      if (jitterMs > 0) await this.#ctx.sleep(Math.floor(this.#ctx.random() * jitterMs));
      await this.#ctx.callChild(workflowOf(this.#spec), inputOf(this.#spec), {
        instanceId,
        whenParentEnds: "leave",
        ...(retryCount !== undefined && { retryCount }),
        ...(retryPolicy !== undefined && { retryPolicy }),
      });
      this.#lastError = undefined;
    } catch (error) {
      this.#lastError = messageOf(error);
    }
  }

  #onRunEnded(instanceId: string): void {
    this.#running.delete(instanceId);
    if (this.#countsFromEnd) this.#decidedUntil = this.#ctx.now();
    const next = this.#isDeleted || this.#running.size > 0 ? undefined : this.#queue.shift();
    if (next !== undefined) this.#start(this.#idOf(next.at));
    this.#wake();
  }

  /**
   * Runs the past due times of the range, `parallelism` at a time, and returns their number. Future due times are left to
   * the schedule itself; a schedule with a fixed delay has no due times without runs.
   */
  #backfill(range: BackfillRange): number {
    const { parallelism = 1 } = range;
    const due = this.#dueIn(range);
    if (due === undefined) throw tooManyDueTimes();
    const count = due.length;
    const worker = async (): Promise<void> => {
      for (let at = due.shift(); at !== undefined; at = due.shift()) {
        const instanceId = `${this.#id}/backfill/${isoText(at)}`;
        this.#runs++;
        await this.#follow(instanceId, this.#spec.jitterMs);
      }
    };
    this.#backfills++;
    void Promise.all(Array.from({ length: Math.min(parallelism, count) }, worker)).then(() => {
      this.#backfills--;
      this.#wake();
    });
    return count;
  }

  /** Returns the past due times of the range; undefined if there are more than `backfillMax`. */
  #dueIn({ from, to }: BackfillRange): number[] | undefined {
    if (this.#countsFromEnd) return [];
    return dueTimesWithin(this.#timetable, { after: from - 1, until: Math.min(to, this.#ctx.now()) }, backfillMax);
  }

  // State and view

  get #mayBeginAnew(): boolean {
    const isIdle = this.#running.size === 0 && this.#queue.length === 0 && this.#backfills === 0;
    return isIdle && this.#runs - this.#runsAtBeginning >= this.runsPerBeginning;
  }

  get #state(): ScheduleState {
    return {
      scheduleId: this.#id,
      spec: this.#spec,
      isEnabled: this.#isEnabled,
      anchor: this.#anchor,
      decidedUntil: this.#decidedUntil,
      runs: this.#runs,
      skipped: this.#skipped,
      ...(this.#lastRunId !== undefined && { lastRunId: this.#lastRunId }),
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
    };
  }

  #show(nextAt: number | undefined): void {
    const { input: _input, params: _params, ...spec } = this.#spec;
    const view: ShownSchedule = {
      spec,
      hasInput: inputOf(this.#spec) !== undefined,
      isEnabled: this.#isEnabled,
      nextAt: nextAt ?? null,
      running: [...this.#running].slice(0, 10),
      waiting: this.#queue.length,
      runs: this.#runs,
      skipped: this.#skipped,
      lastRunId: this.#lastRunId ?? null,
      lastError: this.#lastError ?? null,
    };
    this.#ctx.setCustomStatus(view);
  }
}
