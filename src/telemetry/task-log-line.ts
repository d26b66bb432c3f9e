import { messageOf } from "../base/error.ts";
import { utf8Length } from "../base/utf8.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { LineRow } from "../stores/store.ts";

/** A log line of a job. */
export type TaskLogLine = Parameters<NonNullable<EngineOptions["onTaskLog"]>>[0];

/** A stored log line. */
export interface KeptLogLine extends Pick<TaskLogLine, "at" | "level" | "taskName" | "attempt" | "message" | "fields"> {
  /** Increases within an instance; readers resume after a number. */
  readonly number: number;
  readonly traceId?: string;
}

const bytesMax = 16 * 1024;
const cutMark = "… [cut]";

/** The stored text of a line, at most 16 KB. */
export function bodyOf(line: TaskLogLine, traceId: string | undefined): string {
  const { level, taskName, attempt } = line;
  const { message, fields } = saidIn(line);
  const body = textOf({ level, taskName, attempt, message, fields, traceId });
  if (utf8Length(body) <= bytesMax) return body;
  const left = { cut: `${utf8Length(body)} bytes are more than a line may have` };
  let kept = message;
  for (;;) {
    const cut = textOf({ level, taskName, attempt, message: kept, fields: left, traceId });
    if (utf8Length(cut) <= bytesMax) return cut;
    kept = `${kept.slice(0, kept.length >> 1)}${cutMark}`;
  }
}

export function keptLine({ number, at, body }: LineRow): KeptLogLine {
  return { number, at, ...(JSON.parse(body) as Omit<KeptLogLine, "number" | "at">) };
}

/** Accepts a text without fields, as many loggers do; JavaScript callers have no type check. */
function saidIn({ message, fields }: { message: unknown; fields: unknown }): Pick<TaskLogLine, "message" | "fields"> {
  const said = [message, fields].find((each) => typeof each === "string") ?? "";
  const isObject = typeof fields === "object" && fields !== null && !Array.isArray(fields);
  return { message: said, fields: isObject ? (fields as TaskLogLine["fields"]) : {} };
}

function textOf(
  line: Omit<TaskLogLine, "attemptId" | "namespace" | "instanceId" | "workflowName" | "at"> & {
    traceId: string | undefined;
  },
): string {
  try {
    return JSON.stringify(line, readable);
  } catch (error) {
    return JSON.stringify({ ...line, fields: { unreadable: messageOf(error) } });
  }
}

function readable(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value;
}
