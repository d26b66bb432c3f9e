import { canonicalJson, textHash } from "../authoring/content-hash.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { ScheduleSpec } from "../schedules/schedule-spec.ts";
import { type DocumentRow, workflowDocument } from "../stores/store.ts";

/** A workflow that was saved, as opposed to one that is part of a program. */
export interface CatalogueEntry {
  /** A UUID; a workflow that is made anew under the name of a deleted one has another. */
  readonly id: string;
  readonly name: string;
  /** As it was given, but for its name. */
  readonly spec: DagSpec;
  /** Names the content; `Workflow.version`. */
  readonly version: string;
  readonly cronExpr: string | null;
  /** Written down with the cron expression, so that every member means the same. */
  readonly timeZone: string | null;
  readonly isScheduled: boolean;
  /** Null, and not there in older documents: the default. */
  readonly whenBusy?: ScheduleSpec["whenBusy"] | null;
  readonly whenMissed?: ScheduleSpec["whenMissed"] | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly updatedBy: string | null;
  /** The last ones, oldest first. */
  readonly saves: readonly Save[];
}

/** What a workflow says about its schedule. */
export type ScheduleFields = Pick<CatalogueEntry, "cronExpr" | "timeZone" | "isScheduled" | "whenBusy" | "whenMissed">;

/** What is given is changed; null stands for nothing, and for a default. */
export type ScheduleFieldsChange = { readonly [K in keyof ScheduleFields]?: ScheduleFields[K] | undefined };

/** One time that a definition was saved. */
export interface Save {
  readonly version: string;
  readonly at: number;
  readonly by: string | null;
  /** `Create`, `Update`, `Roll back`; `Edit` for a file that was changed by hand. */
  readonly operation: string;
}

/** What came of a save. */
export interface Saved {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** What went wrong beside the save, which stands. */
  readonly warning: string | null;
}

/** An entry, and how often its document was written. */
export interface StoredEntry {
  readonly entry: CatalogueEntry;
  readonly revision: number;
}

/** More are not kept in the document; their definitions stay in the store. */
export const savesMax = 100;

export function entryOf(row: DocumentRow): StoredEntry {
  return { entry: JSON.parse(row.body) as CatalogueEntry, revision: row.revision };
}

export function documentOf({ entry, revision }: StoredEntry): DocumentRow {
  return { kind: workflowDocument, name: entry.name, revision, at: entry.updatedAt, body: JSON.stringify(entry) };
}

/** Where a definition says its name, that is the one it is saved under. */
export function named(spec: DagSpec, name: string): DagSpec {
  return spec.name === undefined ? spec : { ...spec, name };
}

/** Equal for texts of a definition that say the same, however they are laid out. */
export function contentHash(spec: DagSpec): string {
  return textHash(canonicalJson(spec));
}
