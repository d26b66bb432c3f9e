import type { ScheduleView } from "../api/model.ts";
import { formatDuration } from "../base/format.ts";

/** When a schedule is due, in a few words. */
export function timingText({ every }: ScheduleView["spec"]): string {
  if ("cron" in every) return `${every.cron}${every.timeZone === undefined ? "" : ` ${every.timeZone}`}`;
  if ("rateMs" in every) return `⟳ ${formatDuration(every.rateMs)}`;
  if ("delayMs" in every) return `→ ${formatDuration(every.delayMs)}`;
  const { from, to, everyMs } = every.daily;
  return `${from}–${to} / ${formatDuration(everyMs)}`;
}
