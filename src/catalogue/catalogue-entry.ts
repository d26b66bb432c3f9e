import { textHash } from "../authoring/content-hash.ts";
import { canonicalJson } from "../base/canonical-json.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { ScheduleSpec } from "../schedules/schedule-spec.ts";
import { workflowDocument } from "../stores/document-kinds.ts";
import type { DocumentRow } from "../stores/store.ts";

/** A saved workflow, as opposed to one that a module registers. */
export interface CatalogueEntry {
  /** A UUID; a new workflow with the name of a deleted one has another. */
  readonly id: string;
  readonly name: string;
  /** The definition as it was saved, except for its name. */
  readonly spec: DagSpec;
  /** Content hash; `Workflow.version`. */
  readonly version: string;
  readonly cronExpr: string | null;
  /** Stored with the cron expression, so that all members use the same zone. */
  readonly timeZone: string | null;
  readonly isScheduled: boolean;
  /** Null or missing: the default policy. */
  readonly whenBusy?: ScheduleSpec["whenBusy"] | null;
  readonly whenMissed?: ScheduleSpec["whenMissed"] | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly updatedBy: string | null;
  /** The last saves, oldest first. */
  readonly saves: readonly Save[];
}

/** The schedule of a workflow. */
export type ScheduleFields = Pick<CatalogueEntry, "cronExpr" | "timeZone" | "isScheduled" | "whenBusy" | "whenMissed">;

/** A change of the schedule: omitted fields are kept, null resets a field. */
export type ScheduleFieldsChange = { readonly [K in keyof ScheduleFields]?: ScheduleFields[K] | undefined };

/** One save of a definition. */
export interface Save {
  readonly version: string;
  readonly at: number;
  readonly by: string | null;
  /** `Create`, `Update`, `Roll back`; `Edit` for a file that was edited manually. */
  readonly operation: string;
}

/** The result of a save. */
export interface Saved {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** A problem that did not prevent the save. */
  readonly warning: string | null;
}

/** An entry with the revision of its document. */
export interface StoredEntry {
  readonly entry: CatalogueEntry;
  readonly revision: number;
}

/** Limit of saves in the document; older definitions stay in the store. */
export const savesMax = 100;

export function entryOf(row: DocumentRow): StoredEntry {
  return { entry: JSON.parse(row.body) as CatalogueEntry, revision: row.revision };
}

export function documentOf({ entry, revision }: StoredEntry): DocumentRow {
  return { kind: workflowDocument, name: entry.name, revision, at: entry.updatedAt, body: JSON.stringify(entry) };
}

/** Sets the name in a definition that has one. */
export function withName(spec: DagSpec, name: string): DagSpec {
  return spec.name === undefined ? spec : { ...spec, name };
}

/** A hash of the content, independent of formatting. */
export function contentHash(spec: DagSpec): string {
  return textHash(canonicalJson(spec));
}
