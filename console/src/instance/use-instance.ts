import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { WatchedChange } from "../../../src/client/watch.ts";
import { call } from "../api/client.ts";
import type { HistoryTurn, InstanceView, TaskView, Topology } from "../api/model.ts";
import { hasEnded } from "../base/status.ts";
import { useChanges, useThrottled } from "../live/use-live.ts";

const pageSize = 1000;
const historyMs = 400;
const viewMs = 1500;

const viewKey = (id: string): readonly string[] => ["instance", id];
const historyKey = (id: string): readonly string[] => ["history", id];

const smallMax = 500;

/**
 * What a task waits for (slots, workers, those ahead of it) changes without a change of its instance, and nothing is pushed
 * then. A state of few tasks is cheap to read; an ended instance changes only if somebody reopens it, which is pushed.
 */
function pollMs(view: InstanceView | undefined): number {
  const isWaiting = view !== undefined && !hasEnded(view.status) && view.tasks.length <= smallMax;
  return isWaiting ? 3000 : 15_000;
}

/** The state of an instance; changes arrive live, and are confirmed by reading it again now and then. */
export function useInstance(id: string) {
  const client = useQueryClient();
  const result = useQuery({
    queryKey: viewKey(id),
    queryFn: () => call("getInstance", { params: { id } }),
    refetchInterval: ({ state }) => pollMs(state.data),
  });
  const readView = useThrottled(() => void client.invalidateQueries({ queryKey: viewKey(id) }), viewMs);
  const readHistory = useThrottled(() => void client.refetchQueries({ queryKey: historyKey(id) }), historyMs);
  const readContext = useThrottled(() => void client.invalidateQueries({ queryKey: ["context", id] }), viewMs);
  useChanges(
    { instanceId: id },
    (changes) => {
      applyChanges(client, id, changes);
      readView();
      readHistory();
      readContext();
    },
    () => void client.invalidateQueries({ queryKey: viewKey(id) }),
  );
  return result;
}

/** Puts pushed changes into the state that is shown, before it is read again. */
function applyChanges(client: QueryClient, id: string, changes: readonly WatchedChange[]): void {
  client.setQueryData<InstanceView>(viewKey(id), (view) => {
    if (view === undefined) return view;
    const byName = new Map<string, Partial<TaskView>>();
    const changed: Partial<Record<"status" | "reason" | "startedAt" | "endedAt", unknown>> = {};
    for (const { status, reason, startedAt, endedAt, nodes = [], resync } of changes) {
      if (status === undefined || resync === true) continue;
      changed.status = status;
      if (reason !== undefined) changed.reason = reason;
      if (startedAt !== undefined) changed.startedAt = startedAt;
      if (endedAt !== undefined) changed.endedAt = endedAt;
      for (const { nodeId: _nodeId, error: _error, name, ...node } of nodes) {
        const isOver = node.status !== "Running";
        byName.set(name, { ...node, ...(isOver && { progress: undefined }) });
      }
    }
    const next = { ...view, ...changed } as InstanceView;
    if (byName.size === 0) return next;
    return { ...next, tasks: next.tasks.map((task) => ({ ...task, ...byName.get(task.name) })) };
  });
}

/** The whole history; later reads fetch only the turns that are new. */
export function useHistory(id: string, isWanted = true) {
  const client = useQueryClient();
  return useQuery({
    queryKey: historyKey(id),
    enabled: isWanted,
    queryFn: async (): Promise<readonly HistoryTurn[]> => {
      const turns = [...(client.getQueryData<readonly HistoryTurn[]>(historyKey(id)) ?? [])];
      for (;;) {
        const afterTurn = turns.at(-1)?.turn ?? -1;
        const page = await call("getHistory", { params: { id }, query: { afterTurn, limit: pageSize } });
        turns.push(...page.items);
        if (page.next === null) return turns;
      }
    },
    structuralSharing: false,
  });
}

/** The edges of a DAG; tasks that are added while it runs add theirs. */
export function useTopology(view: InstanceView | undefined) {
  const id = view?.instanceId ?? "";
  return useQuery<Topology>({
    queryKey: ["topology", id, view?.generation, view?.tasks.length],
    enabled: view?.kind === "dag",
    queryFn: () => call("monitorTopology", { params: { instanceId: id } }),
    placeholderData: (before) => before,
    staleTime: Infinity,
  });
}

/** A graph of the same tasks is the same: only the parts that changed are made anew. */
export function useTasksByName(view: InstanceView): ReadonlyMap<string, TaskView> {
  return useMemo(() => new Map(view.tasks.map((task) => [task.name, task])), [view.tasks]);
}
