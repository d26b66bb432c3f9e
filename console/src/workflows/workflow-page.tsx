import { useQuery } from "@tanstack/react-query";
import { Button, Tabs } from "antd";
import { lazy, Suspense, useMemo, useState } from "react";
import { call } from "../api/client.ts";
import type { ScheduleView, WorkflowDetail } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { changeQuery, navigate, usePlace, workflowPath } from "../base/place.ts";
import { type Definition, definitionModel } from "../graph/definition-model.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { InstanceTable } from "../instances/instance-table.tsx";
import { ListFoot } from "../instances/list-foot.tsx";
import { useInstances } from "../instances/use-instances.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, Loading, PageHead } from "../parts/page.tsx";
import { Strip } from "../parts/strip.tsx";
import { timingText } from "../schedules/schedule-timing.ts";
import { schedulesOf, useSchedules } from "../schedules/use-schedules.ts";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";
import { RunGrid } from "./run-grid.tsx";
import { StartDialog } from "./start-dialog.tsx";
import { VersionsTab } from "./versions-tab.tsx";
import { WorkflowScheduleTab } from "./workflow-schedule-tab.tsx";
import "../styles/instance.css";

const GraphView = lazy(() => import("../graph/graph-view.tsx").then((m) => ({ default: m.GraphView })));

const tabNames = ["graph", "runs", "grid", "schedule", "versions"] as const;

export function WorkflowPage({ name, tab }: { readonly name: string; readonly tab: string | undefined }) {
  const workflow = useQuery({
    queryKey: ["workflow", name],
    queryFn: () => call("getWorkflow", { params: { id: name } }),
  });
  return (
    <Loaded result={workflow}>
      {(detail) => (
        <>
          <WorkflowBody workflow={detail} tab={tabNames.find((each) => each === tab) ?? "graph"} />
          {tab === "start" && <StartPart workflow={detail} />}
        </>
      )}
    </Loaded>
  );
}

/** The form of a start has an address of its own, also with the input of an instance to begin with. */
function StartPart({ workflow }: { readonly workflow: WorkflowDetail }) {
  const { query } = usePlace();
  const mayOperate = useMay("operator");
  if (!mayOperate) return null;
  return (
    <StartDialog
      workflow={workflow}
      from={query.get("from") ?? undefined}
      onClose={() => navigate(workflowPath(workflow.name), { replace: true })}
    />
  );
}

interface BodyProps {
  readonly workflow: WorkflowDetail;
  readonly tab: (typeof tabNames)[number];
}

function WorkflowBody({ workflow, tab }: BodyProps) {
  const text = useText(workflowsText);
  const { name } = workflow;
  const { rows, list } = useInstances(
    { workflow: name, status: undefined, idPrefix: undefined, createdFrom: undefined, createdTo: undefined },
    true,
  );
  const all = useSchedules().data?.items ?? [];
  const schedules = schedulesOf(all, name);
  const runs = (
    <Card flush>
      {rows.length === 0 && list.data !== undefined ? (
        <EmptyState title={text.noRuns} icon="instances" command={`npx heddle run ${name}`} />
      ) : (
        <>
          <InstanceTable rows={rows} selection={null} showsWorkflow={false} />
          {rows.length > 0 && <ListFoot list={list} rows={rows} />}
        </>
      )}
    </Card>
  );
  const contents = {
    graph: <DefinitionTab workflow={workflow} />,
    runs,
    grid: <RunGrid runs={rows} onOlder={list.hasNextPage ? () => void list.fetchNextPage() : undefined} />,
    schedule: <WorkflowScheduleTab workflow={workflow} schedules={schedules} />,
    versions: <VersionsTab workflow={workflow} />,
  };
  return (
    <>
      <WorkflowHead workflow={workflow} schedules={schedules} strip={<Strip runs={rows} />} />
      <Tabs
        size="small"
        activeKey={tab}
        onChange={(key) => navigate(workflowPath(name, key), { replace: true })}
        items={tabNames.map((key) => ({ key, label: text[key] }))}
      />
      {contents[tab]}
    </>
  );
}

interface HeadProps {
  readonly workflow: WorkflowDetail;
  readonly schedules: readonly ScheduleView[];
  readonly strip: React.ReactNode;
}

function WorkflowHead({ workflow, schedules, strip }: HeadProps) {
  const text = useText(workflowsText);
  const mayOperate = useMay("operator");
  const [operation, setOperation] = useState<Operation>();
  const { name, version, warning } = workflow;
  const isSaved = workflow.origin === "catalogue";
  const remove: Operation = {
    key: "remove",
    label: text.remove,
    sentence: text.removeSays(name),
    isDangerous: true,
    run: async () => {
      await call("deleteWorkflow", { params: { id: name } });
      navigate("/workflows");
    },
  };
  const actions = mayOperate && (
    <>
      <Button type="primary" onClick={() => navigate(workflowPath(name, "start"))}>
        {text.start}
      </Button>
      {workflow.kind === "dag" && <Button onClick={() => navigate(workflowPath(name, "edit"))}>{text.edit}</Button>}
      {isSaved && (
        <Button danger onClick={() => setOperation(remove)}>
          {text.remove}
        </Button>
      )}
    </>
  );
  return (
    <>
      <PageHead
        title={name}
        detail={
          <>
            <span className="quiet">{workflow.origin === "worker" ? text.codeOfWorkers : text[workflow.kind]}</span>
            <span className="mono quiet">{version.slice(0, 12)}</span>
          </>
        }
        actions={actions}
      />
      <div className="workflow-facts">
        {strip}
        {schedules[0] !== undefined && <NextRun schedule={schedules[0]} more={schedules.length - 1} />}
      </div>
      {warning !== null && <p className="problem tone-waiting">{warning}</p>}
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </>
  );
}

/** When the schedule that is due first starts it; there may be others. */
function NextRun({ schedule, more }: { readonly schedule: ScheduleView; readonly more: number }) {
  const text = useText(workflowsText);
  const { spec, isEnabled, nextAt } = schedule;
  return (
    <span>
      <span className="mono">{timingText(spec)}</span>{" "}
      {isEnabled && nextAt !== null ? (
        <>
          <span className="quiet">· {text.next}</span> <Moment at={nextAt} />
        </>
      ) : (
        <span className="quiet">· {text.off}</span>
      )}
      {more > 0 && <span className="quiet"> · {text.moreSchedules(more)}</span>}
    </span>
  );
}

function DefinitionTab({ workflow }: { readonly workflow: WorkflowDetail }) {
  const text = useText(workflowsText);
  const { query } = usePlace();
  const selected = query.get("task") ?? undefined;
  const spec = workflow.dagSpec as Definition | null;
  const model = useMemo(() => (spec === null ? undefined : definitionModel(spec)), [spec]);
  if (model === undefined || spec === null) {
    return (
      <Card>
        <EmptyState title={text.codeGraph} icon="jobs">
          <p>{text.codeGraphHint}</p>
        </EmptyState>
      </Card>
    );
  }
  const node = spec.nodes.find(({ nodeId }) => String(nodeId) === selected);
  return (
    <div className={node === undefined ? "" : "definition-columns"}>
      <div className="card card-flush definition-graph">
        <Suspense fallback={<Loading />}>
          <GraphView
            model={model}
            selected={selected}
            onSelect={(id) => changeQuery({ task: id }, { replace: true })}
          />
        </Suspense>
      </div>
      {node !== undefined && (
        <Card title={node.nodeName ?? String(node.nodeId)}>
          <JsonView value={node} label={text.definition} />
        </Card>
      )}
    </div>
  );
}
