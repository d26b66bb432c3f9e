import type { DataOf } from "../api/routes.ts";
import { durationText } from "./time-text.ts";

type View = DataOf<"getInstance">;
type Wait = View["waiting"][number];

/** Limit of waits shown; `heddle show` lists all. */
const noticesMax = 3;

/** Says what an instance waits for. */
export interface Notice {
  /** Does not change while the wait lasts. */
  readonly text: string;
  /** Epoch ms. */
  readonly since: number | undefined;
  /** Advice: the next thing to do. */
  readonly advice: string | undefined;
}

/** Makes a command that can be typed. */
export type CommandOf = (words: string) => string;

/** The waits of an instance that makes no progress: it waits as a whole, or nothing of it runs. */
export function noticesOf(
  { instanceId, waiting, waitingTotal }: Pick<View, "instanceId" | "waiting" | "waitingTotal">,
  commandOf: CommandOf,
): Notice[] {
  const whole = waiting.filter(({ kind }) => kind === "instance");
  const isRunning = waiting.some((wait) => wait.kind === "task" && wait.reason === "running");
  const shown = whole.length > 0 || isRunning ? whole : waiting;
  const notices = shown.map((wait) => ({
    text: `waiting for ${wait.text}`,
    since: wait.since,
    advice: adviceFor(wait, instanceId, commandOf),
  }));
  if (notices.length <= noticesMax) return notices;
  const more = `and for ${waitingTotal - noticesMax} more; list them with: ${commandOf(`show ${instanceId}`)}`;
  return [...notices.slice(0, noticesMax), { text: more, since: undefined, advice: undefined }];
}

/** The command that ends the wait, for the user to type. */
export function adviceFor(wait: Wait, instanceId: string, commandOf: CommandOf): string | undefined {
  switch (wait.kind) {
    case "event":
      return `raise it with: ${commandOf(`event ${instanceId} ${wordOf(wait.name)}`)}`;
    case "child":
      return wait.childInstanceId && `look at it with: ${commandOf(`show ${wait.childInstanceId}`)}`;
    case "instance":
      return wait.reason === "paused" ? `resume it with: ${commandOf(`resume ${instanceId}`)}` : undefined;
    case "task":
      return wait.reason === "no-worker" ? `start a worker with: ${commandOf("worker <file>")}` : undefined;
    default:
      return undefined;
  }
}

/** Quotes a word that a shell would split or change. */
function wordOf(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `waiting for event "approve" (12 s so far); raise it with: …` */
export function noticeText({ text, since, advice }: Notice, now: number): string {
  const age = since === undefined ? "" : ` (${durationText(Math.max(0, now - since))} so far)`;
  return `${text}${age}${advice === undefined ? "" : `; ${advice}`}`;
}
