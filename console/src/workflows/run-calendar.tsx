import { useQueries, useQuery } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { InstanceSummary, ScheduleView } from "../api/model.ts";
import { formatCount, formatDate, type Zone } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { serverNow } from "../base/server-clock.ts";
import type { Tone } from "../base/status.ts";
import { Link } from "../parts/link.tsx";
import { Card } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";
import { type CalendarDay, calendarDays, calendarStart, missedTimes } from "./calendar-days.ts";

const runsMax = 1000;
/** As many due times as one preview gives. */
const dueMax = 1000;
/** Drawn from the best to the worst, so that failures are always at the same end. */
const toneOrder: readonly Tone[] = ["success", "off", "running", "waiting", "paused", "stopped", "failed"];

interface CalendarProps {
  readonly workflow: string;
  readonly schedules: readonly ScheduleView[];
}

/** Five weeks of runs, a day in each cell: what ran, what failed, and which due times had no run. */
export function RunCalendar({ workflow, schedules }: CalendarProps) {
  const text = useText(workflowsText);
  const { zone } = usePreferences();
  const now = serverNow();
  const from = calendarStart(now, zone);
  const runs = useQuery({
    queryKey: ["calendar", workflow, from],
    queryFn: () => call("listInstances", { query: { workflow, createdFrom: from, limit: runsMax } }),
    refetchInterval: 30_000,
  });
  const items = runs.data?.items ?? [];
  const missed = useMissed(schedules, items);
  const days = calendarDays({ now, zone, runs: items, missed });
  return (
    <Card title={text.calendar} extra={<span className="quiet small">{text.calendarHint}</span>}>
      <div className="calendar">
        {text.weekdays.split(" ").map((name) => (
          <div key={name} className="calendar-head quiet small">
            {name}
          </div>
        ))}
        {days.map((day) => (
          <Day key={day.from} day={day} workflow={workflow} zone={zone} isToday={day.from <= now && now < day.to} />
        ))}
      </div>
      {items.length === runsMax && <p className="quiet small">{text.calendarCut(runsMax)}</p>}
    </Card>
  );
}

/** Due times without a run, of the schedules whose past due times are few enough to be listed. */
function useMissed(schedules: readonly ScheduleView[], runs: readonly InstanceSummary[]): number[] {
  const ids = new Set(runs.map(({ instanceId }) => instanceId));
  const oldest = (id: string): number | undefined =>
    runs.findLast(({ instanceId }) => instanceId.startsWith(`${id}/`))?.createdAt;
  const now = Math.floor(serverNow() / 60_000) * 60_000;
  const asked = schedules.flatMap(({ scheduleId, spec, isEnabled }) => {
    const from = oldest(scheduleId);
    return from === undefined || !isEnabled || !("cron" in spec.every)
      ? []
      : [{ scheduleId, every: spec.every, from: from - 60_000 }];
  });
  return useQueries({
    queries: asked.map(({ every, from, scheduleId }) => ({
      queryKey: ["past-due", scheduleId, every, from],
      queryFn: () => call("previewSchedule", { body: { every, from, count: dueMax } }),
      staleTime: 300_000,
    })),
    combine: (results) =>
      results.flatMap(({ data }, number) => {
        const { scheduleId = "" } = asked[number] ?? {};
        const times = data?.times ?? [];
        const isWhole = times.length < dueMax || (times.at(-1) ?? 0) > now;
        // A run that is due this minute may be about to start.
        return isWhole
          ? missedTimes(
              scheduleId,
              times.filter((at) => at < now - 60_000),
              ids,
            )
          : [];
      }),
  });
}

interface DayProps {
  readonly day: CalendarDay;
  readonly workflow: string;
  readonly zone: Zone;
  readonly isToday: boolean;
}

function Day({ day, workflow, zone, isToday }: DayProps) {
  const text = useText(workflowsText);
  const date = formatDate(day.from, zone);
  const failed = day.tones.get("failed") ?? 0;
  const parts = [
    text.dayRuns(day.runs),
    ...(failed > 0 ? [text.dayFailed(failed)] : []),
    ...(day.notRun > 0 ? [text.dayNotRun(day.notRun)] : []),
  ];
  const number = <span className="calendar-date">{Number(date.slice(8))}</span>;
  if (day.runs === 0) {
    return (
      <div className="calendar-day" data-future={day.isFuture} data-today={isToday}>
        {number}
        {day.notRun > 0 && <span className="calendar-missed">{text.dayNotRun(day.notRun)}</span>}
      </div>
    );
  }
  const ends = { from: new Date(day.from).toISOString(), to: new Date(day.to - 1).toISOString() };
  return (
    <Link
      className="calendar-day"
      data-today={isToday}
      to={`/instances?${new URLSearchParams({ workflow, ...ends })}`}
      title={`${date}: ${parts.join(", ")}`}
    >
      <span className="visually-hidden">{`${date}: ${parts.join(", ")}`}</span>
      {number}
      <span className="calendar-count" aria-hidden="true">
        {formatCount(day.runs)}
      </span>
      {failed > 0 && (
        <span className="calendar-failed" aria-hidden="true">
          ✕ {failed}
        </span>
      )}
      {day.notRun > 0 && (
        <span className="calendar-missed" aria-hidden="true">
          {text.dayNotRun(day.notRun)}
        </span>
      )}
      <span className="calendar-bar" aria-hidden="true">
        {toneOrder
          .filter((tone) => day.tones.has(tone))
          .map((tone) => (
            <span key={tone} className={`tone-${tone}`} style={{ flexGrow: day.tones.get(tone) ?? 0 }} />
          ))}
      </span>
    </Link>
  );
}
