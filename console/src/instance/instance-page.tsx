import { Button, Dropdown, Tabs } from "antd";
import { useCallback, useMemo, useState } from "react";
import { HeddleClientError } from "../../../src/client/client-error.ts";
import { isJobWorkflowName } from "../../../src/kernel/event.ts";
import type { HistoryTurn, InstanceView } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { formatClock, shortId } from "../base/format.ts";
import { changeQuery, instancePath, navigate, usePlace, workflowPath } from "../base/place.ts";
import { usePreferences } from "../base/preferences.ts";
import { hasEnded } from "../base/status.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Link } from "../parts/link.tsx";
import { Moment, TimeSpan } from "../parts/moment.tsx";
import { EmptyState, Loading, Problem } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useKeys } from "../shell/keys.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { operationText } from "../text/operation-text.ts";
import { timelineOf } from "../timeline/attempts.ts";
import { TimelineView } from "../timeline/timeline-view.tsx";
import { DataTab } from "./data-tab.tsx";
import { GraphTab } from "./graph-tab.tsx";
import { HistoryTab } from "./history-tab.tsx";
import { ItemsTab } from "./items-tab.tsx";
import { LogsTab } from "./logs-tab.tsx";
import { type Operation, OperationDialog } from "./operation-dialog.tsx";
import { instanceOperations } from "./operations.ts";
import { QuarantinedInstance } from "./quarantined-instance.tsx";
import { Replay } from "./replay.ts";
import { TaskPanel } from "./task-panel.tsx";
import { traceIdOf } from "./task-output.ts";
import { TasksTab } from "./tasks-tab.tsx";
import { TimeSlider } from "./time-slider.tsx";
import { useHistory, useInstance, useTopology } from "./use-instance.ts";
import { WhyPanel } from "./why-panel.tsx";
import "../styles/instance.css";

const tabNames = ["graph", "timeline", "tasks", "items", "history", "logs", "data"] as const;
type TabName = (typeof tabNames)[number];

const noTurns: readonly HistoryTurn[] = [];

export function InstancePage({ id, tab }: { readonly id: string; readonly tab: string | undefined }) {
  const text = useText(instanceText);
  const instance = useInstance(id);
  const { data: view, error } = instance;
  if (view !== undefined) return <InstanceBody live={view} tab={tabNames.find((name) => name === tab) ?? "graph"} />;
  if (error === null) return <Loading rows={10} />;
  const code = error instanceof HeddleClientError ? error.code : "";
  if (code === "INSTANCE_UNKNOWN") {
    return (
      <EmptyState title={text.unknown} icon="instances">
        <p className="mono">{id}</p>
        <p>{text.unknownHint}</p>
      </EmptyState>
    );
  }
  if (code === "INSTANCE_QUARANTINED") return <QuarantinedInstance id={id} error={error} />;
  return <Problem error={error} onRetry={() => void instance.refetch()} />;
}

/** The moment that the page shows: now, or the turn in the address. */
function useTravel(
  live: InstanceView,
  turns: readonly HistoryTurn[],
  topology: ReturnType<typeof useTopology>["data"],
) {
  const { query } = usePlace();
  const wanted = query.get("at");
  const place = wanted === null ? undefined : turns.findIndex(({ turn }) => turn === Number(wanted));
  const isPast = place !== undefined && place >= 0;
  const isReady = live.kind === "code" || topology !== undefined;
  const replay = useMemo(
    () => (isPast && isReady ? new Replay(turns, live, topology) : undefined),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the past does not change with the present
    [isPast, isReady, turns, topology],
  );
  const past = useMemo(() => (isPast && replay !== undefined ? replay.at(place) : undefined), [replay, isPast, place]);
  const travel = useCallback(
    (to: number | undefined): void => {
      const turn = to === undefined ? undefined : turns[to]?.turn;
      changeQuery({ at: turn === undefined ? undefined : String(turn) }, { replace: true });
    },
    [turns],
  );
  return { past, place: isPast ? place : undefined, travel };
}

/** Opens a tab by its name; the keys `[` and `]` go from one to the next. */
function useTabs(id: string, tab: TabName, names: readonly TabName[]): (name: string) => void {
  const open = (name: string): void => {
    navigate(`${instancePath(id, name)}${location.search}`, { replace: true });
  };
  const turn = (step: number): void => {
    const next = names[(names.indexOf(tab) + step + names.length) % names.length];
    if (next !== undefined) open(next);
  };
  useKeys({ "[": () => turn(-1), "]": () => turn(1) });
  return open;
}

