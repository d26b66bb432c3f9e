import { collectDefaultMetrics, Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import type { InstanceChange } from "../engine/instance-change.ts";
import { ChangeCounters } from "./change-counters.ts";
import { gaugeEngine, type GaugedEngine } from "./engine-gauges.ts";
import { StoreMetrics } from "./store-metrics.ts";

/**
 * All metrics, in a registry of their own: two engines in one process have separate metrics, and the
 * embedding program keeps its own registry.
 */
export class Metrics {
  readonly registry = new Registry();
  /** Metrics for `observedStore`, which is created before the engine. */
  readonly store = new StoreMetrics(this.registry);
  readonly #counters = new ChangeCounters(this.registry);

  constructor() {
    // Event loop lag, memory, garbage collection, file handles and CPU time.
    collectDefaultMetrics({ register: this.registry });
  }

  /** Begins to collect the metrics of an engine, once per engine. Returns a function that stops it. */
  watch(engine: GaugedEngine & Pick<Engine, "subscribeAll">, now: () => number = Date.now): () => void {
    const letGo = gaugeEngine(this.registry, engine, now);
    const unsubscribe = engine.subscribeAll((change) => this.observe(change));
    return () => {
      letGo();
      unsubscribe();
    };
  }

  observe(change: InstanceChange): void {
    this.#counters.observe(change);
  }

  /** The metrics in the Prometheus text format; `registry.contentType` is its media type. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
