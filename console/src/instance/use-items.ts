import { useQuery } from "@tanstack/react-query";
import type { DataOf } from "../../../src/api/routes.ts";
import { call } from "../api/client.ts";
import type { TaskView } from "../api/model.ts";

export type ItemPage = DataOf<"listMapItems">;

/** A count of several statuses, by the one that stands for them. */
const statusesOf: Readonly<Record<string, string>> = {
  Failed: "Failed,TimeoutFailed",
  Canceled: "Canceled,Stopped,Skipped",
};

interface Wanted {
  readonly limit: number;
  readonly status?: string | undefined;
  readonly cursor?: string | undefined;
}

/** A page of the items of a map; it is read again when the counts change. */
export function useItems(instanceId: string, task: TaskView | undefined, { limit, status, cursor }: Wanted) {
  const nodeId = task?.name ?? "";
  const chosen = status === undefined ? {} : { status: statusesOf[status] ?? status };
  return useQuery({
    queryKey: ["items", instanceId, nodeId, limit, status, cursor, task?.items, task?.attempt],
    queryFn: () =>
      call("listMapItems", {
        params: { id: instanceId, nodeId },
        query: { limit, ...chosen, ...(cursor !== undefined && { cursor }) },
      }),
    enabled: task?.items !== undefined,
    placeholderData: (before) => before,
  });
}
