import type { TaskView } from "../api/model.ts";
import { formatDuration } from "../base/format.ts";

export interface TaskWords {
  readonly attempt: (attempt: number) => string;
  readonly until: (time: string) => string;
}

/** Details that a graph shows beside the names of its nodes. */
export interface GraphTexts<Words extends TaskWords = TaskWords> {
  readonly words: Words;
  /** Why a task waits, in a word or two. */
  readonly waits: Readonly<Record<NonNullable<TaskView["wait"]>["reason"], string>>;
  readonly clock: (at: number) => string;
}

/** The second line of a task's node: its wait, or its job with duration and attempts. */
export function taskDetail(task: TaskView, { words, waits, clock }: GraphTexts): string {
  const { wait, name, startedAt, endedAt, attempt } = task;
  if (wait !== undefined) {
    const dueAt = wait.dueAt ?? task.retryAt;
    const tags = wait.requires?.tags ?? [];
    const about = tags.length === 0 ? waits[wait.reason] : `${waits[wait.reason]}: ${tags.join(", ")}`;
    return dueAt === undefined ? about : `${about} · ${words.until(clock(dueAt))}`;
  }
  const facts: string[] = [];
  if (startedAt !== undefined && endedAt !== undefined) facts.push(formatDuration(endedAt - startedAt));
  if (attempt > 1) facts.push(words.attempt(attempt));
  const work = task.job ?? task.kind;
  // A task that is named like its job need not say it twice.
  return (work === name && facts.length > 0 ? facts : [work, ...facts]).join(" · ");
}

/** Items of a map by status, as the histogram of its node shows them. */
export function itemStatuses(items: NonNullable<TaskView["items"]>): Readonly<Record<string, number>> {
  const { succeeded, failed, running, canceled, waiting } = items;
  return { Success: succeeded, Failed: failed, Running: running, Canceled: canceled, Pending: waiting };
}
