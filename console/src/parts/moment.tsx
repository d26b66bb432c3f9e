import { formatDuration, formatExact, formatRunning, formatTime } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { serverNow, useNow } from "../base/server-clock.ts";
import { defineText, useText } from "../text/define-text.ts";

const words = defineText({
  en: {
    ago: (span: string) => `${span} ago`,
    ahead: (span: string) => `in ${span}`,
    now: "just now",
  },
  zh: {
    ago: (span: string) => `${span} 前`,
    ahead: (span: string) => `${span} 后`,
    now: "刚刚",
  },
});

const dayMs = 86_400_000;
/** How far ahead a span says more than a date. */
const weeksMs = 14 * dayMs;

function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms >= dayMs) return `${Math.floor(ms / dayMs)} d ${Math.floor((ms % dayMs) / 3_600_000)} h`;
  return `${Math.floor(ms / 3_600_000)} h ${String(Math.floor((ms % 3_600_000) / 60_000)).padStart(2, "0")} min`;
}

/** "4 min 10 s ago" for a day, then the date; the exact time on hover. */
export function Moment({ at }: { readonly at: number }) {
  // A list may have a thousand of them: only those whose text changes follow the clock.
  return serverNow() - at >= dayMs ? <PastDay at={at} /> : <NearMoment at={at} />;
}

function PastDay({ at }: { readonly at: number }) {
  const { zone } = usePreferences();
  return <TimeText at={at}>{formatTime(at, zone, serverNow())}</TimeText>;
}

function NearMoment({ at }: { readonly at: number }) {
  const now = useNow();
  const { zone } = usePreferences();
  const text = useText(words);
  const distance = now - at;
  let shown = formatTime(at, zone, now);
  if (Math.abs(distance) < 1000) shown = text.now;
  else if (distance > 0 && distance < dayMs) shown = text.ago(coarse(distance));
  else if (distance < 0 && distance > -weeksMs) shown = text.ahead(coarse(-distance));
  return <TimeText at={at}>{shown}</TimeText>;
}

function TimeText({ at, children }: { readonly at: number; readonly children: string }) {
  const { zone } = usePreferences();
  return (
    <time dateTime={new Date(at).toISOString()} className="nowrap" title={formatExact(at, zone)}>
      {children}
    </time>
  );
}

/** The clock time, with the exact one on hover. */
export function ClockTime({ at }: { readonly at: number }) {
  const now = useNow();
  const { zone } = usePreferences();
  return <TimeText at={at}>{formatTime(at, zone, now)}</TimeText>;
}

interface SpanProps {
  readonly from: number | null | undefined;
  readonly to: number | null | undefined;
  /** Counts on while there is no end. */
  readonly runs?: boolean;
}

export function TimeSpan({ from, to, runs = true }: SpanProps) {
  if (from === null || from === undefined) return <span className="quiet">–</span>;
  if (to !== null && to !== undefined) return <span className="nowrap">{formatDuration(to - from)}</span>;
  return runs ? <RunningSpan from={from} /> : <span className="quiet">–</span>;
}

function RunningSpan({ from }: { readonly from: number }) {
  return <span className="nowrap">{formatRunning(useNow() - from)}</span>;
}
