const secondMs = 1000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

const pad = (value: number): string => String(value).padStart(2, "0");

/** 840 ms, 12.4 s, 3 min 07 s, 2 h 05 min, 3 d 4 h. */
export function formatDuration(ms: number): string {
  if (ms < secondMs) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < minuteMs) return `${(ms / secondMs).toFixed(1)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min ${pad(Math.floor((ms % minuteMs) / secondMs))} s`;
  if (ms < dayMs) return `${Math.floor(ms / hourMs)} h ${pad(Math.floor((ms % hourMs) / minuteMs))} min`;
  return `${Math.floor(ms / dayMs)} d ${Math.floor((ms % dayMs) / hourMs)} h`;
}

/** For what goes on while one looks: tenths of a second would only flicker. */
export function formatRunning(ms: number): string {
  return ms < minuteMs ? `${Math.max(0, Math.floor(ms / secondMs))} s` : formatDuration(ms);
}

/** 1,204; above a hundred thousand 129 k. */
export function formatCount(count: number): string {
  if (count < 100_000) return count.toLocaleString("en-US");
  return `${(count / 1000).toFixed(count < 1_000_000 ? 0 : 1)} k`;
}

export type Zone = "local" | "utc";

interface Parts {
  readonly date: string;
  readonly time: string;
  readonly ms: string;
  readonly offset: string;
}

function partsOf(at: number, zone: Zone): Parts {
  const offsetMinutes = zone === "utc" ? 0 : -new Date(at).getTimezoneOffset();
  const moment = new Date(at + offsetMinutes * minuteMs);
  const sign = offsetMinutes < 0 ? "-" : "+";
  const [hours, minutes] = [Math.floor(Math.abs(offsetMinutes) / 60), Math.abs(offsetMinutes) % 60];
  return {
    date: moment.toISOString().slice(0, 10),
    time: moment.toISOString().slice(11, 19),
    ms: moment.toISOString().slice(19, 23),
    offset: `${sign}${pad(hours)}:${pad(minutes)}`,
  };
}

/** The beginning of the day in which a moment lies. */
export function startOfDay(at: number, zone: Zone): number {
  if (zone === "utc") return Math.floor(at / dayMs) * dayMs;
  return new Date(at).setHours(0, 0, 0, 0);
}

/** `2026-03-02`. */
export function formatDate(at: number, zone: Zone): string {
  return partsOf(at, zone).date;
}

/** `03:12:07` today, `03-02 03:12` otherwise. */
export function formatTime(at: number, zone: Zone, now: number): string {
  const { date, time } = partsOf(at, zone);
  if (date === partsOf(now, zone).date) return time;
  return `${date.slice(5)} ${time.slice(0, 5)}`;
}

/** `03:12:07.412`. */
export function formatClock(at: number, zone: Zone): string {
  const { time, ms } = partsOf(at, zone);
  return `${time}${ms}`;
}

/** `2026-03-02 03:12:07.412 +08:00`: the one form that leaves nothing open. */
export function formatExact(at: number, zone: Zone): string {
  const { date, time, ms, offset } = partsOf(at, zone);
  return `${date} ${time}${ms} ${offset}`;
}

/** The last twelve characters of a long id. */
export function shortId(id: string): string {
  return id.length > 24 ? `…${id.slice(-12)}` : id;
}

/** Shortens in the middle: names often differ in their ends. */
export function middleEllipsis(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = Math.ceil((max - 1) * 0.6);
  return `${text.slice(0, head)}…${text.slice(text.length - (max - 1 - head))}`;
}

export function prettyJson(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}
