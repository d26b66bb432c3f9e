import type { InstanceView } from "../../../src/views/instance-view.ts";
import type { Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";

/** Log messages that mean a violated invariant of the engine, or nondeterministic code. */
export const alarming: readonly RegExp[] = [
  /internal error/,
  /threw while it was notified/,
  /quarantine could not be recorded/,
  /code of an instance was stopped/,
];

/** No engine reports a violated invariant of its own, or that unchanged code differs from its history. */
export const checkHealth: Checker = (evidence) => [
  ...evidence.logLines.flatMap(({ life, level, message, fields, at }) => {
    if (level !== "error" || !alarming.some((pattern) => pattern.test(message))) return [];
    return [`life ${life} says at ${at.toFixed(0)}: ${message}: ${JSON.stringify(fields)}`];
  }),
  ...checkAttention(evidence),
];

/** Code needs attention only if it is missing. */
function checkAttention({ calls, setting }: Evidence): string[] {
  return calls.flatMap(({ operation, outcome, value, instanceId }) => {
    const attention = operation === "status" && outcome === "ok" ? (value as InstanceView).attention : undefined;
    if (attention === undefined || (setting.lacksCode && /is not (registered|among)/.test(attention))) return [];
    return [`${instanceId} needs attention: ${attention}`];
  });
}