function InstanceBody({ live, tab }: { readonly live: InstanceView; readonly tab: TabName }) {
  const text = useText(instanceText);
  const { query } = usePlace();
  const id = live.instanceId;
  const history = useHistory(id);
  const topology = useTopology(live).data;
  const turns = history.data ?? noTurns;
  const timeline = useMemo(() => timelineOf(live, turns), [live, turns]);
  const { past, place, travel } = useTravel(live, turns, topology);
  const view = past?.view ?? live;
  const [operation, setOperation] = useState<Operation>();
  const selected = query.get("task") ?? undefined;
  const task = selected === undefined ? undefined : view.tasks.find(({ name }) => name === selected);
  const select = useCallback((name: string | undefined): void => changeQuery({ task: name }, { replace: true }), []);
  const shownTurns = place === undefined ? turns : turns.slice(0, place + 1);
  const maps = useMemo(() => view.tasks.filter(({ items }) => items !== undefined), [view.tasks]);
  const shownTabs = tabNames.filter((name) => name !== "items" || maps.length > 0 || tab === "items");
  const openTab = useTabs(id, tab, shownTabs);
  const names = useMemo(() => new Map(live.tasks.map(({ number, name }) => [number, name])), [live.tasks]);
  const taskNames = useMemo(() => live.tasks.slice(0, 500).map(({ name }) => name), [live.tasks]);
  const contents: Record<TabName, React.ReactNode> = {
    graph: <GraphTab view={view} topology={topology} turns={shownTurns} selected={selected} onSelect={select} />,
    timeline: <TimelineView timeline={timeline} selected={selected} onSelect={select} at={past?.at} />,
    tasks: <TasksTab view={view} selected={selected} onSelect={select} />,
    items: <ItemsTab view={view} maps={maps} isPast={past !== undefined} />,
    history: <HistoryTab turns={turns} taskNames={names} place={place} onTravel={travel} />,
    logs: <LogsTab id={id} isOver={hasEnded(live.status)} task={selected} onTask={select} taskNames={taskNames} />,
    data: <DataTab view={view} turns={turns} pastContext={past?.context} />,
  };
  const panel = { view, topology, rows: timeline.rows, isPast: past !== undefined, onOperation: setOperation };
  return (
    <div className="instance">
      <InstanceHead view={view} isPast={past !== undefined} traceId={traceIdOf(turns)} onOperation={setOperation} />
      {past !== undefined && (
        <PastBanner at={past.at} turn={past.turn} turns={turns} onLive={() => travel(undefined)} />
      )}
      <div className="instance-columns">
        <div className="instance-main">
          <Tabs
            size="small"
            activeKey={tab}
            onChange={openTab}
            items={shownTabs.map((name) => ({ key: name, label: text[name] }))}
          />
          <div className="instance-tab">{contents[tab]}</div>
          <TimeSlider turns={turns} marks={timeline.marks} place={place} onTravel={travel} />
        </div>
        <aside className="instance-side">
          <WhyPanel {...panel} isShort={task !== undefined} onSelect={select} />
          {task === undefined ? (
            <p className="quiet small side-hint">{text.nothingSelected}</p>
          ) : (
            <TaskPanel
              {...panel}
              task={task}
              turns={shownTurns}
              onClose={() => select(undefined)}
              onLogs={() => openTab("logs")}
              onItems={(status) => openItems(status, openTab)}
            />
          )}
        </aside>
      </div>
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </div>
  );
}

/** The list of the items of the selected task, of those in one status if one is given. */
function openItems(status: string | undefined, openTab: (name: TabName) => void): void {
  changeQuery({ items: status }, { replace: true });
  openTab("items");
}

interface BannerProps {
  readonly at: number;
  readonly turn: number;
  readonly turns: readonly HistoryTurn[];
  readonly onLive: () => void;
}

function PastBanner({ at, turn, turns, onLive }: BannerProps) {
  const text = useText(instanceText);
  const { zone } = usePreferences();
  return (
    <div className="past-banner" role="status">
      <Icon name="schedules" size={14} />
      <span>{text.asOf(formatClock(at, zone), turn, turns.at(-1)?.turn ?? 0)}</span>
      <Button size="small" onClick={onLive}>
        {text.backToLive}
      </Button>
    </div>
  );
}

