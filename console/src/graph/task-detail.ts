import type { TaskView } from "../api/model.ts";
import { waitTextOf } from "../api/waits.ts";
import { formatDuration } from "../base/format.ts";

/** The second line of a task's node: its wait, or its job with duration and attempts. */
export function taskDetail(task: TaskView, label: string, words: { readonly attempt: (n: number) => string }): string {
  const wait = waitTextOf(task);
  if (wait !== undefined) return wait;
  const facts: string[] = [];
  if (task.items !== undefined) facts.push(itemsDetail(task.items));
  if (task.startedAt !== undefined && task.endedAt !== undefined) {
    facts.push(formatDuration(task.endedAt - task.startedAt));
  }
  if (task.attempt > 1) facts.push(words.attempt(task.attempt));
  const work = task.job ?? task.kind;
  // A task that is named like its job need not say it twice.
  return (work === label && facts.length > 0 ? facts : [work, ...facts]).join(" · ");
}

function itemsDetail({ total, succeeded, failed }: NonNullable<TaskView["items"]>): string {
  return failed === 0 ? `${succeeded}/${total}` : `${succeeded}/${total}, ✗ ${failed}`;
}
