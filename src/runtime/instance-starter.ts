import { EngineError } from "../base/error.ts";
import { isJobWorkflowName } from "../kernel/event.ts";
import type { StartInstance } from "../kernel/input.ts";
import type { FinishedRow, Store } from "../stores/store.ts";
import type { Clock } from "../base/clock.ts";
import { localName } from "../base/namespace.ts";
import type { FencingToken } from "./fencing-token.ts";
import type { GateClient } from "./gate-client.ts";
import type { Definition } from "./definitions.ts";
import { InstanceEntry } from "./instance-entry.ts";
import type { Origin, Reply } from "./message.ts";
import type { StartChildMessage } from "./outbox.ts";
import type { InstanceTable, NewActor } from "./instance-table.ts";
import type { ShardInstances } from "./shard-instances.ts";
import type { ShardState } from "./shard-state.ts";
import { contextOfInput, objectText } from "./task-inputs.ts";

export type Reuse = boolean | "unless-succeeded";

export interface StartRequest {
  readonly id: string;
  /** True if the caller chose the id, which may be taken. */
  readonly isGivenId: boolean;
  /** Allows reuse of a finished instance's id, or only of one that did not succeed. */
  readonly reuse: Reuse;
  readonly definition: Definition;
  /** The definition and those of nested workflows. */
  readonly definitions: readonly Definition[];
  readonly input: Omit<StartInstance, "type" | "workflow" | "version" | "generation" | "admission">;
  readonly origin?: Origin;
  /** An event that is raised with its start: a code workflow has it from its beginning. */
  readonly event?: { readonly name: string; readonly data?: string } | undefined;
  /** Key of the request, recorded with the start, so that a repetition is recognised. */
  readonly requestKey?: string;
}

export interface InstanceStarterParts {
  readonly token: FencingToken;
  readonly clock: Clock;
  readonly store: Pick<Store, "findFinished">;
  readonly state: ShardState;
  readonly table: InstanceTable;
  readonly instances: ShardInstances;
  readonly gate: GateClient;
  readonly newActor: NewActor;
}

/** The values that a child starts with, as texts: the context of a DAG, or the input that code gave it. */
export interface GivenToChild {
  readonly context: Readonly<Record<string, string>> | undefined;
  readonly input: string | undefined;
}

/**
 * Subscribers order the instances of one id by their creation times, so a new one is created later than the one before,
 * also if this member's clock is behind that of the shard's last owner. It follows the clock if that is further behind:
 * the last instance was created while a clock was far ahead, and timers would count from then.
 */
const clockBehindMsMax = 60_000;

/** Creates the instances of a shard. An id that the caller chose may be taken. */
export class InstanceStarter {
  readonly #parts: InstanceStarterParts;

  constructor(parts: InstanceStarterParts) {
    this.#parts = parts;
  }

  /** Resolves when the instance is durable. `INSTANCE_EXISTS`. */
  start(request: StartRequest): Promise<void> {
    const reply = Promise.withResolvers<void>();
    this.submit(request, reply);
    return reply.promise;
  }

