import { isoText } from "../base/time-limits.ts";
import { defaultNamespace } from "../base/namespace.ts";
import type { InstanceStatus } from "../kernel/status.ts";

/** `recovery`: the workflow failed last time, and succeeded now. */
export const alertKinds = ["failure", "recovery", "long-run", "stuck"] as const;

export type AlertKind = (typeof alertKinds)[number];

/** An alert about an instance. */
export interface Alert {
  readonly kind: AlertKind;
  readonly namespace: string;
  readonly instanceId: string;
  readonly workflow: string;
  readonly status: InstanceStatus;
  readonly at: number;
  readonly startedAt: number | undefined;
  readonly reason: string | undefined;
  readonly failedTasks: readonly { readonly name: string; readonly message: string }[];
}

const titles: Readonly<Record<AlertKind, (workflow: string) => string>> = {
  failure: (workflow) => `Workflow ${workflow} failed`,
  recovery: (workflow) => `Workflow ${workflow} succeeds again`,
  "long-run": (workflow) => `Workflow ${workflow} takes longer than expected`,
  stuck: (workflow) => `Workflow ${workflow} makes no progress`,
};

export function titleOf({ kind, workflow }: Alert): string {
  return titles[kind](workflow);
}

/** Formats an alert as lines of text. */
export function linesOf({ namespace, instanceId, status, startedAt, at, reason, failedTasks }: Alert): string[] {
  const lines = [`instance: ${instanceId}`, `status: ${status}`];
  if (namespace !== defaultNamespace) lines.unshift(`namespace: ${namespace}`);
  if (startedAt !== undefined) {
    lines.push(`started: ${isoText(startedAt)}`, `seconds: ${Math.round((at - startedAt) / 1000)}`);
  }
  if (reason !== undefined) lines.push(`reason: ${reason}`);
  for (const { name, message } of failedTasks) lines.push(`task ${name}: ${message}`);
  return lines;
}
