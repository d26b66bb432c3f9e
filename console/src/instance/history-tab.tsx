import { Input } from "antd";
import { useMemo, useState } from "react";
import type { HistoryTurn } from "../api/model.ts";
import { formatClock, formatExact, type Zone } from "../base/format.ts";
import { usePreferences } from "../base/preferences.ts";
import { JsonView } from "../parts/json-view.tsx";
import { EmptyState } from "../parts/page.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";

interface HistoryTabProps {
  readonly turns: readonly HistoryTurn[];
  readonly taskNames: ReadonlyMap<number, string>;
  /** Place of the turn that is shown; undefined for the last. */
  readonly place: number | undefined;
  readonly onTravel: (place: number) => void;
}

interface Line {
  readonly place: number;
  readonly turn: number;
  readonly number: number;
  readonly at: number;
  readonly isFirst: boolean;
  readonly event: HistoryTurn["events"][number];
}

const rowHeight = 30;

/** Events that a person looks for first. */
const loud: Readonly<Record<string, string>> = {
  TaskFailed: "failed",
  TasksStopped: "stopped",
  InstanceEnded: "paused",
  InstanceReopened: "paused",
  InstanceContinued: "paused",
  TaskInterrupted: "failed",
  TaskSucceeded: "success",
  TaskStarted: "running",
};

export function HistoryTab({ turns, taskNames, place, onTravel }: HistoryTabProps) {
  const text = useText(instanceText);
  const [wanted, setWanted] = useState("");
  const [open, setOpen] = useState<number>();
  const lines = useMemo(() => linesOf(turns), [turns]);
  const { zone } = usePreferences();
  const summaries = useSummaries(lines, taskNames, zone);
  const shown = useMemo(() => {
    const search = wanted.trim().toLowerCase();
    const isHit = (number: number): boolean => {
      return `${lines[number]?.event.type} ${summaries[number]}`.toLowerCase().includes(search);
    };
    return [...lines.keys()].filter((number) => search === "" || isHit(number));
  }, [lines, summaries, wanted]);
  const opened = open === undefined ? undefined : lines[open];
  const travelled = place === undefined ? undefined : shown.findIndex((number) => lines[number]?.place === place);
  return (
    <div className="tab-fill">
      <div className="tab-tools">
        <Input.Search
          size="small"
          allowClear
          placeholder={text.findEvent}
          aria-label={text.findEvent}
          onChange={(event) => setWanted(event.target.value)}
        />
        <span className="quiet small">{text.turns(turns.length)}</span>
      </div>
      {shown.length === 0 && <EmptyState title={text.noHits} icon="search" />}
      <VirtualRows count={shown.length} rowHeight={rowHeight} label={text.history} className="fill" shown={travelled}>
        {(row) => {
          const number = shown[row] ?? 0;
          const line = lines[number];
          if (line === undefined) return null;
          return (
            <div key={line.number} className="history-row" aria-current={line.place === place}>
              {line.isFirst ? (
                <button
                  type="button"
                  className="history-turn"
                  aria-label={`${text.turn} ${line.turn}`}
                  onClick={() => onTravel(line.place)}
                >
                  {line.turn}
                </button>
              ) : (
                <span />
              )}
              <span className="mono quiet history-time">{line.isFirst ? formatClock(line.at, zone) : ""}</span>
              <button
                type="button"
                className={`history-event tone-${loud[line.event.type] ?? "off"}`}
                onClick={() => setOpen(open === number ? undefined : number)}
              >
                <b>{line.event.type}</b>
                <span>{summaries[number]}</span>
              </button>
            </div>
          );
        }}
      </VirtualRows>
      {opened !== undefined && (
        <div className="history-detail">
          <JsonView value={opened.event} label={opened.event.type} />
        </div>
      )}
    </div>
  );
}

function linesOf(turns: readonly HistoryTurn[]): Line[] {
  return turns.flatMap(({ turn, at, firstEvent, events }, place) =>
    events.map((event, number) => ({ place, turn, at, event, number: firstEvent + number, isFirst: number === 0 })),
  );
}

function useSummaries(lines: readonly Line[], names: ReadonlyMap<number, string>, zone: Zone): readonly string[] {
  return useMemo(() => lines.map(({ event }) => summaryOf(event, names, zone)), [lines, names, zone]);
}

/** Fields that hold a moment; what began when is in the timeline. */
const momentFields = new Set(["dueAt", "retryAt", "wakeAt", "deadline"]);

/** The fields of an event in one line, tasks by their names. */
function summaryOf(event: HistoryTurn["events"][number], names: ReadonlyMap<number, string>, zone: Zone): string {
  const { type: _type, ...fields } = event as Record<string, unknown>;
  const nameOf = (task: unknown): string => names.get(task as number) ?? `#${String(task)}`;
  const parts: string[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (key === "task") parts.push(nameOf(value));
    else if (key === "tasks" && Array.isArray(value)) parts.push(value.slice(0, 6).map(nameOf).join(", "));
    else if (key === "failure") parts.push((value as { message: string }).message);
    else if (key === "startedAt") continue;
    else if (momentFields.has(key) && typeof value === "number") parts.push(`${key} ${formatExact(value, zone)}`);
    else if (typeof value === "string" || typeof value === "number") parts.push(`${key} ${value}`);
    else if (value !== null && value !== undefined) parts.push(key);
  }
  return parts.join(" · ").slice(0, 300);
}
