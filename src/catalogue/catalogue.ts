import { randomUUID } from "node:crypto";
import { copyAsJson } from "../base/json-text.ts";
import { canonicalJson } from "../base/canonical-json.ts";
import { Workflow } from "../authoring/workflow.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { preview } from "../base/preview.ts";
import { mayStillCome } from "../engine/submission.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { TimeZone } from "../schedules/time-zone.ts";
import { refuseNeverDue, timetableOf } from "../schedules/timetable.ts";
import {
  type CatalogueEntry,
  withName,
  type Save,
  type Saved,
  savesMax,
  type ScheduleFields,
  type ScheduleFieldsChange,
  type StoredEntry,
} from "./catalogue-entry.ts";
import type { DefinitionFolder } from "./definition-folder.ts";
import { refuseTooLarge } from "./definition-size.ts";
import { DocumentLock } from "./document-lock.ts";
import { type CatalogueStore, Entries } from "./entries.ts";
import { FolderSync } from "./folder-sync.ts";
import { type CatalogueEngine, Reconciler } from "./reconciler.ts";
import { diffSpecs, type SpecChange } from "./spec-diff.ts";
import { checkWorkflowName } from "./workflow-name.ts";

export type { CatalogueEntry, Save, Saved } from "./catalogue-entry.ts";
export type { SpecChange } from "./spec-diff.ts";

export interface CatalogueParts {
  /** The running engine. */
  readonly engine: CatalogueEngine;
  readonly store: CatalogueStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The folder of definition files, if there is one. */
  readonly folder?: DefinitionFolder;
  /** Called when a manually created or edited file has become a version; the next file waits for it. */
  readonly onFileEdit?: (edit: FileEdit) => Promise<void>;
}

export interface FileEdit {
  readonly name: string;
  readonly version: string;
  readonly isNew: boolean;
}

export interface NewEntry extends ScheduleFieldsChange {
  readonly name: string;
  /** A dag-spec, which the save validates. */
  readonly spec: unknown;
  readonly by?: string | null | undefined;
}

/** A change of an entry. A cron expression of null removes the schedule. */
export interface EntryChange extends ScheduleFieldsChange {
  /** A dag-spec, which the save validates. */
  readonly spec?: unknown;
  /** Optimistic lock: `VERSION_CHANGED` if the current version is another. */
  readonly ifVersion?: string | undefined;
  readonly by?: string | null | undefined;
}

export interface ScheduleChange extends Omit<ScheduleFieldsChange, "isScheduled"> {
  readonly enable: boolean;
}

/** The new content of an entry; time, version and the list of saves are derived. */
type Draft = Pick<CatalogueEntry, "id"> &
  ScheduleFields & {
    /** Not validated yet. */
    readonly spec: unknown;
    readonly operation: string;
    readonly by: string | null;
  };

/** Poll interval for saves of other members. */
const pollMs = 2000;

/** Number of polls between two full scans for missed changes. */
const pollsPerScan = 30;
const pollsPerRenewal = 4;

/**
 * Workflows that are saved in the store, in versions. A save writes a definition, then a
 * document; then the engine's registration, the schedule and
 * the file are reconciled with the document. After a crash in between, the next start or the next poll of any member completes it.
 */
export class Catalogue {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #engine: CatalogueEngine;
  readonly #entries: Entries;
  readonly #follower: Reconciler;
  readonly #folder: DefinitionFolder | undefined;
  readonly #folderSync: FolderSync | undefined;
  readonly #onFileEdit: CatalogueParts["onFileEdit"];
  #timer: Timer | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isRunning = false;
  #polls = 0;

  constructor({ engine, store, clock, logger, folder, onFileEdit }: CatalogueParts) {
    this.#onFileEdit = onFileEdit;
    this.#clock = clock;
    this.#logger = logger;
    this.#engine = engine;
    this.#folder = folder;
    const entries = new Entries({ store, clock });
    this.#entries = entries;
    this.#follower = new Reconciler({ engine, entries, clock, logger });
    const saveEdit = (name: string, spec: DagSpec): Promise<StoredEntry> => this.#saveEdit(name, spec);
    const lock = new DocumentLock({ store, clock, name: "definition-folder" });
    this.#folderSync = folder && new FolderSync({ folder, lock, entries, clock, logger, saveEdit });
  }

