import { Button, Segmented } from "antd";
import { useState } from "react";
import type { InstanceView, TaskView } from "../api/model.ts";
import { changeQuery, usePlace } from "../base/place.ts";
import { JsonView } from "../parts/json-view.tsx";
import { TimeSpan } from "../parts/moment.tsx";
import { EmptyState, Loaded } from "../parts/page.tsx";
import { StatusTag } from "../parts/status-tag.tsx";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { FailureText } from "./attempt-list.tsx";
import { HookList } from "./hook-list.tsx";
import { ItemBar } from "./item-bar.tsx";
import { type ItemPage, useItems } from "./use-items.ts";

const pageSize = 50;

interface ItemsTabProps {
  readonly view: InstanceView;
  /** The tasks that have items. */
  readonly maps: readonly TaskView[];
  readonly isPast: boolean;
}

/** The items of a map, or the workers of a broadcast, by page; the task and the status that is looked for are in the address. */
export function ItemsTab({ view, maps, isPast }: ItemsTabProps) {
  const text = useText(instanceText);
  const { query } = usePlace();
  const task = maps.find(({ name }) => name === query.get("task")) ?? maps[0];
  if (task?.items === undefined) return <EmptyState title={text.noItems} icon="jobs" />;
  const status = query.get("items") ?? undefined;
  return (
    <div className="tab-fill items-tab">
      <div className="tab-tools">
        {maps.length > 1 && (
          <Segmented
            size="small"
            value={task.name}
            options={maps.map(({ name }) => name)}
            onChange={(name) => changeQuery({ task: name, items: undefined }, { replace: true })}
          />
        )}
        {isPast ? (
          <ItemBar items={task.items} />
        ) : (
          <ItemBar items={task.items} chosen={status} onChoose={chooseStatus} />
        )}
      </div>
      {isPast ? (
        <p className="quiet tab-note">{text.pastItems}</p>
      ) : (
        <ItemList key={`${task.name} ${status}`} instanceId={view.instanceId} task={task} status={status} />
      )}
    </div>
  );
}

function chooseStatus(status: string | undefined): void {
  changeQuery({ items: status }, { replace: true });
}

interface ItemListProps {
  readonly instanceId: string;
  readonly task: TaskView;
  readonly status: string | undefined;
}

function ItemList({ instanceId, task, status }: ItemListProps) {
  const text = useText(instanceText);
  /** The cursors of the pages up to the one that is shown. */
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const page = useItems(instanceId, task, { limit: pageSize, status, cursor: cursors.at(-1) });
  return (
    <Loaded result={page}>
      {({ items, counts, hooks, next }) => (
        <>
          <HookList hooks={hooks} />
          <div className="table-wrap fill">
            <ItemTable items={items} isBroadcast={task.isBroadcast === true} />
          </div>
          <div className="table-foot">
            <span className="quiet">
              {items.length > 0 && text.itemRange(items[0]?.index ?? 0, items.at(-1)?.index ?? 0, counts.total)}
            </span>
            <span className="panel-actions">
              <Button size="small" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
                {text.previousPage}
              </Button>
              <Button
                size="small"
                disabled={next === null}
                onClick={() => next !== null && setCursors([...cursors, next])}
              >
                {text.nextPage}
              </Button>
            </span>
          </div>
        </>
      )}
    </Loaded>
  );
}

interface ItemTableProps {
  readonly items: ItemPage["items"];
  readonly isBroadcast: boolean;
}

function ItemTable({ items, isBroadcast }: ItemTableProps) {
  const text = useText(instanceText);
  const [open, setOpen] = useState<number>();
  return (
    <table className="table item-table">
      <thead>
        <tr>
          <th className="item-index">#</th>
          <th className="item-status">{text.status}</th>
          <th>{isBroadcast ? text.worker : text.item}</th>
          <th className="number item-span">{text.duration}</th>
          <th className="hide-narrow number item-attempt">{text.attempt}</th>
          <th className="hide-narrow">{text.outputOrError}</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <ItemRows
            key={item.index}
            item={item}
            isOpen={open === item.index}
            onToggle={() => setOpen(open === item.index ? undefined : item.index)}
          />
        ))}
      </tbody>
    </table>
  );
}

interface ItemRowsProps {
  readonly item: ItemPage["items"][number];
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function ItemRows({ item: row, isOpen, onToggle }: ItemRowsProps) {
  const text = useText(instanceText);
  const { index, item, status, startedAt, endedAt, attempt, worker, failure, output } = row;
  return (
    <>
      <tr>
        <td className="item-index quiet">{index}</td>
        <td>
          <StatusTag status={status} />
        </td>
        <td>
          <button type="button" className="item-name mono ellipsis" aria-expanded={isOpen} onClick={onToggle}>
            {shown(item)}
          </button>
        </td>
        <td className="number">
          <TimeSpan from={startedAt} to={endedAt} runs={status === "Running"} />
        </td>
        <td className="hide-narrow number">{attempt > 0 ? attempt : ""}</td>
        <td className="hide-narrow ellipsis why-cell mono" data-failed={failure !== undefined}>
          {failure?.message ?? shown(output)}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={6} className="item-detail">
            {worker !== undefined && (
              <p className="quiet small">
                {text.worker} {worker}
              </p>
            )}
            {failure !== undefined && <FailureText failure={failure} isOpen />}
            <div className="item-values">
              <JsonView value={item} label={text.item} />
              {output !== undefined && <JsonView value={output} label={text.output} />}
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

/** A value in one line; text without its quotes. */
function shown(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
