import { useQuery } from "@tanstack/react-query";
import { Button, Progress, Select } from "antd";
import { useState } from "react";
import { call } from "../api/client.ts";
import type { TaskView } from "../api/model.ts";
import { StatusMark } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";

const pageSize = 50;
const statuses = ["Failed", "TimeoutFailed", "Running", "Pending", "Success", "Canceled", "Stopped"] as const;

type Status = (typeof statuses)[number];

interface MapItemsProps {
  readonly instanceId: string;
  readonly task: TaskView;
  /** True for a moment of the past: the table shows the present, so it is left out. */
  readonly isPast: boolean;
}

/** The items of a map: how many are in each status, and a table of them by page. */
export function MapItems({ instanceId, task, isPast }: MapItemsProps) {
  const text = useText(instanceText);
  const { items: counts } = task;
  if (counts === undefined) return null;
  const share = (count: number): number => (counts.total === 0 ? 0 : Math.round((count / counts.total) * 100));
  const ended = counts.succeeded + counts.failed + counts.canceled;
  return (
    <>
      <h3>{text.items}</h3>
      <Progress
        percent={share(ended)}
        success={{ percent: share(counts.succeeded) }}
        status={counts.failed > 0 ? "exception" : "normal"}
        size="small"
        aria-label={text.items}
      />
      <p className="quiet small">{text.itemCounts(counts)}</p>
      {!isPast && <ItemTable instanceId={instanceId} task={task} />}
    </>
  );
}

function ItemTable({ instanceId, task }: Pick<MapItemsProps, "instanceId" | "task">) {
  const text = useText(instanceText);
  const [status, setStatus] = useState<Status | undefined>();
  /** The cursors of the pages up to the one that is shown. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const page = useQuery({
    queryKey: ["items", instanceId, task.name, status, cursor, task.items],
    queryFn: () =>
      call("listMapItems", {
        params: { id: instanceId, nodeId: task.name },
        query: { limit: pageSize, ...(status !== undefined && { status }), ...(cursor !== undefined && { cursor }) },
      }),
    placeholderData: (before) => before,
  });
  const next = page.data?.next ?? null;
  const choose = (chosen: Status | undefined): void => {
    setStatus(chosen);
    setCursors([]);
  };
  return (
    <>
      <div className="panel-actions">
        <Select
          size="small"
          allowClear
          value={status}
          placeholder={text.status}
          aria-label={text.status}
          onChange={choose}
          options={statuses.map((each) => ({ value: each, label: each }))}
          style={{ minWidth: 120 }}
        />
        <Button size="small" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
          {text.previousPage}
        </Button>
        <Button size="small" disabled={next === null} onClick={() => next !== null && setCursors([...cursors, next])}>
          {text.nextPage}
        </Button>
      </div>
      <ol className="attempts">
        {(page.data?.items ?? []).map(({ index, item, status: own, failure, output }) => (
          <li key={index}>
            <StatusMark status={own} />
            <span>{index}</span>
            <span className="attempt-message" title={shown(item)}>
              {shown(item)}
            </span>
            <span className="attempt-message" title={failure?.message ?? shown(output)}>
              {failure?.message ?? shown(output)}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function shown(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value);
}