  /** Resolves when all stored entries, and then the folder, are reconciled. */
  async start(): Promise<void> {
    await this.#entries.skipChanges();
    await this.#follower.followAll();
    await this.#folderSync?.start();
    this.#isRunning = true;
    this.#pollLater();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#timer?.cancel();
    await this.#polling;
    await this.#folderSync?.stop();
  }

  /** Saves a new workflow. `WORKFLOW_DUPLICATE`, `SCHEDULE_INVALID`, and the errors of the definition. */
  async create(given: NewEntry): Promise<Saved> {
    const { name, spec, by = null } = given;
    checkWorkflowName(name);
    const id = randomUUID();
    const schedule = this.#changedSchedule(noSchedule, given);
    const stored = await this.#save(name, (before) => {
      if (before === undefined && !this.#follower.isProgramsOwn(name)) {
        return { id, spec, ...schedule, operation: "Create", by };
      }
      throw new EngineError("WORKFLOW_DUPLICATE", `there is a workflow ${preview(name)} already`);
    });
    return await this.#inForce(stored);
  }

  /** Saves a new version; omitted fields are kept. `WORKFLOW_UNKNOWN`, `VERSION_CHANGED`, `SCHEDULE_INVALID`, and the errors of the definition. */
  async update(idOrName: string, change: EntryChange): Promise<Saved> {
    return await this.#change(idOrName, change, "Update");
  }

  /** Deletes the workflow; its instances and versions are kept. `WORKFLOW_UNKNOWN`. */
  async delete(idOrName: string, by: string | null = null): Promise<void> {
    const { id, name } = (await this.#entries.get(idOrName)).entry;
    await this.#folderSync?.expectDeletion(name);
    try {
      for (let isGone = false; !isGone;) {
        const stored = await this.#entries.find(name);
        isGone = stored?.entry.id !== id || (await this.#deleteEntry(stored));
      }
    } finally {
      await this.#follower.follow(name);
    }
    this.#logger.info({ workflow: name, by }, "a workflow was deleted from the catalogue");
    await this.#folderSync?.sync(name, by);
    await this.#tellChange(name);
  }

  /** Changes the schedule. `WORKFLOW_UNKNOWN`, `SCHEDULE_INVALID`. */
  async setSchedule(idOrName: string, change: ScheduleChange, by: string | null = null): Promise<void> {
    const { enable, ...fields } = change;
    await this.#change(idOrName, { ...fields, isScheduled: enable, by }, "Schedule");
  }

  /** True if the schedule belongs to a saved workflow, and can be changed through that only. */
  async hasSchedule(scheduleId: string): Promise<boolean> {
    return ((await this.#entries.find(scheduleId))?.entry.cronExpr ?? null) !== null;
  }

  /** `WORKFLOW_UNKNOWN`. */
  async get(idOrName: string): Promise<CatalogueEntry> {
    return (await this.#entries.get(idOrName)).entry;
  }

  /** The known problem of a workflow: the saved version is not in force, or its file is broken. */
  warningOf(name: string): string | null {
    return joinProblems([this.#follower.problemOf(name), this.#folder?.problemOf(name) ?? null]);
  }

  /** Lists entries by name. `search` matches a part of the name. */
  async list(page: {
    search?: string | undefined;
    after?: string | undefined;
    limit: number;
  }): Promise<{ items: CatalogueEntry[]; next: string | null }> {
    const search = page.search?.toLowerCase() ?? "";
    const items: CatalogueEntry[] = [];
    for await (const { entry } of this.#entries.all(page.after)) {
      if (!entry.name.toLowerCase().includes(search)) continue;
      if (items.length === page.limit) return { items, next: items.at(-1)?.name ?? null };
      items.push(entry);
    }
    return { items, next: null };
  }

  /** Lists the saves, newest first. `WORKFLOW_UNKNOWN`. */
  async versions(idOrName: string): Promise<Save[]> {
    return [...(await this.get(idOrName)).saves].reverse();
  }

  /** Compares two versions; `to` defaults to the current one. `WORKFLOW_UNKNOWN`, also for a version. */
  async diff(idOrName: string, from: string, to?: string): Promise<SpecChange[]> {
    const entry = await this.get(idOrName);
    const before = await this.#entries.loadSpec(entry, from);
    const after = await this.#entries.loadSpec(entry, to ?? entry.version);
    return diffSpecs(before, after);
  }

  /** Saves the content of an earlier version as a new one; the schedule is kept. `WORKFLOW_UNKNOWN`, also for the version. */
  async rollBack(idOrName: string, version: string, by: string | null = null): Promise<Saved> {
    const { entry } = await this.#entries.get(idOrName);
    const spec = version === entry.version ? entry.spec : await this.#entries.loadSpec(entry, version);
    return await this.#change(entry.id, { spec, by }, "Roll back");
  }

  async #change(idOrName: string, change: EntryChange, operation: string): Promise<Saved> {
    const { id, name } = (await this.#entries.get(idOrName)).entry;
    const { by = null, ifVersion } = change;
    const stored = await this.#save(name, (before) => {
      if (before?.id !== id) {
        throw new EngineError("WORKFLOW_UNKNOWN", `no workflow ${preview(idOrName)} is in the catalogue any more`);
      }
      if (ifVersion !== undefined && ifVersion !== before.version) throw versionChanged(name);
      const { spec = before.spec } = change;
      return { id, spec, ...this.#changedSchedule(before, change), operation, by };
    });
    return await this.#inForce(stored);
  }

  /** Saves a manually created or edited file. */
  async #saveEdit(name: string, spec: DagSpec): Promise<StoredEntry> {
    const id = randomUUID();
    const stored = await this.#save(name, (before) => {
      if (before !== undefined) return { ...before, spec, operation: "Edit", by: null };
      if (!this.#follower.isProgramsOwn(name)) {
        return { id, spec, ...noSchedule, operation: "Create", by: null };
      }
      throw new EngineError("WORKFLOW_DUPLICATE", `the program has a workflow ${preview(name)} of its own`);
    });
    const isNew = stored.entry.id === id;
    await this.#onFileEdit?.({ name, version: stored.entry.version, isNew });
    await this.#follower.follow(name, { isOwnSave: true });
    await this.#tellChange(name);
    return stored;
  }

  /** Saves the entry; durable when it resolves. A save without a change is skipped. Retries once after a concurrent save. */
  async #save(name: string, decide: (before: CatalogueEntry | undefined) => Draft): Promise<StoredEntry> {
    for (let isSecond = false; ; isSecond = true) {
      const before = await this.#entries.find(name);
      const draft = decide(before?.entry);
      refuseTooLarge(draft.spec, name);
      const given = copyAsJson(draft.spec, `workflow ${preview(name)}`);
      const workflow = Workflow.fromJSON(given, { name });
      const spec = withName(given as DagSpec, name);
      const entry = entryFrom(before?.entry, { name, draft, spec, version: workflow.version }, this.#clock);
      if (before !== undefined && isSame(before.entry, entry)) return before;
      if (before?.entry.version !== entry.version) await this.#refuseFaults(workflow);
      await this.#entries.saveDefinition(workflow);
      const stored = { entry, revision: (before?.revision ?? 0) + 1 };
      const isLast = await this.#saveEntry(stored, before?.entry);
      if (isLast) return stored;
      if (isSecond) throw versionChanged(name);
    }
  }

  /** Refuses a definition that could never run. Missing jobs, domains and workflows are warnings only. */
  async #refuseFaults(workflow: Workflow): Promise<void> {
    try {
      await this.#engine.checkWorkflow(workflow);
    } catch (error) {
      if (!mayStillCome(error)) throw error;
    }
  }

  async #saveEntry(stored: StoredEntry, before: CatalogueEntry | undefined): Promise<boolean> {
    const { name, cronExpr } = stored.entry;
    if (cronExpr !== null || (before?.cronExpr ?? null) === null) return await this.#entries.save(stored);
    try {
      return await this.#follower.removeSchedule(name, () => this.#entries.save(stored));
    } finally {
      await this.#follower.follow(name);
    }
  }

  async #deleteEntry(stored: StoredEntry): Promise<boolean> {
    const { name, cronExpr } = stored.entry;
    if (cronExpr === null) return await this.#entries.delete(stored);
    return await this.#follower.removeSchedule(name, () => this.#entries.delete(stored));
  }

  async #inForce({ entry: { id, name, version } }: StoredEntry): Promise<Saved> {
    const problem = await this.#follower.follow(name, { isOwnSave: true });
    const fileProblem = (await this.#folderSync?.sync(name)) ?? null;
    await this.#tellChange(name);
    return { id, name, version, warning: joinProblems([problem, fileProblem]) };
  }

  async #tellChange(name: string): Promise<void> {
    try {
      await this.#entries.tellChange(name);
    } catch (error) {
      // Other members find the change with their next scan.
      this.#logger.warn(
        { workflow: name, error: messageOf(error) },
        "other members could not be notified of a saved workflow; they will find it by polling",
      );
    }
  }

  #changedSchedule(before: ScheduleFields, change: ScheduleFieldsChange): ScheduleFields {
    const { cronExpr = before.cronExpr, timeZone = before.timeZone } = change;
    const { whenBusy = before.whenBusy ?? null, whenMissed = before.whenMissed ?? null } = change;
    const isScheduled = change.isScheduled ?? (before.isScheduled && cronExpr !== null);
    const changed = { cronExpr, timeZone, isScheduled, whenBusy, whenMissed };
    const isAsBefore =
      cronExpr === before.cronExpr && timeZone === before.timeZone && isScheduled === before.isScheduled;
    return isAsBefore ? changed : this.#checkedSchedule(changed);
  }

  #checkedSchedule(fields: ScheduleFields): ScheduleFields {
    const { cronExpr, timeZone, isScheduled } = fields;
    if (cronExpr === null) {
      if (!isScheduled) return { ...fields, timeZone: null };
      throw new EngineError("SCHEDULE_INVALID", "a schedule that is switched on needs a cron expression");
    }
    const zone = timeZone ?? TimeZone.ofThisProcess();
    const timing = { every: { cron: cronExpr, timeZone: zone } };
    const now = this.#clock.now();
    // A schedule that is never due again can still be disabled.
    if (isScheduled) refuseNeverDue(timing, now);
    else timetableOf(timing, now);
    return { ...fields, timeZone: zone };
  }

  #pollLater(): void {
    if (!this.#isRunning) return;
    this.#timer = this.#clock.after(pollMs, () => {
      this.#polling = this.#poll()
        .catch((error: unknown) => {
          this.#logger.warn({ error: messageOf(error) }, "the catalogue could not be read; retrying");
        })
        .finally(() => this.#pollLater());
    });
  }

  async #poll(): Promise<void> {
    this.#polls++;
    for (const name of await this.#entries.takeChanged()) {
      await this.#follower.follow(name);
      await this.#folderSync?.sync(name);
    }
    if (this.#polls % pollsPerRenewal === 0) await this.#folderSync?.keepLock();
    if (this.#polls % pollsPerScan !== 0) return await this.#follower.followUnsettled();
    await this.#entries.forgetOldChanges();
    await this.#follower.followAll();
    await this.#folderSync?.syncAll();
  }
}

