import type { Failure } from "../failure.ts";
import { hasSource } from "../task-definition.ts";
import type { DagTransition } from "./dag-transition.ts";
import { followFailure } from "./following-failure.ts";
import type { MapItems } from "./map-items.ts";

// A map task runs one job for each of its items. The dispatcher gets items like tasks, as many at a time as the map allows.

/** Starts a map: its items are evaluated first, unless a source hands them in or it runs again with those it has. */
export function startMap(transition: DagTransition, task: number): void {
  const { state } = transition;
  const attempt = state.attempt(task);
  const isNew = state.items.ofTask(task) === undefined;
  if (isNew && hasSource(state.definition(task).map)) transition.emit({ type: "MapStarted", task, attempt, pages: [] });
  else if (isNew) transition.command({ type: "ListItems", task, attempt });
  else transition.emit({ type: "MapStarted", task, attempt });
}

/** Ends the maps whose items have all ended, or of which no further item will start. */
export function settleMaps(transition: DagTransition): void {
  const { state } = transition;
  for (const items of state.items.running) {
    if (items.isSettled) endMap(transition, items);
    if (state.status !== "Running") return;
  }
}

/** Hands items to the dispatcher, up to the concurrency of their map. Once for all messages of a turn: one event lists them. */
export function feedMaps(transition: DagTransition): void {
  const { state } = transition;
  if (state.status !== "Running" || state.pausing || state.failing) return;
  for (const items of state.items.running) {
    if (items.isTripped) continue;
    const tasks = items.takeNext((items.settings.concurrency ?? state.maxConcurrentTasks) - items.itemsInFlight);
    if (tasks.length === 0) continue;
    transition.emit({ type: "TasksScheduled", tasks });
    transition.command({ type: "RunTasks", tasks });
  }
}

function endMap(transition: DagTransition, items: MapItems): void {
  const { state } = transition;
  const { task } = items;
  const attempt = state.attempt(task);
  if (!items.isFailed) {
    const { output } = items;
    transition.emit({ type: "TaskSucceeded", task, attempt, ...(output !== undefined && { output }) });
    return;
  }
  const wasFailing = state.failing;
  transition.emit({ type: "TaskFailed", task, attempt, failure: failureOf(items) });
  if (state.isHardFailure(task)) followFailure(transition, task, wasFailing);
}

function failureOf({ counts: { failed, total }, firstFailure, hooks }: MapItems): Failure {
  if (hooks.failure !== undefined) {
    const { name, message } = hooks.failure;
    return { type: "MAP_FAILED", message: `its ${name} job failed: ${message}`.slice(0, 1000), retryable: false };
  }
  const first = firstFailure === undefined ? "" : `; item ${firstFailure.index}: ${firstFailure.message}`;
  const message = `${failed} of ${total} items failed${first}`.slice(0, 1000);
  return { type: "MAP_FAILED", message, retryable: false };
}
