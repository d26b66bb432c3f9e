import { Button } from "antd";
import { useText } from "../text/define-text.ts";
import { instancesText } from "../text/instances-text.ts";
import type { useInstances } from "./use-instances.ts";

/** How many rows of a list are loaded, and a button that loads more. */
export function ListFoot({ list, rows }: Pick<ReturnType<typeof useInstances>, "list" | "rows">) {
  const text = useText(instancesText);
  return (
    <div className="table-foot">
      <span className="quiet">{text.shown(rows.length)}</span>
      {list.hasNextPage ? (
        <Button size="small" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {text.more}
        </Button>
      ) : (
        <span className="quiet">{text.end}</span>
      )}
    </div>
  );
}
