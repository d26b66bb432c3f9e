import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Store } from "../stores/store.ts";
import type { AlertRule } from "../telemetry/alert-rule.ts";
import { Alerts } from "../telemetry/alerts.ts";
import { gaugeEngine } from "../telemetry/engine-gauges.ts";
import { InstanceLog } from "../telemetry/instance-log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { observedStore } from "../telemetry/observed-store.ts";
import { TaskLogs } from "../telemetry/task-logs.ts";
import { Tracing } from "../telemetry/tracing.ts";
import type { ServerConfig } from "./config/server-config.ts";

const dayMs = 86_400_000;
/** Where instances are kept for ever, so is what their tasks said: longer than anybody will look. */
const forEverMs = 36_500 * dayMs;

export interface ObserversParts {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** All who look on: metrics, traces, logs and alerts. The engine is asked for its changes once for all of them. */
export class Observers {
  readonly metrics = new Metrics();
  readonly tracing = new Tracing();
  readonly taskLogs: TaskLogs;
  /** The given one, timed. */
  readonly store: Store;
  readonly #parts: ObserversParts;
  #alerts: Alerts | undefined;

  constructor(parts: ObserversParts) {
    this.#parts = parts;
    const { config, clock, logger } = parts;
    this.store = observedStore(parts.store, this.metrics.store);
    const days = Object.values(config.retentionDays);
    this.taskLogs = new TaskLogs({
      store: this.store,
      clock,
      logger,
      traceIdOf: (instanceId) => this.tracing.traceIdOf(instanceId),
      keepMs: days.includes(0) ? forEverMs : Math.max(...days) * dayMs,
    });
  }

  get engineOptions(): Pick<EngineOptions, "onTaskLog" | "aroundJob"> {
    return { onTaskLog: this.taskLogs.add, aroundJob: this.tracing.aroundJob };
  }

  /** Before the engine is started, so that nothing is missed. */
  watch(engine: Engine): void {
    const { metrics, tracing } = this;
    const { config, clock, logger } = this.#parts;
    const { logLevel } = config;
    gaugeEngine(metrics.registry, engine, () => clock.now());
    const log =
      logLevel === "debug" || logLevel === "info"
        ? new InstanceLog({
            logger,
            tellsNodes: logLevel === "debug",
            traceIdOf: (instanceId) => tracing.traceIdOf(instanceId),
          })
        : undefined;
    const alerts =
      config.alerts.length === 0
        ? undefined
        : new Alerts({ rules: config.alerts as readonly AlertRule[], engine, store: this.store, clock, logger });
    this.#alerts = alerts;
    engine.subscribe((change) => {
      metrics.observe(change);
      tracing.observe(change);
      log?.observe(change);
      alerts?.observe(change);
    });
    engine.onMemberEvent((event) => log?.observeMember(event));
  }

  /** The engine runs. */
  start(): void {
    this.taskLogs.start();
    this.#alerts?.start();
  }

  /** Sends and writes the last of it, while the store is still open. */
  async stop(): Promise<void> {
    await this.#alerts?.stop();
    await this.taskLogs.stop();
    this.tracing.stop();
  }
}
