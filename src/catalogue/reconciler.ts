import { isDeepStrictEqual } from "node:util";
import { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { preview } from "../base/preview.ts";
import type { EngineNamespace } from "../engine/engine-namespace.ts";
import type { ListedSchedule } from "../engine/schedules.ts";
import type { CronTiming, ScheduleSpec } from "../schedules/schedule-spec.ts";
import { workflowOf } from "../schedules/schedule-workflow.ts";
import type { CatalogueEntry, ScheduleFields, StoredEntry } from "./catalogue-entry.ts";
import type { Entries } from "./entries.ts";
import { Serial } from "./serial.ts";

export type CatalogueEngine = Pick<
  EngineNamespace,
  "checkWorkflow" | "registerWorkflow" | "forgetWorkflow" | "findWorkflow" | "schedules"
>;

/** The state that was last applied to the engine. */
type Followed = ScheduleFields & Pick<CatalogueEntry, "id"> & { readonly revision: number };

/** Poll interval until a deleted schedule's instance has ended. */
const goneWaitMs = 10;
const goneWaitsMax = 200;

/**
 * Reconciles the engine of this process with the documents: registered workflows and schedules.
 * F1 The document is authoritative and is read again each time: the next reader completes what a crash left undone.
 * F2 A schedule is created after its document asks for it, and deleted before its document stops asking for it. So a schedule that no
 *    document asks for belongs to a user, and is not touched.
 */
export class Reconciler {
  readonly #engine: CatalogueEngine;
  readonly #entries: Entries;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #serial = new Serial();
  readonly #followed = new Map<string, Followed>();
  /** Workflows that this process registered from the catalogue, by name; all others belong to the program. */
  readonly #given = new Map<string, Workflow>();
  /** Schedules that this process has created and that are still wanted. */
  readonly #made = new Set<string>();
  /** Names to be reconciled again, with the reason. */
  readonly #unsettled = new Map<string, string>();

  constructor(parts: { engine: CatalogueEngine; entries: Entries; clock: Clock; logger: Logger }) {
    this.#engine = parts.engine;
    this.#entries = parts.entries;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** True if the known workflow of that name is not from the catalogue. */
  isProgramsOwn(name: string): boolean {
    const known = this.#engine.findWorkflow(name);
    return known !== undefined && known !== this.#given.get(name);
  }

  /** Reconciles one entry; returns the problem, if any, and retries later. `isOwnSave`: this process has just saved it. */
  async follow(name: string, { isOwnSave = false } = {}): Promise<string | null> {
    return await this.#serial.run(async () => {
      try {
        const problem = await this.#follow(name, isOwnSave);
        this.#note(name, problem);
        return problem;
      } catch (error) {
        this.#note(name, messageOf(error));
        if (error instanceof EngineError) return messageOf(error);
        throw error;
      }
    });
  }

  /** The reason why the saved version is not in force; null if it is. */
  problemOf(name: string): string | null {
    return this.#unsettled.get(name) ?? null;
  }

  /** Reconciles all entries. */
  async followAll(): Promise<void> {
    const gone = new Set(this.#followed.keys());
    for await (const { entry, revision } of this.#entries.all()) {
      gone.delete(entry.name);
      const followed = this.#followed.get(entry.name);
      if (followed?.id !== entry.id || followed.revision !== revision) await this.follow(entry.name);
    }
    for (const name of gone) await this.follow(name);
    await this.followUnsettled();
  }

  /** Reconciles entries with problems again: missing jobs, domains and nested workflows may be registered now. */
  async followUnsettled(): Promise<void> {
    for (const name of this.#unsettled.keys()) await this.follow(name);
  }

  /** Deletes the schedule around a change after which the document asks for none (F2). False if the change failed. */
  async removeSchedule(name: string, change: () => Promise<boolean>): Promise<boolean> {
    return await this.#serial.run(async () => {
      this.#followed.delete(name);
      this.#unsettled.set(name, "its schedule is being taken away");
      await this.#deleteSchedule(name);
      if (!(await change())) return false;
      // Another member may have missed the schedule before the change, and created it again.
      await this.#deleteSchedule(name);
      return true;
    });
  }

  async #follow(name: string, isOwnSave: boolean): Promise<string | null> {
    for (;;) {
      const stored = await this.#entries.find(name);
      const isUnwanted = (stored?.entry.cronExpr ?? null) === null;
      if (isUnwanted && this.#made.delete(name)) await this.#deleteSchedule(name);
      if (stored === undefined) return this.#forget(name);
      const problem = await this.#register(stored.entry);
      const touched = await this.#settleSchedule(stored, isOwnSave);
      // The change of the schedule is valid only if the document has not changed meanwhile.
      if (touched.isChanged && !(await this.#isStill(stored))) continue;
      this.#followed.set(name, followedOf(stored));
      return problem ?? touched.problem;
    }
  }

  async #isStill({ entry, revision }: StoredEntry): Promise<boolean> {
    const now = await this.#entries.find(entry.name);
    return now?.entry.id === entry.id && now.revision === revision;
  }

  #forget(name: string): null {
    if (!this.isProgramsOwn(name)) this.#engine.forgetWorkflow(name);
    this.#given.delete(name);
    this.#followed.delete(name);
    return null;
  }

  async #register({ name, spec, version }: CatalogueEntry): Promise<string | null> {
    if (this.isProgramsOwn(name)) return `the program has a workflow ${preview(name)} of its own, which stays in force`;
    const isKnown = this.#given.get(name)?.version === version && !this.#unsettled.has(name);
    if (isKnown) return null;
    const workflow = Workflow.fromJSON(spec, { name });
    this.#given.set(name, workflow);
    try {
      await this.#engine.registerWorkflow(workflow);
      return null;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return `it cannot be started here as it is: ${messageOf(error)}`;
    }
  }

  async #settleSchedule(stored: StoredEntry, isOwnSave: boolean): Promise<Touched> {
    try {
      return await this.#doSettleSchedule(stored, isOwnSave);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return withProblem(messageOf(error));
    }
  }

  async #doSettleSchedule({ entry, revision }: StoredEntry, isOwnSave: boolean): Promise<Touched> {
    const { name, cronExpr: cron, isScheduled } = entry;
    const { schedules } = this.#engine;
    if (cron === null) return untouched;
    const there = await this.#findSchedule(name);
    if (there === undefined) return isScheduled ? await this.#makeSchedule(entry, cron) : untouched;
    if (there.spec.workflow !== name) {
      return withProblem(`schedule ${preview(name)} starts workflow ${preview(workflowOf(there.spec))}`);
    }
    // The view of a schedule may be stale; the state that this process applied last is newer.
    const followed = this.#followed.get(name);
    const isNext = followed?.id === entry.id && followed.revision + 1 === revision;
    const before = isOwnSave && isNext && !this.#unsettled.has(name) ? followed : shownBy(there);
    const isOther = !isDeepStrictEqual(timingFields(before), timingFields(entry));
    if (isOther) await schedules.change(name, specOf(entry, cron, there));
    const isSwitched = before.isScheduled !== isScheduled;
    if (isSwitched) await (isScheduled ? schedules.resume(name) : schedules.pause(name));
    return { isChanged: isOther || isSwitched, problem: null };
  }

  async #makeSchedule(entry: CatalogueEntry, cron: string): Promise<Touched> {
    const { name } = entry;
    try {
      await this.#engine.schedules.create(name, specOf(entry, cron));
      this.#made.add(name);
      return { isChanged: true, problem: null };
    } catch (error) {
      // Another member was faster.
      if (hasCode(error, "INSTANCE_EXISTS")) return untouched;
      throw error;
    }
  }

  async #findSchedule(name: string): Promise<ListedSchedule | undefined> {
    try {
      return await this.#engine.schedules.get(name);
    } catch (error) {
      if (hasCode(error, "SCHEDULE_UNKNOWN")) return undefined;
      throw error;
    }
  }

  /** Deletes the schedule and waits until it is gone: a schedule that is ending would accept a change and still end. */
  async #deleteSchedule(name: string): Promise<void> {
    for (let waits = 0; waits < goneWaitsMax; waits++) {
      const there = await this.#findSchedule(name);
      if (there?.spec.workflow !== name) return;
      try {
        if (waits === 0) await this.#engine.schedules.delete(name);
      } catch (error) {
        if (!hasCode(error, "SCHEDULE_UNKNOWN")) throw error;
        return;
      }
      await new Promise<void>((resolve) => this.#clock.after(goneWaitMs, resolve));
    }
  }

  #note(name: string, problem: string | null): void {
    if (problem === null) return void this.#unsettled.delete(name);
    if (this.#unsettled.get(name) !== problem) {
      this.#logger.warn({ workflow: name, problem }, "a workflow of the catalogue is not in force as it was saved");
    }
    this.#unsettled.set(name, problem);
  }
}

