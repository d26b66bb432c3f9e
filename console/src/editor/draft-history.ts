import type { Draft } from "./draft.ts";

/** Drafts before and after the present one. Letters typed into one field are one step. */
export interface DraftHistory {
  readonly past: readonly Draft[];
  readonly present: Draft;
  readonly future: readonly Draft[];
  /** The field that the last edit was about; undefined after anything else. */
  readonly field: string | undefined;
}

const stepsMax = 200;

export function beginHistory(present: Draft): DraftHistory {
  return { past: [], present, future: [], field: undefined };
}

export function edit(history: DraftHistory, next: Draft, field?: string): DraftHistory {
  if (next === history.present) return history;
  const isSameField = field !== undefined && field === history.field;
  const past = isSameField ? history.past : [...history.past, history.present].slice(-stepsMax);
  return { past, present: next, future: [], field };
}

export function undo({ past, present, future, ...rest }: DraftHistory): DraftHistory {
  const before = past.at(-1);
  if (before === undefined) return { past, present, future, ...rest };
  return { past: past.slice(0, -1), present: before, future: [present, ...future], field: undefined };
}

export function redo({ past, present, future, ...rest }: DraftHistory): DraftHistory {
  const [after, ...later] = future;
  if (after === undefined) return { past, present, future, ...rest };
  return { past: [...past, present], present: after, future: later, field: undefined };
}
