import { useQuery, useQueryClient } from "@tanstack/react-query";
import { App, Button, Form, Input, Select, Switch } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { ScheduleView, WorkflowDetail } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { Link } from "../parts/link.tsx";
import { ClockTime, Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Problem } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { timingText } from "../schedules/schedule-timing.ts";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";
import { RunCalendar } from "./run-calendar.tsx";

interface ScheduleForm {
  readonly cronExpr: string;
  readonly timeZone?: string;
  readonly overlap?: "skip" | "queue" | "allow" | "cancel-previous";
  readonly misfire?: "once" | "all" | "none";
  readonly enable: boolean;
}

const overlaps = ["skip", "queue", "allow", "cancel-previous"].map((value) => ({ value, label: value }));
const misfires = ["once", "all", "none"].map((value) => ({ value, label: value }));

interface TabProps {
  readonly workflow: WorkflowDetail;
  readonly schedules: readonly ScheduleView[];
}

export function WorkflowScheduleTab({ workflow, schedules }: TabProps) {
  const text = useText(workflowsText);
  const mayOperate = useMay("operator");
  const maySet = mayOperate && workflow.origin === "catalogue";
  const command = `npx heddle schedule create ${workflow.name} --workflow ${workflow.name} --cron "0 2 * * *"`;
  return (
    <div className="side-columns">
      <RunCalendar workflow={workflow.name} schedules={schedules} />
      <div className="stack">
        {schedules.map((schedule) => (
          <ScheduleCard key={schedule.scheduleId} schedule={schedule} />
        ))}
        {schedules.length === 0 && !maySet && (
          <Card>
            <EmptyState title={text.noSchedule} icon="schedules" command={command}>
              {text.noScheduleHint}
            </EmptyState>
          </Card>
        )}
        {maySet && <ScheduleEditor workflow={workflow} />}
      </div>
    </div>
  );
}

const nextShown = 5;

/** A schedule that starts the workflow, with its next due times. */
function ScheduleCard({ schedule }: { readonly schedule: ScheduleView }) {
  const text = useText(workflowsText);
  const { scheduleId, spec, isEnabled, runs, skipped } = schedule;
  const path = `/schedules/${encodeURIComponent(scheduleId)}`;
  const detail = useQuery({
    queryKey: ["schedule", scheduleId],
    queryFn: () => call("getSchedule", { params: { id: scheduleId } }),
    refetchInterval: 10_000,
  });
  return (
    <Card
      title={<Link to={path}>{scheduleId}</Link>}
      extra={<StatusTag status={isEnabled ? "Success" : "Paused"} label={isEnabled ? text.on : text.off} />}
    >
      <p className="mono schedule-timing">{timingText(spec)}</p>
      <p className="quiet small">{text.scheduleCounts(runs, skipped)}</p>
      {isEnabled && (
        <ul className="pairs" aria-label={text.nextFires}>
          {(detail.data?.nextFireTimes ?? []).slice(0, nextShown).map((at) => (
            <li key={at}>
              <ClockTime at={at} />
              <span className="quiet">
                <Moment at={at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function ScheduleEditor({ workflow }: { readonly workflow: WorkflowDetail }) {
  const text = useText(workflowsText);
  const client = useQueryClient();
  const { message } = App.useApp();
  const [error, setError] = useState<unknown>();
  const { name, cronExpr, timeZone, overlap, misfire, enableSchedule } = workflow;
  const save = ({ timeZone: zone = "", ...form }: ScheduleForm): void => {
    setError(undefined);
    const body = { ...form, ...(zone.trim() !== "" && { timeZone: zone.trim() }) };
    call("scheduleWorkflow", { params: { id: name }, body }).then(() => {
      void message.success(text.saved);
      return client.invalidateQueries();
    }, setError);
  };
  return (
    <Card title={text.schedule}>
      <Form<ScheduleForm>
        layout="vertical"
        requiredMark={false}
        onFinish={save}
        initialValues={{
          cronExpr: cronExpr ?? "",
          timeZone: timeZone ?? "",
          overlap: overlap ?? "skip",
          misfire: misfire ?? "once",
          enable: cronExpr === null || enableSchedule,
        }}
      >
        <Form.Item name="cronExpr" label={text.cron} extra={text.cronHint} rules={[{ required: true }]}>
          <Input className="mono" spellCheck={false} placeholder="0 2 * * *" />
        </Form.Item>
        <Form.Item name="timeZone" label={text.timeZone}>
          <Input spellCheck={false} placeholder="Asia/Shanghai" />
        </Form.Item>
        <Form.Item name="overlap" label={text.overlap}>
          <Select options={overlaps} />
        </Form.Item>
        <Form.Item name="misfire" label={text.misfire}>
          <Select options={misfires} />
        </Form.Item>
        <Form.Item name="enable" label={text.enabled} valuePropName="checked">
          <Switch />
        </Form.Item>
        {error !== undefined && <Problem error={error} />}
        <p className="quiet small operation-sentence">{text.scheduleSays}</p>
        <Button type="primary" htmlType="submit">
          {text.scheduleSave}
        </Button>
      </Form>
    </Card>
  );
}
