import { useQueries } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { InstanceSummary, InstanceView, TaskView } from "../api/model.ts";
import { formatDate, formatDuration } from "../base/format.ts";
import { changeQuery, instancePath, usePlace } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { hasEnded, toneOf } from "../base/status.ts";
import { Link } from "../parts/link.tsx";
import { Card, EmptyState } from "../parts/page.tsx";
import { Strip } from "../parts/strip.tsx";
import { useStatusWord } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

const runsMax = 30;
const rowsMax = 200;

type Column = InstanceView | undefined;

interface GridProps {
  /** Newest first, as many as are loaded. */
  readonly runs: readonly InstanceSummary[];
  /** Loads older ones; undefined if there are none. */
  readonly onOlder: (() => void) | undefined;
}

/** Runs by tasks: weeks at a glance. A corner marks tasks that needed retries. */
export function RunGrid({ runs, onOlder }: GridProps) {
  const text = useText(workflowsText);
  const { query } = usePlace();
  const [page, setPage] = useState(0);
  const shown = runs.slice(page * runsMax, (page + 1) * runsMax);
  const views = useQueries({
    queries: shown.map(({ instanceId, status, generation }) => ({
      queryKey: ["grid", instanceId, generation, status],
      queryFn: () => call("getInstance", { params: { id: instanceId } }),
      staleTime: hasEnded(status) ? Infinity : 5000,
    })),
    combine: (results) => results.map(({ data }) => data),
  });
  if (shown.length === 0) {
    return (
      <Card>
        <EmptyState title={text.noRuns} icon="instances" />
      </Card>
    );
  }
  const columns = views.toReversed();
  const rows = taskNames(views)
    .map((name) => gridRow(name, columns))
    .filter((row) => isWanted(row, query));
  const isLast = (page + 1) * runsMax >= runs.length;
  const older = (): void => {
    if ((page + 2) * runsMax > runs.length) onOlder?.();
    setPage(page + 1);
  };
  return (
    <Card flush>
      <GridTools
        onOlder={isLast && onOlder === undefined ? undefined : older}
        onNewer={page === 0 ? undefined : () => setPage(page - 1)}
      />
      <div className="table-wrap grid-wrap">
        <table className="grid">
          <thead>
            <DayHeads runs={shown.toReversed()} />
            <tr>
              <th>{text.task}</th>
              <th colSpan={columns.length}>
                <Strip runs={shown} max={runsMax} />
              </th>
              <th className="number">{text.duration}</th>
              <th className="number">{text.failedShort}</th>
              <th className="number">{text.retriesShort}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <TaskRow key={row.name} row={row} columns={columns} />
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p className="quiet grid-none">{text.noTasks}</p>}
      </div>
    </Card>
  );
}

interface ToolsProps {
  readonly onOlder: (() => void) | undefined;
  readonly onNewer: (() => void) | undefined;
}

function GridTools({ onOlder, onNewer }: ToolsProps) {
  const text = useText(workflowsText);
  const { query } = usePlace();
  const only = query.get("only");
  const choices = { failed: text.onlyFailed, flaky: text.onlyFlaky };
  return (
    <div className="grid-tools">
      <Input
        size="small"
        allowClear
        className="grid-find"
        placeholder={text.findTask}
        aria-label={text.findTask}
        defaultValue={query.get("find") ?? ""}
        onChange={({ target }) => changeQuery({ find: target.value.trim() }, { replace: true })}
      />
      <div className="chips" role="group" aria-label={text.task}>
        {Object.entries(choices).map(([key, label]) => (
          <button
            key={key}
            type="button"
            className={`chip tone-${key === "failed" ? "failed" : "waiting"}`}
            aria-pressed={only === key}
            onClick={() => changeQuery({ only: only === key ? undefined : key }, { replace: true })}
          >
            {label}
          </button>
        ))}
      </div>
      <span className="grid-pages">
        <Button size="small" disabled={onOlder === undefined} onClick={onOlder}>
          ← {text.older}
        </Button>
        <Button size="small" disabled={onNewer === undefined} onClick={onNewer}>
          {text.newer} →
        </Button>
      </span>
    </div>
  );
}

/** The days of the runs, each above the runs that it has. */
function DayHeads({ runs }: { readonly runs: readonly InstanceSummary[] }) {
  const { zone } = usePreferences();
  const days = new Map<string, number>();
  for (const { createdAt } of runs) {
    const day = formatDate(createdAt, zone);
    days.set(day, (days.get(day) ?? 0) + 1);
  }
  return (
    <tr className="grid-days">
      <td />
      {[...days].map(([day, count]) => (
        <td key={day} colSpan={count}>
          <span>{count > 1 ? day.slice(5) : day.slice(8)}</span>
        </td>
      ))}
    </tr>
  );
}

interface TaskRowData {
  readonly name: string;
  readonly tasks: readonly (TaskView | undefined)[];
  readonly failed: number;
  readonly retries: number;
}

function gridRow(name: string, columns: readonly Column[]): TaskRowData {
  const tasks = columns.map((view) => view?.tasks.find((task) => task.name === name));
  return {
    name,
    tasks,
    failed: tasks.filter((task) => task !== undefined && toneOf(task.status) === "failed").length,
    retries: tasks.reduce((sum, task) => sum + Math.max(0, (task?.attempt ?? 1) - 1), 0),
  };
}

function isWanted({ name, failed, retries }: TaskRowData, query: URLSearchParams): boolean {
  const only = query.get("only");
  if (!name.toLowerCase().includes((query.get("find") ?? "").toLowerCase())) return false;
  return only === "failed" ? failed > 0 : only === "flaky" ? retries > 0 : true;
}

/** Tasks of all the runs, in the order of the newest; sub-tasks stand under their parents in the instance. */
function taskNames(views: readonly Column[]): string[] {
  const names = new Set<string>();
  for (const view of views) {
    for (const task of view?.tasks ?? [])
      if (task.parentTask === undefined && names.size < rowsMax) names.add(task.name);
  }
  return [...names];
}

function TaskRow({ row, columns }: { readonly row: TaskRowData; readonly columns: readonly Column[] }) {
  const text = useText(workflowsText);
  const word = useStatusWord();
  const { name, tasks, failed, retries } = row;
  const spent = tasks.flatMap(durationOf).sort((a, b) => a - b);
  const p95 = spent[Math.min(spent.length - 1, Math.floor(spent.length * 0.95))];
  return (
    <tr>
      <th scope="row" title={name}>
        {name}
      </th>
      {columns.map((view, number) => {
        const task = tasks[number];
        if (view === undefined || task === undefined) return <td key={view?.instanceId ?? number} />;
        const flaky = task.attempt > 1 ? `, ${text.flaky}` : "";
        const label = `${name}: ${word(task.status)}${flaky}`;
        return (
          <td key={view.instanceId}>
            <Link
              to={`${instancePath(view.instanceId)}?task=${encodeURIComponent(name)}`}
              className={`grid-cell tone-${toneOf(task.status)} ${task.attempt > 1 ? "grid-flaky" : ""}`}
              title={label}
              aria-label={label}
            />
          </td>
        );
      })}
      <td className="number quiet">{p95 === undefined ? "" : formatDuration(p95)}</td>
      <td className="number grid-failed">{failed === 0 ? "" : failed}</td>
      <td className="number quiet">{retries === 0 ? "" : retries}</td>
    </tr>
  );
}

function durationOf(task: TaskView | undefined): number[] {
  return task?.startedAt === undefined || task.endedAt === undefined ? [] : [task.endedAt - task.startedAt];
}
