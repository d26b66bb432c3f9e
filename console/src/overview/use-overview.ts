import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { InstanceSummary, QueuedNode } from "../api/model.ts";
import { serverNow } from "../base/server-clock.ts";
import { useChanges, useThrottled } from "../live/use-live.ts";

/** Counts change with every turn: they are read again at most this often. */
const countsMs = 1000;
const listsMs = 2500;
const slowMs = 15_000;
const failedMax = 500;

/** Everything that the overview shows; changes anywhere make it read again, and a slow beat covers what is not pushed. */
export function useOverview(hours: number) {
  const client = useQueryClient();
  const waiting = useQuery({
    queryKey: ["overview", "counts", "waiting"],
    queryFn: () => call("listWaitingNodes", { query: { limit: 200 } }),
    refetchInterval: slowMs,
  });
  const queue = useQuery({
    queryKey: ["overview", "counts", "queue"],
    queryFn: () => call("countQueuedNodes"),
    refetchInterval: slowMs,
  });
  const stats = useQuery({
    queryKey: ["overview", "lists", "stats", hours],
    queryFn: () => call("getStats", { query: { hours, buckets: 48 } }),
    refetchInterval: slowMs,
    placeholderData: (before) => before,
  });
  const active = useQuery({
    queryKey: ["overview", "lists", "active"],
    queryFn: () => call("listInstances", { query: { status: "Running,Paused,Ready", waits: "true", limit: 200 } }),
    refetchInterval: slowMs,
  });
  const failed = useQuery({
    queryKey: ["overview", "lists", "failed", hours],
    queryFn: () => {
      const createdFrom = Math.floor(serverNow() - hours * 3_600_000);
      return call("listInstances", { query: { status: "Failed", createdFrom, limit: failedMax } });
    },
    refetchInterval: slowMs,
    placeholderData: (before) => before,
  });
  const stuck = useQuery({
    queryKey: ["overview", "slow", "stuck"],
    queryFn: () => call("listStuckInstances"),
    refetchInterval: slowMs,
  });
  const schedules = useQuery({
    queryKey: ["schedules"],
    queryFn: () => call("listSchedules"),
    refetchInterval: slowMs,
  });
  const cluster = useQuery({ queryKey: ["cluster"], queryFn: () => call("getCluster"), refetchInterval: slowMs });
  const workers = useQuery({ queryKey: ["workers"], queryFn: () => call("listWorkers"), refetchInterval: slowMs });
  const readCounts = useThrottled(() => void client.invalidateQueries({ queryKey: ["overview", "counts"] }), countsMs);
  const readLists = useThrottled(() => void client.invalidateQueries({ queryKey: ["overview", "lists"] }), listsMs);
  const readAll = (): void => {
    readCounts();
    readLists();
  };
  useChanges({ all: true }, readAll, readAll);
  return { waiting, queue, stats, active, failed, stuck, schedules, cluster, workers, readAll };
}

export interface FailureGroup {
  readonly workflow: string;
  readonly message: string;
  readonly instances: readonly InstanceSummary[];
}

/** Failures by workflow and message, the largest first. */
export function groupFailures(failed: readonly InstanceSummary[]): FailureGroup[] {
  const groups = new Map<string, InstanceSummary[]>();
  for (const instance of failed) {
    const key = `${instance.workflowName}\n${instance.reason ?? ""}`;
    groups.set(key, [...(groups.get(key) ?? []), instance]);
  }
  return [...groups.values()]
    .map((instances) => {
      const [first] = instances;
      return { workflow: first?.workflowName ?? "", message: first?.reason ?? "", instances };
    })
    .sort((a, b) => b.instances.length - a.instances.length);
}

type RequiredWorker = NonNullable<NonNullable<QueuedNode["wait"]>["requires"]>;

export interface MissingWorkers {
  readonly key: string;
  readonly job: string;
  /** What the worker must have beside the job; undefined if the job alone is missing. */
  readonly requires: RequiredWorker | undefined;
  readonly count: number;
}

/** Tasks for which no connected worker will do, by job and what they require. */
export function groupMissingWorkers(waiting: readonly QueuedNode[]): MissingWorkers[] {
  const groups = new Map<string, MissingWorkers>();
  for (const { job, wait } of waiting) {
    if (wait?.reason !== "no-worker") continue;
    const { requires } = wait;
    // An id such as resize@1fb6… has the name first.
    const [name = ""] = job?.split("@") ?? [];
    const key = JSON.stringify([job, requires]);
    groups.set(key, { key, job: name, requires, count: (groups.get(key)?.count ?? 0) + 1 });
  }
  return [...groups.values()];
}
