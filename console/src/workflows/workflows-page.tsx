import { useQuery } from "@tanstack/react-query";
import { Button, Input } from "antd";
import { useMemo, useState } from "react";
import { call } from "../api/client.ts";
import type { InstanceSummary, ScheduleView, WorkflowSummary } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { NewWorkflowDialog } from "../editor/new-workflow-dialog.tsx";
import { changeQuery, navigate, usePlace, workflowPath } from "../base/place.ts";
import { useChanges, useThrottled } from "../live/use-live.ts";
import { Link } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, PageHead } from "../parts/page.tsx";
import { Strip } from "../parts/strip.tsx";
import { timingText } from "../schedules/schedule-timing.ts";
import { schedulesOf, useSchedules } from "../schedules/use-schedules.ts";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

/** The newest instances of all workflows, for their strips. */
function useRecentRuns(): ReadonlyMap<string, readonly InstanceSummary[]> {
  const recent = useQuery({
    queryKey: ["recent-runs"],
    queryFn: () => call("listInstances", { query: { limit: 1000 } }),
    refetchInterval: 30_000,
  });
  const readAgain = useThrottled(() => void recent.refetch(), 2000);
  useChanges({ all: true }, readAgain, readAgain);
  return useMemo(() => {
    const runs = new Map<string, InstanceSummary[]>();
    for (const instance of recent.data?.items ?? []) {
      const known = runs.get(instance.workflowName);
      if (known === undefined) runs.set(instance.workflowName, [instance]);
      else known.push(instance);
    }
    return runs;
  }, [recent.data]);
}

export function WorkflowsPage() {
  const text = useText(workflowsText);
  const mayOperate = useMay("operator");
  const { query } = usePlace();
  const search = query.get("q") ?? "";
  const runs = useRecentRuns();
  const [isNaming, setNaming] = useState(false);
  const workflows = useQuery({
    queryKey: ["workflows", search],
    queryFn: () => call("listWorkflows", { query: { limit: 1000, ...(search !== "" && { search }) } }),
    placeholderData: (before) => before,
  });
  return (
    <>
      <PageHead
        title={text.title}
        actions={mayOperate && <Button onClick={() => setNaming(true)}>{text.create}</Button>}
      />
      <div className="filters">
        <Input.Search
          className="grow"
          allowClear
          defaultValue={search}
          placeholder={text.search}
          aria-label={text.search}
          onSearch={(value) => changeQuery({ q: value.trim() })}
        />
      </div>
      <Loaded result={workflows}>
        {({ items }) => (
          <Card flush>
            {items.length === 0 ? (
              <EmptyState
                title={search === "" ? text.empty : text.noHits}
                icon="workflows"
                {...(search === "" && { command: "npx heddle dev workflows.ts --watch" })}
              >
                {search === "" && text.emptyHint}
              </EmptyState>
            ) : (
              <WorkflowTable items={items} runs={runs} mayStart={mayOperate} />
            )}
          </Card>
        )}
      </Loaded>
      {isNaming && <NewWorkflowDialog onClose={() => setNaming(false)} />}
    </>
  );
}

interface TableProps {
  readonly items: readonly WorkflowSummary[];
  readonly runs: ReadonlyMap<string, readonly InstanceSummary[]>;
  readonly mayStart: boolean;
}

function ScheduleCell({ schedules }: { readonly schedules: readonly ScheduleView[] }) {
  const text = useText(workflowsText);
  const [first] = schedules;
  if (first === undefined) return null;
  return (
    <>
      <span className="mono">{timingText(first.spec)}</span>{" "}
      <span className="quiet">
        {first.isEnabled && first.nextAt !== null ? <Moment at={first.nextAt} /> : text.off}
        {schedules.length > 1 && ` · ${text.moreSchedules(schedules.length - 1)}`}
      </span>
    </>
  );
}

function WorkflowTable({ items, runs, mayStart }: TableProps) {
  const text = useText(workflowsText);
  const schedules = useSchedules().data?.items ?? [];
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th>{text.name}</th>
            <th>{text.lastRuns}</th>
            <th className="hide-narrow">{text.kind}</th>
            <th className="number hide-narrow">{text.nodes}</th>
            <th className="hide-narrow">{text.schedule}</th>
            <th className="hide-narrow">{text.changed}</th>
            {mayStart && <th className="fit" aria-label={text.start} />}
          </tr>
        </thead>
        <tbody>
          {items.map((workflow) => (
            <tr key={workflow.name}>
              <td className="name">
                <Link to={workflowPath(workflow.name)}>{workflow.name}</Link>
              </td>
              <td>
                <Strip runs={runs.get(workflow.name) ?? []} max={24} />
              </td>
              <td className="hide-narrow quiet">
                {workflow.origin === "worker" ? text.codeOfWorkers : text[workflow.kind]}
              </td>
              <td className="number hide-narrow">{workflow.nodes ?? ""}</td>
              <td className="hide-narrow">
                <ScheduleCell schedules={schedulesOf(schedules, workflow.name)} />
              </td>
              <td className="hide-narrow quiet">{workflow.updatedAt !== null && <Moment at={workflow.updatedAt} />}</td>
              {mayStart && (
                <td className="fit">
                  <Button size="small" onClick={() => navigate(workflowPath(workflow.name, "start"))}>
                    {text.start}
                  </Button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
