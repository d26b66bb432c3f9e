import type { Failure } from "../kernel/failure.ts";
import { UndoScope } from "./undo-scope.ts";

/** The compensation of one run: its undo handlers, its cancel handlers, and how far it is. */
export class Compensation {
  /** Undo handlers of the workflow's function itself; sagas have scopes of their own. */
  readonly scope = new UndoScope();
  #cancelHandlers: (() => unknown)[] | undefined;
  #sagasUndoing = 0;
  /** The function has thrown: the run compensates and then ends. */
  isUndoing = false;
  /** The failure that the function threw. */
  thrown: Failure | undefined;
  /** Reason of a cancel that arrived during a saga's compensation or in the code's absence; it takes effect later. */
  heldCancel: string | undefined;

  get isUndoingSaga(): boolean {
    return this.#sagasUndoing > 0;
  }

  onCancel(handler: () => unknown): void {
    (this.#cancelHandlers ??= []).push(handler);
  }

  beginSaga(): void {
    this.#sagasUndoing++;
  }

  endSaga(): void {
    this.#sagasUndoing--;
  }

  /** Begins the compensation of the whole run, and returns the scopes to undo, in order. */
  begin(thrown: Failure, { isCanceled }: { readonly isCanceled: boolean }): UndoScope[] {
    this.isUndoing = true;
    this.thrown = thrown;
    if (!isCanceled) return [this.scope];
    const handlers = new UndoScope();
    for (const handler of this.#cancelHandlers ?? []) handlers.add(handler);
    return [handlers, this.scope];
  }
}