interface HeadProps {
  readonly view: InstanceView;
  readonly isPast: boolean;
  readonly traceId: string | undefined;
  readonly onOperation: (operation: Operation) => void;
}

/** Operations beside the menu, by how often they are wanted. */
const shownFirst = ["retry", "resume", "pause", "terminate"];

function InstanceHead({ view, isPast, traceId, onOperation }: HeadProps) {
  const text = useText(instanceText);
  const words = useText(operationText);
  const mayOperate = useMay("operator");
  const operations = mayOperate && !isPast ? instanceOperations(view, words) : [];
  const mayStart = mayOperate && !isJobWorkflowName(view.workflowName);
  const first = operations.filter(({ key }) => shownFirst.includes(key)).slice(0, 2);
  const rest = operations.filter((operation) => !first.includes(operation));
  return (
    <header className="page-head instance-head">
      <div className="page-title">
        <h1>
          <Link to={workflowPath(view.workflowName)}>{view.workflowName}</Link>
        </h1>
        <StatusTag status={view.status} attention={view.attention !== undefined} />
        <span className="mono quiet" title={view.instanceId}>
          {shortId(view.instanceId)}
        </span>
        <CopyButton value={view.instanceId} label={text.copyId} />
      </div>
      <div className="page-actions">
        {first.map((operation) => (
          <Button
            key={operation.key}
            type={operation === first[0] && !operation.isDangerous ? "primary" : "default"}
            danger={operation.isDangerous === true}
            onClick={() => onOperation(operation)}
          >
            {operation.label}
          </Button>
        ))}
        {(rest.length > 0 || mayStart) && (
          <Dropdown
            trigger={["click"]}
            menu={{
              items: [
                ...(mayStart ? [{ key: "again", label: words.again, onClick: () => startAgain(view) }] : []),
                ...rest.map((operation) => ({
                  key: operation.key,
                  label: operation.label,
                  danger: operation.isDangerous === true,
                  onClick: () => onOperation(operation),
                })),
              ],
            }}
          >
            <Button aria-label={words.actions} icon={<Icon name="more" />} />
          </Dropdown>
        )}
      </div>
      <HeadFacts view={view} isPast={isPast} traceId={traceId} />
    </header>
  );
}

/** Opens the form of a start with the input of this run, to be edited. */
function startAgain({ workflowName, instanceId }: InstanceView): void {
  navigate(`${workflowPath(workflowName, "start")}?${new URLSearchParams({ from: instanceId })}`);
}

function HeadFacts({ view, isPast, traceId }: Omit<HeadProps, "onOperation">) {
  const text = useText(instanceText);
  const triggers = { api: text.triggerApi, nested: text.triggerNested, schedule: text.triggerSchedule };
  return (
    <dl className="head-facts">
      <HeadFact label={text.duration}>
        <TimeSpan from={view.startedAt ?? view.createdAt} to={view.endedAt} runs={!isPast} />
      </HeadFact>
      <HeadFact label={text.created}>
        <Moment at={view.createdAt} />
      </HeadFact>
      <HeadFact label={text.trigger}>{triggers[view.trigger]}</HeadFact>
      <HeadFact label={text.version}>
        <span className="mono">{view.workflowVersion.slice(0, 12)}</span>
      </HeadFact>
      {view.generation > 1 && <HeadFact label={text.generation}>{view.generation}</HeadFact>}
      {view.parentInstanceId !== undefined && (
        <HeadFact label={text.parent}>
          <Link className="link mono" to={instancePath(view.parentInstanceId)}>
            {shortId(view.parentInstanceId)}
          </Link>
        </HeadFact>
      )}
      {view.customStatus !== undefined && view.customStatus !== null && (
        <HeadFact label={text.customStatus}>
          {typeof view.customStatus === "string" ? view.customStatus : JSON.stringify(view.customStatus)}
        </HeadFact>
      )}
      {traceId !== undefined && (
        <HeadFact label={text.traceId}>
          <span className="mono">{traceId.slice(0, 8)}</span> <CopyButton value={traceId} />
        </HeadFact>
      )}
      {view.withSkippedFailures && <HeadFact label={text.status}>{text.withSkipped}</HeadFact>}
    </dl>
  );
}

function HeadFact({ label, children }: { readonly label: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
