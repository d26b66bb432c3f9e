import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { DataOf } from "../../../src/api/routes.ts";
import type { WatchedChange } from "../../../src/client/watch.ts";
import { call } from "../api/client.ts";
import type { InstanceSummary } from "../api/model.ts";
import { isSystemWorkflow } from "../base/system-workflow.ts";
import { useChanges, useThrottled } from "../live/use-live.ts";

export interface InstanceFilter {
  readonly status: string | undefined;
  readonly workflow: string | undefined;
  readonly idPrefix: string | undefined;
  readonly createdFrom: number | undefined;
  readonly createdTo: number | undefined;
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
      const query = { ...queryOf(filter), waits: "true", limit: pageSize };
      return call("listInstances", { query: { ...query, ...(pageParam && { cursor: pageParam }) } });
    },
    getNextPageParam: (page: Page) => page.next ?? undefined,
    refetchOnWindowFocus: false,
  });
  const refresh = (): void => {
    setFresh(new Set());
    void client.resetQueries({ queryKey });
  };
  const isShown = (name: string): boolean => showsSystem || !isSystemWorkflow(name);
  const rows = useMemo(() => {
    const all = (list.data?.pages ?? []).flatMap(({ items }) => items);
    return showsSystem ? all : all.filter(({ workflowName }) => !isSystemWorkflow(workflowName));
  }, [list.data, showsSystem]);
  const readAgain = useThrottled(refresh, 1000);
  // After a gap in what was heard: the pages that are shown are read again, and the reader keeps the place.
  const catchUp = (): void => void client.invalidateQueries({ queryKey });
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
    catchUp,
  );
  return { list, rows, freshCount: fresh.size, refresh };
}

function queryOf(filter: InstanceFilter) {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

const unfinished = ["Running", "Ready", "Paused"];
const waitsMax = 50;

/** What the newest unfinished instances of a list wait for, read again every few seconds: waits change without a turn. */
export function useWaits(filter: InstanceFilter): ReadonlyMap<string, InstanceSummary> {
  const chosen = filter.status?.split(",").filter((status) => unfinished.includes(status)) ?? unfinished;
  const found = useQuery({
    queryKey: ["instance-waits", filter],
    queryFn: () => {
      const query = { ...queryOf(filter), status: chosen.join(","), waits: "true", limit: waitsMax };
      return call("listInstances", { query });
    },
    enabled: chosen.length > 0,
    refetchInterval: 5000,
  });
  return useMemo(() => new Map((found.data?.items ?? []).map((row) => [row.instanceId, row])), [found.data]);
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
