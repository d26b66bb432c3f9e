import { checkNamespace } from "../base/namespace.ts";
import { type EngineError, messageOf } from "../base/error.ts";
import type { WaitReason } from "../dispatch/wait-reason.ts";
import { checkListener } from "./argument-check.ts";
import { Assembly } from "./assembly.ts";
import { CodeHosting } from "./code-hosting.ts";
import { declareSchedules } from "./declared-schedules.ts";
import { EngineNamespace } from "./engine-namespace.ts";
import { type Health, viewHealth } from "./health.ts";
import type { InstanceChange } from "./instance-change.ts";
import { countReasons } from "./queue.ts";
import { subscribeTo } from "./subscribe-to.ts";
import { type EngineOptions, resolveOptions } from "./options.ts";

/**
 * Runs durable workflows on a store: instances survive the process, and continue when an engine is started on the same
 * store. Its own methods act in the namespace of its options.
 */
export class Engine extends EngineNamespace {
  readonly #parts: Assembly;
  readonly #namespaces = new Map<string, EngineNamespace>();

  /** `OPTION_INVALID`, `POOL_SIZE_INVALID`, `JOB_DUPLICATE`, `JOB_INVALID`. */
  constructor(options: EngineOptions) {
    const resolved = resolveOptions(options);
    const parts = new Assembly(resolved);
    super(parts, parts.own);
    this.#parts = parts;
    this.#namespaces.set(resolved.namespace, this);
  }

  /** Opens the store, resumes unfinished instances and declares the schedules of the options. `ENGINE_STATE`, and the errors of the store and of `schedules.declare`. */
  async start(): Promise<void> {
    await this.#parts.lifeCycle.start();
    try {
      await this.#declareSchedules();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #declareSchedules(): Promise<void> {
    const { schedules: declared, logger, cluster } = this.#parts.options;
    const declaring = declareSchedules({ schedules: this.schedules, logger }, declared);
    if (cluster?.ownsShards !== false) return await declaring;
    // No other member may be up yet to own the schedules, and this one has to run jobs for those that come.
    declaring.catch((error: unknown) =>
      logger.error({ error: messageOf(error) }, "the declared schedules could not be brought up to date"),
    );
  }

  /** Aborts running jobs through their signal, writes what is outstanding and closes the store. `ENGINE_STATE` unless it is up; `STORE_ROLLED_BACK`. */
  stop(): Promise<void> {
    return this.#parts.lifeCycle.stop();
  }

  /**
   * The same engine in another namespace: what is registered, started and declared there is visible only there.
   * `OPTION_INVALID`.
   */
  inNamespace(name: string): EngineNamespace {
    const namespace = checkNamespace(name);
    let found = this.#namespaces.get(namespace);
    if (found === undefined) {
      found = new EngineNamespace(this.#parts, this.#parts.namespaces.get(namespace));
      this.#namespaces.set(namespace, found);
    }
    return found;
  }

  /**
   * The engine in a namespace of which nothing is to be remembered unless it is in use: for reads and subscriptions in a
   * namespace that a stranger may have made up. `OPTION_INVALID`.
   */
  viewNamespace(name: string): EngineNamespace {
    const namespace = checkNamespace(name);
    return this.#namespaces.get(namespace) ?? new EngineNamespace(this.#parts, this.#parts.namespaces.view(namespace));
  }

  /** Where servers connect code of workflows that speaks another protocol than Heddle's workers. `OPTION_INVALID`. */
  codeHosting(namespace: string): CodeHosting {
    return new CodeHosting(this.#parts, this.#parts.namespaces.get(checkNamespace(namespace)));
  }

  /** Calls the listener after every durable change that this process commits, whatever the namespace. Returns a function that unsubscribes. */
  subscribeAll(listener: (change: InstanceChange) => void): () => void {
    checkListener("subscribeAll", listener);
    return subscribeTo(this.#parts, listener, () => true);
  }

  /**
   * Makes this process, or one of its remote workers, take no new tasks; resolves when those that run there have ended.
   * Waiting tasks run when the process is started again, or on another member. `WORKER_UNKNOWN`.
   */
  async drain(worker?: string): Promise<void> {
    const { state, dispatcher, member, address } = this.#parts;
    state.refuseUnlessUp();
    if (worker === undefined || worker === address) {
      const drained = dispatcher.drain();
      member?.announceChange();
      return await drained;
    }
    await this.drainWorker(worker);
  }

  /**
   * Hands the shards of this member over to the other members, because it is about to stop. What runs here runs on, and its
   * results go to the new owners. Does nothing for an engine alone, and while there is no other member.
   */
  async handOver(): Promise<void> {
    const { state, member } = this.#parts;
    state.refuseUnlessUp();
    await member?.handOver();
  }

  /** Counts the tasks of all namespaces that wait in this process by the reason why they wait; together as many as `health.waitingTasks`. */
  countWaitReasons(): ReadonlyMap<WaitReason, number> {
    return countReasons(this.#parts);
  }

  get health(): Health {
    return viewHealth(this.#parts);
  }

  /** Resolves if another engine takes over the store, or the store is rolled back. The process should end: no work is taken again. */
  get fenced(): Promise<EngineError> {
    return this.#parts.state.fenced;
  }
}
