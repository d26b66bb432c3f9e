import { hostname } from "node:os";
import { pid } from "node:process";
import type { LoopWorkEntry } from "./loop-work-table.ts";
import type { Suspects } from "./stall-detector.ts";

/** `json`: as the engine's own logger writes; `pino`: as pino does; `words`: for people. */
export type StallLineFormat = "json" | "pino" | "words";

export interface Stall {
  readonly level: "warn" | "error";
  readonly message: string;
  readonly stalledMs: number;
  readonly suspects: Suspects;
}

const suspectsMax = 10;
const pinoLevels = { warn: 40, error: 50 } as const;

/** One line of the log. With one suspect, its fields are those of the line. */
export function stallLine({ level, message, stalledMs, suspects }: Stall, format: StallLineFormat, at: Date): string {
  const fields = { stalledMs, ...suspectFields(suspects) };
  if (format === "words") return `${level} ${message} ${JSON.stringify(fields)}`;
  if (format === "json") return JSON.stringify({ time: at.toISOString(), level, message, ...fields });
  const origin = { time: at.getTime(), pid, hostname: hostname() };
  return JSON.stringify({ level: pinoLevels[level], ...origin, ...fields, msg: message });
}

function suspectFields({ named, count }: Suspects): object {
  if (count === 0) return {};
  const [only] = named;
  if (count === 1 && only !== undefined) return fieldsOf(only);
  return { suspectCount: count, suspects: named.slice(0, suspectsMax).map(fieldsOf) };
}

function fieldsOf({ kind, instanceId, workflowName, step }: LoopWorkEntry): object {
  return { kind, instanceId, workflowName, step: kind === "code" ? Number(step) : step };
}
