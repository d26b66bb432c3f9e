import { Button, Segmented } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { QueuedNode } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { formatCount, shortId } from "../base/format.ts";
import { changeQuery, instancePath, navigate, usePlace, workflowPath } from "../base/place.ts";
import type { Tone } from "../base/status.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { DurationLines, StackedBars } from "../parts/charts.tsx";
import { Link } from "../parts/link.tsx";
import { Moment, TimeSpan } from "../parts/moment.tsx";
import { Card, EmptyState, Loading, PageHead, Problem } from "../parts/page.tsx";
import { StatusMark } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { useWaitSentence } from "../instance/wait-sentence.ts";
import { stoppedCode, type Wait } from "../api/waits.ts";
import { isSystemWorkflow } from "../base/system-workflow.ts";
import { overviewText } from "../text/overview-text.ts";
import { waitReasonText } from "../text/wait-reason-text.ts";
import {
  type FailureGroup,
  groupFailures,
  groupMissingWorkers,
  type MissingWorkers,
  useOverview,
} from "./use-overview.ts";
import "../styles/overview.css";

const ranges: Readonly<Record<string, number>> = { "1h": 1, "24h": 24, "7d": 168 };
const groupsMax = 8;

type Overview = ReturnType<typeof useOverview>;

export function OverviewPage() {
  const text = useText(overviewText);
  const { query } = usePlace();
  const range = query.get("range") ?? "24h";
  const hours = ranges[range] ?? 24;
  const overview = useOverview(hours);
  const { stats, active } = overview;
  const options = Object.entries(ranges).map(([value, each]) => ({ value, label: text.hours(each) }));
  const unfinished = (active.data?.items ?? []).filter(({ workflowName }) => !isSystemWorkflow(workflowName));
  return (
    <>
      <PageHead
        title={text.title}
        actions={
          <Segmented
            value={range}
            options={options}
            aria-label={text.range}
            onChange={(value) => changeQuery({ range: value === "24h" ? undefined : value })}
          />
        }
      />
      {stats.error !== null && <Problem error={stats.error} onRetry={overview.readAll} />}
      <QueueCards overview={overview} range={range} unfinished={unfinished.length} />
      <div className="overview-columns">
        <div className="overview-column">
          <NeedsYou overview={overview} range={range} />
          <Trends overview={overview} />
          <RunningNow unfinished={unfinished} />
        </div>
        <div className="overview-column">
          <Upcoming overview={overview} />
          <Waits items={overview.waiting.data ?? []} />
          <Members overview={overview} />
        </div>
      </div>
    </>
  );
}

interface QueueCardsProps {
  readonly overview: Overview;
  readonly range: string;
  readonly unfinished: number;
}

function QueueCards({ overview, range, unfinished }: QueueCardsProps) {
  const text = useText(overviewText);
  const { stats, active } = overview;
  const hours = ranges[range] ?? 24;
  const count = formatCount(unfinished);
  return (
    <div className="queue-cards">
      <QueueCard
        tone="waiting"
        status="Pending"
        label={text.waiting}
        value={overview.queue.data?.waiting.total}
        detail={text.waitingOf}
        to="/instances?status=Running,Ready,Paused"
      />
      <QueueCard
        tone="running"
        status="Running"
        label={text.running}
        value={overview.queue.data?.running.total}
        detail={`${text.runningOf} ${text.runningInstances(active.data?.next === null ? count : `${count}+`)}`}
        to="/instances?status=Running"
      />
      <QueueCard
        tone="success"
        status="Success"
        label={text.completed}
        value={stats.data?.success}
        detail={text.endedOf(text.hours(hours))}
        to={`/instances?status=Success&range=${range}`}
      />
      <QueueCard
        tone="failed"
        status="Failed"
        label={text.failed}
        value={stats.data?.failed}
        detail={text.endedOf(text.hours(hours))}
        to={`/instances?status=Failed&range=${range}`}
      />
    </div>
  );
}

interface QueueCardProps {
  readonly tone: Tone;
  readonly status: string;
  readonly label: string;
  readonly value: number | undefined;
  readonly detail: string;
  readonly to: string;
}

function QueueCard({ tone, status, label, value, detail, to }: QueueCardProps) {
  return (
    <Link to={to} className={`queue-card tone-${tone} ${value === 0 ? "queue-zero" : ""}`}>
      <span className="queue-label">
        <StatusMark status={status} />
        {label}
      </span>
      <b>{value === undefined ? "–" : formatCount(value)}</b>
      <span className="quiet small">{detail}</span>
    </Link>
  );
}

