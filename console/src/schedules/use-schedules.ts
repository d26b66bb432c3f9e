import { useQuery } from "@tanstack/react-query";
import { call } from "../api/client.ts";
import type { ScheduleView } from "../api/model.ts";

/** All schedules; those of saved workflows are among them, under the workflow's name. */
export function useSchedules() {
  return useQuery({ queryKey: ["schedules"], queryFn: () => call("listSchedules"), refetchInterval: 10_000 });
}

function dueAt({ isEnabled, nextAt }: ScheduleView): number {
  return isEnabled ? (nextAt ?? Infinity) : Infinity;
}

/** The schedules that start a workflow, the next due one first. */
export function schedulesOf(all: readonly ScheduleView[], workflow: string): ScheduleView[] {
  return all.filter(({ spec }) => spec.workflow === workflow).sort((a, b) => dueAt(a) - dueAt(b));
}
