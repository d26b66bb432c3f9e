import type { QueuedTask } from "../../src/engine/overview.ts";
import { qualify } from "../../src/base/namespace.ts";
import type { EngineNamespace } from "../../src/engine/engine-namespace.ts";
import type { Client } from "./client.ts";
import type { SimRandom } from "./sim-random.ts";

/** An answer about the queues of the whole cluster. */
export interface MonitorAnswer {
  readonly state: QueuedTask["state"];
  /** The task is -1 for an instance that waits as a whole. */
  readonly tasks: readonly { readonly instanceId: string; readonly task: number; readonly attempt: number }[];
  /** Ids of members that did not answer. */
  readonly unanswered: readonly string[];
}

const pauseMs = 2500;

/** It goes on after the faults have ended, while there is still work. */
const calmMs = 5000;

/** Asks any member for what runs and waits on all of them, again and again. */
export async function playMonitor(client: Client, random: SimRandom, spanMs: number): Promise<void> {
  for (let pause = random.waitMs(pauseMs); client.now + pause < spanMs + calmMs; pause = random.waitMs(pauseMs)) {
    await client.sleep(pause);
    const state = random.pick(["running", "running", "waiting"] as const);
    await client.call("queue", { given: { state } }, (engine) => ask(engine, state));
  }
}

async function ask(engine: EngineNamespace, state: QueuedTask["state"]): Promise<MonitorAnswer> {
  const { tasks, unanswered } = await engine.cluster.listQueuedTasks({ state });
  const shown = tasks.map(({ instanceId, namespace, task, attempt }) => {
    return { instanceId: qualify(namespace, instanceId), task: task ?? -1, attempt };
  });
  return { state, tasks: shown, unanswered };
}
