import { EngineError } from "../../base/error.ts";
import { isCurrent } from "../task-reports.ts";
import type { AddItems } from "./dag-input.ts";
import { type DagTransition, nameOf } from "./dag-transition.ts";
import { itemsMax } from "./map-items.ts";

/**
 * Records items that an attempt hands in. The same items of the same call, from another run of its task, are there already.
 * `TASK_STATE`, `TASK_INVALID`, `MAP_ITEMS_INVALID`.
 */
export function addItems(transition: DagTransition, input: AddItems): void {
  const { state } = transition;
  const { task: by, call, from, pages } = input;
  if (!isCurrent(state, input)) throw refusal("TASK_STATE", "the attempt that hands in items has ended");
  const items = state.items.find(by);
  if (items === undefined || !items.mayHandIn(by))
    throw refusal(
      "TASK_INVALID",
      `${nameOf(transition, by)} is no part of a map with a source: it cannot hand in items`,
    );
  const known = items.handedIn.count(by, call);
  const added = pages.reduce((sum, { count }) => sum + count, 0);
  if (from + added <= known) return;
  if (items.isTripped || items.hooks.failure !== undefined)
    throw refusal("TASK_STATE", "the map has failed, and starts no further item");
  if (from !== known) {
    const problem = `call ${call} has handed in ${known} items, and goes on with item ${from}`;
    throw refusal("TASK_STATE", `${problem}: another run of the task has handed in others meanwhile`);
  }
  if (items.count + added > itemsMax)
    throw refusal("MAP_ITEMS_INVALID", `a map has at most ${itemsMax} items, and ${items.count} were handed in before`);
  transition.emit({ type: "ItemsAdded", task: items.task, by, call, from, pages });
}

function refusal(code: "TASK_STATE" | "TASK_INVALID" | "MAP_ITEMS_INVALID", message: string): EngineError {
  return new EngineError(code, message);
}
