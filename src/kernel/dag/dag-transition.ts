import type { Transition } from "../transition.ts";
import type { DagState } from "./dag-state.ts";
import { localName } from "../../base/namespace.ts";

/** One message on its way through an instance of a DAG. */
export type DagTransition = Transition<DagState>;

/** Formats the task for errors. */
export function nameOf({ state, identity }: DagTransition, task: number): string {
  return `task "${state.definition(task).name}" of instance "${localName(identity.id)}"`;
}