interface Touched {
  readonly isChanged: boolean;
  readonly problem: string | null;
}

const untouched: Touched = { isChanged: false, problem: null };

function withProblem(problem: string): Touched {
  return { isChanged: true, problem: `its schedule is not as it should be: ${problem}` };
}

function followedOf({ entry, revision }: StoredEntry): Followed {
  const { id, isScheduled } = entry;
  return { id, isScheduled, revision, ...timingFields(entry) };
}

/** All fields but `isScheduled`. */
function timingFields(fields: ScheduleFields): Omit<ScheduleFields, "isScheduled"> {
  const { cronExpr, timeZone, whenBusy = null, whenMissed = null } = fields;
  return { cronExpr, timeZone, whenBusy, whenMissed };
}

/** The cron timing; undefined for a schedule of another kind. */
function cronOf({ spec: { every } }: ListedSchedule): CronTiming | undefined {
  return "cron" in every ? every : undefined;
}

/** The specification of the schedule; other settings of an existing one are kept. */
function specOf(entry: CatalogueEntry, cron: string, there?: ListedSchedule): ScheduleSpec {
  const { name, timeZone, whenBusy, whenMissed } = entry;
  const { whenBusy: _busy, whenMissed: _missed, job: _job, params: _params, ...rest } = there?.spec ?? {};
  return {
    ...rest,
    workflow: name,
    every: { ...(there && cronOf(there)), cron, ...(timeZone !== null && { timeZone }) },
    ...(whenBusy && { whenBusy }),
    ...(whenMissed && { whenMissed }),
  };
}

function shownBy(there: ListedSchedule): ScheduleFields {
  const { cron = null, timeZone = null } = cronOf(there) ?? {};
  const { whenBusy = null, whenMissed = null } = there.spec;
  return { cronExpr: cron, timeZone, isScheduled: there.isEnabled, whenBusy, whenMissed };
}
