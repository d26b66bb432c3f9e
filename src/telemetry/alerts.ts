import type { Clock, Timer } from "../base/clock.ts";
import { hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName, namespaceOf, qualify } from "../base/namespace.ts";
import type { Engine } from "../engine/engine.ts";
import type { InstanceChange } from "../engine/instance-change.ts";
import type { TaskView } from "../views/instance-view.ts";
import type { Alert } from "./alert.ts";
import { hasEnded } from "../kernel/status.ts";
import { AlertMarks, type MarkStore } from "./alert-marks.ts";
import type { Store } from "../stores/store.ts";
import { AlertOutbox } from "./alert-outbox.ts";
import { type AlertRule, checkAlertRules } from "./alert-rule.ts";
import { LongRuns } from "./long-runs.ts";

const roundMs = 5000;
const dayMs = 24 * 60 * 60 * 1000;
/** Retention of the marks of sent alerts. */
const sentKeptMs = 30 * dayMs;
const failedTasksMax = 5;
/** Limit of remembered failures, so that an instance that is reopened and fails again is not reported twice. */
const toldMax = 10_000;

export interface AlertsParts {
  readonly rules: readonly AlertRule[];
  readonly engine: Pick<Engine, "health" | "inNamespace">;
  readonly store: MarkStore & Pick<Store, "listInstances">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Sends alerts to webhooks, at most one of each kind per instance. A child instance is reported only
 * if a rule names its workflow: otherwise the parent's alert stands for it.
 */
export class Alerts {
  readonly #parts: AlertsParts;
  readonly #outboxes: readonly { rule: AlertRule; outbox: AlertOutbox }[];
  readonly #marks: AlertMarks;
  readonly #longRuns: LongRuns;
  /** Workflows that failed last time, as far as this member knows; the marks are authoritative. */
  #failing = new Set<string>();
  /** Qualified ids. */
  readonly #told = new Set<string>();
  /** Stuck instances that were reported, or are about to be. */
  readonly #stuck = new Set<string>();
  /** Serializes the work on the store. */
  #work = Promise.resolve();
  #timer: Timer | undefined;
  #tidiedAt = 0;

  /** `OPTION_INVALID`. */
  constructor(parts: AlertsParts) {
    checkAlertRules(parts.rules);
    this.#parts = parts;
    const { rules, clock, logger } = parts;
    this.#outboxes = rules.map((rule) => ({ rule, outbox: new AlertOutbox({ rule, clock, logger }) }));
    this.#marks = new AlertMarks(parts.store, () => clock.now());
    this.#longRuns = new LongRuns(
      rules.flatMap(({ on, longRunSeconds }) => (on.includes("long-run") ? (longRunSeconds ?? []) : [])),
    );
  }

