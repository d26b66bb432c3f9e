import { scheduleWorkflowName } from "../../../src/kernel/event.ts";
import type { Evidence } from "../evidence.ts";
import { promptMs } from "./lateness.ts";
import type { Checker } from "./checker.ts";
import { type CommitHistory, commitHistoryOf } from "./commit-history.ts";
import { dueTimes } from "./due-times.ts";
import { type Backfill, type ScheduledRun, ScheduleHistory, type Window } from "./schedule-history.ts";

/** A due time that is decided about later than this was missed. */
const missedAfterMs = 60_000;

/**
 * A schedule starts one run for each due time, none early, and none without a due time. A due time is skipped only if
 * its policies say so: it was missed, a run was still active, or the schedule was paused, changed or deleted. Runs do
 * not overlap if they must not; a backfill starts one run for each time, at most as many at once as requested.
 */
export const checkSchedules: Checker = (evidence) => {
  const commitHistory = commitHistoryOf(evidence);
  return [...commitHistory.instances.values()]
    .filter(({ workflow }) => workflow === scheduleWorkflowName)
    .flatMap((instance) => new ScheduleCheck(evidence, new ScheduleHistory(commitHistory, instance)).wrong);
};

class ScheduleCheck {
  readonly wrong: string[] = [];
  readonly #story: ScheduleHistory;
  readonly #commitHistory: CommitHistory;
  /** The first run for each due time. */
  readonly #due: ReadonlyMap<number, ScheduledRun>;
  /** If the workflow may be missing, a schedule starts it in a later turn than it decided. */
  readonly #mayBeHeldUp: boolean;
  readonly #explained = new Set<ScheduledRun>();

  constructor(evidence: Evidence, story: ScheduleHistory) {
    this.#commitHistory = commitHistoryOf(evidence);
    this.#mayBeHeldUp = evidence.setting.lacksCode === true;
    this.#story = story;
    const due = story.runs.filter(({ kind }) => kind === "due").toReversed();
    this.#due = new Map(due.map((run) => [run.nominal, run]));
    for (const window of story.windows) if (!("delayMs" in window.spec.every)) this.#followTimes(window);
    for (const window of story.windows) {
      if ("delayMs" in window.spec.every) this.#followDelay(window, window.spec.every.delayMs);
    }
    for (const backfill of story.backfills) this.#checkBackfill(backfill);
    for (const run of story.runs) this.#checkRun(run);
    for (const id of story.triggered)
      if (!story.runs.some((run) => run.id === id))
        this.#say(`somebody was told that ${id} was started, and it was not`);
  }

  #checkRun(run: ScheduledRun): void {
    const { id, kind, nominal, at } = run;
    if (this.#story.runs.find((other) => other.id === id) !== run) return this.#say(`${id} was started again`);
    const lives = this.#commitHistory.livesOf(id).length;
    if (lives > 1) this.#say(`there are ${lives} instances ${id}`);
    if (Number.isNaN(nominal)) return this.#say(`${id} was started, and its id tells no time`);
    if (at < nominal) this.#say(`${id} was started ${nominal - at} ms early`);
    if (kind === "due" && !this.#explained.has(run)) this.#say(`${id} was started, and nothing was due`);
    if (kind === "by-hand" && !this.#story.triggered.includes(id))
      this.#say(`${id} was started, and nobody asked for it`);
  }

  // Due times that are known beforehand

  #followTimes(window: Window): void {
    const { times, anchor } = this.#story;
    const until = times[Math.min(window.closed, times.length - 1)] ?? window.from;
    const due = dueTimes(window.spec, anchor, { after: window.from, until });
    const decided = Map.groupBy(due, (at) => this.#decidedIn(window, at));
    for (const [turn, together] of decided) {
      for (const at of together) this.#explain(window, at);
      if (turn !== undefined) this.#checkDecision(window, turn, together);
    }
  }

  /** The first turn in which it could start, together with all that was due by then. Undefined if that is unknown. */
  #decidedIn({ opened, closed }: Window, at: number): number | undefined {
    const { times, looks } = this.#story;
    const turn = times.findIndex((time, turn) => turn > opened && time >= at && looks[turn] === true);
    return turn === -1 || turn >= closed ? undefined : turn;
  }

  #explain({ spec }: Window, at: number): void {
    const run = this.#due.get(at);
    if (run === undefined) return;
    this.#explained.add(run);
    const [other] = run.beside;
    if (other !== undefined && (spec.whenBusy ?? "skip") !== "allow")
      this.#say(`${run.id} was started beside ${other.id}`);
  }

