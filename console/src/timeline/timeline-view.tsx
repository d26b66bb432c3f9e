import { Select, Switch, Tooltip } from "antd";
import { useMemo, useState } from "react";
import { formatClock, formatDuration } from "../base/format.ts";
import { usePreferences, type Preferences } from "../base/preferences.ts";
import { useNow } from "../base/server-clock.ts";
import { toneOf } from "../base/status.ts";
import { EmptyState } from "../parts/page.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { useText } from "../text/define-text.ts";
import { timelineText } from "../text/timeline-text.ts";
import { type Bar, criticalPath, type Row, type Timeline } from "./attempts.ts";
import "../styles/timeline.css";

interface TimelineViewProps {
  readonly timeline: Timeline;
  readonly selected: string | undefined;
  readonly onSelect: (task: string | undefined) => void;
  /** The moment that is shown; undefined for now. */
  readonly at: number | undefined;
}

const rowHeight = 26;

export function TimelineView({ timeline, selected, onSelect, at }: TimelineViewProps) {
  const text = useText(timelineText);
  const [generation, setGeneration] = useState<number>(0);
  const [showsCritical, setShowsCritical] = useState(false);
  const now = useNow();
  const rows = useMemo(
    () => (generation === 0 ? timeline.rows : timeline.rows.filter((row) => row.generation === generation)),
    [timeline, generation],
  );
  const path = useMemo(() => (showsCritical ? criticalPath(rows) : undefined), [showsCritical, rows]);
  if (rows.length === 0) return <EmptyState title={text.empty} icon="schedules" />;
  const from = generation === 0 ? timeline.from : Math.min(...rows.map(({ bars }) => bars[0]?.from ?? Infinity));
  const ends = rows.flatMap(({ bars }) => bars.map(({ to }) => to ?? now));
  const to = at ?? Math.max(from + 1, ...(ends.length < 10_000 ? ends : [timeline.to ?? now]));
  const scale = { from, to: Math.max(from + 1, to) };
  const options = [
    { value: 0, label: text.allGenerations },
    ...Array.from({ length: timeline.generations }, (_, place) => ({
      value: place + 1,
      label: text.generation(place + 1),
    })),
  ];
  return (
    <div className="timeline">
      <div className="timeline-tools">
        {timeline.generations > 1 && (
          <Select
            size="small"
            value={generation}
            options={options}
            onChange={setGeneration}
            aria-label={text.allGenerations}
          />
        )}
        <label className="inline-field">
          <Switch size="small" checked={showsCritical} onChange={setShowsCritical} aria-label={text.critical} />
          {path === undefined ? text.critical : text.criticalShare(criticalShare(rows, path, scale))}
        </label>
        <Legend />
      </div>
      <Axis {...scale} />
      <VirtualRows count={rows.length} rowHeight={rowHeight} label={text.label} className="timeline-rows">
        {(number) => {
          const row = rows[number];
          if (row === undefined) return null;
          return (
            <TimelineRow
              key={row.key}
              row={row}
              scale={scale}
              now={at ?? now}
              isSelected={row.name === selected}
              isDim={path !== undefined && !path.has(row.key)}
              onSelect={() => onSelect(row.kind === "task" ? row.name : undefined)}
            />
          );
        }}
      </VirtualRows>
    </div>
  );
}

interface Scale {
  readonly from: number;
  readonly to: number;
}

function criticalShare(rows: readonly Row[], path: ReadonlySet<string>, { from, to }: Scale): string {
  const spent = rows
    .filter(({ key }) => path.has(key))
    .flatMap(({ bars }) => bars)
    .reduce((sum, bar) => sum + Math.max(0, (bar.to ?? to) - bar.from), 0);
  return `${Math.min(100, Math.round((spent / (to - from)) * 100))} %`;
}

