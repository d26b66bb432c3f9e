import { useQueryClient } from "@tanstack/react-query";
import { App, Button, Form, Input, Select, Switch } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { WorkflowDetail } from "../api/model.ts";
import { useMay } from "../api/session-context.ts";
import { ClockTime, Moment } from "../parts/moment.tsx";
import { Card, EmptyState, Problem } from "../parts/page.tsx";
import { useText } from "../text/define-text.ts";
import { workflowsText } from "../text/workflows-text.ts";

interface ScheduleForm {
  readonly cronExpr: string;
  readonly timeZone?: string;
  readonly overlap?: "skip" | "queue" | "allow" | "cancel-previous";
  readonly misfire?: "once" | "all" | "none";
  readonly enable: boolean;
}

const overlaps = ["skip", "queue", "allow", "cancel-previous"].map((value) => ({ value, label: value }));
const misfires = ["once", "all", "none"].map((value) => ({ value, label: value }));

export function WorkflowScheduleTab({ workflow }: { readonly workflow: WorkflowDetail }) {
  const text = useText(workflowsText);
  const mayOperate = useMay("operator");
  const { cronExpr, nextFireTimes } = workflow;
  const maySet = mayOperate && workflow.origin === "catalogue";
  return (
    <div className="two-columns">
      {maySet && <ScheduleEditor workflow={workflow} />}
      <Card title={text.nextFires}>
        {cronExpr === null || nextFireTimes.length === 0 ? (
          <EmptyState title={text.noSchedule} icon="schedules">
            {text.noScheduleHint}
          </EmptyState>
        ) : (
          <ul className="pairs">
            {nextFireTimes.map((at) => (
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
    </div>
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