  #checkDecision({ spec }: Window, turn: number, together: readonly number[]): void {
    const chosen = this.#chosen(spec.whenMissed, turn, together);
    for (const at of together) {
      const run = this.#due.get(at);
      const name = `what was due at ${new Date(at).toISOString()}`;
      if (run !== undefined && !chosen.includes(at)) this.#say(`${name} was missed, and was run after all`);
      const policy = this.#isMadeUp(spec, turn, { at, together }) ? "make-up" : (spec.whenBusy ?? "skip");
      if (
        run === undefined &&
        chosen.includes(at) &&
        !this.#mayBeLeftOut(policy, { jitterMs: spec.jitterMs, turn, at })
      )
        this.#say(`${name} was not run`);
      // It has to wait for other runs, or for its jitter.
      const isPutOff = spec.jitterMs !== undefined || (policy !== "skip" && policy !== "allow");
      const mayWait = this.#mayBeHeldUp || isPutOff;
      if (run !== undefined && run.started !== turn && !mayWait)
        this.#say(`${name} was run in turn ${run.started}, not ${turn}`);
    }
  }

  #chosen(whenMissed = "once", turn: number, together: readonly number[]): readonly number[] {
    if (whenMissed === "all") return together;
    const lateMs = (at: number): number => (this.#story.times[turn] ?? 0) - at;
    return together.slice(-1).filter((at) => whenMissed === "once" || lateMs(at) <= missedAfterMs);
  }

  /** It waits for the run before it, and no later due time replaces it. */
  #isMadeUp(
    { whenBusy, whenMissed }: Window["spec"],
    turn: number,
    { at, together }: { readonly at: number; readonly together: readonly number[] },
  ): boolean {
    const isLate = (this.#story.times[turn] ?? 0) - at > missedAfterMs;
    return whenMissed === "all" && whenBusy !== "allow" && (together.length > 1 || isLate);
  }

  #mayBeLeftOut(
    whenBusy: NonNullable<Window["spec"]["whenBusy"]> | "make-up",
    { jitterMs = 0, turn, at }: { readonly jitterMs: number | undefined; readonly turn: number; readonly at: number },
  ): boolean {
    const { ended, windows } = this.#story;
    if (this.#isUnseen(turn)) return true;
    if (ended < Infinity && this.#isPutOff(turn, jitterMs, ended)) return true;
    if (whenBusy === "skip") return this.#isBusy(turn, jitterMs);
    if (whenBusy === "allow") return false;
    // It waits until the schedule is deleted, or until a later due time replaces it.
    const isDeletedFirst = ended < Infinity && this.#isBusy(ended, jitterMs);
    if (whenBusy === "make-up") return isDeletedFirst;
    const isReplaced = [...this.#due.keys()].some((other) => other > at) || isDeletedFirst;
    // Queued runs are replaced too, if the schedule is changed to one that replaces.
    const mayReplace = windows.some(({ spec, opened }) => opened > turn && spec.whenBusy === "cancel-previous");
    return whenBusy === "queue" && !mayReplace ? isDeletedFirst : isReplaced;
  }

  /** Whether the schedule was deleted while its code was held up, and the code had not looked at what was due. */
  #isUnseen(turn: number): boolean {
    const { ended, lastStep } = this.#story;
    return this.#mayBeHeldUp && ended < Infinity && lastStep < turn;
  }

  /**
   * Runs with jitter may start in a later turn. Their timer may be late by `promptMs` after the first turn that
   * follows: an owner that was frozen handles other messages first.
   */
  #isPutOff(since: number, jitterMs: number, turn: number): boolean {
    const { times } = this.#story;
    const latest = (times[since] ?? Infinity) + jitterMs;
    const firstAfter = times.find((at) => at > latest);
    return jitterMs > 0 && (firstAfter === undefined || (times[turn] ?? Infinity) <= firstAfter + promptMs);
  }

  /**
   * Whether a run that was started has not ended, or waits for its jitter; including runs that waited for the end of
   * another.
   */
  #isBusy(turn: number, jitterMs: number): boolean {
    const { runs, times } = this.#story;
    const now = times[turn] ?? 0;
    const isDecided = ({ at, nominal }: ScheduledRun): boolean =>
      this.#mayBeHeldUp || at <= now || (jitterMs > 0 && nominal <= now);
    const isGoingOn = ({ ended }: ScheduledRun): boolean => ended >= turn || this.#isPutOff(ended, jitterMs, turn);
    return runs.some((run) => run.kind !== "backfill" && isDecided(run) && isGoingOn(run));
  }

  // Due times that count from the end of a run

  #followDelay(window: Window, delayMs: number): void {
    const { times, looks, runs } = this.#story;
    const { startAt = -Infinity, endAt = Infinity } = window.spec;
    const counted = runs.filter(({ kind }) => kind !== "backfill");
    // A run that was due at a known time before a change may coincide with the end of the delay.
    const isAnothers = new Set(this.#explained);
    const last = Math.min(window.closed, times.length - 1);
    for (let turn = window.opened + 1; turn <= last; turn++) {
      const ends = counted.filter(({ ended }) => ended >= window.opened && ended < turn).map(({ ended }) => ended);
      // The clock that created the schedule may have been ahead of the one that recorded an end.
      const since = ends.length === 0 ? window.from : (times[Math.max(...ends)] ?? 0);
      const due = Math.max(since, startAt - 1) + delayMs;
      const isReached = due <= (times[turn] ?? 0);
      // Suspended code starts a run later than it decided, but does not decide before the run is due.
      const isStarted = ({ started }: ScheduledRun): boolean =>
        started === turn || (this.#mayBeHeldUp && isReached && started > turn);
      const isSuch = (each: ScheduledRun): boolean => each.kind === "due" && each.nominal === due && isStarted(each);
      const run = counted.find((each) => isSuch(each) && !isAnothers.has(each));
      const begun = run?.started ?? turn;
      const isBusy = counted.some(({ started, ended }) => started < begun && ended >= begun);
      if (run !== undefined) this.#explained.add(run);
      if (run !== undefined && isBusy) this.#say(`${run.id} was started beside another run`);
      const isByHand = counted.some(({ kind, started }) => kind === "by-hand" && started === turn);
      const isDue = looks[turn] === true && !this.#isUnseen(turn) && isReached && due <= endAt;
      if (run === undefined && isDue && !isBusy && !isByHand && turn < window.closed)
        this.#say(`what was due at ${new Date(due).toISOString()} was not run`);
    }
  }

  // Backfills

  #checkBackfill({ update, spec, at, range: { from, to, parallelism }, count }: Backfill): void {
    const { anchor, runs, ended, id } = this.#story;
    const due = dueTimes(spec, anchor, { after: from - 1, until: Math.min(to, at) });
    if (count !== undefined && count !== due.length)
      this.#say(`backfill ${update} is said to have ${count} runs, not ${due.length}`);
    const filled = runs.filter(({ kind }) => kind === "backfill");
    const missing = due.filter((at) => !filled.some(({ nominal }) => nominal === at));
    if (ended === Infinity && missing.length > 0)
      this.#say(`backfill ${update} has left out ${missing.length} of ${due.length}`);
    for (const { id: runId, nominal, beside } of filled) {
      if (!due.includes(nominal)) this.#say(`${runId} was started, and was not due`);
      if (beside.length >= parallelism)
        this.#say(`${runId} of ${id} was started as number ${beside.length + 1} of ${parallelism}`);
    }
  }

  #say(what: string): void {
    this.wrong.push(`schedule ${this.#story.id}: ${what}`);
  }
}
