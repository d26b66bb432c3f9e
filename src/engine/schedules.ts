import { isDeepStrictEqual } from "node:util";
import { SettingCheck } from "../authoring/setting-check.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { isMoment } from "../base/time-limits.ts";
import { scheduleWorkflowName } from "../kernel/event.ts";
import { DueSearch } from "../schedules/due-search.ts";
import {
  backfillMax,
  type BackfillRange,
  checkBackfillRange,
  checkSchedule,
  checkTarget,
  tooManyDueTimes,
} from "../schedules/schedule-check.ts";
import type { ScheduledJob, ScheduleSettings, ScheduleSpec } from "../schedules/schedule-spec.ts";
import {
  inputQuery,
  type ScheduleState,
  type ScheduleView,
  type ShownSchedule,
  scheduleWorkflow,
  workflowOf,
} from "../schedules/schedule-workflow.ts";
import { TimeZone } from "../schedules/time-zone.ts";
import { checkTiming, timetableOf } from "../schedules/timetable.ts";
import type { InstanceOperations } from "./instance-operations.ts";
import type { Registration } from "./registration.ts";
import type { Submission } from "./submission.ts";

/** A schedule is an instance of an internal code workflow; its id has this prefix. */
export const scheduleInstancePrefix = "schedule:";

const previewMax = 1000;

/** Number of due times computed before the event loop may turn: a few milliseconds. */
const foundAtOnce = 100;

/** A schedule in a list, with its id. */
export interface ListedSchedule extends ScheduleView {
  readonly scheduleId: string;
}

export interface SchedulesParts {
  readonly engine: InstanceOperations;
  readonly clock: Clock;
  readonly registration: Registration;
  readonly submission: Submission;
}

/** Manages schedules, which start a workflow or a job by cron, at a fixed rate, with a fixed delay, or daily. */
export class Schedules {
  readonly #parts: SchedulesParts;

  /** Made by `Engine`. */
  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  /** Creates a schedule; it is durable when this resolves. `SCHEDULE_INVALID`, `WORKFLOW_UNKNOWN`, `INPUT_INVALID`, `JOB_MISSING`, `PARAMS_INVALID`, `INSTANCE_EXISTS`. */
  async create(scheduleId: string, spec: ScheduleSpec): Promise<void> {
    await this.#create(scheduleId, await this.#check(spec));
  }

