import { Counter, Histogram, type Registry } from "prom-client";

/** Buckets from a no-op task to one that takes a day. */
const durationBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 60, 300, 1800, 3600, 21_600, 86_400];

export type MetricFamilies = ReturnType<typeof metricFamilies>;

/** Metrics that are updated by events: submitted and ended instances, attempts of tasks. */
export function metricFamilies(registry: Registry) {
  const registers = [registry];
  return {
    submitted: new Counter({
      name: "dag_workflow_submitted_total",
      help: "Instances accepted.",
      labelNames: ["namespace", "workflow"],
      registers,
    }),
    completed: new Counter({
      name: "dag_workflow_completed_total",
      help: "Instances that ended, by status.",
      labelNames: ["namespace", "workflow", "status"],
      registers,
    }),
    failed: new Counter({
      name: "dag_workflow_failed_total",
      help: "Instances that failed.",
      labelNames: ["namespace", "workflow"],
      registers,
    }),
    duration: new Histogram({
      name: "dag_workflow_duration_seconds",
      help: "Duration of instances, from start to end.",
      labelNames: ["namespace", "workflow", "status"],
      buckets: durationBuckets,
      registers,
    }),
    taskExecuted: new Counter({
      name: "dag_task_executed_total",
      help: "Attempts of tasks that ended, by status.",
      labelNames: ["namespace", "workflow", "task", "status", "worker"],
      registers,
    }),
    taskFailed: new Counter({
      name: "dag_task_failed_total",
      help: "Attempts of tasks that failed or timed out, including those that are retried.",
      labelNames: ["namespace", "workflow", "task"],
      registers,
    }),
    taskDuration: new Histogram({
      name: "dag_task_duration_seconds",
      help: "Duration of attempts, from start to end.",
      labelNames: ["namespace", "workflow", "task", "status"],
      buckets: durationBuckets,
      registers,
    }),
  };
}
