import { Counter, Histogram, type Registry } from "prom-client";

/** From a task that does nothing to one that takes a day. */
const durationBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 60, 300, 1800, 3600, 21_600, 86_400];

export type MetricFamilies = ReturnType<typeof metricFamilies>;

/** What is counted as it happens: workflows submitted and ended, attempts of tasks. */
export function metricFamilies(registry: Registry) {
  const registers = [registry];
  return {
    submitted: new Counter({
      name: "dag_workflow_submitted_total",
      help: "Instances accepted.",
      labelNames: ["workflow"],
      registers,
    }),
    completed: new Counter({
      name: "dag_workflow_completed_total",
      help: "Instances that ended, in whatever status.",
      labelNames: ["workflow", "status"],
      registers,
    }),
    failed: new Counter({
      name: "dag_workflow_failed_total",
      help: "Instances that failed.",
      labelNames: ["workflow"],
      registers,
    }),
    duration: new Histogram({
      name: "dag_workflow_duration_seconds",
      help: "From the start of an instance to its end.",
      labelNames: ["workflow", "status"],
      buckets: durationBuckets,
      registers,
    }),
    taskExecuted: new Counter({
      name: "dag_task_executed_total",
      help: "Attempts of tasks that ended, in whatever status.",
      labelNames: ["workflow", "task", "status", "worker"],
      registers,
    }),
    taskFailed: new Counter({
      name: "dag_task_failed_total",
      help: "Attempts of tasks that failed or timed out, also those that are tried again.",
      labelNames: ["workflow", "task"],
      registers,
    }),
    taskDuration: new Histogram({
      name: "dag_task_duration_seconds",
      help: "From the start of an attempt to its end.",
      labelNames: ["workflow", "task", "status"],
      buckets: durationBuckets,
      registers,
    }),
  };
}