function NeedsYou({ overview, range }: { readonly overview: Overview; readonly range: string }) {
  const text = useText(overviewText);
  const [operation, setOperation] = useState<Operation>();
  const { failed, stuck, active } = overview;
  if (failed.data === undefined) return <Loading />;
  const groups = groupFailures(failed.data.items);
  const quarantined = (active.data?.items ?? []).filter((each) => each.quarantined !== null);
  const stuckItems = (stuck.data?.items ?? []).filter(({ workflowName }) => !isSystemWorkflow(workflowName));
  const stopped = (active.data?.items ?? []).filter(({ waiting }) => stoppedCode(waiting) !== undefined);
  const missing = groupMissingWorkers(overview.waiting.data ?? []);
  const total = failed.data.items.length + quarantined.length + stuckItems.length + stopped.length + missing.length;
  return (
    <Card title={`${text.needsYou}${total === 0 ? "" : ` (${formatCount(total)})`}`}>
      {total === 0 && (
        <EmptyState title={text.allWell} icon="check">
          {text.allWellHint}
        </EmptyState>
      )}
      <ul className="needs">
        {quarantined.map(({ instanceId, workflowName, quarantined: reason }) => (
          <NeedLine key={instanceId} status="Paused" name={workflowName} id={instanceId}>
            {text.quarantined}: {reason}
          </NeedLine>
        ))}
        {stopped.map(({ instanceId, workflowName, waiting }) => (
          <NeedLine key={instanceId} status="Paused" name={workflowName} id={instanceId}>
            {text.stoppedCode} {stoppedCode(waiting)?.text}
          </NeedLine>
        ))}
        {missing.map((group) => (
          <MissingWorkerLine key={group.key} group={group} />
        ))}
        {stuckItems.map(({ instanceId, workflowName, updatedAt }) => (
          <NeedLine key={instanceId} status="Pending" name={workflowName} id={instanceId}>
            {text.stuck}, <Moment at={updatedAt} />
          </NeedLine>
        ))}
        {groups.slice(0, groupsMax).map((group) => (
          <FailureLine
            key={`${group.workflow} ${group.message}`}
            group={group}
            range={range}
            onRetry={setOperation}
            onDone={overview.readAll}
          />
        ))}
      </ul>
      <OperationDialog operation={operation} onClose={() => setOperation(undefined)} />
    </Card>
  );
}

interface NeedLineProps {
  readonly status: string;
  readonly name: string;
  readonly id: string;
  readonly children: React.ReactNode;
}

function NeedLine({ status, name, id, children }: NeedLineProps) {
  const text = useText(overviewText);
  return (
    <li className="need">
      <StatusMark status={status} />
      <div className="need-body">
        <div>
          <b>{name}</b> <span className="mono quiet">{shortId(id)}</span>
        </div>
        <div className="quiet need-message">{children}</div>
      </div>
      <Button size="small" onClick={() => navigate(instancePath(id))}>
        {text.show}
      </Button>
    </li>
  );
}

function MissingWorkerLine({ group }: { readonly group: MissingWorkers }) {
  const text = useText(overviewText);
  const { job, requires, count } = group;
  return (
    <li className="need">
      <StatusMark status="Pending" />
      <div className="need-body">
        <div>
          <b>{job}</b>
          {count > 1 && <span className="need-count quiet">×{count}</span>}
        </div>
        <div className="quiet need-message">{text.missingWorker(requires?.tags ?? [], requires?.worker)}</div>
      </div>
      <Button size="small" onClick={() => navigate("/workers")}>
        {text.members}
      </Button>
    </li>
  );
}

interface FailureLineProps {
  readonly group: FailureGroup;
  readonly range: string;
  readonly onRetry: (operation: Operation) => void;
  readonly onDone: () => void;
}

function FailureLine({ group, range, onRetry, onDone }: FailureLineProps) {
  const text = useText(overviewText);
  const mayOperate = useMay("operator");
  const { workflow, message, instances } = group;
  const [first] = instances;
  const count = instances.length;
  const to =
    count === 1 && first !== undefined
      ? instancePath(first.instanceId)
      : `/instances?status=Failed&range=${range}&workflow=${encodeURIComponent(workflow)}`;
  const retry: Operation = {
    key: `retry ${workflow} ${message}`,
    label: text.retry(count),
    sentence: text.retrySays(count),
    run: async () => {
      for (const { instanceId } of instances) await call("retryInstance", { params: { id: instanceId } });
      onDone();
    },
  };
  return (
    <li className="need">
      <StatusMark status="Failed" />
      <div className="need-body">
        <div>
          <Link to={to}>
            <b>{workflow}</b>
          </Link>
          {count > 1 && <span className="need-count">×{count}</span>}{" "}
          <span className="quiet small">{first?.endedAt != null && <Moment at={first.endedAt} />}</span>
        </div>
        <div className="quiet need-message">{message}</div>
      </div>
      {mayOperate && (
        <Button size="small" onClick={() => onRetry(retry)}>
          {text.retry(count)}
        </Button>
      )}
    </li>
  );
}

