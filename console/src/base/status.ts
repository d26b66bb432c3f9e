import type { InstanceStatus, TaskStatus } from "../../../src/kernel/status.ts";

export type AnyStatus = InstanceStatus | TaskStatus;

/** The colours of the one palette; several statuses share one, and their form tells them apart. */
export type Tone = "waiting" | "running" | "success" | "failed" | "paused" | "stopped" | "off";

interface StatusLook {
  readonly tone: Tone;
  /** Outline of the form in a box of 16 × 16; it carries the status where colour does not. */
  readonly form: string;
}

const clock = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11M8 5v3.2l2 1.3";
const ring = "M13.5 8a5.5 5.5 0 1 1-5.5-5.5";
const check = "M3 8.6l3.3 3.2L13 4.8";
const cross = "M4 4l8 8M12 4l-8 8";
const bars = "M5.5 3.5v9M10.5 3.5v9";
const square = "M4 4h8v8H4z";
const arrow = "M3 4.5l5 3.5l-5 3.5M9 4.5l4 3.5l-4 3.5";
const slash = "M8 2.8a5.2 5.2 0 1 0 0 10.4a5.2 5.2 0 0 0 0-10.4M4.4 11.6l7.2-7.2";
const crossClock = "M3 3l5 5M8 3l-5 5M11 7.5a3.3 3.3 0 1 0 .1 0M11 9.2v1.6l1.1 .7";

export const statusLooks: Readonly<Record<AnyStatus, StatusLook>> = {
  Ready: { tone: "waiting", form: clock },
  Pending: { tone: "waiting", form: clock },
  Running: { tone: "running", form: ring },
  Success: { tone: "success", form: check },
  Failed: { tone: "failed", form: cross },
  TimeoutFailed: { tone: "failed", form: crossClock },
  Paused: { tone: "paused", form: bars },
  Stopped: { tone: "stopped", form: square },
  Terminated: { tone: "stopped", form: square },
  Skipped: { tone: "off", form: arrow },
  Canceled: { tone: "off", form: slash },
};

export function toneOf(status: string): Tone {
  return (statusLooks as Readonly<Record<string, StatusLook | undefined>>)[status]?.tone ?? "off";
}

export function formOf(status: string): string {
  return (statusLooks as Readonly<Record<string, StatusLook | undefined>>)[status]?.form ?? slash;
}

export function hasEnded(status: string): boolean {
  return status === "Success" || status === "Failed" || status === "Terminated";
}