function Legend() {
  const text = useText(timelineText);
  return (
    <ul className="timeline-legend" aria-hidden="true">
      <li>
        <i className="bar bar-queue tone-waiting" /> {text.legendQueue}
      </li>
      <li>
        <i className="bar bar-run tone-running" /> {text.legendRun}
      </li>
      <li>
        <i className="bar bar-backoff tone-failed" /> {text.legendBackoff}
      </li>
      <li>
        <i className="bar bar-timer tone-off" /> {text.legendTimer}
      </li>
    </ul>
  );
}

const ticks = 6;

function Axis({ from, to }: Scale) {
  const { zone } = usePreferences();
  const span = to - from;
  return (
    <div className="timeline-axis" aria-hidden="true">
      <span className="timeline-name quiet">{formatDuration(span)}</span>
      <div className="timeline-track">
        {Array.from({ length: ticks }, (_, place) => {
          const share = place / ticks;
          return (
            <span key={share} className="tick" style={{ left: `${share * 100}%` }}>
              {tickText(from, span * share, span, zone)}
            </span>
          );
        })}
      </div>
    </div>
  );
}

function tickText(from: number, offset: number, span: number, zone: Preferences["zone"]): string {
  if (offset === 0) return formatClock(from, zone).slice(0, 8);
  return span > 86_400_000 ? formatClock(from + offset, zone).slice(0, 5) : `+${formatDuration(offset)}`;
}

interface RowProps {
  readonly row: Row;
  readonly scale: Scale;
  readonly now: number;
  readonly isSelected: boolean;
  readonly isDim: boolean;
  readonly onSelect: () => void;
}

function TimelineRow({ row, scale, now, isSelected, isDim, onSelect }: RowProps) {
  const text = useText(timelineText);
  return (
    <div className={`timeline-row ${isDim ? "dim" : ""}`} aria-current={isSelected}>
      <button type="button" className="timeline-name" onClick={onSelect} title={row.name}>
        {row.kind === "timer" ? row.name.replace("timer", text.timer) : row.name}
      </button>
      <div className="timeline-track">
        {row.bars
          .filter((bar) => bar.from <= now)
          .map((bar) => (
            <BarView key={`${bar.kind}${bar.from}${bar.attempt}`} bar={bar} scale={scale} now={now} />
          ))}
      </div>
    </div>
  );
}

function BarView({ bar, scale, now }: { readonly bar: Bar; readonly scale: Scale; readonly now: number }) {
  const text = useText(timelineText);
  const to = Math.min(bar.to ?? now, now);
  const span = scale.to - scale.from;
  const left = Math.max(0, ((bar.from - scale.from) / span) * 100);
  const width = Math.max(0, ((to - bar.from) / span) * 100);
  const isOver = bar.to !== undefined && bar.to <= now;
  const what = {
    queue: text.queue,
    run: text.run(bar.attempt),
    backoff: text.backoff,
    timer: text.timer,
    lost: text.lost,
  };
  const title = (
    <>
      {what[bar.kind]} · {formatDuration(to - bar.from)}
      {bar.worker !== undefined && <div>{text.onWorker(bar.worker)}</div>}
      {bar.kind === "run" && bar.message !== undefined && <div>{bar.message}</div>}
    </>
  );
  return (
    <Tooltip title={title}>
      <i
        className={`bar bar-${bar.kind} tone-${toneFor(bar, isOver)} ${isOver ? "" : "bar-open"}`}
        style={{ left: `${Math.min(left, 99.6)}%`, width: `max(3px, ${Math.min(width, 100 - left)}%)` }}
      >
        {bar.kind === "run" && bar.attempt > 1 && width > 3 ? bar.attempt : ""}
      </i>
    </Tooltip>
  );
}

function toneFor(bar: Bar, isOver: boolean): string {
  if (bar.kind === "queue") return "waiting";
  if (bar.kind === "backoff") return "failed";
  if (bar.kind === "timer") return isOver ? "off" : "waiting";
  return toneOf(isOver ? bar.status : "Running");
}
