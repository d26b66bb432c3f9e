import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { DataOf } from "../../../src/api/routes.ts";
import type { WatchedChange } from "../../../src/client/watch.ts";
import { call } from "../api/client.ts";
import type { InstanceSummary } from "../api/model.ts";
import { useChanges, useThrottled } from "../live/use-live.ts";

export interface InstanceFilter {
  readonly status: string | undefined;
  readonly workflow: string | undefined;
  readonly idPrefix: string | undefined;
  readonly createdFrom: number | undefined;
}

type Page = DataOf<"listInstances">;

const pageSize = 100;

/** A list of instances: rows change as they happen, new ones are counted and wait until they are asked for. */
export function useInstances(filter: InstanceFilter, showsSystem: boolean) {
  const client = useQueryClient();
  const queryKey = ["instances", filter];
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const list = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam }) => {
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
      return call("listInstances", { query: { ...given, limit: pageSize, ...(pageParam && { cursor: pageParam }) } });
    },
    getNextPageParam: (page: Page) => page.next ?? undefined,
    refetchOnWindowFocus: false,
  });
  const refresh = (): void => {
    setFresh(new Set());
    void client.resetQueries({ queryKey });
  };
  const isShown = (name: string): boolean => showsSystem || !name.startsWith("heddle.");
  const rows = (list.data?.pages ?? [])
    .flatMap(({ items }) => items)
    .filter(({ workflowName }) => isShown(workflowName));
  const readAgain = useThrottled(refresh, 1000);
  useChanges(
    filter.workflow === undefined ? { all: true } : { workflow: filter.workflow },
    (changes) => {
      const known = new Set(rows.map(({ instanceId }) => instanceId));
      const added = changes.filter((change) => !known.has(change.instanceId) && isShown(change.workflowName));
      if (changes.length > added.length) {
        client.setQueryData<InfiniteData<Page>>(queryKey, (data) => withChanges(data, changes));
      }
      if (added.length === 0) return;
      // An empty or short list has nothing that would jump away.
      if (rows.length < 20) readAgain();
      else setFresh((before) => new Set([...before, ...added.map(({ instanceId }) => instanceId)]));
    },
    refresh,
  );
  return { list, rows, freshCount: fresh.size, refresh };
}

function withChanges(
  data: InfiniteData<Page> | undefined,
  changes: readonly WatchedChange[],
): InfiniteData<Page> | undefined {
  if (data === undefined) return data;
  const latest = new Map(changes.filter(({ status }) => status !== undefined).map((each) => [each.instanceId, each]));
  const apply = (row: InstanceSummary): InstanceSummary => {
    const change = latest.get(row.instanceId);
    if (change === undefined) return row;
    const status = change.status as InstanceSummary["status"];
    return { ...row, status, endedAt: change.endedAt ?? null, reason: change.reason ?? null };
  };
  return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(apply) })) };
}
