import type { Batch } from "./batch.ts";
import type { Cursor } from "./cursor.ts";

/** Where one subscription's changes go: a part of a socket, or a stream of events. */
export interface Outlet {
  /** Whose it is: subscriptions of one client share its limits. */
  readonly client: object;
  /** Bytes that were handed to it and have not left yet. */
  readonly bufferedBytes: number;
  changes(batch: Batch): void;
  /** What follows comes from the store. */
  resync(notice: ResyncNotice): void;
  /** Changes were left out between these two. */
  skipped(notice: SkippedNotice): void;
  /** It gets no more, for a reason that its client should hear. */
  drop(reason: DropReason): void;
}

export interface ResyncNotice {
  readonly cursor: Cursor;
  readonly reason: string;
  /** False if the store has more than is told. */
  readonly isComplete: boolean;
}

export interface SkippedNotice {
  readonly from: Cursor;
  readonly cursor: Cursor;
  readonly changes: number;
}

export interface DropReason {
  readonly why: "too-slow" | "failed" | "stopping";
  readonly message: string;
  /** To come back with. */
  readonly cursor: Cursor;
}
