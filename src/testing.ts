import { MemoryStore } from "./stores/memory/memory-store.ts";
import type { Store } from "./stores/store.ts";

export { SeededRandom } from "./testing/seeded-random.ts";
export { TestClock } from "./testing/test-clock.ts";

/**
 * A store in memory, for tests. What an engine wrote outlives its stop, so a second engine on the same store goes on
 * where the first one stopped, as after a restart.
 *
 * ```ts
 * import { Engine } from "heddle";
 * import { memoryStore, TestClock } from "heddle/testing";
 *
 * const storage = memoryStore();
 * const clock = new TestClock();
 * const first = new Engine({ storage, clock, jobs });
 * await first.start();
 * const run = await first.submitWorkflow(nightly);
 * await first.stop();
 *
 * const second = new Engine({ storage, clock, jobs });
 * await second.start();
 * await clock.until(second.awaitWorkflowInstance(run.instanceId));
 * ```
 *
 * Engines that run at the same time, as the members of one cluster, need a connection each: the first has the store
 * itself, the others one of its `connect()`.
 */
export function memoryStore(): Store & { connect(): Store } {
  return new MemoryStore();
}
