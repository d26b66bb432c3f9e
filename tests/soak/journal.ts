import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from "node:fs";
import type { ErrorCode } from "../../src/base/error.ts";
import type { LogFields } from "../../src/base/logger.ts";
import type { Batch, ShardClaim } from "../../src/stores/store.ts";
import type { JobRun } from "../sim/evidence.ts";

/** What a member's process writes down as it happens, with the time. */
export type Entry = { readonly at: number } & (
  | ({ readonly what: "run"; readonly run: number } & Pick<
      JobRun,
      "attemptId" | "taskName" | "workflow" | "job" | "params"
    >)
  | { readonly what: "aborted"; readonly run: number }
  | { readonly what: "ended"; readonly run: number; readonly how: "done" | "failed" | "aborted" }
  /** Written before the call is made. */
  | { readonly what: "commit"; readonly call: number; readonly batch: Batch }
  | { readonly what: "claim"; readonly call: number; readonly shard: number; readonly owner: string }
  /** Undefined: the call was answered with success. */
  | { readonly what: "answer"; readonly call: number; readonly code?: ErrorCode; readonly claim?: ShardClaim }
  | { readonly what: "renewal"; readonly member: string; readonly sentAt: number }
  | {
      readonly what: "log";
      readonly level: "debug" | "info" | "warn" | "error";
      readonly fields: LogFields;
      readonly message: string;
    }
);

/** Without the time, each kind by itself. */
export type News = Entry extends infer Each ? (Each extends unknown ? Omit<Each, "at"> : never) : never;

/**
 * One line per entry, handed to the operating system before anything goes on: what is in the file happened, whatever
 * becomes of the writer. Only the machine's own end could take it back, so nothing waits for a disk.
 */
export class Journal {
  readonly #file: number;
  readonly #now: () => number;

  constructor(path: string, now: () => number) {
    this.#file = openSync(path, "a");
    this.#now = now;
  }

  write(news: News): void {
    this.writeAt(this.#now(), news);
  }

  writeAt(at: number, news: News): void {
    appendFileSync(this.#file, `${JSON.stringify({ at, ...news })}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** A last line that is torn was being written when its writer was killed: what it announces never began, like one without a file. */
export function readJournal(path: string): Entry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  lines.pop();
  return lines.map((line) => JSON.parse(line) as Entry);
}
