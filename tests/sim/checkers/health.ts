import type { InstanceView } from "../../../src/views/instance-view.ts";
import type { Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";

/** What an engine says only when one of its own invariants is broken, or code does not do again what it did. */
const alarming: readonly RegExp[] = [
  /internal error/,
  /failed to take its report/,
  /could not be marked/,
  /code of an instance was stopped/,
];

/** No engine says that something is wrong with itself, or with code that is what it always was. */
export const checkHealth: Checker = (evidence) => [
  ...evidence.logLines.flatMap(({ life, level, message, fields, at }) => {
    if (level !== "error" || !alarming.some((pattern) => pattern.test(message))) return [];
    return [`life ${life} says at ${at.toFixed(0)}: ${message}: ${JSON.stringify(fields)}`];
  }),
  ...checkAttention(evidence),
];

/** Code needs attention only where it is missing. */
function checkAttention({ calls, setting }: Evidence): string[] {
  return calls.flatMap(({ operation, outcome, value, instanceId }) => {
    const attention = operation === "status" && outcome === "ok" ? (value as InstanceView).attention : undefined;
    if (attention === undefined || (setting.lacksCode && /is not (registered|among)/.test(attention))) return [];
    return [`${instanceId} needs attention: ${attention}`];
  });
}
