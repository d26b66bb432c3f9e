import type { JobRegistry } from "../authoring/job-registry.ts";
import { SettingCheck } from "../authoring/setting-check.ts";
import { preview } from "../base/preview.ts";
import { Task } from "../authoring/task.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, type ErrorCode, errorCodes } from "../base/error.ts";
import type { Random } from "../base/random.ts";
import { qualify, refuseMark } from "../base/namespace.ts";
import { defaultDomain, qualifyDomain } from "../dispatch/domain-pools.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DomainOptions, DomainStatus } from "../dispatch/domain-pool.ts";
import type { AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import type { Failure } from "../kernel/failure.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Reply } from "../runtime/message.ts";
import { checkListener } from "./argument-check.ts";
import { ProgressListeners, type TaskProgressReport } from "./progress-listeners.ts";
import type { DomainRow } from "../stores/store.ts";
import { WorkerListeners } from "./worker-listeners.ts";

/** Stores domains that are declared or resized at runtime. */
export interface DomainStore {
  /** True in a cluster: domains are limits over all members, and all are stored. Otherwise only those declared at runtime are. */
  readonly isShared: boolean;
  setDomain(domain: DomainRow): Promise<void>;
}

/** The state that the executors of all namespaces of an engine share. */
export class ExecutorState {
  /** Qualified names of the domains that were declared at runtime, by this engine or before it was started. */
  readonly stored = new Set<string>();
  readonly pending = new Map<string, Reply<unknown>>();
  readonly progress = new ProgressListeners();
  readonly workers = new WorkerListeners();
}

/** The pool in which tasks run: sets its size and its domains, and runs single tasks that belong to no workflow. */
export class Executor {
  readonly #dispatcher: Dispatcher;
  readonly #registry: JobRegistry;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #defaultTimeoutSeconds: number | undefined;
  readonly #refuseUnlessStarted: () => void;
  readonly #domains: DomainStore;
  readonly #namespace: string;
  readonly #shared: ExecutorState;
  /** Starts are not recorded, and only instances withdraw their tasks. */
  readonly #listener: AttemptListener = {
    onStarted: () => undefined,
    onEnded: (run, outcome, _execution, acknowledge) => {
      this.#settle(run, outcome);
      acknowledge?.();
    },
    onWithdrawn: () => undefined,
  };

  /** Made by `Engine`. */
  constructor(parts: {
    dispatcher: Dispatcher;
    registry: JobRegistry;
    clock: Clock;
    random: Random;
    defaultTimeoutSeconds: number | undefined;
    /** `ENGINE_STATE` before the engine is started. */
    refuseUnlessStarted: () => void;
    domains: DomainStore;
    /** The namespace of the jobs and domains that it names. */
    namespace: string;
    shared: ExecutorState;
  }) {
    this.#namespace = parts.namespace;
    this.#shared = parts.shared;
    this.#dispatcher = parts.dispatcher;
    this.#registry = parts.registry;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#defaultTimeoutSeconds = parts.defaultTimeoutSeconds;
    this.#refuseUnlessStarted = parts.refuseUnlessStarted;
    this.#domains = parts.domains;
  }

  /**
   * Calls the listener when a job reports its progress that runs for this process: here, on a remote worker, or on a slot of
   * another member, which passes progress on twice a second. Returns a function that unsubscribes. `OPTION_INVALID`.
   */
  onTaskProgress(listener: (report: TaskProgressReport) => void): () => void {
    checkListener("onTaskProgress", listener);
    return this.#shared.progress.add((report, namespace) => {
      if (namespace === this.#namespace) listener(report);
    });
  }

  /** The slots of the embedded pool and of connected workers. */
  get poolSize(): number {
    return this.#dispatcher.status.poolSize;
  }

  /** The slots of connected workers, a part of `poolSize`. */
  get workerSlots(): number {
    return this.#dispatcher.status.workerSlots;
  }

  /** Resizes the embedded pool; running tasks are not aborted. `POOL_SIZE_INVALID` outside 1 and `poolSizeMax`, or below the sum of the domains. */
  setPoolSize(size: number): void {
    this.#dispatcher.setPoolSize(size);
  }

  /**
   * Resizes a domain. In a cluster the size is a limit over all members, and in force when the promise resolves.
   * `DOMAIN_UNKNOWN`, `POOL_SIZE_INVALID`.
   */
  setDomainPoolSize(domain: string, size: number): void | Promise<void> {
    const name = this.#qualify(domain);
    this.#dispatcher.setDomainPoolSize(name, size);
    if (!this.#domains.isShared && !this.#shared.stored.has(name)) return undefined;
    return this.#domains.setDomain({ name, size, priority: this.#priorityOf(name) });
  }

  /**
   * Adds a domain, or changes its size and priority; the priority of a new one is 0. The store keeps it for the next start,
   * unless the engine's options have a domain of that name. In a cluster the other members learn of it within seconds.
   * `POOL_SIZE_INVALID`, `OPTION_INVALID`, `ENGINE_STATE`.
   */
  async declareDomain(domain: string, options: DomainOptions): Promise<void> {
    this.#refuseUnlessStarted();
    const check = new SettingCheck("OPTION_INVALID", "declareDomain");
    check.name("domain", domain);
    refuseMark("a domain", domain);
    const name = this.#qualify(domain);
    check.options(options, { size: true, priority: true });
    const { size, priority = this.#priorityOf(name) } = options;
    if (!Number.isSafeInteger(priority)) {
      throw new EngineError(
        "OPTION_INVALID",
        `declareDomain: priority must be a whole number, got ${preview(priority)}`,
      );
    }
    this.#dispatcher.declareDomain(name, { size, priority });
    this.#shared.stored.add(name);
    await this.#domains.setDomain({ name, size, priority });
  }

  /** Declares domains of all namespaces again that were declared at runtime before this start. Returns those that no longer fit into the pool. */
  restoreDomains(domains: readonly DomainRow[]): { readonly domain: string; readonly error: EngineError }[] {
    return domains.flatMap(({ name: domain, size, priority }) => {
      this.#shared.stored.add(domain);
      try {
        this.#dispatcher.declareDomain(domain, { size, priority });
        return [];
      } catch (error) {
        if (error instanceof EngineError) return [{ domain, error }];
        throw error;
      }
    });
  }

  #qualify(domain: string): string {
    return qualifyDomain(this.#namespace, domain);
  }

  #priorityOf(domain: string): number {
    return this.#dispatcher.status.listDomains().find((each) => each.domain === domain)?.priority ?? 0;
  }

  /** Returns the size and use of a domain. `DOMAIN_UNKNOWN`. */
  getDomainPoolStatus(domain: string): DomainStatus {
    return this.#dispatcher.status.domainStatus(this.#qualify(domain));
  }

  /**
   * Runs one task in the pool, once, and resolves with its output. Unlike a workflow, it is not durable.
   * `QUEUE_FULL`, `TASK_INVALID`, `JOB_MISSING`, `DOMAIN_UNKNOWN`, `ENGINE_STATE`, `EXECUTOR_SHUT_DOWN`; a failure of
   * the job rejects.
   */
  async submitTask(task: Task): Promise<unknown> {
    this.#refuseUnlessStarted();
    if (!(task instanceof Task)) {
      throw new EngineError("TASK_INVALID", `submitTask takes what TaskBuilder's build() gave, got ${preview(task)}`);
    }
    if (task.kind !== "job") {
      throw new EngineError(
        "TASK_INVALID",
        `task "${task.name}" has no job function: only such a task can run by itself`,
      );
    }
    const reply = Promise.withResolvers<unknown>();
    const run = this.#runOf(task);
    this.#dispatcher.submit(run);
    this.#shared.pending.set(run.attemptId, reply);
    return await reply.promise;
  }

  /** Aborts running tasks and empties the queue; durable tasks run again at the next start. `EXECUTOR_SHUT_DOWN` if called twice. */
  async shutdown(): Promise<void> {
    const done = this.#dispatcher.shutdown();
    const error = new EngineError("EXECUTOR_SHUT_DOWN", "the executor was shut down before the task ended");
    for (const reply of this.#shared.pending.values()) reply.reject(error);
    this.#shared.pending.clear();
    await done;
  }

  #settle(run: TaskRun, outcome: Outcome): void {
    const reply = this.#shared.pending.get(run.attemptId);
    this.#shared.pending.delete(run.attemptId);
    if (reply === undefined) return;
    if (outcome.kind === "success" && outcome.subTasks !== undefined) {
      const message = `task "${run.taskName}" generates sub-tasks, but belongs to no workflow that they could join`;
      reply.reject(new EngineError("SUBTASK_INVALID", message));
    } else if (outcome.kind === "success") {
      const { output } = outcome;
      reply.resolve(typeof output === "string" ? (JSON.parse(output) as unknown) : undefined);
    } else if (outcome.kind === "lost") {
      reply.reject(new EngineError("TASK_LOST", `task "${run.taskName}" was lost with its thread`));
    } else if (outcome.kind === "awaits") {
      const message = `task "${run.taskName}" is to be completed from outside, but belongs to no workflow`;
      reply.reject(new EngineError("TASK_INVALID", message));
    } else reply.reject(errorOf(outcome.failure));
  }

  #runOf(task: Task): TaskRun {
    const id = qualify(this.#namespace, this.#random.uuid(this.#clock.now()));
    const node = task.toNode(task.id);
    return {
      attemptId: `${id}:1:0:1`,
      instanceId: id,
      workflowName: "",
      taskName: task.name,
      task: 0,
      attempt: 1,
      generation: 1,
      job: this.#jobOf(task, node.nodeParams),
      params: node.nodeParams ?? "",
      domain: this.#qualify(task.domain ?? defaultDomain),
      rank: 0,
      successors: 0,
      timeoutMs: (node.timeoutSeconds ?? this.#defaultTimeoutSeconds ?? task.timeoutSeconds) * 1000,
      heartbeatTimeoutMs: node.heartbeatTimeoutSeconds === undefined ? undefined : node.heartbeatTimeoutSeconds * 1000,
      interruptions: 0,
      isCautious: false,
      confirmStart: () => Promise.resolve(),
      inputs: () => ({ context: {}, outputs: {} }),
      completionToken: undefined,
      listener: this.#listener,
    };
  }

  #jobOf({ name, jobName, jobId }: Task, params: string | undefined): string {
    try {
      return qualify(this.#namespace, this.#registry.resolve({ jobName, jobId, params }).id);
    } catch (error) {
      if (error instanceof EngineError)
        throw new EngineError(error.code, `task "${name}": ${error.message}`, { cause: error });
      throw error;
    }
  }
}

/** The type of a failure is an error code of the engine, or the name of the error that the job threw. */
function errorOf({ type, message }: Failure): Error {
  if (Object.hasOwn(errorCodes, type)) return new EngineError(type as ErrorCode, message);
  const error = new Error(message);
  error.name = type;
  return error;
}
