import { useQuery } from "@tanstack/react-query";
import { Button } from "antd";
import { call } from "../api/client.ts";
import type { HistoryTurn, InstanceView, TaskView, Topology } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { instancePath } from "../base/place.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Link } from "../parts/link.tsx";
import { TimeSpan } from "../parts/moment.tsx";
import { StatusMark, StatusTag } from "../parts/status-tag.tsx";
import type { Row } from "../timeline/attempts.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { operationText } from "../text/operation-text.ts";
import { AttemptList, FailureText } from "./attempt-list.tsx";
import { MapSummary } from "./map-summary.tsx";
import type { Operation } from "./operation-dialog.tsx";
import { taskOperations } from "./operations.ts";
import { ReportedProgress } from "./reported-progress.tsx";
import { outputOf } from "./task-output.ts";
import { useTaskWaitSentence } from "./wait-sentence.ts";

interface TaskPanelProps {
  readonly view: InstanceView;
  readonly task: TaskView;
  readonly topology: Topology | undefined;
  readonly rows: readonly Row[];
  readonly turns: readonly HistoryTurn[];
  readonly isPast: boolean;
  readonly onClose: () => void;
  readonly onLogs: () => void;
  readonly onItems: (status: string | undefined) => void;
  readonly onOperation: (operation: Operation) => void;
}

export function TaskPanel(props: TaskPanelProps) {
  const { view, task, topology, rows, turns, isPast, onClose, onLogs, onItems, onOperation } = props;
  const text = useText(instanceText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const operations = mayOperate && !isPast ? taskOperations({ view, task, topology, text: words }) : [];
  const wait = useTaskWaitSentence()(task);
  return (
    <section className="task-panel">
      <header className="panel-head">
        <StatusMark status={task.status} />
        <h2 title={task.name}>{task.name}</h2>
        <button type="button" className="copy-button" onClick={onClose} aria-label={text.close}>
          <Icon name="close" size={14} />
        </button>
      </header>
      <dl className="facts">
        <Fact label={text.status}>
          <StatusTag status={task.status} />
        </Fact>
        {task.job !== undefined && <Fact label={text.job}>{task.job}</Fact>}
        <Fact label={text.duration}>
          <TimeSpan from={task.startedAt} to={task.endedAt} runs={task.status === "Running" && !isPast} />
        </Fact>
        {task.worker !== undefined && <Fact label={text.worker}>{task.worker}</Fact>}
        {wait !== undefined && <Fact label={text.wait}>{wait}</Fact>}
        {task.childInstanceId !== undefined && (
          <Fact label={text.child}>
            <Link className="link" to={instancePath(task.childInstanceId)}>
              {text.openChild}
            </Link>
          </Fact>
        )}
      </dl>
      <TaskProgress view={view} task={task} isPast={isPast} />
      <div className="panel-actions">
        {operations.map((operation) => (
          <Button
            key={operation.key}
            size="small"
            danger={operation.isDangerous === true}
            onClick={() => onOperation(operation)}
          >
            {operation.label}
          </Button>
        ))}
        <Button size="small" onClick={onLogs}>
          {text.logs}
        </Button>
      </div>
      <MapSummary instanceId={view.instanceId} task={task} isPast={isPast} onItems={onItems} />
      <TaskAttempts task={task} rows={rows.filter(({ name }) => name === task.name)} />
      <TaskOutput task={task} turns={turns} view={view} isPast={isPast} />
    </section>
  );
}

/** Attempts that are worth a look: several, or one that failed. */
function TaskAttempts({ task, rows }: Pick<TaskPanelProps, "task" | "rows">) {
  const text = useText(instanceText);
  const runs = rows.flatMap(({ bars }) => bars.filter(({ kind }) => kind === "run"));
  if (runs.length > 1 || runs.some(({ failure }) => failure !== undefined)) {
    return (
      <>
        <h3>{text.attempts}</h3>
        <AttemptList rows={rows} />
      </>
    );
  }
  if (task.failure === undefined) return null;
  return (
    <>
      <h3>{text.lastFailure}</h3>
      <FailureText failure={task.failure} isOpen />
    </>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

function TaskProgress({ view, task, isPast }: Pick<TaskPanelProps, "view" | "task" | "isPast">) {
  const isWanted = task.status === "Running" && !isPast;
  const details = useQuery({
    queryKey: ["node", view.instanceId, task.name],
    queryFn: () => call("getNode", { params: { id: view.instanceId, nodeId: task.name } }),
    enabled: isWanted,
    refetchInterval: 1000,
  });
  const progress = details.data?.progress;
  return isWanted && progress !== undefined ? <ReportedProgress progress={progress} /> : null;
}

/** The output from the history; a large one, which the history only refers to, is read. */
function TaskOutput({ task, turns, view, isPast }: Pick<TaskPanelProps, "task" | "turns" | "view" | "isPast">) {
  const text = useText(instanceText);
  const found = outputOf(turns, task.number, view.generation);
  const isLarge = found !== undefined && "ref" in found;
  const read = useQuery({
    queryKey: ["output", view.instanceId, view.generation, task.name],
    queryFn: () => call("getResult", { params: { id: view.instanceId }, query: { task: task.name } }),
    enabled: isLarge && !isPast && view.kind === "dag",
  });
  if (found === undefined || task.status !== "Success") return null;
  return (
    <>
      <h3>{text.output}</h3>
      <JsonView value={isLarge ? read.data?.output : found.value} label={text.output} />
    </>
  );
}
