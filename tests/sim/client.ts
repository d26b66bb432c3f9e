import { EngineError } from "../../src/base/error.ts";
import { defaultNamespace, qualify } from "../../src/base/namespace.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { EngineNamespace } from "../../src/engine/engine-namespace.ts";
import type { SimRandom } from "./sim-random.ts";
import type { ClientCall, Operation } from "./evidence.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";

/** A process that a client may call. */
export interface Callee {
  readonly number: number;
  readonly engine: Engine;
  /** Settles when the process is gone, and with it every connection. */
  readonly died: Promise<void>;
}

/** Describes a call for the record. */
export interface About {
  readonly instanceId?: string;
  readonly marker?: string;
  readonly given?: Readonly<Record<string, unknown>>;
}

export type Act = (engine: EngineNamespace, callee: Callee) => unknown;

/**
 * The clients of the cluster: call any member that is up, record requests and answers, and retry at another member
 * where a user would.
 */
export class Client {
  readonly #scheduler: Scheduler;
  readonly #recorder: Recorder;
  readonly #random: SimRandom;
  readonly #callees: () => readonly Callee[];
  readonly #namespace: string;
  #isClosed = false;

  constructor(parts: {
    scheduler: Scheduler;
    recorder: Recorder;
    random: SimRandom;
    /** The members that are up. */
    callees: () => readonly Callee[];
    /** The namespace in which it acts; the record has qualified ids. Default `default`. */
    namespace?: string;
  }) {
    this.#namespace = parts.namespace ?? defaultNamespace;
    this.#scheduler = parts.scheduler;
    this.#recorder = parts.recorder;
    this.#random = parts.random;
    this.#callees = parts.callees;
  }

  get now(): number {
    return this.#scheduler.now;
  }

  async sleep(ms: number): Promise<void> {
    await this.#scheduler.sleep(ms);
  }

  /** Makes no more calls: those that come are never answered. */
  close(): void {
    this.#isClosed = true;
  }

  /** Makes one try. */
  async call(operation: Operation, about: About, act: Act): Promise<ClientCall> {
    const callee = await this.#findCallee();
    const { marker, given = {} } = about;
    const namespace = this.#namespace;
    const instanceId = about.instanceId === undefined ? undefined : qualify(namespace, about.instanceId);
    const call = this.#recorder.recordCall({ operation, instanceId, marker, given, namespace, life: callee.number });
    try {
      // A crashed process does not answer.
      const dead = Symbol("dead");
      const value = await Promise.race([this.#act(act, callee), callee.died.then(() => dead)]);
      if (value === dead) this.#recorder.recordAnswer(call, { outcome: "unknown", code: undefined, value: undefined });
      else this.#recorder.recordAnswer(call, { outcome: "ok", code: undefined, value });
    } catch (error) {
      this.#fail(call, error);
    }
    return call;
  }

  /** Retries until the call succeeds or is refused. */
  async insist(operation: Operation, about: () => About, act: (about: About) => Act): Promise<ClientCall> {
    for (;;) {
      const now = about();
      const call = await this.call(operation, now, act(now));
      if (call.outcome !== "unknown") return call;
      await this.sleep(this.#random.within(20, 600));
    }
  }

  async #act(act: Act, callee: Callee): Promise<unknown> {
    return await act(callee.engine.inNamespace(this.#namespace), callee);
  }

  /** Records a failed call. The error code says whether it was refused, or its outcome is unknown. */
  #fail(call: ClientCall, error: unknown): void {
    if (!(error instanceof EngineError)) {
      this.#recorder.recordProblem(`${call.operation} ${call.instanceId} was answered with ${String(error)}`);
      this.#recorder.recordAnswer(call, { outcome: "unknown", code: undefined, value: undefined });
      return;
    }
    const outcome = error.retryable || error.code === "ENGINE_STATE" ? "unknown" : "refused";
    this.#recorder.recordAnswer(call, { outcome, code: error.code, value: error.message });
  }

  async #findCallee(): Promise<Callee> {
    for (;;) {
      if (this.#isClosed) await new Promise(() => undefined);
      const callees = this.#callees();
      if (callees.length > 0) return this.#random.pick(callees);
      await this.sleep(this.#random.within(20, 400));
    }
  }
}
