import { Input } from "antd";
import { useMemo, useState } from "react";
import type { InstanceView, TaskView } from "../api/model.ts";
import { toneOf } from "../base/status.ts";
import { TimeSpan } from "../parts/moment.tsx";
import { EmptyState } from "../parts/page.tsx";
import { StatusTag, useStatusWord } from "../parts/status-tag.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { useTaskWaitSentence } from "./wait-sentence.ts";

interface TasksTabProps {
  readonly view: InstanceView;
  readonly selected: string | undefined;
  readonly onSelect: (task: string | undefined) => void;
}

const rowHeight = 34;

/** The same as the graph, as a table: for readers of screens, for phones, and for thousands of sub-tasks. */
export function TasksTab({ view, selected, onSelect }: TasksTabProps) {
  const text = useText(instanceText);
  const word = useStatusWord();
  const [wanted, setWanted] = useState("");
  const [status, setStatus] = useState<string>();
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const task of view.tasks) found.set(task.status, (found.get(task.status) ?? 0) + 1);
    return [...found];
  }, [view.tasks]);
  const search = wanted.trim().toLowerCase();
  const shown = view.tasks.filter((task) => {
    return (status === undefined || task.status === status) && task.name.toLowerCase().includes(search);
  });
  if (view.tasks.length === 0) return <EmptyState title={text.noTasks} icon="jobs" />;
  return (
    <div className="tab-fill">
      <div className="tab-tools">
        <Input.Search
          size="small"
          allowClear
          placeholder={text.task}
          aria-label={text.task}
          onChange={(event) => setWanted(event.target.value)}
        />
        {counts.map(([each, count]) => (
          <button
            key={each}
            type="button"
            className={`chip tone-${toneOf(each)}`}
            aria-pressed={status === each}
            onClick={() => setStatus(status === each ? undefined : each)}
          >
            {word(each)} {count}
          </button>
        ))}
      </div>
      <div className="task-row task-head" aria-hidden="true">
        <span>{text.task}</span>
        <span>{text.status}</span>
        <span>{text.duration}</span>
        <span>{text.attempt}</span>
        <span>{text.detail}</span>
      </div>
      <VirtualRows count={shown.length} rowHeight={rowHeight} label={text.tasks} className="fill">
        {(row) => {
          const task = shown[row];
          if (task === undefined) return null;
          return (
            <TaskRow
              key={task.name}
              task={task}
              isSelected={task.name === selected}
              onSelect={() => onSelect(task.name)}
            />
          );
        }}
      </VirtualRows>
    </div>
  );
}

interface TaskRowProps {
  readonly task: TaskView;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function progressTextOf({ progress }: TaskView): string | undefined {
  if (progress === undefined) return undefined;
  const { fraction, message } = progress;
  return `${Math.floor(fraction * 100)} %${message === undefined ? "" : `, ${message}`}`;
}

function TaskRow({ task, isSelected, onSelect }: TaskRowProps) {
  const waitOf = useTaskWaitSentence();
  const detail = waitOf(task) ?? progressTextOf(task) ?? task.failure?.message ?? task.worker ?? "";
  return (
    <button type="button" className="task-row" aria-current={isSelected} onClick={onSelect}>
      <span className="ellipsis" title={task.name}>
        {task.parentTask !== undefined && <span className="quiet">↳ </span>}
        {task.name}
      </span>
      <StatusTag status={task.status} />
      <TimeSpan from={task.startedAt} to={task.endedAt} runs={task.status === "Running"} />
      <span>{task.attempt > 0 ? task.attempt : ""}</span>
      <span className="ellipsis quiet" title={detail}>
        {detail}
      </span>
    </button>
  );
}
