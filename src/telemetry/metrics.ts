import { collectDefaultMetrics, Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import type { InstanceChange } from "../engine/instance-change.ts";
import { ChangeCounters } from "./change-counters.ts";
import { gaugeEngine, type GaugedEngine } from "./engine-gauges.ts";
import { StoreMetrics } from "./store-metrics.ts";

/**
 * All that Prometheus can ask for, in a registry of its own: two engines in one process do not count together, and the
 * program around them keeps its own registry to itself.
 */
export class Metrics {
  readonly registry = new Registry();
  /** For `observedStore`, which is made before the engine is. */
  readonly store = new StoreMetrics(this.registry);
  readonly #counters = new ChangeCounters(this.registry);

  constructor() {
    // The event loop's lag, memory, garbage collection, file handles and the processor's time.
    collectDefaultMetrics({ register: this.registry });
  }

  /** Counts from now on what happens in the engine. Once for each; gives back how to stop it. */
  watch(engine: GaugedEngine & Pick<Engine, "subscribe">, now: () => number = Date.now): () => void {
    const letGo = gaugeEngine(this.registry, engine, now);
    const unsubscribe = engine.subscribe((change) => this.observe(change));
    return () => {
      letGo();
      unsubscribe();
    };
  }

  observe(change: InstanceChange): void {
    this.#counters.observe(change);
  }

  /** In the text format of Prometheus; `registry.contentType` names it. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