function Trends({ overview }: { readonly overview: Overview }) {
  const text = useText(overviewText);
  const { data } = overview.stats;
  if (data === undefined) return <Loading />;
  const times = data.buckets.map((_, number) => data.from + number * data.bucketMs);
  return (
    <div className="trends">
      <Card title={text.throughput}>
        <StackedBars
          label={text.throughput}
          columns={data.buckets.map((bucket, number) => ({
            at: times[number] ?? 0,
            parts: [
              { tone: "failed", value: bucket.failed, label: text.failed },
              { tone: "stopped", value: bucket.terminated, label: "Terminated" },
              { tone: "success", value: bucket.success, label: text.completed },
            ],
          }))}
        />
        {!data.isComplete && <p className="quiet small">{text.incomplete}</p>}
      </Card>
      <Card title={text.durations}>
        <DurationLines
          label={text.durations}
          times={times}
          lines={[
            { name: text.p95, values: data.buckets.map(({ p95Ms }) => p95Ms), isMain: false },
            { name: text.p50, values: data.buckets.map(({ p50Ms }) => p50Ms), isMain: true },
          ]}
        />
      </Card>
    </div>
  );
}

const runningMax = 8;

function RunningNow({ unfinished }: { readonly unfinished: NonNullable<Overview["active"]["data"]>["items"] }) {
  const text = useText(overviewText);
  const all = (
    <Link to="/instances?status=Running,Ready,Paused" className="small quiet">
      {text.instances}
    </Link>
  );
  return (
    <Card title={text.runningNow} extra={all} flush>
      {unfinished.length === 0 && (
        <EmptyState title={text.nothingRuns} icon="play" command="npx heddle run example-report">
          {text.startHint}
        </EmptyState>
      )}
      <table className="table">
        <tbody>
          {unfinished.slice(0, runningMax).map(({ instanceId, workflowName, status, createdAt, waiting }) => (
            <tr key={instanceId}>
              <td className="fit">
                <StatusMark status={status} />
              </td>
              <td className="name">
                <Link to={workflowPath(workflowName)}>{workflowName}</Link>
              </td>
              <td>
                <Link to={instancePath(instanceId)} className="mono link">
                  {shortId(instanceId)}
                </Link>
              </td>
              <td className="wide ellipsis quiet hide-narrow">
                {waiting?.[0] !== undefined && <Doing wait={waiting[0]} />}
              </td>
              <td className="number">
                <TimeSpan from={createdAt} to={null} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Doing({ wait }: { readonly wait: Wait }) {
  return useWaitSentence()(wait);
}

const upcomingMax = 7;

function Upcoming({ overview }: { readonly overview: Overview }) {
  const text = useText(overviewText);
  const next = (overview.schedules.data?.items ?? [])
    .flatMap((schedule) =>
      schedule.isEnabled && schedule.nextAt !== null ? [{ ...schedule, at: schedule.nextAt }] : [],
    )
    .sort((a, b) => a.at - b.at);
  return (
    <Card title={text.upcoming}>
      {next.length === 0 && <p className="quiet">{text.noSchedules}</p>}
      <ul className="pairs">
        {next.slice(0, upcomingMax).map(({ scheduleId, at }) => (
          <li key={scheduleId}>
            <Link to={`/schedules/${encodeURIComponent(scheduleId)}`} className="ellipsis">
              {scheduleId}
            </Link>
            <span className="quiet">
              <Moment at={at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Reasons why tasks wait, the most frequent first. */
function Waits({ items }: { readonly items: readonly QueuedNode[] }) {
  const text = useText(overviewText);
  const reasons = useText(waitReasonText);
  const counts = new Map<string, number>();
  for (const item of items) {
    const reason = item.wait?.reason ?? "slot";
    const words = reasons[reason];
    const name = reason === "domain" ? `${words} (${item.domain})` : words;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return (
    <Card title={text.waits}>
      {counts.size === 0 && <p className="quiet">{text.nothingWaits}</p>}
      <ul className="pairs">
        {[...counts]
          .sort(([, a], [, b]) => b - a)
          .map(([name, count]) => (
            <li key={name}>
              <span>{name}</span>
              <b>{count}</b>
            </li>
          ))}
      </ul>
    </Card>
  );
}

function Members({ overview }: { readonly overview: Overview }) {
  const text = useText(overviewText);
  const { cluster, workers } = overview;
  if (cluster.data === undefined) return <Loading />;
  const { members, upMembers, totalMembers } = cluster.data;
  const items = workers.data ?? [];
  return (
    <Card title={text.members} extra={<span className="quiet small">{text.member(upMembers, totalMembers)}</span>}>
      <ul className="pairs">
        {members.length > 1 &&
          members.map(({ address, status }) => (
            <li key={address}>
              <span className="mono ellipsis">{address}</span>
              <span className="quiet">{status}</span>
            </li>
          ))}
        {items.map(({ address, runningTasks, slots }) => (
          <li key={address}>
            <Link to="/workers" className="mono ellipsis">
              {address}
            </Link>
            <span className="slots">
              <span className="meter tone-running">
                <i style={{ width: `${(runningTasks / Math.max(1, slots)) * 100}%` }} />
              </span>
              <span className="quiet">{text.slots(runningTasks, slots)}</span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
