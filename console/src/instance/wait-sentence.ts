import type { Wait } from "../api/waits.ts";
import { formatRunning, formatTime } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { useNow } from "../base/server-clock.ts";
import { useText } from "../text/define-text.ts";
import { whyText } from "../text/why-text.ts";

type Words = ReturnType<typeof useText<typeof whyText.en>>;

interface Clock {
  /** A span that is left until a moment. */
  readonly until: (at: number) => string;
  readonly time: (at: number) => string;
}

/** What a wait is for, as a sentence; lists and the panel of an instance say the same. */
export function useWaitSentence(): (wait: Wait) => string {
  const text = useText(whyText);
  const now = useNow();
  const { zone } = usePreferences();
  const clock = {
    until: (at: number) => formatRunning(Math.max(0, at - now)),
    time: (at: number) => formatTime(at, zone, now),
  };
  return (wait) => sentenceOf(wait, text, clock);
}

function sentenceOf(wait: Wait, text: Words, { until, time }: Clock): string {
  switch (wait.kind) {
    case "timer":
      return text.timer(time(wait.dueAt), until(wait.dueAt));
    case "event":
      return `${text.event(wait.name)}${wait.dueAt === undefined ? "" : text.eventUntil(time(wait.dueAt))}`;
    case "update":
      return text.update(wait.name);
    case "child":
      return text.child(wait.taskName);
    case "instance": {
      const sentence = wait.by === undefined ? text.instance(wait.text) : text.pausedBy(wait.by);
      return wait.note === undefined ? sentence : `${sentence}: “${wait.note}”`;
    }
    default:
      return taskSentence(wait, text, until);
  }
}

function taskSentence(wait: Extract<Wait, { kind: "task" }>, text: Words, until: Clock["until"]): string {
  const { taskName: task, reason, slots, max, retryAt, attempt } = wait;
  if (reason === "running") return text.running(task, attempt);
  if (reason === "retry" && retryAt !== undefined) return text.retry(task, attempt, until(retryAt));
  if ((reason === "domain" || reason === "slot") && slots !== undefined) {
    return text.domain(task, slots.domain, slots.running, slots.size, slots.waiting);
  }
  if (reason === "no-worker") return text.noWorker(task, wait.text);
  return reason === "instance-limit" && max !== undefined ? text.limit(task, max) : text.other(task, wait.text);
}
