import type { ChangeBatch } from "./change-batch.ts";
import type { Cursor } from "./cursor.ts";
import type { PushedProgress } from "./progress-feed.ts";

/** The destination of one subscription: a socket or an event stream. */
export interface Outlet {
  /** The client, whose subscriptions share its limits. */
  readonly client: object;
  /** Unsent bytes. */
  readonly bufferedBytes: number;
  sendChanges(batch: ChangeBatch): void;
  /** Announces that the following changes come from the store. */
  sendResync(notice: ResyncNotice): void;
  /** Announces that changes were skipped. */
  sendSkipped(notice: SkippedNotice): void;
  /** Sends the progress of running tasks, which is no change and has no cursor. */
  sendProgress(progress: PushedProgress): void;
  /** Ends the subscription with a reason for the client. */
  drop(reason: DropReason): void;
}

export interface ResyncNotice {
  readonly cursor: Cursor;
  readonly reason: string;
  /** False if the store has more. */
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
  /** The cursor to resume from. */
  readonly cursor: Cursor;
}
