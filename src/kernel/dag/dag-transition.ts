import { Transition } from "../transition.ts";
import type { DagState } from "./dag-state.ts";

/** One message on its way through an instance of a DAG. */
export class DagTransition extends Transition<DagState> {
  /** The task, as messages call it. */
  nameOf(task: number): string {
    return `task "${this.state.definition(task).name}" of instance "${this.identity.id}"`;
  }
}
