import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { ClusterOverview } from "../engine/cluster-overview.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Store } from "../stores/store.ts";
import type { AlertRule } from "../telemetry/alert-rule.ts";
import { Alerts } from "../telemetry/alerts.ts";
import { gaugeEngine } from "../telemetry/engine-gauges.ts";
import { InstanceLog } from "../telemetry/instance-log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { observedStore } from "../telemetry/observed-store.ts";
import { type LogMembers, TaskLogs } from "../telemetry/task-logs.ts";
import { TraceIds } from "../telemetry/trace-ids.ts";
import { Tracing } from "../telemetry/tracing.ts";
import type { ServerConfig } from "./config/server-config.ts";

const dayMs = 86_400_000;
/** Retention of task logs if instances are kept for ever. */
const forEverMs = 36_500 * dayMs;

export interface ObserversParts {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onTaskLog?: OnTaskLog | undefined;
}

/** Metrics, traces, logs and alerts, on one subscription to the engine's changes. */
export class Observers {
  readonly metrics = new Metrics();
  readonly #traceIds = new TraceIds();
  readonly tracing = new Tracing({ onTrace: (instanceId, traceId) => this.#traceIds.remember(instanceId, traceId) });
  readonly taskLogs: TaskLogs;
  /** The given logger, with a trace id on every line that has an instance id. */
  readonly logger: Logger;
  /** The given store, with timed calls. */
  readonly store: Store;
  readonly #parts: ObserversParts;
  #alerts: Alerts | undefined;

  constructor(parts: ObserversParts) {
    this.#parts = parts;
    const { config, clock } = parts;
    const logger = this.#traceIds.addTo(parts.logger);
    this.logger = logger;
    this.store = observedStore(parts.store, this.metrics.store);
    const days = Object.values(config.retentionDays);
    this.taskLogs = new TaskLogs({
      store: this.store,
      clock,
      logger,
      traceIdOf: (id) => this.#traceIds.of(id),
      keepMs: days.includes(0) ? forEverMs : Math.max(...days) * dayMs,
    });
  }

  get engineOptions(): Pick<EngineOptions, "onTaskLog" | "aroundJob"> {
    const { onTaskLog } = this.#parts;
    const { add } = this.taskLogs;
    const addAndTell: OnTaskLog = (line) => {
      add(line);
      onTaskLog?.(line);
    };
    return { onTaskLog: onTaskLog === undefined ? add : addAndTell, aroundJob: this.tracing.aroundJob };
  }

  /** Call before the engine is started, so that no change is missed. */
  watch(engine: Engine): void {
    const { metrics, tracing, logger } = this;
    const traceIds = this.#traceIds;
    const { config, clock } = this.#parts;
    const { logLevel } = config;
    gaugeEngine(metrics.registry, engine, () => clock.now());
    // The logger would drop every line from level error on.
    const isHeard = logLevel !== "error" && logLevel !== "silent";
    const log = isHeard ? new InstanceLog({ logger, failuresOnly: logLevel === "warn" }) : undefined;
    const alerts =
      config.alerts.length === 0
        ? undefined
        : new Alerts({ rules: config.alerts as readonly AlertRule[], engine, store: this.store, clock, logger });
    this.#alerts = alerts;
    this.taskLogs.join(logMembersOf(engine));
    engine.subscribeAll((change) => {
      metrics.observe(change);
      tracing.observe(change);
      traceIds.observe(change);
      log?.observe(change);
      alerts?.observe(change);
    });
  }

  /** Call after the engine has started. */
  start(): void {
    this.taskLogs.start();
    this.#alerts?.start();
  }

  /** Flushes everything, while the store is still open. */
  async stop(): Promise<void> {
    await this.#alerts?.stop();
    await this.taskLogs.stop();
    this.tracing.stop();
  }
}

/** Members that follow a log hear of each write; who follows one here hears of theirs. */
function logMembersOf(engine: Engine): LogMembers {
  const clusterOf = (id: string): ClusterOverview => engine.viewNamespace(namespaceOf(id)).cluster;
  return {
    tell: (id) => clusterOf(id).tellLogLines(localName(id)),
    follow: (id, onNews) => {
      const relay = clusterOf(id).follow({
        withEvents: false,
        onChange: () => undefined,
        onLogLines: onNews,
        onGap: onNews,
      });
      // Lines that were written before all members knew of it are read then.
      void relay?.add({ logsOf: localName(id) }).then(onNews);
      return () => relay?.stop();
    },
  };
}
