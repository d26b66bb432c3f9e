import { parseOptional } from "../code/values.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { defaultNamespace, qualify } from "../base/namespace.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import type { CallOf, InputCallType, InstanceCallType, ResultOf } from "../runtime/call.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { InstanceEnd } from "../runtime/instance-query.ts";
import {
  noPayloads,
  parseTexts,
  type Payloads,
  readText,
  readTexts,
  refuseLargeJoin,
  textsAtHand,
} from "../runtime/task-inputs.ts";
import { readItems } from "../runtime/read-items.ts";
import { readTaskAttempts } from "../runtime/task-attempts.ts";
import type { Payload } from "../kernel/payload.ts";
import type { Store } from "../stores/store.ts";
import type { TaskAttempt } from "../views/attempt-view.ts";
import type { Breakpoint } from "../views/breakpoint.ts";
import type { ItemFilter, MapItemPage } from "../views/item-view.ts";
import { localEvent } from "../views/local-event.ts";
import { checkInstanceId } from "./argument-check.ts";
import type { EngineState } from "./engine-state.ts";
import type { OutageDeadline } from "./outage-deadline.ts";
import { WorkflowFailed, WorkflowTerminated } from "./workflow-ended.ts";

/** One turn of an instance, as its history keeps it. */
export interface HistoryEntry {
  readonly turn: number;
  readonly at: number;
  readonly firstEvent: number;
  readonly events: readonly Event[];
}

export interface InstanceCallsParts {
  /** The namespace of the ids that are given. */
  readonly namespace: string;
  readonly state: EngineState;
  readonly calls: CallClient;
  readonly outage: OutageDeadline;
  readonly store: Store;
}

/** Calls to instances on behalf of users: refused unless the engine is up; large values are read from the store. */
export class InstanceCalls {
  readonly #parts: InstanceCallsParts;

  constructor(parts: InstanceCallsParts) {
    this.#parts = parts;
  }

  refuseUnlessUp(): void {
    this.#parts.state.refuseUnlessUp();
  }

  async read<T extends InstanceCallType>(call: CallOf<T>): Promise<ResultOf<T>> {
    this.#parts.state.refuseUnlessUp();
    checkInstanceId(call.id);
    return await this.#parts.calls.callInstance<T>(this.#qualified(call));
  }

  /** Refused while the store takes no writes; `CALL_UNANSWERED` if an outage that begins during the call lasts. */
  async change(call: CallOf<InputCallType>): Promise<void> {
    const { state, calls, outage } = this.#parts;
    state.refuseUnlessUp();
    checkInstanceId(call.id);
    state.refuseUnlessReady();
    await outage.bound(call.type, call.id, calls.callInstance(this.#qualified(call)));
  }

  #qualified<T extends { readonly id: string }>(call: T): T {
    const { namespace } = this.#parts;
    return namespace === defaultNamespace ? call : { ...call, id: qualify(namespace, call.id) };
  }

  /** `WorkflowFailed`, `WorkflowTerminated`, `RESULT_TOO_LARGE`. */
  async awaitResult(id: string): Promise<unknown> {
    this.#parts.state.refuseUnlessUp();
    checkInstanceId(id);
    const end = await this.#parts.calls.awaitEnd(qualify(this.#parts.namespace, id));
    const { status, reason, outputs, output } = end;
    if (status === "Failed") throw new WorkflowFailed(id, reason, end.failedTasks ?? []);
    if (status === "Terminated") throw new WorkflowTerminated(id, reason);
    if (outputs === undefined && typeof output !== "object") return parseOptional(output);
    if (outputs === noPayloads) return {};
    if (outputs !== undefined) refuseLargeResult(id, outputs);
    const texts = outputs && textsAtHand(outputs);
    return texts === undefined ? await this.#readResult(end) : parseTexts(texts);
  }

  async #readResult({ key, outputs, output }: InstanceEnd): Promise<unknown> {
    return outputs === undefined ? await this.readPayload(key, output) : await this.#readPayloads(key, outputs);
  }

  /** `TASK_UNKNOWN`. */
  async readTaskOutput(id: string, task: string): Promise<unknown> {
    const { key, outputs } = await this.read({ type: "GetEnd", id });
    const output = outputs !== undefined && Object.hasOwn(outputs, task) ? outputs[task] : undefined;
    if (output !== undefined) return await this.readPayload(key, output);
    throw new EngineError("TASK_UNKNOWN", `instance "${id}" has no output of a task ${preview(task)}`);
  }

  async readBreakpoint(id: string): Promise<Breakpoint> {
    const { key, context, ...view } = await this.read({ type: "GetBreakpoint", id });
    return { ...view, context: await this.#readPayloads(key, context) };
  }

  async readHistory(id: string, page: { afterTurn: number; limit: number }): Promise<HistoryEntry[]> {
    const { key } = await this.read({ type: "GetIdentity", id });
    const rows = await this.#parts.store.listHistory(key, page);
    return rows.map(({ turn, at, firstEvent, events }) => ({
      turn,
      at,
      firstEvent,
      events: parseEvents(events, `turn ${turn} of instance "${id}"`).map(localEvent),
    }));
  }

  async listAttempts(id: string): Promise<TaskAttempt[]> {
    const { key } = await this.read({ type: "GetIdentity", id });
    return await readTaskAttempts(this.#parts.store, { id, key });
  }

  async listItems(id: string, task: string | number, filter: ItemFilter): Promise<MapItemPage> {
    const { key, ...places } = await this.read({ type: "GetItems", id, task, ...filter });
    return await readItems(this.#parts.store, { id, key }, places);
  }

  async readPayload(key: number, payload: Payload | undefined): Promise<unknown> {
    return parseOptional(await readText(payload, (refs) => this.#parts.store.loadPayloads(key, refs)));
  }

  async #readPayloads(key: number, payloads: Payloads): Promise<Record<string, unknown>> {
    return parseTexts(await readTexts(payloads, (refs) => this.#parts.store.loadPayloads(key, refs)));
  }
}

function refuseLargeResult(instanceId: string, outputs: Payloads): void {
  refuseLargeJoin([outputs], () => ({
    code: "RESULT_TOO_LARGE",
    what: `the ${Object.keys(outputs).length} outputs of instance "${instanceId}"`,
    instead: "read them one by one with getTaskOutput, or GET /api/instance/{id}/result?task=<name>",
  }));
}
