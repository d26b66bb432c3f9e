import { useQueries } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { InstanceSummary, InstanceView, TaskView } from "../api/model.ts";
import { formatDuration } from "../base/format.ts";
import { instancePath } from "../base/place.ts";
import { hasEnded, toneOf } from "../base/status.ts";
import { Link } from "../parts/link.tsx";
import { Card, EmptyState } from "../parts/page.tsx";
import { Strip } from "../parts/strip.tsx";
import { useStatusWord } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

const runsMax = 30;
const rowsMax = 200;

/** Runs by tasks: weeks at a glance. A corner marks tasks that needed retries. */
export function RunGrid({ runs }: { readonly runs: readonly InstanceSummary[] }) {
  const text = useText(workflowsText);
  const shown = runs.slice(0, runsMax);
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
  return (
    <Card flush>
      <div className="table-wrap grid-wrap">
        <table className="grid">
          <thead>
            <tr>
              <th>{text.task}</th>
              <th colSpan={columns.length}>
                <Strip runs={shown} max={runsMax} />
              </th>
              <th className="number">{text.duration}</th>
            </tr>
          </thead>
          <tbody>
            {taskNames(views).map((name) => (
              <GridRow key={name} name={name} columns={columns} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** Tasks of all the runs, in the order of the newest; sub-tasks stand under their parents in the instance. */
function taskNames(views: readonly (InstanceView | undefined)[]): string[] {
  const names = new Set<string>();
  for (const view of views) {
    for (const task of view?.tasks ?? [])
      if (task.parentTask === undefined && names.size < rowsMax) names.add(task.name);
  }
  return [...names];
}

function GridRow({
  name,
  columns,
}: {
  readonly name: string;
  readonly columns: readonly (InstanceView | undefined)[];
}) {
  const text = useText(workflowsText);
  const word = useStatusWord();
  const cells = columns.map((view) => ({ view, task: view?.tasks.find((task) => task.name === name) }));
  const spent = cells.flatMap(({ task }) => durationOf(task)).sort((a, b) => a - b);
  const p95 = spent[Math.min(spent.length - 1, Math.floor(spent.length * 0.95))];
  return (
    <tr>
      <th scope="row" title={name}>
        {name}
      </th>
      {cells.map(({ view, task }, number) => {
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
    </tr>
  );
}

function durationOf(task: TaskView | undefined): number[] {
  return task?.startedAt === undefined || task.endedAt === undefined ? [] : [task.endedAt - task.startedAt];
}
