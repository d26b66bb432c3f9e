import type { PowerJobTiming } from "./powerjob-data.ts";

/** When a workflow is started, in the form of the HTTP interface. */
export interface ImportedSchedule {
  readonly every:
    | { readonly cron: string }
    | { readonly rateMs: number }
    | { readonly delayMs: number }
    | { readonly daily: { from: string; to: string; everyMs: number; weekdays?: number[] } };
  readonly startAt?: number;
  readonly endAt?: number;
  /** False if it is disabled in PowerJob. */
  readonly wasEnabled: boolean;
}

interface LifeCycle {
  readonly start?: number | null;
  readonly end?: number | null;
}

const enabled = 1;

/** The schedule of a workflow or job; undefined if only the API or a workflow starts it, or if its expression is broken. */
export function scheduleOf(timing: PowerJobTiming): ImportedSchedule | undefined {
  const every = everyOf(timing.timeExpressionType, timing.timeExpression?.trim() ?? "");
  if (every === undefined) return undefined;
  const { start, end } = (parsed(timing.lifecycle ?? "") ?? {}) as LifeCycle;
  return {
    every,
    ...(typeof start === "number" && { startAt: start }),
    ...(typeof end === "number" && { endAt: end }),
    wasEnabled: timing.status === enabled,
  };
}

function everyOf(type: number | null, expression: string): ImportedSchedule["every"] | undefined {
  switch (type) {
    case 2:
      return expression === "" ? undefined : { cron: expression };
    case 3:
    case 4: {
      const ms = Number(expression);
      if (!Number.isSafeInteger(ms) || ms < 1) return undefined;
      return type === 3 ? { rateMs: ms } : { delayMs: ms };
    }
    case 11:
      return dailyOf(expression);
    default:
      return undefined;
  }
}

interface DailyInterval {
  readonly interval?: number | string;
  readonly intervalUnit?: string;
  readonly startTimeOfDay?: string;
  readonly endTimeOfDay?: string;
  /** 1 is Sunday. */
  readonly daysOfWeek?: number[];
}

const unitMs: Readonly<Record<string, number>> = { SECONDS: 1000, MINUTES: 60_000, HOURS: 3_600_000 };

function dailyOf(expression: string): ImportedSchedule["every"] | undefined {
  const daily: DailyInterval | undefined = parsed(expression);
  if (daily === undefined) return undefined;
  const { startTimeOfDay = "00:00:00", endTimeOfDay = "23:59:59", daysOfWeek, intervalUnit = "SECONDS" } = daily;
  const everyMs = Number(daily.interval) * (unitMs[intervalUnit.toUpperCase()] ?? Number.NaN);
  if (!Number.isSafeInteger(everyMs) || everyMs < 1) return undefined;
  const weekdays = daysOfWeek?.map((day) => day - 1);
  return {
    daily: { from: startTimeOfDay, to: endTimeOfDay, everyMs, ...(weekdays !== undefined && { weekdays }) },
  };
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