  async #create(scheduleId: string, checked: ScheduleSpec): Promise<void> {
    const now = this.#parts.clock.now();
    const state: ScheduleState = {
      scheduleId,
      spec: checked,
      isEnabled: true,
      anchor: now,
      decidedUntil: now,
      runs: 0,
      skipped: 0,
    };
    await this.#parts.engine.startWorkflow(scheduleWorkflow, state, {
      instanceId: scheduleInstancePrefix + scheduleId,
      reuse: true,
    });
  }

  /**
   * Creates the schedule, or changes it if it differs from this spec; a paused one stays paused. The errors of `create`
   * and `change`.
   */
  async declare(scheduleId: string, spec: ScheduleSpec): Promise<"created" | "changed" | "unchanged"> {
    const checked = await this.#check(spec);
    for (;;) {
      const there = await this.#view(scheduleId);
      if (there !== undefined) {
        // Each process adds its own time zone where the spec has none: the first one decides.
        const wanted = "timeZone" in spec.every ? checked : withTimeZoneOf(checked, there.spec);
        if (isSameJson(there.spec, wanted)) return "unchanged";
        await this.#update(scheduleId, "change", wanted);
        return "changed";
      }
      try {
        await this.#create(scheduleId, checked);
        return "created";
      } catch (error) {
        // Another member that declares the same schedule was first.
        if (!hasCode(error, "INSTANCE_EXISTS")) throw error;
      }
    }
  }

  /** Replaces the spec of a schedule; running instances continue. */
  async change(scheduleId: string, spec: ScheduleSpec): Promise<void> {
    await this.#update(scheduleId, "change", await this.#check(spec));
  }

  /** Skips due times until `resume`; they are not made up for. */
  async pause(scheduleId: string): Promise<void> {
    await this.#update(scheduleId, "pause");
  }

  async resume(scheduleId: string): Promise<void> {
    await this.#update(scheduleId, "resume");
  }

  /** Starts a run now, whatever the overlap policy. Returns its instance id. `WORKFLOW_UNKNOWN`, `INSTANCE_STATE`. */
  async trigger(scheduleId: string): Promise<string> {
    await this.#refuseUnstartable(scheduleId);
    return (await this.#update(scheduleId, "trigger")) as string;
  }

  /** Starts a run for each due time in a range, at most 10,000. Returns how many there are. */
  async backfill(scheduleId: string, range: BackfillRange): Promise<number> {
    checkBackfillRange(range);
    const { from, to, parallelism = 1 } = range;
    await this.#refuseUnstartable(scheduleId);
    await this.#refuseTooMany(scheduleId, { from, to });
    return (await this.#update(scheduleId, "backfill", { from, to, parallelism })) as number;
  }

  /** Limits the due times of a backfill: the code of the schedule computes all of them at once, and again in every replay. */
  async #refuseTooMany(scheduleId: string, { from, to }: BackfillRange): Promise<void> {
    const { clock, engine } = this.#parts;
    const { spec } = await this.get(scheduleId);
    // A delay counts from the end of a run, so a range has no due times.
    if ("delayMs" in spec.every) return;
    // A rate counts from the creation of the schedule.
    const { createdAt } = await engine.getWorkflowInstanceStatus(scheduleInstancePrefix + scheduleId);
    const timetable = timetableOf(spec, createdAt);
    const last = Math.min(to, clock.now());
    let count = 0;
    for (let at = timetable.next(from - 1); at !== undefined && at <= last; at = timetable.next(at)) {
      count += 1;
      if (count > backfillMax) throw tooManyDueTimes();
      if (count % foundAtOnce === 0) await new Promise<void>((resolve) => clock.soon(resolve));
    }
  }

  /** Deletes a schedule; running instances continue. */
  async delete(scheduleId: string): Promise<void> {
    const blocked = await this.#blockedReason(scheduleId);
    if (blocked === undefined) return void (await this.#update(scheduleId, "delete"));
    // An update would not reach its code. Its runs are separate instances, which continue.
    await this.#parts.engine.terminateWorkflowInstance(scheduleInstancePrefix + scheduleId, "the schedule was deleted");
  }

  /** Refuses a run that would otherwise wait until its workflow is registered. */
  async #refuseUnstartable(scheduleId: string): Promise<void> {
    const { spec } = await this.get(scheduleId);
    if (spec.job !== undefined) await this.#resolveJob(spec);
    if (this.#parts.registration.versionOf(workflowOf(spec)) !== undefined) return;
    throw new EngineError(
      "WORKFLOW_UNKNOWN",
      `schedule ${preview(scheduleId)} starts workflow ${preview(spec.workflow)}, which is not registered: register or save it again, or change the schedule`,
    );
  }

  /** Returns a schedule. `SCHEDULE_UNKNOWN`. */
  async get(scheduleId: string): Promise<ListedSchedule> {
    const view = await this.#view(scheduleId);
    if (view === undefined) throw unknown(scheduleId);
    return view;
  }

  /** Lists schedules, newest first. */
  async list(): Promise<ListedSchedule[]> {
    const found: ListedSchedule[] = [];
    for (let page = await this.#page(); page.length > 0; page = await this.#page(page.at(-1))) {
      for (const { id } of page) {
        const view = await this.#view(id.slice(scheduleInstancePrefix.length));
        if (view !== undefined) found.push(view);
      }
    }
    return found;
  }

  async #page(before?: { createdAt: number; key: number }): Promise<{ id: string; createdAt: number; key: number }[]> {
    return await this.#parts.engine.listWorkflowInstances({
      workflow: scheduleWorkflowName,
      status: ["Running", "Paused"],
      limit: 100,
      ...(before && { before: { createdAt: before.createdAt, key: before.key } }),
    });
  }

  /** Returns the next due times within a century, at most 1,000, as epoch ms. `SCHEDULE_INVALID`. */
  preview(
    spec: Pick<ScheduleSettings, "every" | "startAt" | "endAt">,
    options: { from?: number; count?: number } = {},
  ): number[] {
    new SettingCheck("SCHEDULE_INVALID", "preview").options(options, { from: true, count: true });
    const { from = this.#parts.clock.now(), count = 10 } = options;
    if (!Number.isInteger(count) || count < 1 || count > previewMax || !isMoment(from)) {
      throw new EngineError(
        "SCHEDULE_INVALID",
        `a preview goes from a time in epoch ms and counts up to ${previewMax} due times, got from ${preview(from)} and count ${preview(count)}`,
      );
    }
    checkTiming(spec.every);
    const timetable = timetableOf(spec, from);
    const { until } = DueSearch.from(from);
    const due: number[] = [];
    for (let at: number | undefined = from; due.length < count; due.push(at)) {
      at = timetable.next(at, new DueSearch(until));
      if (at === undefined) break;
    }
    return due;
  }

  /** Checks a spec, and adds the time zone of this process, so that every member uses the same one. */
  async #check(spec: ScheduleSpec): Promise<ScheduleSpec> {
    checkTarget(spec);
    const isLocal = "cron" in spec.every || "daily" in spec.every;
    const every = isLocal ? { timeZone: TimeZone.ofThisProcess(), ...spec.every } : spec.every;
    const checked = { ...spec, every };
    checkSchedule(checked, this.#parts.clock.now());
    if (checked.job !== undefined) return { ...checked, job: await this.#resolveJob(checked) };
    if (this.#parts.registration.versionOf(checked.workflow) === undefined) {
      throw new EngineError(
        "WORKFLOW_UNKNOWN",
        `workflow ${preview(checked.workflow)} is not among the engine's "workflows", so nothing could be started`,
      );
    }
    await this.#parts.submission.checkInput(checked.workflow, checked.input);
    return checked;
  }

  /** Returns the name or id by which runs refer to the job; its workflow is durable by then. `JOB_MISSING`, `PARAMS_INVALID`. */
  async #resolveJob({ job, params }: ScheduledJob): Promise<string> {
    const { jobRuns: jobs } = this.#parts.registration;
    const resolved = await jobs.resolve(job, params);
    await jobs.record();
    return resolved.job;
  }

  /**
   * The reason why updates do not reach the schedule's code now; undefined if they do, or there is no such schedule.
   */
  async #blockedReason(scheduleId: string): Promise<string | undefined> {
    const instanceId = scheduleInstancePrefix + scheduleId;
    try {
      const { status, attention } = await this.#parts.engine.getWorkflowInstanceStatus(instanceId);
      if (status === "Paused") return `its instance ${preview(instanceId)} is paused: resume that instance first`;
      return attention;
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return undefined;
      throw error;
    }
  }

  async #update(scheduleId: string, name: string, input?: unknown): Promise<unknown> {
    const blocked = await this.#blockedReason(scheduleId);
    if (blocked !== undefined) {
      throw new EngineError("INSTANCE_STATE", `schedule ${preview(scheduleId)} takes no ${name} now: ${blocked}`);
    }
    try {
      return await this.#parts.engine.updateWorkflowInstance(scheduleInstancePrefix + scheduleId, name, input);
    } catch (error) {
      const isGone = hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_STATE");
      throw isGone ? unknown(scheduleId, error) : error;
    }
  }

  async #view(scheduleId: string): Promise<ListedSchedule | undefined> {
    const instanceId = scheduleInstancePrefix + scheduleId;
    try {
      const shown = await this.#shownBy(instanceId);
      if (shown === undefined) return undefined;
      const { hasInput, ...view } = shown;
      if (!hasInput) return { scheduleId, ...view };
      const input = await this.#parts.engine.queryWorkflowInstance(instanceId, inputQuery);
      const spec = view.spec.job === undefined ? { ...view.spec, input } : { ...view.spec, params: input };
      return { scheduleId, ...view, spec };
    } catch (error) {
      // The schedule may have been deleted between the two reads.
      if (hasCode(error, "INSTANCE_UNKNOWN") || hasCode(error, "INSTANCE_STATE")) return undefined;
      throw error;
    }
  }

  /** After an unclean start, a schedule may exist before its code has run for the first time: a query makes it run. */
  async #shownBy(instanceId: string): Promise<ShownSchedule | undefined> {
    const { engine } = this.#parts;
    for (;;) {
      const { status, customStatus } = await engine.getWorkflowInstanceStatus(instanceId);
      if (status !== "Running" && status !== "Paused") return undefined;
      if (customStatus !== undefined) return customStatus as ShownSchedule;
      await engine.queryWorkflowInstance(instanceId, inputQuery);
    }
  }
}

function withTimeZoneOf(spec: ScheduleSpec, there: ScheduleSpec): ScheduleSpec {
  const { every } = there;
  return "timeZone" in every && "timeZone" in spec.every
    ? { ...spec, every: { ...spec.every, timeZone: every.timeZone } }
    : spec;
}

/** Compares as JSON: what was stored has no properties that are undefined. */
function isSameJson(stored: unknown, given: unknown): boolean {
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(given)));
}

function unknown(scheduleId: string, cause?: unknown): EngineError {
  return new EngineError("SCHEDULE_UNKNOWN", `no schedule ${preview(scheduleId)} is known`, { cause });
}