  /** Settles the reply when the instance is durable. `INSTANCE_EXISTS`. */
  submit(request: StartRequest, reply: Reply<void>): void {
    if (!request.isGivenId) return this.#create(request, undefined, reply);
    this.#startAs(request).then(
      () => reply.resolve(),
      (error: unknown) => reply.reject(error),
    );
  }

  async #startAs(request: StartRequest): Promise<void> {
    const { committed } = await this.startWithGivenId(request);
    await committed;
  }

  /** Resolves when the instance is in memory; `committed` when it is durable. `INSTANCE_EXISTS`. */
  async startWithGivenId(request: StartRequest): Promise<{ committed: Promise<void> }> {
    for (;;) {
      const previous = await this.#findPrevious(request);
      // Checks again: another start of the same id may have come while this one waited.
      if (this.#parts.table.get(request.id) !== undefined) continue;
      const reply = Promise.withResolvers<void>();
      this.#create(request, previous, reply);
      return { committed: reply.promise };
    }
  }

  #create(request: StartRequest, previous: FinishedRow | undefined, reply: Reply<void>): void {
    const { clock, token, state, table, gate, newActor } = this.#parts;
    state.refuseIfClosed();
    const { id, definition, input, origin, requestKey } = request;
    const { name: workflow, version } = definition;
    const key = token.newKey();
    const admission = gate.admissionOf(definition, id);
    // Its time is set with its first turn.
    const entry = new InstanceEntry({ id, key, workflow, version, status: "Ready", at: 0 });
    const actor = newActor(definition, id, key);
    actor.startWith(request.definitions);
    const createdAtMin = (previous?.createdAt ?? 0) + 1;
    if (createdAtMin <= clock.now() + clockBehindMsMax) actor.lastTurnAt = createdAtMin;
    entry.attach(actor);
    table.add(entry);
    const generation = (previous?.generation ?? 0) + 1;
    const start: StartInstance = { type: "StartInstance", workflow, version, generation, admission, ...input };
    if (origin !== undefined) actor.tell({ input: start, reply, origin });
    else actor.tell(requestKey === undefined ? { input: start, reply } : { input: start, reply, key: requestKey });
    if (request.event !== undefined) actor.tell({ input: { type: "RaiseEvent", ...request.event } });
  }

  /** The instance that had the id before. `INSTANCE_EXISTS`. */
  async #findPrevious({ id, reuse }: StartRequest): Promise<FinishedRow | undefined> {
    for (;;) {
      await this.#refuseActive(id);
      const { table, store } = this.#parts;
      const read = (): Promise<FinishedRow | undefined> => store.findFinished(id);
      const search = await table.searchFor(id, read, (found) => ({ found }));
      if (search === "outdated") continue;
      const { found } = search;
      const mayFollow = reuse === "unless-succeeded" ? found?.status !== "Success" : reuse;
      if (found !== undefined && !mayFollow) {
        throw new EngineError(
          "INSTANCE_EXISTS",
          `an instance with id "${localName(id)}" exists and is ${found.status}; choose another id or delete that instance first; a program may also pass "reuse: true"`,
        );
      }
      return found;
    }
  }

  /**
   * Only a durable instance is a reason to refuse: a start that is being written may fail, and an instance that has ended
   * may not have left memory yet.
   */
  async #refuseActive(id: string): Promise<void> {
    for (let entry = this.#parts.table.get(id); entry !== undefined; entry = this.#parts.table.get(id)) {
      const { actor, status } = entry;
      const isDurable = actor === undefined || !actor.isAheadOfStore;
      if (isDurable && !actor?.hasEnded) {
        throw new EngineError(
          "INSTANCE_EXISTS",
          `an active instance with id "${localName(id)}" already exists; it is ${status}`,
        );
      }
      await this.#parts.instances.has(id);
    }
  }
}

/** The start request of a parent's message. */
export function requestOfChild(
  { to: id, parent, trigger, traceparent, app }: StartChildMessage,
  definition: Definition,
  given: GivenToChild & { readonly origin: Origin; readonly reuse: boolean },
): StartRequest {
  const { origin, reuse } = given;
  return {
    id,
    isGivenId: true,
    definition,
    definitions: [definition],
    input: {
      ...givenToStart(definition, given),
      ...(parent !== undefined && { parent }),
      trigger: trigger ?? "nested",
      traceparent,
      ...(app !== undefined && { app }),
    },
    origin,
    reuse,
  };
}

/** Code has an input, a job's workflow parameters for its only task, and any other DAG a context. */
function givenToStart(
  definition: Definition,
  { context, input }: GivenToChild,
): Pick<StartInstance, "context" | "input" | "taskParams"> {
  if (definition.kind === "code") return { context: {}, input: input ?? (context && objectText(context)) };
  if (input === undefined) return { context: { ...context } };
  if (isJobWorkflowName(localName(definition.name))) return { context: { ...context }, taskParams: input };
  return { context: { ...context, ...contextOfInput(input) } };
}