  /** Call after the engine has started. Begins with the running instances, then checks periodically for long and stuck ones. */
  start(): void {
    if (this.#longRuns.isWanted) this.#later(() => this.#longRuns.begin(this.#parts.store));
    this.#round();
  }

  /** Posts queued alerts, for a few seconds at most. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#work;
    await Promise.all(this.#outboxes.map(({ outbox }) => outbox.stop()));
  }

  observe(change: InstanceChange): void {
    this.#longRuns.observe(change);
    for (const event of change.events) {
      if (event.type !== "InstanceEnded") continue;
      if (event.status === "Failed") this.#onFailed(change, event.failure?.message);
      else if (event.status === "Success") this.#onSucceeded(change);
    }
  }

  #onFailed(change: InstanceChange, message: string | undefined): void {
    const workflow = qualify(change.namespace, change.workflowName);
    const instanceId = qualify(change.namespace, change.instanceId);
    if (this.#wants("recovery") && !this.#failing.has(workflow)) {
      this.#failing.add(workflow);
      this.#later(() => this.#marks.set("alert-failing", workflow));
    }
    if (this.#told.has(instanceId)) return;
    if (this.#told.size >= toldMax) this.#told.clear();
    this.#told.add(instanceId);
    this.#tell({ ...alertOf("failure", change), reason: change.reason ?? message }, change.parentInstanceId);
  }

  #onSucceeded(change: InstanceChange): void {
    const workflow = qualify(change.namespace, change.workflowName);
    if (!this.#failing.delete(workflow)) return;
    this.#later(async () => {
      if (await this.#marks.remove("alert-failing", workflow))
        this.#tell(alertOf("recovery", change), change.parentInstanceId);
    });
  }

  #round(): void {
    if (this.#wants("recovery")) this.#later(async () => (this.#failing = await this.#marks.names("alert-failing")));
    if (this.#wants("stuck")) this.#tellStuck();
    const now = this.#parts.clock.now();
    for (const { instanceId, seconds } of this.#longRuns.due(now)) {
      const tell = (): Promise<void> => this.#tellStanding("long-run", instanceId, seconds);
      this.#later(tell, () => this.#longRuns.again(instanceId));
    }
    if (now - this.#tidiedAt >= dayMs) {
      this.#tidiedAt = now;
      this.#later(() => this.#marks.removeBefore("alert-sent", now - sentKeptMs));
    }
    this.#timer = this.#parts.clock.after(roundMs, () => this.#round());
  }

  #tellStuck(): void {
    const stuck = this.#parts.engine.health.stuckInstances;
    for (const instanceId of this.#stuck) if (!stuck.includes(instanceId)) this.#stuck.delete(instanceId);
    for (const instanceId of stuck) {
      if (this.#stuck.has(instanceId)) continue;
      this.#stuck.add(instanceId);
      this.#later(
        () => this.#tellStanding("stuck", instanceId),
        () => this.#stuck.delete(instanceId),
      );
    }
  }

  /** Reports an instance by its current state: another member may have seen its end, or reported it. */
  async #tellStanding(kind: "stuck" | "long-run", instanceId: string, seconds?: number): Promise<void> {
    const { engine, clock } = this.#parts;
    const namespace = namespaceOf(instanceId);
    const view = await engine.inNamespace(namespace).getWorkflowInstanceStatus(localName(instanceId));
    if (hasEnded(view.status)) return;
    const name = seconds === undefined ? `${kind} ${instanceId}` : `${kind} ${seconds} ${instanceId}`;
    if (!(await this.#marks.set("alert-sent", name))) return;
    this.#tell(alertOf(kind, { ...view, namespace, at: clock.now() }), view.parentInstanceId, seconds);
  }

  #tell(alert: Alert, parentInstanceId: string | undefined, seconds?: number): void {
    for (const { rule, outbox } of this.#outboxes) {
      if (!rule.on.includes(alert.kind) || (seconds !== undefined && rule.longRunSeconds !== seconds)) continue;
      const concerns = rule.workflows?.includes(alert.workflow) ?? parentInstanceId === undefined;
      if (concerns) outbox.put(alert);
    }
  }

  #wants(kind: Alert["kind"]): boolean {
    return this.#parts.rules.some(({ on }) => on.includes(kind));
  }

  /** Runs the work in sequence. If the store fails, `undo` makes a later round try again. */
  #later(work: () => Promise<unknown>, undo: () => void = () => undefined): void {
    this.#work = this.#work.then(work).then(
      () => undefined,
      (error: unknown) => {
        // The instance ended and was purged before it could be reported.
        if (hasCode(error, "INSTANCE_UNKNOWN")) return;
        undo();
        this.#parts.logger.warn({ error: messageOf(error) }, "alerts could not be processed; retrying");
      },
    );
  }
}

interface Seen extends Pick<
  InstanceChange,
  "namespace" | "instanceId" | "workflowName" | "status" | "at" | "startedAt" | "reason"
> {
  readonly tasks: readonly TaskView[];
}

function alertOf(kind: Alert["kind"], seen: Seen): Alert {
  const { namespace, instanceId, workflowName: workflow, status, at, startedAt, reason } = seen;
  const failed = seen.tasks.filter((task) => task.status === "Failed" || task.status === "TimeoutFailed");
  const failedTasks = failed
    .slice(0, failedTasksMax)
    .map(({ name, failure }) => ({ name, message: failure?.message ?? "" }));
  return { kind, namespace, instanceId, workflow, status, at, startedAt, reason, failedTasks };
}
