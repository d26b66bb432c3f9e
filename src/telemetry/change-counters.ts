import type { Registry } from "prom-client";
import type { InstanceChange } from "../engine/instance-change.ts";
import type { TaskView } from "../views/instance-view.ts";
import type { Event, TaskFailed, TaskSucceeded } from "../kernel/event.ts";
import { LabelValues, otherValue } from "./label-values.ts";
import { type MetricFamilies, metricFamilies } from "./metric-families.ts";
import { type TaskByNumber, tasksByNumber } from "./tasks-by-number.ts";
import { type AttemptStatus, TaskSeries, WorkflowSeries } from "./workflow-series.ts";
import { defaultNamespace } from "../base/namespace.ts";

/** Cardinality limit of namespaces; further ones are counted as one. */
const namespacesMax = 50;

/**
 * Cardinality limits of one namespace: names of each kind, and pairs of workflow and task; further ones are counted as
 * one. Every namespace has its own, so that one with many names does not hide the names of another. Those besides
 * `default` share a process with many others.
 */
const limits = { default: { names: 200, tasks: 2000 }, other: { names: 50, tasks: 200 } };

/** Updates counters from the changes of instances. */
export class ChangeCounters {
  readonly #families: MetricFamilies;
  readonly #names = new LabelValues(namespacesMax);
  readonly #namespaces = new Map<string, NamespaceCounters>();

  constructor(registry: Registry) {
    this.#families = metricFamilies(registry);
  }

  observe(change: InstanceChange): void {
    const label = this.#names.of(change.namespace);
    let counters = this.#namespaces.get(label);
    if (counters === undefined) {
      counters = new NamespaceCounters(this.#families, label);
      this.#namespaces.set(label, counters);
    }
    counters.observe(change);
  }
}

/** The counters of one namespace. */
class NamespaceCounters {
  readonly #families: MetricFamilies;
  readonly #namespace: string;
  readonly #tasksMax: number;
  readonly #workflowNames: LabelValues;
  readonly #taskNames: LabelValues;
  readonly #workerNames: LabelValues;
  readonly #workflows = new Map<string, WorkflowSeries>();
  #taskCount = 0;

  constructor(families: MetricFamilies, namespace: string) {
    const { names, tasks } = namespace === defaultNamespace ? limits.default : limits.other;
    this.#families = families;
    this.#namespace = namespace;
    this.#tasksMax = tasks;
    this.#workflowNames = new LabelValues(names);
    this.#taskNames = new LabelValues(names);
    this.#workerNames = new LabelValues(names);
  }

  observe(change: InstanceChange): void {
    const workflow = this.#workflow(change.workflowName);
    const taskOf = tasksByNumber(change);
    for (const event of change.events) {
      this.#count(event, workflow, change, taskOf);
      // The rest of this turn was copied by a fork, and has been counted in the original.
      if (event.type === "InstanceCreated" && event.forkedFrom !== undefined) return;
    }
  }

  #count(event: Event, workflow: WorkflowSeries, change: InstanceChange, taskOf: TaskByNumber): void {
    switch (event.type) {
      case "InstanceCreated":
        return workflow.submitted.inc();
      case "InstanceEnded":
        return workflow.countEnd(event.status, secondsBetween(change.startedAt ?? change.createdAt, change.at));
      case "DecisionMade":
        return this.#task(workflow, labelOf(taskOf(event.task))).countAttempt("Success", "", undefined);
      case "TaskSucceeded":
      case "TaskFailed": {
        const { startedAt, worker = "" } = event;
        const seconds = startedAt === undefined ? undefined : secondsBetween(startedAt, change.at);
        const task = this.#task(workflow, labelOf(taskOf(event.task)));
        return task.countAttempt(statusOf(event), this.#workerNames.of(worker), seconds);
      }
      default:
    }
  }

  #workflow(name: string): WorkflowSeries {
    const known = this.#workflows.get(name);
    if (known !== undefined) return known;
    const label = this.#workflowNames.of(name);
    const shared = this.#workflows.get(label);
    if (shared !== undefined) return shared;
    const made = new WorkflowSeries(this.#families, { namespace: this.#namespace, workflow: label });
    this.#workflows.set(label, made);
    return made;
  }

  #task(workflow: WorkflowSeries, name = otherValue): TaskSeries {
    const known = workflow.tasks.get(name);
    if (known !== undefined) return known;
    const label = this.#taskCount < this.#tasksMax ? this.#taskNames.of(name) : otherValue;
    const shared = workflow.tasks.get(label);
    if (shared !== undefined) return shared;
    this.#taskCount++;
    const made = new TaskSeries(this.#families, workflow, label);
    workflow.tasks.set(label, made);
    return made;
  }
}

/** The label of a task. A sub-task of a fan-out is counted under its job, or under its parent task if it nests a workflow. */
function labelOf(task: TaskView | undefined): string | undefined {
  return task?.parentTask === undefined ? task?.name : (task.job ?? task.parentTask);
}

function statusOf(event: TaskSucceeded | TaskFailed): AttemptStatus {
  if (event.type === "TaskSucceeded") return "Success";
  return event.timedOut === true ? "TimeoutFailed" : "Failed";
}

/** Never negative, also if the clock was set back. */
function secondsBetween(from: number, to: number): number {
  return Math.max(0, to - from) / 1000;
}