const noSchedule: ScheduleFields = { cronExpr: null, timeZone: null, isScheduled: false };

function entryFrom(
  before: CatalogueEntry | undefined,
  { name, draft, spec, version }: { name: string; draft: Draft; spec: DagSpec; version: string },
  clock: Clock,
): CatalogueEntry {
  const { operation, by, ...saved } = draft;
  const at = clock.now();
  const saves = before?.saves ?? [];
  return {
    ...saved,
    spec,
    name,
    version,
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
    updatedBy: by,
    // A change of the schedule or of the formatting is not a new version.
    saves: before?.version !== version ? [...saves, { version, at, by, operation }].slice(-savesMax) : saves,
  };
}

function joinProblems(problems: readonly (string | null)[]): string | null {
  const found = problems.filter((problem) => problem !== null);
  return found.length === 0 ? null : found.join("; ");
}

/** Compares everything but time and author. */
function isSame(one: CatalogueEntry, other: CatalogueEntry): boolean {
  const { updatedAt: _at, updatedBy: _by, ...rest } = one;
  return canonicalJson(rest) === canonicalJson({ ...other, updatedAt: undefined, updatedBy: undefined });
}

function versionChanged(name: string): EngineError {
  return new EngineError(
    "VERSION_CHANGED",
    `workflow ${preview(name)} was saved by somebody else meanwhile: read it again, and repeat the change on top of theirs`,
  );
}
