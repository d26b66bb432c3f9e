import { randomUUID } from "node:crypto";
import { EngineError, type ErrorCode } from "../base/error.ts";
import type { EdgeSpec, FailurePolicy, MaxInstances, OverflowPolicy } from "../kernel/dag/dag-spec.ts";
import { didYouMean } from "../base/closest-name.ts";
import { copyAsJson } from "../base/json-text.ts";
import { SettingCheck } from "./setting-check.ts";
import { preview } from "../base/preview.ts";
import { Task } from "./task.ts";
import { TaskBuilder } from "./task-builder.ts";
import { Workflow, type WorkflowSettings } from "./workflow.ts";

const failurePolicies: readonly FailurePolicy[] = ["finish-running", "abort-running", "continue"];
const overflowPolicies: readonly OverflowPolicy[] = ["queue", "skip", "fail"];

/**
 * Builds a workflow of tasks. The methods may be called in any order: a task may depend on one that is added later.
 *
 * ```ts
 * new WorkflowBuilder().withName("nightly").withTask(orders).withTask(join).build();
 * ```
 */
export class WorkflowBuilder {
  readonly #tasks: (Task | TaskBuilder)[] = [];
  #name = "";
  #domain: string | undefined;
  #maxConcurrentTasks: number | undefined;
  #timeoutSeconds: number | undefined;
  #context: Readonly<Record<string, unknown>> | undefined;
  #failurePolicy: FailurePolicy | undefined;
  #maxInstances: MaxInstances | undefined;

  withName(name: string): this {
    this.#name = name;
    return this;
  }

  /** Sets the domain of tasks that set none themselves. */
  withDomain(domain: string): this {
    this.#domain = domain;
    return this;
  }

  /**
   * Adds a task, or a builder of one. A task is shared, so editing it later edits the workflow. A builder builds a new task for
   * each workflow.
   */
  withTask(task: Task | TaskBuilder): this {
    this.#tasks.push(task);
    return this;
  }

  /** Sets the maximum of concurrent tasks of one instance. Default 5. */
  withMaxConcurrentTasks(max: number): this {
    this.#maxConcurrentTasks = max;
    return this;
  }

  /** Sets the timeout of a whole instance. Default: none. */
  withTimeout(seconds: number): this {
    this.#timeoutSeconds = seconds;
    return this;
  }

  /** Sets the initial context; start parameters are merged over it. */
  withContext(context: Readonly<Record<string, unknown>>): this {
    this.#context = context;
    return this;
  }

  /** Sets what a failed task does to the other tasks. Default `finish-running`. */
  withFailurePolicy(policy: FailurePolicy): this {
    this.#failurePolicy = policy;
    return this;
  }

  /** Sets the maximum of concurrent instances, and what happens to one more. Default 0: no limit. */
  withMaxInstances(max: number, policy: OverflowPolicy = "queue"): this {
    this.#maxInstances = { max, policy };
    return this;
  }

  /**
   * Throws WORKFLOW_INVALID, WORKFLOW_EMPTY, WORKFLOW_CYCLE, TASK_DUPLICATE, DEPENDENCY_UNKNOWN, DEPENDENCY_SELF, and
   * what building a task throws.
   */
  build(): Workflow {
    this.#check();
    const tasks = this.#tasks.map((task) => (task instanceof TaskBuilder ? task.build() : task));
    const numbers = this.#numberTasks(tasks);
    const id = randomUUID();
    const workflow = new Workflow({
      id,
      name: this.#name,
      settings: { id, ...this.#settings() },
      tasks: tasks.map((task, index) => ({ nodeId: index + 1, task })),
      edges: tasks.flatMap((task) => this.#edgesInto(task, numbers)),
    });
    workflow.validate();
    return workflow;
  }

  #numberTasks(tasks: readonly Task[]): ReadonlyMap<string, number> {
    const numbers = new Map<string, number>();
    for (const { name } of tasks) {
      if (numbers.has(name)) throw this.#error("TASK_DUPLICATE", `two tasks are called ${preview(name)}`);
      numbers.set(name, numbers.size + 1);
    }
    return numbers;
  }

  #edgesInto(task: Task, numbers: ReadonlyMap<string, number>): EdgeSpec[] {
    const to = numbers.get(task.name) ?? 0;
    return task.dependencies.map(({ name, when }) => {
      const from = numbers.get(name);
      if (from === undefined) {
        const hint = didYouMean(name, numbers.keys());
        throw this.#error(
          "DEPENDENCY_UNKNOWN",
          `task ${preview(task.name)} depends on ${preview(name)}, which does not exist${hint}`,
        );
      }
      if (from === to) throw this.#error("DEPENDENCY_SELF", `task ${preview(task.name)} depends on itself`);
      return when === undefined ? { from, to } : { from, to, property: when };
    });
  }

  #settings(): WorkflowSettings {
    const settings: WorkflowSettings = { name: this.#name };
    if (this.#domain !== undefined) settings.domain = this.#domain;
    if (this.#maxConcurrentTasks !== undefined) settings.maxConcurrentTasks = this.#maxConcurrentTasks;
    if (this.#timeoutSeconds !== undefined) settings.timeoutSeconds = this.#timeoutSeconds;
    if (this.#failurePolicy !== undefined) settings.failurePolicy = this.#failurePolicy;
    if (this.#maxInstances !== undefined && this.#maxInstances.max > 0)
      settings.maxInstances = { ...this.#maxInstances };
    if (this.#context !== undefined) {
      const what = `workflow ${preview(this.#name)}: context`;
      settings.context = copyAsJson(this.#context, what) as Record<string, unknown>;
    }
    return settings;
  }

  #check(): void {
    new SettingCheck("WORKFLOW_INVALID", "a workflow").name("its name", this.#name);
    const check = new SettingCheck("WORKFLOW_INVALID", `workflow ${preview(this.#name)}`);
    if (this.#domain !== undefined) check.name("domain", this.#domain);
    if (this.#maxConcurrentTasks !== undefined) check.wholeNumber("maxConcurrentTasks", this.#maxConcurrentTasks, 1);
    if (this.#timeoutSeconds !== undefined) check.seconds("timeout", this.#timeoutSeconds);
    if (this.#failurePolicy !== undefined) check.oneOf("failure policy", this.#failurePolicy, failurePolicies);
    if (this.#maxInstances !== undefined) {
      check.wholeNumber("maxInstances", this.#maxInstances.max, 0);
      check.oneOf("maxInstances' policy", this.#maxInstances.policy, overflowPolicies);
    }
    if (this.#context !== undefined) check.object("context", this.#context);
    for (const task of this.#tasks) {
      const fits = task instanceof Task || task instanceof TaskBuilder;
      if (!fits) check.refuse(`withTask takes a Task or a TaskBuilder, got ${preview(task)}`);
    }
  }

  #error(code: ErrorCode, problem: string): EngineError {
    return new EngineError(code, `workflow ${preview(this.#name)}: ${problem}`);
  }
}
