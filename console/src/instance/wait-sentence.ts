import type { TaskView } from "../api/model.ts";
import type { Wait } from "../api/waits.ts";
import { formatRunning, formatTime } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { useNow } from "../base/server-clock.ts";
import { useText } from "../text/define-text.ts";
import { whyText } from "../text/why-text.ts";

type Words = ReturnType<typeof useText<typeof whyText.en>>;
type TaskWait = Extract<Wait, { kind: "task" }>;

interface Clock {
  /** A span that is left until a moment. */
  readonly until: (at: number) => string;
  readonly time: (at: number) => string;
}

function useClock(): Clock {
  const now = useNow();
  const { zone } = usePreferences();
  return {
    until: (at) => formatRunning(Math.max(0, at - now)),
    time: (at) => formatTime(at, zone, now),
  };
}

/** The reason of a wait, as a sentence; lists and the panel of an instance say the same. */
export function useWaitSentence(): (wait: Wait) => string {
  const text = useText(whyText);
  const clock = useClock();
  return (wait) => sentenceOf(wait, text, clock);
}

/** The reason why a task waits, as a sentence; undefined if only its predecessors keep it. */
export function useTaskWaitSentence(): (task: TaskView) => string | undefined {
  const text = useText(whyText);
  const clock = useClock();
  return (task) => {
    const { wait, name: taskName, number, job, attempt, retryAt } = task;
    return wait && taskSentence({ kind: "task", ...wait, task: number, taskName, job, attempt, retryAt }, text, clock);
  };
}

function sentenceOf(wait: Wait, text: Words, clock: Clock): string {
  const { until, time } = clock;
  switch (wait.kind) {
    case "timer":
      return text.timer(time(wait.dueAt), until(wait.dueAt));
    case "event":
      return `${text.event(wait.name)}${wait.dueAt === undefined ? "" : text.eventUntil(time(wait.dueAt))}`;
    case "update":
      return text.update(wait.name);
    case "child":
      return text.child(wait.taskName, wait.workflowName ?? wait.taskName);
    case "instance":
      return instanceSentence(wait, text);
    default:
      return taskSentence(wait, text, clock);
  }
}

function instanceSentence(wait: Extract<Wait, { kind: "instance" }>, text: Words): string {
  const { reason, max, by, note } = wait;
  if (reason === "workflow-limit" && max !== undefined) return text.workflowLimit(max);
  if (reason !== "paused") return text.instance(wait.text);
  const sentence = by === undefined ? text.paused : text.pausedBy(by);
  return note === undefined ? sentence : `${sentence}: “${note}”`;
}

/** Each reason has a sentence of its own; a phrase of the server stands where it knows more than its fields say. */
function taskSentence(wait: TaskWait, text: Words, { until, time }: Clock): string {
  const { taskName: task, reason, job = "", slots, max, retryAt, dueAt, requires, attempt } = wait;
  switch (reason) {
    case "running":
      return text.running(task, attempt);
    case "paused":
      return text.pausedTask(task);
    case "retry":
      return retryAt === undefined ? text.other(wait.text) : text.retry(task, attempt, until(retryAt));
    case "outside":
      return dueAt === undefined ? text.other(wait.text) : text.outside(task, time(dueAt), until(dueAt));
    case "instance-limit":
      return max === undefined ? text.other(wait.text) : text.limit(task, max);
    case "no-worker":
      if (requires?.worker !== undefined) return text.noDesignatedWorker(task, requires.worker);
      return text.noWorker(task, job, requires?.tags ?? []);
    case "domain":
    case "slot":
      if (requires !== undefined) return text.busyWorkers(task, job, requires.tags);
      if (slots === undefined) return text.other(wait.text);
      if (slots.size === 0) return text.noSlots(task, slots.domain);
      return text.domain(task, slots.domain, slots.running, slots.size, slots.waiting);
    default:
      return text.other(wait.text);
  }
}
