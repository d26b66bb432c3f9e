import { Button } from "antd";
import type { TaskView } from "../api/model.ts";
import { useText } from "../text/define-text.ts";
import { instanceText } from "../text/instance-text.ts";
import { HookList } from "./hook-list.tsx";
import { ItemBar } from "./item-bar.tsx";
import { useItems } from "./use-items.ts";

interface MapSummaryProps {
  readonly instanceId: string;
  readonly task: TaskView;
  /** True for a moment of the past, of which the counts are known, and not each item. */
  readonly isPast: boolean;
  /** Opens the list of the items, of those in one status if one is given. */
  readonly onItems: (status: string | undefined) => void;
}

/** Counts of the items of a map, or the workers of a broadcast, by status, and the hooks before and after them. */
export function MapSummary({ instanceId, task, isPast, onItems }: MapSummaryProps) {
  const text = useText(instanceText);
  const { items, isBroadcast = false } = task;
  const page = useItems(instanceId, isPast ? undefined : task, { limit: 1 });
  if (items === undefined) return null;
  return (
    <>
      <h3>{isBroadcast ? text.workers(items.total) : text.itemsOf(items.total)}</h3>
      {isPast ? <ItemBar items={items} /> : <ItemBar items={items} onChoose={onItems} />}
      {!isPast && <HookList hooks={page.data?.hooks ?? []} />}
      {!isPast && (
        <div className="panel-actions">
          <Button size="small" onClick={() => onItems(undefined)}>
            {isBroadcast ? text.allWorkers : text.allItems}
          </Button>
        </div>
      )}
    </>
  );
}
