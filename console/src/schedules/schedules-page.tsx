import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Dropdown } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { ScheduleView } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { shortId } from "../base/format.ts";
import { instancePath, workflowPath } from "../base/place.ts";
import { type Operation, OperationDialog } from "../instance/operation-dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Link } from "../parts/link.tsx";
import { ClockTime, Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Loaded, PageHead } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { shellText } from "../text/shell-text.ts";
import { systemText } from "../text/system-text.ts";
import { newScheduleOperation, scheduleOperations } from "./schedule-operations.ts";
import { timingText } from "./schedule-timing.ts";
import { useSchedules } from "./use-schedules.ts";

/** The dialog of an operation; what is shown is read again after it. */
function useOperation() {
  const client = useQueryClient();
  const [operation, setOperation] = useState<Operation>();
  const close = (): void => {
    setOperation(undefined);
    void client.invalidateQueries();
  };
  return { open: setOperation, dialog: <OperationDialog operation={operation} onClose={close} /> };
}

export function SchedulesPage() {
  const text = useText(systemText);
  const title = useText(shellText).schedules;
  const mayOperate = useMay("operator");
  const { open, dialog } = useOperation();
  const schedules = useSchedules();
  return (
    <>
      <PageHead
        title={title}
        actions={
          mayOperate && (
            <Button type="primary" onClick={() => open(newScheduleOperation(text))}>
              {text.newSchedule}
            </Button>
          )
        }
      />
      <Loaded result={schedules}>
        {({ items }) => (
          <Card flush>
            {items.length === 0 ? (
              <EmptyState
                title={text.noSchedules}
                icon="schedules"
                command='npx heddle schedule create nightly --workflow example-report --cron "0 2 * * *"'
              >
                {text.noSchedulesHint}
              </EmptyState>
            ) : (
              <ScheduleTable items={items} onOperation={mayOperate ? open : undefined} />
            )}
          </Card>
        )}
      </Loaded>
      {dialog}
    </>
  );
}

function ScheduleStatus({ isEnabled }: { readonly isEnabled: boolean }) {
  const text = useText(systemText);
  return <StatusTag status={isEnabled ? "Success" : "Paused"} label={isEnabled ? text.enabled : text.paused} />;
}

interface TableProps {
  readonly items: readonly ScheduleView[];
  readonly onOperation: ((operation: Operation) => void) | undefined;
}

function ScheduleTable({ items, onOperation }: TableProps) {
  const text = useText(systemText);
  return (
    <div className="table-wrap">
      <table className="table">
        <thead>
          <tr>
            <th className="fit">{text.enabled}</th>
            <th>{text.schedule}</th>
            <th>{text.when}</th>
            <th>{text.next}</th>
            <th className="number hide-narrow">{text.runs}</th>
            <th className="number hide-narrow">{text.skipped}</th>
            <th className="hide-narrow">{text.lastError}</th>
            {onOperation !== undefined && <th className="fit" aria-label={text.trigger} />}
          </tr>
        </thead>
        <tbody>
          {items.map((schedule) => (
            <tr key={schedule.scheduleId}>
              <td className="fit">
                <ScheduleStatus isEnabled={schedule.isEnabled} />
              </td>
              <td className="name">
                <Link to={`/schedules/${encodeURIComponent(schedule.scheduleId)}`}>{schedule.scheduleId}</Link>
              </td>
              <td className="mono">{timingText(schedule.spec)}</td>
              <td>{schedule.nextAt !== null && schedule.isEnabled && <Moment at={schedule.nextAt} />}</td>
              <td className="number hide-narrow">{schedule.runs}</td>
              <td className="number hide-narrow">{schedule.skipped}</td>
              <td className="hide-narrow quiet wide ellipsis">{schedule.lastError}</td>
              {onOperation !== undefined && (
                <td className="fit">
                  <OperationMenu schedule={schedule} onOperation={onOperation} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface MenuProps {
  readonly schedule: ScheduleView;
  readonly onOperation: (operation: Operation) => void;
}

function OperationMenu({ schedule, onOperation }: MenuProps) {
  const text = useText(systemText);
  const items = scheduleOperations(schedule, text).map((operation) => ({
    key: operation.key,
    label: operation.label,
    danger: operation.isDangerous === true,
    onClick: () => onOperation(operation),
  }));
  return (
    <Dropdown menu={{ items }} trigger={["click"]}>
      <Button size="small" type="text" aria-label={schedule.scheduleId} icon={<Icon name="more" />} />
    </Dropdown>
  );
}

export function SchedulePage({ id }: { readonly id: string }) {
  const text = useText(systemText);
  const mayOperate = useMay("operator");
  const { open, dialog } = useOperation();
  const result = useQuery({
    queryKey: ["schedule", id],
    queryFn: () => call("getSchedule", { params: { id } }),
    refetchInterval: 10_000,
  });
  return (
    <Loaded result={result}>
      {(schedule) => {
        const operations = mayOperate ? scheduleOperations(schedule, text) : [];
        return (
          <>
            <PageHead
              title={id}
              detail={<ScheduleStatus isEnabled={schedule.isEnabled} />}
              actions={operations.map((operation) => (
                <Button key={operation.key} danger={operation.isDangerous === true} onClick={() => open(operation)}>
                  {operation.label}
                </Button>
              ))}
            />
            <div className="two-columns">
              <ScheduleFacts schedule={schedule} />
              <Card title={text.nextFires}>
                <ul className="pairs">
                  {schedule.nextFireTimes.map((at) => (
                    <li key={at}>
                      <ClockTime at={at} />
                      <span className="quiet">
                        <Moment at={at} />
                      </span>
                    </li>
                  ))}
                </ul>
              </Card>
            </div>
            {dialog}
          </>
        );
      }}
    </Loaded>
  );
}

function ScheduleFacts({ schedule }: { readonly schedule: ScheduleView }) {
  const text = useText(systemText);
  const { spec, runs, skipped, waiting, running, lastRunId, lastError } = schedule;
  return (
    <Card title={text.schedule}>
      <dl className="facts">
        <dt>{text.starts}</dt>
        <dd>
          {spec.workflow === undefined ? (
            spec.job
          ) : (
            <Link className="link" to={workflowPath(spec.workflow)}>
              {spec.workflow}
            </Link>
          )}
        </dd>
        <dt>{text.when}</dt>
        <dd className="mono">{timingText(spec)}</dd>
        <dt>{text.runs}</dt>
        <dd>{runs}</dd>
        <dt>{text.skipped}</dt>
        <dd>{skipped}</dd>
        <dt>{text.running}</dt>
        <dd>{running.length}</dd>
        <dt>{text.waiting}</dt>
        <dd>{waiting}</dd>
        {lastRunId !== null && (
          <>
            <dt>{text.lastRun}</dt>
            <dd>
              <Link className="link mono" to={instancePath(lastRunId)}>
                {shortId(lastRunId)}
              </Link>
            </dd>
          </>
        )}
        {lastError !== null && (
          <>
            <dt>{text.lastError}</dt>
            <dd>{lastError}</dd>
          </>
        )}
      </dl>
    </Card>
  );
}
