import type { EndStatus } from "../kernel/status.ts";
import type { MetricFamilies } from "./metric-families.ts";

interface Count {
  inc(value?: number): void;
}

interface Spread {
  observe(seconds: number): void;
}

/** The time series of one workflow, looked up once. */
export class WorkflowSeries {
  readonly namespace: string;
  readonly label: string;
  readonly submitted: Count;
  readonly tasks = new Map<string, TaskSeries>();
  readonly #families: MetricFamilies;
  readonly #failed: Count;
  readonly #ended = new Map<EndStatus, { completed: Count; duration: Spread }>();

  constructor(families: MetricFamilies, { namespace, workflow: label }: { namespace: string; workflow: string }) {
    this.namespace = namespace;
    this.label = label;
    this.#families = families;
    this.submitted = families.submitted.labels(namespace, label);
    this.#failed = families.failed.labels(namespace, label);
    // Initializes the series with 0: Prometheus computes no rate for the first sample of a series.
    this.#failed.inc(0);
  }

  countEnd(status: EndStatus, seconds: number): void {
    let series = this.#ended.get(status);
    if (series === undefined) {
      const { completed, duration } = this.#families;
      const labels = [this.namespace, this.label, status] as const;
      series = { completed: completed.labels(...labels), duration: duration.labels(...labels) };
      this.#ended.set(status, series);
    }
    series.completed.inc();
    series.duration.observe(seconds);
    if (status === "Failed") this.#failed.inc();
  }
}

export type AttemptStatus = "Success" | "Failed" | "TimeoutFailed";

/** The time series of one task of a workflow. */
export class TaskSeries {
  readonly #namespace: string;
  readonly #workflow: string;
  readonly #task: string;
  readonly #families: MetricFamilies;
  readonly #failed: Count;
  readonly #durations = new Map<AttemptStatus, Spread>();
  readonly #executed: Readonly<Record<AttemptStatus, Map<string, Count>>> = {
    Success: new Map(),
    Failed: new Map(),
    TimeoutFailed: new Map(),
  };

  constructor(families: MetricFamilies, { namespace, label: workflow }: WorkflowSeries, task: string) {
    this.#namespace = namespace;
    this.#workflow = workflow;
    this.#task = task;
    this.#families = families;
    this.#failed = families.taskFailed.labels(namespace, workflow, task);
    this.#failed.inc(0);
  }

  /** `seconds` is undefined if nothing ran: a decision, a nested workflow, a job that never started. */
  countAttempt(status: AttemptStatus, worker: string, seconds: number | undefined): void {
    const ofStatus = this.#executed[status];
    let executed = ofStatus.get(worker);
    if (executed === undefined) {
      executed = this.#families.taskExecuted.labels(this.#namespace, this.#workflow, this.#task, status, worker);
      ofStatus.set(worker, executed);
    }
    executed.inc();
    if (status !== "Success") this.#failed.inc();
    if (seconds !== undefined) this.#durationOf(status).observe(seconds);
  }

  #durationOf(status: AttemptStatus): Spread {
    const known = this.#durations.get(status);
    if (known !== undefined) return known;
    const made = this.#families.taskDuration.labels(this.#namespace, this.#workflow, this.#task, status);
    this.#durations.set(status, made);
    return made;
  }
}
